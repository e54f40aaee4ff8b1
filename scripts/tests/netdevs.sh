# SPDX-License-Identifier: GPL-2.0
# test: every kind of netdev that the distribution's module takes, and data over loopback and tunnels
# nodes: 1
# level: long
# suites: all
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# takes NETDEV TYPES: a device can be added and deleted, and has GIDs of these types
takes() {
	local dev=r_$1 sys=/sys/class/infiniband/r_$1 types
	rdma link add "$dev" type rxe netdev "$1" || return 1
	types=$(cat "$sys"/ports/1/gid_attrs/types/* 2> /dev/null | sort -u | paste -sd,)
	say "GIDs of $1: $types"
	rdma link show "$dev/1" >&2
	[ "$types" = "$2" ] && [ "$(cat "$sys/parent")" = "$1" ] &&
		[ "$(cat "$sys/node_guid")" != 0200:00ff:fe00:0000 ] && rdma link delete "$dev"
}

# kind NAME TYPES TYPE...: tests a netdev of this type, which ip(8) makes, on top of LOWER if that is set
kind() {
	local name=$1 types=$2
	shift 2
	if ! ip link add "$name" ${LOWER:+link $LOWER} type "$@"; then
		skip "takes-$name" "this kernel has no netdev of type $1"
		return
	fi
	ip link set "$name" up
	[ "$types" != "RoCE v2" ] || ip addr add 198.18.77.1/32 dev "$name"
	try "takes-$name" takes "$name" "$types"
	ip link del "$name"
}

tuns() {
	modprobe tun && ip tuntap add tun9 mode tun && ip tuntap add tap9 mode tap &&
		ip addr add 198.18.77.1/32 dev tun9 && ip link set tun9 up && ip link set tap9 up
}

# Makes namespaces A and B, joined by a tunnel over their veth, with devices on the tunnel
tunnel_up() {
	local ns end n=1
	netns_pair || return 1
	for ns in A B; do
		ip netns exec $ns rdma link delete rxe$ns
		ip -n $ns link add tunl type ipip local 203.0.113.$n remote 203.0.113.$((3 - n)) || return 1
		ip -n $ns link set tunl up && ip -n $ns addr add 198.18.80.$n/24 dev tunl || return 1
		ip netns exec $ns rdma link add rxe$ns type rxe netdev tunl || return 1
		n=2
	done
	path veth
	SRV_NET=tunl CLI_NET=tunl SRV4=198.18.80.2 CLI4=198.18.80.1
	SRV_GID=$(srv gid_index rxeB v2 $SRV4) && CLI_GID=$(cli gid_index rxeA v2 $CLI4)
}

# Three VXLANs in one another want more room for headers than most netdevs.  Packets count in the queue of the
# topmost one, which is slow: UC, which has no window, doesn't overflow it.
nested() {
	local ns level dev=veth addr=203.0.113 n=1
	netns_pair || return 1
	for ns in A B; do
		ip netns exec $ns rdma link delete rxe$ns
		dev=veth addr=203.0.113
		for level in 1 2 3; do
			ip -n $ns link add vx$level type vxlan id $level dstport $((4800 + level)) dev $dev \
				local $addr.$n remote $addr.$((3 - n)) || return 1
			dev=vx$level addr=198.18.8$level
			ip -n $ns link set $dev up && ip -n $ns addr add $addr.$n/24 dev $dev || return 1
		done
		ip netns exec $ns rdma link add rxe$ns type rxe netdev $dev || return 1
		n=2
	done
	path veth
	SRV_NET=$dev CLI_NET=$dev SRV4=$addr.2 CLI4=$addr.1
	wait_for 10 use_gid v2-ipv4 && cli tc qdisc add dev $dev root tbf rate 20mbit burst 20k limit 150k &&
		run_perftest uc_write_bw 100 65536 || return 1
	cli tc -s qdisc show dev $dev >&2
	cli tc -s qdisc show dev $dev | grep -q 'dropped 0,'
}

programs() { # PREFIX
	local program
	for program in rc_pingpong ud_pingpong; do
		try "$1-$program" run_$program
	done
	try "$1-write_bw" run_perftest write_bw
	try "$1-read_lat" run_perftest read_lat
}

# The RDMA core of these kernels resolves no loopback address, for any driver.
loopback_cm() { # PROGRAM
	local out LIMIT=30	# rping waits that long for the route
	if out=$("run_$1" 2>&1); then
		ok "lo-$1"
	elif grep -q 'resolve.route.*: No such device' <<< "$out"; then
		skip "lo-$1" "the RDMA core resolves no route to an address of loopback"
	else
		fail "lo-$1" "$out"
	fi
}

loopback() {
	local type
	rxe_add rlo lo || { fail lo "no device"; return; }
	path loop
	SRV_DEV=rlo CLI_DEV=rlo SRV_NET=lo CLI_NET=lo SRV4=127.0.0.1 CLI4=127.0.0.1 SRV6=::1 CLI6=::1
	for type in v2-ipv4 v2-ipv6 v1-ipv4 v1-ipv6; do
		if ! use_gid $type; then
			if [ "${RXE_MODULE:-ours}" = shipped ] && [ ${type%-*} = v1 ]; then
				skip "lo-$type" "it has no v1"
			else
				fail "lo-$type" "no such GID"
			fi
			continue
		fi
		programs "lo-$type"
	done
	use_gid v2-ipv4
	if [ "${RXE_MODULE:-ours}" = ours ]; then
		echo 0 > /sys/class/infiniband/rlo/same_device
		programs lo-through-the-netdev
	fi
	loopback_cm rping
	loopback_cm ucmatose
	rdma link delete rlo
}

# If a namespace is deleted, its loopback netdev is deleted, and the device on that, too
namespace_goes() {
	ip netns add gone && ip -n gone link set lo up &&
		ip netns exec gone rdma link add rgone type rxe netdev lo || return 1
	ip netns del gone && wait_for 20 eval '! [ -e /sys/class/infiniband/rgone ]'
}

load_ours
modprobe -a dummy veth bridge bonding macvlan ipvlan 8021q ipip ip_gre || true
BOTH="IB/RoCE v1,RoCE v2"
if [ "${RXE_MODULE:-ours}" = shipped ]; then
	BOTH="RoCE v2"
fi
ip link add low type dummy
ip link set low up
kind dummy9 "$BOTH" dummy
kind veth9 "$BOTH" veth
kind bridge9 "$BOTH" bridge
kind bond9 "$BOTH" bond
LOWER=low kind macvlan9 "$BOTH" macvlan mode bridge
LOWER=low kind ipvlan9 "$BOTH" ipvlan
kind ipip9 "RoCE v2" ipip local 192.0.2.1 remote 192.0.2.2
kind gre9 "RoCE v2" gre local 192.0.2.1 remote 192.0.2.2
kind gretap9 "$BOTH" gretap local 192.0.2.1 remote 192.0.2.2
kind wg9 "RoCE v2" wireguard
if tuns; then
	try takes-tun takes tun9 "RoCE v2"
	try takes-tap takes tap9 "$BOTH"
	ip link del tun9
	ip link del tap9
else
	skip takes-tun "no tun device"
fi
loopback
try namespace-goes namespace_goes
if modprobe -q vxlan; then
	try nested nested
	unload
	ip netns del A
	ip netns del B
	load_ours
else
	skip nested "this kernel has no VXLAN"
fi
if ! modinfo -n ipip > /dev/null 2>&1; then
	skip ipip "this kernel has no netdev of type ipip"
elif tunnel_up; then
	programs ipip
else
	fail ipip "no tunnel, or no GIDs"
fi

# The netdev's limit for GSO skbs is smaller than a packet.  Packets pass nevertheless.
small_gso() {
	local ns
	for ns in A B; do
		ip -n $ns link set veth gso_max_size 4096 || return 1
	done
	use_gid v2-ipv4 && run_perftest write_bw && use_gid v1-ipv4 && run_perftest write_bw
}

# A macvlan has its own device, on a netdev with a device.  The lower device was added first, but doesn't
# take the macvlan's address.
on_top() {
	ip -n B link add top link veth type macvlan mode bridge && ip -n B link set top up mtu 9000 &&
		ip -n B addr add 203.0.113.9/24 dev top && in_netns B rxe_add rxeT top || return 1
	SRV_DEV=rxeT SRV_NET=top SRV4=203.0.113.9
	use_gid v2-ipv4 && run_rping && run_rc_pingpong
}

# A container has an ipvlan, on a netdev with a device.  The ipvlan has the MAC address of the netdev below:
# the IP address decides whose device gets a packet
on_ipvlan() {
	ip netns add C && ip -n C link set lo up && ip -n B link add ipv link veth netns C type ipvlan mode l2 &&
		ip -n C link set ipv up && ip -n C addr add 203.0.113.8/24 dev ipv &&
		ip -n C addr add 2001:db8:1::8/64 dev ipv nodad && in_netns C rxe_add rxeI ipv || return 1
	srv() { in_netns C "$@"; }
	SRV_DEV=rxeI SRV_NET=ipv SRV4=203.0.113.8 SRV6=2001:db8:1::8
}

# Data passes
data() { # GID-TYPE
	use_gid "$1" && run_rc_pingpong && run_ud_pingpong && run_perftest write_bw 10 60000 && run_perftest read_bw 10 60000
}

# The ipvlan and its device are deleted.  The netdev below keeps its device
ipvlan_goes() {
	ip netns del C && wait_for 20 eval '! [ -e /sys/class/infiniband/rxeI ]' && path veth && use_gid v2-ipv4 && run_rping
}

pair_down() {
	local ns
	[ -z "$PASSES" ] || { kill $PASSES && wait $PASSES || true; }
	PASSES=''
	for ns in A B; do
		ip netns del $ns 2> /dev/null || true
	done
	wait_for 20 eval '! [ -e /sys/class/infiniband/rxeA ] && ! [ -e /sys/class/infiniband/rxeB ]'
}

taps_anew() { # tap_pair.py's OPTION...
	pair_down && taps_up "$@"
}

PASSES=''	# the process that passes packets
pair_down
netns_pair 9000
path veth
if [ "${RXE_MODULE:-ours}" = ours ]; then
	try small-gso small_gso
	try on-top on_top
	ip -n B link del top
	path veth
	try ipvlan on_ipvlan
	for type in v2-ipv4 v2-ipv6; do
		try ipvlan-$type data $type
	done
	try ipvlan-rping run_rping
	try ipvlan-goes ipvlan_goes
	for options in tap "tap --offload"; do
		# shellcheck disable=SC2086 # words
		try "${options/ --/-}" taps_anew $options
		for type in v2-ipv4 v2-ipv6 v1-ipv4; do
			try "${options/ --/-}-$type" data $type
		done
		try "${options/ --/-}-rping" run_rping
	done
	try tun taps_anew tun
	for type in v2-ipv4 v2-ipv6; do
		try tun-$type data $type
	done
	pair_down
fi
