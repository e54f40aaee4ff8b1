# SPDX-License-Identifier: GPL-2.0
# test: every address of a netdev and its VLANs is a v1 and a v2 GID while it exists
# nodes: 1
# level: full
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

PORT1=/sys/class/infiniband/rxe0/ports/1
GIDS=1024		# places of the table
LAST=255		# the last index that a program can use: verbs have 8 bits for it

# entries ADDRESS NETDEV: prints the types of the address's GIDs that belong to the netdev, sorted
entries() {
	local index
	for index in $(cd $PORT1/gids && grep -lix "$(gid_of "$1")" -- *); do
		[ "$(cat $PORT1/gid_attrs/ndevs/"$index" 2> /dev/null)" = "$2" ] || continue
		cat "$PORT1/gid_attrs/types/$index" 2> /dev/null
	done | sort | paste -sd,
}

has_both() { # ADDRESS NETDEV
	[ "$(entries "$1" "$2")" = "IB/RoCE v1,RoCE v2" ]
}

has_none() {
	[ -z "$(entries "$1" "$2")" ]
}

comes_and_goes() { # ADDRESS/LEN NETDEV
	ip addr add "$1" dev "$2" && wait_for 10 has_both "${1%/*}" "$2" &&
		ip addr del "$1" dev "$2" && wait_for 10 has_none "${1%/*}" "$2"
}

vlan_goes() {
	ip link del v0.5 && wait_for 10 has_none 198.18.5.1 v0.5 && wait_for 10 has_none 2001:db8:5::1 v0.5
}

# If a netdev moves to another namespace, its VLANs stay, also VLANs on VLANs.  Its device loses their
# addresses
moves_without_vlan() {
	ip netns add X && ip link add link v0 name v0.7 type vlan id 7 && ip link set v0.7 up &&
		ip link add link v0.7 name v0.7.8 type vlan id 8 && ip link set v0.7.8 up &&
		ip addr add 198.18.7.1/24 dev v0.7 && wait_for 10 has_both 198.18.7.1 v0.7 &&
		ip addr add 198.18.8.1/24 dev v0.7.8 && wait_for 10 has_both 198.18.8.1 v0.7.8 &&
		ip link set v0 netns X && wait_for 10 has_none 198.18.7.1 v0.7 &&
		wait_for 10 has_none 198.18.8.1 v0.7.8 || return 1
	ip -n X addr add 198.18.0.1/24 dev v0 && ip -n X link set v0 up && wait_for 10 has_both 198.18.0.1 v0 &&
		has_none 198.18.7.1 v0.7
}

devinfo_shows() {
	local out
	out=$(ibv_devinfo -v -d rxe0) && echo "$out" >&2
	grep -qE 'GID.*::ffff:198.18.0.1, RoCE v2' <<< "$out" && grep -qE 'GID.*RoCE v1' <<< "$out"
}

# Prints the number of GIDs of 198.19.0.0/24
count() {
	cat $PORT1/gids/* 2> /dev/null | grep -c 'ffff:c613:00'
}

# A hundred addresses are added and deleted: the table has all of them, and then none
many() {
	local i
	ip -batch <(for i in $(seq 100); do echo "addr add 198.19.0.$i/32 dev v0"; done) || return 1
	wait_for 20 eval "[ \$(count) = 200 ]" || return 1
	ip -batch <(for i in $(seq 100); do echo "addr del 198.19.0.$i/32 dev v0"; done) || return 1
	wait_for 20 eval "[ \$(count) = 0 ]" && has_both 198.18.0.1 v0 && has_both 2001:db8:9::1 v0
}

# Prints the number of GIDs in the table
in_table() {
	{ cat $PORT1/gid_attrs/types/* 2> /dev/null || true; } | wc -l
}

# fill add|del NUMBER: so many addresses of 198.19.0.0/16
fill() {
	ip -batch <(for i in $(seq 0 $(($2 - 1))); do echo "addr $1 198.19.$((i / 250)).$((i % 250 + 1))/32 dev v0"; done)
}

# The table takes addresses until it is full, and the last GID for programs works.  One more address gets no GIDs, which
# the RDMA core logs, and it takes none from others
full_table() {
	local had num
	had=$(in_table) && num=$(((GIDS - had) / 2)) && fill add $num &&
		wait_for 20 eval "[ \$(in_table) = $GIDS ]" || return 1
	cases last- verbs_err -d rxe0 -g $LAST recv-exact-fit ud-send
	ip addr add 198.19.9.9/32 dev v0 && wait_for 10 no_room 198.19.9.9 && has_none 198.19.9.9 v0 &&
		[ "$(in_table)" = $GIDS ] && has_both 198.18.0.1 v0 && ip addr del 198.19.9.9/32 dev v0 &&
		fill del $num && wait_for 20 eval "[ \$(in_table) = $had ]" || return 1
	comes_and_goes 198.19.9.9/32 v0
}

no_room() { # ADDRESS
	[ "$(dmesg | grep -c "unable to add gid $(gid_of "$1") error=-28")" = 2 ]
}

mode_round() {
	cm_mode rxe0 v1 && grep -q 'RoCE v1' /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_mode &&
		cm_mode rxe0 v2 && grep -q 'RoCE v2' /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_mode
}

load_ours
modprobe 8021q
ip link add v0 type veth peer name v1
ip link set v1 up
ip link set v0 up
ip addr add 198.18.0.1/24 dev v0
ip addr add 2001:db8:9::1/64 dev v0 nodad
rdma link add rxe0 type rxe netdev v0
try ipv4 wait_for 10 has_both 198.18.0.1 v0
try ipv6 wait_for 10 has_both 2001:db8:9::1 v0
try link-local wait_for 10 has_both "$(link_local v0)" v0
try ipv4-comes-and-goes comes_and_goes 198.18.3.1/24 v0
try ipv6-comes-and-goes comes_and_goes 2001:db8:3::1/64 v0
ip link add link v0 name v0.5 type vlan id 5
ip link set v0.5 up
ip addr add 198.18.5.1/24 dev v0.5
ip addr add 2001:db8:5::1/64 dev v0.5 nodad
try vlan-ipv4 wait_for 10 has_both 198.18.5.1 v0.5
try vlan-ipv6 wait_for 10 has_both 2001:db8:5::1 v0.5
try vlan-goes vlan_goes
try devinfo devinfo_shows
try hundred-addresses many
try full-table full_table
try default-roce-mode mode_round
try moves-without-vlan moves_without_vlan
