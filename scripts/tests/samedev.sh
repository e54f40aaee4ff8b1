# SPDX-License-Identifier: GPL-2.0
# test: the direct path between queue pairs of one device crosses no netdev, VLAN or namespace
# nodes: 1
# level: full
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

PORT1=/sys/class/infiniband/rxe0/ports/1
REFUSED='transport retry counter exceeded, nothing'
OFF=''		# prefix of the names of cases

# find_index v1|v2 ADDRESS NETDEV: sets INDEX to that of the netdev's GID
find_index() {
	local type netdev
	for INDEX in $(cd $PORT1/gids && grep -lix "$(gid_of "$2")" -- *); do
		read -r netdev < $PORT1/gid_attrs/ndevs/"$INDEX" && read -r type < $PORT1/gid_attrs/types/"$INDEX" &&
			[[ $netdev = "$3" && $type = *$1 ]] && return
	done
	return 1
}

# result WANTED VERSION ADDRESS NETDEV ADDRESS NETDEV [stranger|COMMAND]: same_device connects queue pairs at
# the two addresses, and prints WANTED
result() {
	local wanted=$1 version=$2 first out
	wait_for 10 find_index "$version" "$3" "$4" && first=$INDEX &&
		wait_for 10 find_index "$version" "$5" "$6" || return 1
	out=$(timeout $((40 * PATIENCE)) same_device rxe0 "$first" "$INDEX" "${@:7}")
	say "$out"
	[ "$out" = "$wanted" ]
}

# The device receives no packets of the netdev, and so doesn't have its address.  An address of v0 is added
# later: when its GID is there, the RDMA core has handled the first address.
not_ours() { # VERSION NETDEV ADDRESS
	ip -n far addr replace "$3/32" dev "$2" && ip -n here addr replace 198.18.0.4/32 dev v0 &&
		wait_for 10 find_index "$1" 198.18.0.4 v0 && ! find_index "$1" "$3" "$2" &&
		ip -n here addr del 198.18.0.4/32 dev v0 && wait_for 10 eval "! find_index $1 198.18.0.4 v0"
}

# Both addresses are on both netdevs.  Each end has the other's address and number, but another netdev.
doubles() { # VERSION
	result "$REFUSED" "$1" 198.18.9.1 v0 198.18.9.2 v0.6
}

# An address is deleted after the connection was made: the connection fails.
address_goes() { # VERSION
	ip -n here addr replace 198.18.0.3/32 dev v0 || return 1
	result "$REFUSED" "$1" 198.18.0.1 v0 198.18.0.3 v0 \
		"ip -n here addr del 198.18.0.3/32 dev v0; $(until_none 198.18.0.3)" || return 1
	ip -n here addr replace 198.18.0.3/32 dev v0 &&
		result "$REFUSED" "$1" 198.18.0.3 v0 198.18.0.1 v0 \
			"ip -n here addr del 198.18.0.3/32 dev v0; $(until_none 198.18.0.3)"
}

# The address is deleted and added again, on the same netdev: connections go on, and new ones work.
address_returns() { # VERSION
	ip -n here addr replace 198.18.0.3/32 dev v0 || return 1
	result "success, wrote" "$1" 198.18.0.1 v0 198.18.0.3 v0 \
		"ip -n here addr del 198.18.0.3/32 dev v0; $(until_none 198.18.0.3); ip -n here addr add 198.18.0.3/32 dev v0; $(until_one 198.18.0.3)" &&
		result "success, wrote" "$1" 198.18.0.1 v0 198.18.0.3 v0
}

until_one() { # ADDRESS: prints a command that waits until the address has a GID
	echo "timeout $((10 * PATIENCE)) bash -c 'until cat $PORT1/gids/* 2> /dev/null | grep -qix $(gid_of "$1"); do :; done'"
}

until_none() { # ADDRESS: prints a command that waits until the address has no GID
	echo "timeout $((10 * PATIENCE)) bash -c 'while cat $PORT1/gids/* 2> /dev/null | grep -qix $(gid_of "$1"); do :; done'"
}

netdev_moves() { # VERSION
	result "$REFUSED" "$1" 198.18.6.1 v0.6 198.18.6.2 v0.6 \
		"ip -n here link set v0.6 netns far; $(until_none 198.18.6.1)" || return 1
	ip -n far link set v0.6 netns here && vlan6
}

vlan6() {
	ip -n here link set v0.6 up && ip -n here addr replace 198.18.6.1/24 dev v0.6 &&
		ip -n here addr replace 198.18.6.2/24 dev v0.6 &&
		ip -n here addr replace 198.18.9.1/32 dev v0.6 && ip -n here addr replace 198.18.9.2/32 dev v0.6
}

# The device is on a netdev in a namespace.  On that netdev are a VLAN and a macvlan, which are moved to
# another namespace, and a VLAN that stays.
load_ours
modprobe -a 8021q macvlan
ip netns add here
ip netns add far
ip -n here link set lo up
ip -n far link set lo up
ip -n here link add v0 type veth peer name v1
ip -n here link set v1 up
ip -n here link set v0 up
for n in 0.1 0.2 9.1 9.2; do
	ip -n here addr add 198.18.$n/32 dev v0
done
ip -n here link add link v0 name v0.5 type vlan id 5
ip -n here link add link v0 name v0.6 type vlan id 6
ip -n here link add link v0 name mv0 type macvlan mode bridge
for netdev in v0.5 mv0; do
	ip -n here link set $netdev netns far
	ip -n far link set $netdev up
done
vlan6
ip netns exec here rdma link add rxe0 type rxe netdev v0

within() { # VERSION
	try "$OFF$1-same-netdev" result "success, wrote" "$1" 198.18.0.1 v0 198.18.0.2 v0
	try "$OFF$1-same-vlan" result "success, wrote" "$1" 198.18.6.1 v0.6 198.18.6.2 v0.6
	try "$OFF$1-same-addresses-elsewhere" doubles "$1"
	try "$OFF$1-stranger" result "$REFUSED" "$1" 198.18.0.1 v0 198.18.0.2 v0 stranger
	try "$OFF$1-address-goes" address_goes "$1"
}

for version in v2 v1; do
	within $version
	try $version-vlan-of-other-namespace not_ours $version v0.5 198.18.5.1
	try $version-macvlan-of-other-namespace not_ours $version mv0 198.18.7.1
	try $version-address-returns address_returns $version
	try $version-netdev-moves netdev_moves $version
done
OFF=packets-
echo 0 > /sys/class/infiniband/rxe0/zero_copy
for version in v2 v1; do
	within $version
done
