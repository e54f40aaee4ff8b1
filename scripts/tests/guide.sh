# SPDX-License-Identifier: GPL-2.0
# test: the commands of the admin guide print what the guide shows
# nodes: 2
# level: full
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
#
# scripts/guide reads the guide.  The commands of a block run in one shell, as the guide shows them.
# before_NAME and after_NAME do what the guide doesn't show: they make objects that the output lists,
# and remove them.  The variables that before_NAME may set:
#
#   WHERE   the shell runs by this command
#   SETTLE  a line that runs before each command, and waits for what the
#           kernel does later, which a person doesn't notice

GUIDE=$TESTS/../guide
LOG=/job/log/guide
CGROUP=/sys/fs/cgroup/apps

guide() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$GUIDE" "$@"
}

# optional FUNCTION: calls it, if there is one
optional() {
	! declare -F "$1" > /dev/null || "$1"
}

# block NAME: runs the commands of a block, and compares their output
block() {
	local name=$1 status=0
	WHERE=() SETTLE=''
	optional "before_${name//-/_}" && guide --script "$name" > /tmp/script || status=1
	if [ $status = 0 ]; then
		SETTLE=$SETTLE timeout 240 "${WHERE[@]}" bash /tmp/script > "$LOG.$name" 2>&1 ||
			say "the last command failed"
	fi
	cd /tmp
	optional "after_${name//-/_}" || status=1
	[ $status = 0 ] && guide --compare "$name" "$LOG.$name" >&2
}

# Unlike that of tools.sh, this function allows that the streams go to machine b
stream_alive() {
	[ "$(rdma resource show qp | grep 'comm ib_' | grep -c 'state RT[RS]')" -ge "$STREAMS" ]
}

# streams_end: ends the streams of stream_begin
streams_end() {
	on_b "pkill 'ib_(write|read)_bw' || true"
	stream_end
}

# --- devices, GIDs, versions --------------------------------------------------

before_add() {
	rdma link delete rxe0
}

after_add() {
	wait_for 20 rxe_ready rxe0 eth0
}

after_cm_mode() {
	cm_mode rxe0 v2
}

after_roce_enable() {
	echo 1 > /sys/class/infiniband/rxe0/roce_enable && wait_for 20 rxe_ready rxe0 eth0
}

in_group() {
	ip maddress show dev eth0 | grep -q 239.1.2.3
}

before_multicast() {
	mckey -b $A4 -m 239.1.2.3 -C 10 -S 100 > /tmp/mckey 2>&1 &
	MCKEY=$!
	wait_for 20 in_group
}

after_multicast() {
	kill "$MCKEY"
	wait "$MCKEY" || true
	wait_for 20 eval '! in_group'
}

# --- a host with two netdevs ------------------------------------------------------

# two_cards [OPTION...]: makes the namespaces host and peer, whose eth0 and eth1 are two veth pairs
two_cards() {
	local n
	ip netns add host && ip netns add peer && ip -n host link set lo up || return 1
	for n in 0 1; do
		ip -n host link add name eth$n address 52:54:00:00:0a:0$n "$@" type veth \
			peer name eth$n netns peer address 52:54:00:00:0b:0$n "$@" || return 1
	done
	WHERE=(ip netns exec host)
}

cards_up() { # NS LAST-BYTE
	local n
	for n in 0 1; do
		ip -n "$1" link set eth$n up &&
			ip -n "$1" addr add 203.0.113.$(($2 + 16 * n))/28 dev eth$n || return 1
	done
}

# no_cards: removes the namespaces, and adds the device of the other blocks again
no_cards() {
	ip netns del host && ip netns del peer && wait_for 20 eval '! rdma link show | grep -q .' && rxe_add
}

# has_aggregated NS: LACP has come to an agreement over both slaves
has_aggregated() {
	[ "$(ip netns exec "$1" grep -c 'port state: 6[13]' /proc/net/bonding/bond0)" = 4 ]
}

before_bond() {
	modprobe bonding && rdma link delete rxe0 && two_cards
}

# The driver of bonds looks at its slaves every 100 ms
SLAVES='set -e
	for n in 0 1; do
		up=$(ip -o link show eth$n | grep -c LOWER_UP || true)
		until [ "$up" = "$(grep -cx up /sys/class/net/eth$n/bonding_slave/mii_status)" ]; do sleep 0.1; done
	done'

before_bond_failover() {
	local slave
	ip -n peer link add bond0 type bond mode 802.3ad xmit_hash_policy layer3+4 miimon 100 || return 1
	for slave in eth0 eth1; do
		ip -n peer link set $slave master bond0 && ip -n peer link set $slave up || return 1
	done
	ip -n peer link set bond0 up && ip -n peer addr add 203.0.113.2/24 dev bond0 &&
		ip -n host addr add 203.0.113.1/24 dev bond0 && in_netns peer rxe_add rxe1 bond0 &&
		wait_for 20 in_netns host rxe_ready rxe0 bond0 && wait_for 20 has_aggregated host || return 1
	srv() { in_netns peer "$@"; }
	cli() { in_netns host "$@"; }
	SRV_DEV=rxe1 SRV4=203.0.113.2 SRV_GID=$(srv gid_index rxe1 v2 203.0.113.2)
	CLI_DEV=rxe0 CLI_GID=$(cli gid_index rxe0 v2 203.0.113.1)
	stream_begin && WHERE=(ip netns exec host) SETTLE=$SLAVES
}

