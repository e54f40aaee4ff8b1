# SPDX-License-Identifier: GPL-2.0
# test: the port follows its netdev, with the events that go with it
# nodes: 1
# level: core
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband/rxe0
WATCH=/tmp/events

state() { # STATE PHYS-STATE
	grep -q "$1" $SYS/ports/1/state && grep -q "$2" $SYS/ports/1/phys_state
}

# event NUMBER: the watcher has seen the event since the last clear_events().  Its name depends on the
# version of rdma-core
PORT_ACTIVE=9 PORT_ERR=10 GID_CHANGE=18
event() {
	grep -q "event_type .*($1)" <(tail -n +$((SEEN + 1)) $WATCH)
}

clear_events() {
	SEEN=$(wc -l < $WATCH)
}

# After the command, the port reaches the states, and the event comes.
follows() { # CASE STATE PHYS-STATE EVENT COMMAND...
	local case=$1 want=$2 phys=$3 name=$4
	shift 4
	clear_events
	"$@"
	if ! wait_for 10 state "$want" "$phys"; then
		fail "$case" "port is $(cat $SYS/ports/1/state), $(cat $SYS/ports/1/phys_state)"
	elif ! wait_for 10 event "$name"; then
		fail "$case" "no event $name"
	else
		ok "$case"
	fi
}

active_mtu() { # IB-MTU
	ibv_devinfo -d rxe0 | grep -q "active_mtu:.* *$1 "
}

follows_mtu() { # NETDEV-MTU IB-MTU
	ip link set v0 mtu "$1" && wait_for 10 active_mtu "$2"
}

link_local_gid() { # ADDRESS
	grep -qi "$(gid_of "$1")" $SYS/ports/1/gids/*
}

mac_change() {
	local old
	old=$(link_local v0)
	ip link set v0 address 52:54:00:12:34:56 || return 1
	# The kernel derives a new link-local address when the link comes up again
	ip link set v0 down && ip link set v0 up || return 1
	wait_for 10 link_local_gid fe80::5054:ff:fe12:3456 && wait_for 10 state ACTIVE LinkUp &&
		{ [ "$old" = fe80::5054:ff:fe12:3456 ] || ! link_local_gid "$old"; }
}

rename_netdev() {
	ip link set v0 down && ip link set v0 name renamed && ip link set renamed up || return 1
	wait_for 10 eval "rdma link show rxe0/1 | grep -q 'ACTIVE.*netdev renamed'" &&
		[ "$(cat $SYS/parent)" = renamed ] || return 1
	ip link set renamed down && ip link set renamed name v0 && ip link set v0 up
	wait_for 10 state ACTIVE LinkUp
}

gone() {
	[ ! -e $SYS ]
}

# The netdev can be deleted while a process has the device open.
unregister_netdev() {
	timeout 30 ip link del v0 && wait_for 10 gone && ! grep -qi ':12B7 ' /proc/net/udp
}

# If a netdev moves to another namespace, its device moves, too.  Nothing stays in the old namespace.
move_netdev() {
	ip netns add far || return 1
	ip link add v0 type veth peer name v1 && ip link set v1 up && ip link set v0 up || return 1
	rxe_add rxe0 v0 && grep -qi ':12B7 ' /proc/net/udp || return 1
	timeout 30 ip link set v0 netns far && wait_for 10 eval "! grep -qi ':12B7 ' /proc/net/udp" || return 1
	if [ "${RXE_MODULE:-ours}" = shipped ]; then
		wait_for 10 gone || say "the device moved"
	else
		ip netns exec far grep -qi ':12B7 ' /proc/net/udp && ! gone || return 1
	fi
	timeout 30 ip -n far link del v0 && wait_for 10 gone
}

# A queue pair sends again when its link is back, and doesn't wait for its next probe.  Probes are rare by
# then: they leave 0.3, 2.3 and 6.3 s after the loss, and the next one leaves 8 s later.
link_returns() {
	local probes=/sys/class/infiniband/rxeA/ports/1/hw_counters/roce_adp_retrans n
	netns_pair && path veth && use_gid v2-ipv4 && echo rtt_guess_ns 1000000000 > $KNOBS || return 1
	# The neighbour's address is permanent.  It would take a while to resolve it again
	ip -n A neigh replace "$SRV4" lladdr "$(mac_of B veth)" nud permanent dev veth && PERF_TIMEOUT=22 stream_begin || return 1
	n=$(cat $probes)
	ip -n B link set veth down && wait_for 20 eval "[ \$(cat $probes) -ge $((n + 3)) ]" &&
		echo rtt_guess_ns 500000 > $KNOBS && ip -n B link set veth up && stream_moves
	set -- $?
	echo rtt_guess_ns 500000 > $KNOBS
	stream_end && return "$1"
}

load_ours
ip link add v0 type veth peer name v1
ip link set v1 up
ip link set v0 up
ip addr add 198.18.0.1/24 dev v0
rxe_add rxe0 v0
stdbuf -oL ibv_asyncwatch -d rxe0 > $WATCH &
wait_for 10 grep -q rxe0 $WATCH

follows down DOWN Disabled $PORT_ERR ip link set v0 down
follows up ACTIVE LinkUp $PORT_ACTIVE ip link set v0 up
follows carrier-lost DOWN '.' $PORT_ERR ip link set v1 down
follows carrier-back ACTIVE LinkUp $PORT_ACTIVE ip link set v1 up
for pair in 1500:1024 4200:4096 1024:512 590:256 9000:4096; do
	try "mtu-$pair" follows_mtu "${pair%:*}" "${pair#*:}"
done
clear_events
ip addr add 198.18.7.7/24 dev v0
try gid-change-event wait_for 10 event $GID_CHANGE
try mac-change mac_change
try rename rename_netdev
try unregister-netdev-while-open unregister_netdev
pkill ibv_asyncwatch || true
wait
try move-to-namespace move_netdev
# This takes long, and doesn't depend on the kernel
if [ "${RXE_MODULE:-ours}" = ours ] && [ "${RXE_SUITE:-trixie}" = trixie ]; then
	try link-returns link_returns
else
	skip link-returns "it takes long, and runs on trixie only, with this module"
fi
