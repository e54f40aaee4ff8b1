# SPDX-License-Identifier: GPL-2.0
# test: RoCE v1 in trains: whole through a bridge, split in front of what can't take them, made by GRO
# nodes: 1
# level: core
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/wires.sh"

# Makes namespaces A and B, each with a veth to a bridge, whose ports are toA and toB
bridged_up() {
	local ns n=1
	load_ours
	ip link add name bridge type bridge forward_delay 0 mcast_snooping 0 && ip link set bridge up || return 1
	for ns in A B; do
		ip netns add $ns && ip -n $ns link set lo up &&
			ip link add to$ns master bridge type veth peer name veth netns $ns &&
			ip link set to$ns up && ip -n $ns link set veth up &&
			ip -n $ns addr add 203.0.113.$n/24 dev veth &&
			ip netns exec $ns bash -c ". $TESTS/lib.sh; rxe_add rxe$ns veth" || return 1
		n=2
	done
	path veth
	SRVLL=$(srv link_local veth) CLILL=$(cli link_local veth)
}

bridged_down() {
	ip netns exec A rdma link delete rxeA
	ip netns exec B rdma link delete rxeB
	ip netns del A
	ip netns del B
	ip link del bridge
}

# Prints how many skbs the bridge sends to B for 100 WRITEs of 64 KiB: 6400 packets, or a few hundred trains.
# The number of trains depends on how often the sender is interrupted.  ACKs go the other way.
writes_take() {
	local n
	n=$(counted_by env toB packets run_perftest write_bw 100 65536) && say "toB sent $n packets" && echo "$n"
}

few() {
	local n
	n=$(writes_take) && [ "$n" -lt 2500 ]
}

many() { # a few short trains fit a shaper's bucket
	local n
	n=$(writes_take) && [ "$n" -gt 2500 ]
}

# A capture behind the bridge, in B, shows single packets
captured() {
	local pid status=0
	srv tcpdump -i veth -w /dev/null 2> /tmp/captured &
	pid=$!
	wait_for 20 grep -q 'listening on' /tmp/captured && many || status=1
	srv pkill tcpdump && wait $pid || status=1
	return $status
}

bad_icrcs() {
	cat /sys/class/infiniband/rxeB/ports/1/hw_counters/rx_icrc_encapsulated
}

gso() { # on|off: does the bridge's port to B take trains?
	ethtool -K toB tx-gso-list "$1"
}

split_late() {
	gso off && many && run_random && gso on && few
}

# A shaper segments a train that is larger than its bucket
shaped() {
	tc qdisc add dev toB root tbf rate 500mbit burst 5kb limit 500kb && many && run_random &&
		tc qdisc del dev toB root
}

# netem corrupts some trains, of which a run has a few hundred.  The ICRC shows that, though the trains never
# left the host's memory.
corrupted() {
	local before
	before=$(bad_icrcs) && know_each_other && tc qdisc add dev toB root netem corrupt 10% && run_random &&
		tc qdisc del dev toB root &&
		[ "$(bad_icrcs)" -gt "$before" ]
}

# A veth does no GRO if the sender has TSO.
gro() { # on|off, of the bridge's port to A
	local tso=on
	[ "$1" = off ] || tso=off
	cli ethtool -K veth tso $tso && ethtool -K toA gro "$1"
}

# A sends single packets, and the GRO of the bridge's port makes trains of them
made_by_gro() {
	gro on && switch_is trains 0 && few && run_random
}

# The bridge's other port segments these trains again
split_again() {
	gso off && many && run_random && gso on && switch_is trains 1 && gro off
}

# The same with the tags of a VLAN
vlan() {
	vlan_pair 7 && wait_for 10 use_gid v1-ipv4 && few && run_random && gso off && many && run_random && gso on
}

# RoCE v1 over a vxlan, with trains inside of the tunnel
vxlan() {
	local ns n=1
	for ns in A B; do
		ip netns exec $ns rdma link delete rxe$ns && ip -n $ns link add vx type vxlan id 9 dstport 4789 \
			local 203.0.113.$n remote 203.0.113.$((3 - n)) dev veth && ip -n $ns link set vx up &&
			ip -n $ns addr add 198.18.9.$n/24 dev vx &&
			ip netns exec $ns bash -c ". $TESTS/lib.sh; rxe_add rxe$ns vx" || return 1
		n=2
	done
	SRV4=198.18.9.2 CLI4=198.18.9.1 SRV_NET=vx CLI_NET=vx
	wait_for 10 use_gid v1-ipv4 && run_rc_pingpong && run_random && run_perftest write_bw && gso off && run_random && gso on
}

modprobe -a bridge 8021q vxlan sch_tbf sch_netem || true
if ! bridged_up || ! use_gid v1-ipv4; then
	fail bridged "no devices"
	exit
fi
try whole few
try whole-data run_random
try captured captured
try split-late split_late
try shaped shaped
try corrupted corrupted
try made-by-gro made_by_gro
try split-again split_again
try vlan vlan
try vxlan vxlan
bridged_down