after_bond_failover() {
	streams_end
	no_cards && path vms && use_gid v2-ipv4
}

before_mqprio() {
	modprobe sch_mqprio && rdma link delete rxe0 && two_cards numtxqueues 8 numrxqueues 8 && cards_up host 1
}

after_mqprio() {
	no_cards
}

before_netns() {
	rdma link delete rxe0 && two_cards && cards_up host 1 && cards_up peer 2
	SETTLE='! ip -n blue -o link show eth1 | grep -q "[<,]UP" ||
		until ip -n blue -o link show eth1 | grep -q LOWER_UP; do sleep 0.1; done'
}

# The block's shell has mounts of its own, and leaves a file for the namespace
after_netns() {
	rm -f /run/netns/blue
	no_cards
}

# --- routes and priorities ------------------------------------------------------

ALL_GIDS=". $TESTS/lib.sh
	wait_for 10 rxe_ready rxe0 eth0
	[ ! -e /sys/class/net/red ] || [ ! \"\$(ip -o addr show dev red)\" ] || wait_for 10 rxe_ready rxe0 red"

before_vrf() {
	modprobe vrf
	SETTLE=$ALL_GIDS
}

after_vrf() {
	ip link del red && rdma link delete rxe0 && node_network && rxe_add && use_gid v2-ipv4
}

before_tclass_rule() {
	cd /sys/class/infiniband/rxe0
}

before_ttl() {
	cd /sys/class/infiniband/rxe0
}

before_ets() {
	modprobe sch_ets
}

before_ets_classes() {
	run_perftest write_bw 100 65536
}

after_ets_classes() {
	echo -1 > /sys/class/infiniband/rxe0/tc/1/traffic_class && tc qdisc del dev eth0 root
}

# --- limits and counters ------------------------------------------------------

# A server that waits for a client has a context, a CQ, a QP and an MR
before_cgroup_current() {
	PORT=$((PORT + 1))
	(
		echo $BASHPID > $CGROUP/cgroup.procs
		exec ibv_rc_pingpong -d rxe0 -g "$CLI_GID" -p $PORT
	) > /tmp/pingpong 2>&1 &
	SERVER=$!
	wait_tcp $PORT
}

# The kernel would keep the limits of a deleted group, and access its memory when the device is deleted
after_cgroup_current() {
	kill "$SERVER"
	wait "$SERVER" || true
	echo 'rxe0 hca_handle=max hca_object=max' > $CGROUP/rdma.max && wait_for 10 rmdir $CGROUP
}

before_statistic() {
	run_perftest write_bw
}

before_statistic_qp() {
	stream_begin
}

after_statistic_qp() {
	streams_end
	rdma statistic qp set link rxe0/1 auto off
}

before_resource() {
	stream_begin
}

after_resource() {
	streams_end
}

# --- congestion control -------------------------------------------------------------

before_cc_params_refused() {
	cd /sys/kernel/debug/rdma_rxe/cc_params
}

before_knobs_refused() {
	cd /sys/kernel/debug/rdma_rxe
}

# Instead of a switch, rules mark packets of both directions
before_trace() {
	echo dcqcn > /sys/class/infiniband/rxe0/congestion_control &&
		on_b 'echo dcqcn > /sys/class/infiniband/rxe0/congestion_control' && nft -f - <<- END || return 1
	table netdev t {
		chain out {
			type filter hook egress device eth0 priority 0
			udp dport 4791 ip ecn ect0 numgen inc mod 100 2 ip ecn set ce
		}
		chain in {
			type filter hook ingress device eth0 priority 0
			udp dport 4791 ip ecn ect0 numgen inc mod 100 2 ip ecn set ce
		}
	}
	END
	# Otherwise, tracing would also enable sched_switch and sched_wakeup, which patches that code
	echo 0 > /sys/kernel/tracing/options/record-cmd
	stream_begin write read
}

after_trace() {
	streams_end
	nft flush ruleset
	echo window > /sys/class/infiniband/rxe0/congestion_control &&
		on_b 'echo window > /sys/class/infiniband/rxe0/congestion_control'
}

if [ "${RXE_SUITE:-trixie}" != trixie ]; then
	skip all "the guide shows the output of trixie's kernel and tools"
	exit
fi
path_up vms
use_gid v2-ipv4
for name in ${ONLY:-$(guide --list)}; do
	try "$name" block "$name"
done
