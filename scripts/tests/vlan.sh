# SPDX-License-Identifier: GPL-2.0
# test: a device on a VLAN netdev has the GIDs and tag of that VLAN, beside one on the real netdev
# nodes: 1
# level: full
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband

# gid_netdevs DEV: prints the netdevs whose GIDs the device has
gid_netdevs() {
	cat $SYS/"$1"/ports/1/gid_attrs/ndevs/* 2> /dev/null | sort -u | paste -sd,
}

# Makes namespaces A and B, joined by a veth pair, with VLAN 5 on both ends.
vlans_up() {
	local ns n=1
	netns_pair || return 1
	for ns in A B; do
		ip -n $ns link add link veth name veth.5 type vlan id 5 egress-qos-map 3:6 &&
			ip -n $ns link set veth.5 up && ip -n $ns addr add 198.18.5.$n/24 dev veth.5 &&
			ip -n $ns addr add 2001:db8:5::$n/64 dev veth.5 nodad || return 1
		n=2
	done
	wait_for 10 eval '[ "$(gid_netdevs rxeA)" = veth,veth.5 ]' &&
		wait_for 10 eval '[ "$(gid_netdevs rxeB)" = veth,veth.5 ]'
}

add() { # NS
	ip netns exec "$1" rdma link add "vlan$1" type rxe netdev veth.5
}

# vlan_path [CLIENT'S-DEVICE]: sets the ends of a path by the VLAN.  B has a device on its VLAN
vlan_path() {
	path veth
	SRV_DEV=vlanB CLI_DEV=${1:-vlanA} SRV_NET=veth.5 CLI_NET=veth.5
	SRV4=198.18.5.2 CLI4=198.18.5.1 SRV6=2001:db8:5::2 CLI6=2001:db8:5::1
	SRVLL=$(srv link_local veth.5) CLILL=$(cli link_local veth.5)
}

shown() {
	ip netns exec A rdma link show vlanA/1 | tee /dev/stderr | grep -q 'ACTIVE.*netdev veth.5' &&
		[ "$(cat $SYS/vlanA/parent)" = veth.5 ]
}

# The VLAN's addresses belong to its own device, as soon as there is one, and to no other.
claimed() {
	wait_for 10 eval '[ "$(gid_netdevs vlanA)" = veth.5 ]' &&
		wait_for 10 eval '[ "$(gid_netdevs rxeA)" = veth ]'
}

# The device follows addresses that are added and deleted later
follows() {
	ip -n A addr add 198.18.5.77/24 dev veth.5 && wait_for 10 gid_index vlanA v1 198.18.5.77 &&
		! gid_index rxeA any 198.18.5.77 && ip -n A addr del 198.18.5.77/24 dev veth.5 &&
		wait_for 10 eval '! gid_index vlanA any 198.18.5.77'
}

# Runs a ping-pong with service level 3
pingpong_level() {
	PORT=$((PORT + 1))
	both wait_tcp ibv_rc_pingpong -e -p $PORT -l 3 -d "$SRV_DEV" -g "$SRV_GID" -n 5 -s 3000 -- \
		ibv_rc_pingpong -e -p $PORT -l 3 -d "$CLI_DEV" -g "$CLI_GID" -n 5 -s 3000 "$SRV4"
}

# all_have TAGS FILE: in both directions, all RoCE frames of a capture have these tags, in tcpdump's words
all_have() {
	local ns mac total tags
	for ns in A B; do
		mac=$(mac_of $ns veth)
		total=$(roce_lines "$2" | grep -c " $mac >")
		tags=$(roce_lines "$2" | grep " $mac >" | grep -c "$1")
		say "$ns sent $total frames, $tags with $1"
		[ "$tags" -gt 10 ] && [ "$total" = "$tags" ] || return 1
	done
}

roce_lines() { # FILE
	tcpdump -r "$1" -nne 2> /dev/null | grep '\.4791: \|0x8915'
}

# tagged TYPE: each frame of a ping-pong has the tag, with the priority of its service level
tagged() {
	use_gid "$1" && capture_begin A veth /tmp/vlan.pcap && pingpong_level || return 1
	capture_end
	all_have 'vlan 5, p 6,' /tmp/vlan.pcap
}

# Both devices of A are used at the same time
at_once() {
	local pid
	vlan_path
	use_gid v2-ipv4 && run_rc_random -n 300 & pid=$!
	path veth
	PORT=21000
	use_gid v2-ipv4 && run_rc_random -n 300 && wait $pid
}

to_namespace() { # FROM TO
	ip -n "$1" link set veth.5 netns "$2" && ip -n "$2" link set veth.5 up && ip -n "$2" addr add 198.18.5.1/24 dev veth.5 &&
		wait_for 10 eval '[ "$(gid_netdevs vlanA)" = veth.5 ]' && [ "$(gid_netdevs rxeA)" = veth ]
}

# The VLAN moves to another namespace, and its device with it.  The device of the real netdev doesn't get its
# addresses
moves_along() {
	ip netns add D && ip -n D link set lo up && to_namespace A D || return 1
	cli() { in_netns D "$@"; }
	use_gid v2-ipv4 && run_rc_pingpong && run_rping && to_namespace D A && ip netns del D && vlan_path &&
		use_gid v2-ipv4 && run_rc_pingpong
}

# When the VLAN's device is deleted, the device of the real netdev gets the VLAN's addresses.
released() {
	ip netns exec A rdma link delete vlanA && wait_for 10 eval '[ "$(gid_netdevs rxeA)" = veth,veth.5 ]' &&
		vlan_path rxeA && use_gid v2-ipv4 && run_rc_pingpong
}

# A VLAN is moved to another namespace, and gets a device there.
moves() {
	ip netns add C && ip -n A link set veth.5 netns C && ip -n C link set veth.5 up &&
		ip -n C addr add 198.18.5.1/24 dev veth.5 && ip -n C link set lo up &&
		ip netns exec C rdma link add vlanC type rxe netdev veth.5 || return 1
	vlan_path vlanC
	cli() { in_netns C "$@"; }
	wait_for 10 eval '[ "$(gid_netdevs vlanC)" = veth.5 ]' && use_gid v2-ipv4 && run_rc_pingpong && run_rping
}

# Makes a VLAN on a VLAN, in both namespaces.  Each maps service level 3 to a priority of its own
double_up() {
	local ns n=1
	for ns in A B; do
		ip -n $ns link add link veth name outer type vlan proto 802.1ad id 10 egress-qos-map 3:5 && ip -n $ns link set outer up &&
			ip -n $ns link add link outer name inner type vlan id 6 egress-qos-map 3:6 && ip -n $ns link set inner up &&
			ip -n $ns addr add 198.18.6.$n/24 dev inner || return 1
		n=2
	done
	path veth
	SRV4=198.18.6.2 CLI4=198.18.6.1
}

# double_tagged VERSION: each frame has both tags, each with the priority of the service level
double_tagged() {
	wait_for 10 gid_index "$CLI_DEV" "$1" "$CLI4" && wait_for 10 gid_index "$SRV_DEV" "$1" "$SRV4" && use_gid "$1-ipv4" || return 1
	capture_begin A veth /tmp/qinq.pcap && run_rc_pingpong && run_rping || return 1
	capture_end
	all_have 'vlan 10, p 0,.*vlan 6, p 0,' /tmp/qinq.pcap || return 1
	capture_begin A veth /tmp/qinq.pcap && pingpong_level || return 1
	capture_end
	all_have 'vlan 10, p 5,.*vlan 6, p 6,' /tmp/qinq.pcap
}

double_gone() {
	ip -n A link del outer && ip -n B link del outer
}

# Makes devices on the outer VLANs, and on no other netdev
outer_only() {
	local ns
	double_up || return 1
	for ns in A B; do
		in_netns $ns rdma link delete rxe$ns && in_netns $ns rxe_add out$ns outer || return 1
	done
	SRV_DEV=outB CLI_DEV=outA
}

# have "DEVICE NETDEV,..."...: these devices have the addresses of these netdevs, and of no other
have() {
	local device
	for device; do
		wait_for 10 eval "[ '$device' = \"${device% *} \$(gid_netdevs ${device% *})\" ]" || return 1
	done
}

# A netdev, a VLAN on it and a VLAN on that may each have a device.  An address belongs to the nearest device
outer_shares() {
	have "outA inner,outer" &&
		in_netns A rxe_add rxeA veth && have "rxeA veth" "outA inner,outer" &&
		in_netns A rxe_add inA inner && have "outA outer" "inA inner" &&
		ip netns exec A rdma link delete outA && have "rxeA outer,veth" "inA inner" &&
		ip netns exec A rdma link delete inA && have "rxeA inner,outer,veth" &&
		in_netns A rxe_add outA outer && have "rxeA veth" "outA inner,outer" && use_gid v2-ipv4 && run_rping
}

netdev_goes() {
	ip -n C link del veth.5 && wait_for 20 eval "! [ -e $SYS/vlanC ]"
}

load_ours
modprobe 8021q
try up vlans_up
add A && add B
try shown shown
try claimed claimed
try follows follows
vlan_path
for type in v2-ipv4 v2-ipv6 v1-ipv4 v1-ll; do
	use_gid $type || { fail $type "no such GID"; continue; }
	for program in rc_pingpong ud_pingpong rping ucmatose; do
		try $type-$program run_$program
	done
done
for type in v2-ipv4 v2-ipv6 v1-ipv4; do
	try $type-tagged tagged $type
done
try two-tags double_up
for version in v2 v1; do
	try $version-two-tags double_tagged $version
done
try two-tags-gone double_gone
vlan_path
try moves-along moves_along
path veth
use_gid v2-ipv4
try real-netdev-rping run_rping
try at-once at_once
try released released
try moves-to-namespace moves
try netdev-goes netdev_goes
try outer-only outer_only
for version in v2 v1; do
	try $version-outer-only double_tagged $version
done
try outer-shares outer_shares
try outer-gone eval 'double_gone && wait_for 20 eval "! [ -e $SYS/outA ]"'
