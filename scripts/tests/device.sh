# SPDX-License-Identifier: GPL-2.0
# test: links are added, refused, shown and deleted, and leave nothing behind
# nodes: 1
# level: core
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

load_ours

# port_bound: succeeds if UDP port 4791 is bound in this namespace
port_bound() {
	grep -qi ':12B7 ' /proc/net/udp /proc/net/udp6
}

port_free() {
	! port_bound
}

no_links() {
	[ -z "$(rdma link show)" ]
}

netdev() { # NAME [TYPE...]
	local name=$1
	shift
	ip link add "$name" type "${@:-dummy}" && ip link set "$name" up
}

# refused CASE ERROR NAME NETDEV: the device isn't added, the tool prints the error, and either the tool or
# the kernel's log says why
refused() {
	local case=$1 error=$2 name=$3 netdev=$4 out lines
	lines=$(dmesg | wc -l)
	if out=$(rdma link add "$name" type rxe netdev "$netdev" 2>&1); then
		fail "$case" "it was added"
		rdma link delete "$name" || true
		return
	fi
	say "$out"
	dmesg | tail -n +$((lines + 1)) >&2
	if ! grep -qE "$error" <<< "$out"; then
		fail "$case" "error is not '$error': $out"
	elif [ "$(dmesg | wc -l)" = "$lines" ] && ! grep -qi '^Error: ' <<< "$out"; then
		fail "$case" "nobody says why"
	else
		ok "$case"
	fi
}

# refused_by_core CASE NAME NETDEV: the RDMA core refuses to add the device
refused_by_core() {
	local case=$1
	shift
	if rdma link add "$1" type rxe netdev "$2"; then
		fail "$case" "it was added"
	else
		ok "$case"
	fi
}

refusals() {
	refused_by_core refuse-unknown-netdev r0 nosuch
	netdev small && ip link set small mtu 280
	refused refuse-small-mtu 'Invalid argument|out of range|not supported|too' r0 small
	rdma link add r0 type rxe netdev eth0
	refused refuse-second-on-netdev 'exists|busy' r1 eth0
	netdev d9
	refused_by_core refuse-second-name r0 d9
	rdma link delete r0
	try refused-left-no-port wait_for 5 port_free
	# If a reference had leaked, these would wait for ever
	try refused-left-no-reference timeout 20 bash -c \
		'for d in small d9; do ip link del $d; done'
	try refused-left-no-link no_links
}

attributes() {
	local sys=/sys/class/infiniband/some_name.7 mac want
	rxe_add some_name.7 eth0 || { fail any-name "link add"; return; }
	ok any-name
	mac=$(cat /sys/class/net/eth0/address)
	want=$(IFS=:; read -r a b c d e f <<< "$mac"
		printf '%02x%s:%sff:fe%s:%s%s' $((0x$a ^ 2)) "$b" "$c" "$d" "$e" "$f")
	try node-guid [ "$(cat $sys/node_guid)" = "$want" ]
	try node-desc [ -n "$(tr -d '\0\n ' < $sys/node_desc)" ]
	try parent [ "$(cat $sys/parent)" = eth0 ]
	try node-type grep -q 'CA' $sys/node_type
	try link-layer grep -q Ethernet $sys/ports/1/link_layer
	try link-show eval "rdma link show some_name.7/1 | grep -q 'state ACTIVE physical_state LINK_UP netdev eth0'"
	try port-bound port_bound
	try devinfo eval "ibv_devinfo -v -d some_name.7 | grep -q 'PORT_ACTIVE'"
	# 4200 bytes of MTU carry an IB MTU of 4096
	[ "$(cat /sys/class/net/eth0/mtu)" -lt 4200 ] ||
		try active-mtu eval "ibv_devinfo -d some_name.7 | grep -q 'active_mtu:.*4096'"
	try delete rdma link delete some_name.7
	try delete-left-no-port wait_for 5 port_free
}

guid() { # DEVICE
	cat "/sys/class/infiniband/$1/node_guid"
}

# Netdevs with one MAC address: their devices differ, whatever is added first and in which namespace
same_mac() {
	local first dev
	netdev s1 && netdev s2 && ip link set s2 address "$(cat /sys/class/net/s1/address)" &&
		ip link add link s1 name s1.5 type vlan id 5 && ip netns add other &&
		ip link add link s1 name ipv type ipvlan && ip link set ipv netns other || return 1
	for dev in s1 s2 s1.5; do
		rdma link add "r_$dev" type rxe netdev $dev || return 1
	done
	first=$(guid r_s1)
	ip netns exec other bash -c 'ip link set ipv up && rdma link add r_ipv type rxe netdev ipv' || return 1
	[ "$(for dev in s1 s2 s1.5 ipv; do guid r_$dev; done | sort -u | wc -l)" = 4 ] || return 1
	rdma link delete r_s1 && rdma link add r_s1 type rxe netdev s1 && [ "$(guid r_s1)" = "$first" ] || return 1
	for dev in s1 s2 s1.5; do
		rdma link delete "r_$dev" || return 1
	done
	ip netns del other && ip link del s1 && ip link del s2
}

# Any user can query the port: a netdev without a known speed doesn't fill the kernel's log
quiet_query() {
	netdev s1 && rdma link add r_s1 type rxe netdev s1 && ibv_devinfo -d r_s1 > /dev/null &&
		cat /sys/class/infiniband/r_s1/ports/1/{state,rate} && rdma link delete r_s1 && ip link del s1 &&
		[ "$(dmesg | grep -c 'speed is unknown')" = 0 ]
}

several() {
	local i
	for i in 1 2 3 4; do
		netdev m$i && rdma link add rx$i type rxe netdev m$i || return 1
	done
	[ "$(rdma link show | grep -c 'state ACTIVE')" = 4 ] && port_bound || return 1
	for i in 1 2 3; do
		rdma link delete rx$i || return 1
	done
	port_bound && rdma link delete rx4 && wait_for 5 port_free
}

# Loopback has no MAC address.  Data passes between two queue pairs, on the device and through the netdev
loopback() {
	rxe_add rlo lo || return 1
	path loop
	SRV_DEV=rlo CLI_DEV=rlo SRV_NET=lo CLI_NET=lo SRV4=127.0.0.1 CLI4=127.0.0.1
	SRV_GID=$(gid_index rlo v2 $SRV4) CLI_GID=$SRV_GID
	run_rc_pingpong && echo 0 > /sys/class/infiniband/rlo/same_device && run_rc_pingpong && rdma link delete rlo
}

# A tun has neither a MAC address nor an Ethernet header
tun() {
	modprobe tun && taps_up tun || return 1
	SRV_GID=$(srv gid_index rxeB v2 "$SRV4") CLI_GID=$(cli gid_index rxeA v2 "$CLI4")
	run_rc_pingpong || return 1
	kill "$PASSES"
	wait "$PASSES" || true
	ip netns del A && ip netns del B && wait_for 20 no_links
}

unload_with_devices() {
	local i
	for i in 1 2 3; do
		rdma link add rx$i type rxe netdev m$i || return 1
	done
	modprobe -r rdma_rxe && no_links && port_free && [ ! -d /sys/module/rdma_rxe ] || return 1
	for i in 1 2 3 4; do
		timeout 20 ip link del m$i || return 1
	done
}

unload_busy() {
	local pid
	load_ours && rxe_add || return 1
	stdbuf -oL ibv_asyncwatch -d rxe0 > /tmp/watch &
	pid=$!
	wait_for 10 grep -q rxe0 /tmp/watch || return 1
	if modprobe -r rdma_rxe; then
		say "unloaded though a process has the device open"
		return 1
	fi
	rdma link show rxe0/1 | grep -q ACTIVE || return 1
	kill $pid
	wait $pid || true
	wait_for 5 modprobe -r rdma_rxe
}

# The alias of the link type loads the module.  The tree of modules is a small one: depmod of the whole tree
# takes a minute in an emulated machine.
autoload() {
	local tree=/tmp/modules dir dep
	dir=$tree/lib/modules/$(uname -r)
	mkdir -p "$dir/updates" && cp /job/rdma_rxe.ko "$dir/updates/" || return 1
	touch "$dir/modules.builtin" "$dir/modules.order"
	for dep in $(modprobe --show-depends rdma_rxe | awk '$1 == "insmod" { print $2 }' | grep -v /rdma_rxe.ko); do
		cp "$dep" "$dir/" || return 1
	done
	depmod -b $tree "$(uname -r)" || return 1
	printf '#!/bin/sh\nexec modprobe -d %s "$@"\n' $tree > /tmp/modprobe
	chmod +x /tmp/modprobe
	echo /tmp/modprobe > /proc/sys/kernel/modprobe
	rdma link add rxe0 type rxe netdev eth0 && rdma link show rxe0/1 | grep -q netdev || return 1
	# This module is tainted by O: it isn't from the kernel's tree
	grep -q O /sys/module/rdma_rxe/taint && modprobe -r rdma_rxe
}

refusals
attributes
try several-devices several
if [ "${RXE_MODULE:-ours}" = ours ]; then
	try same-mac same_mac
	try quiet-query quiet_query
	try loopback loopback
	try tun tun
fi
try unload-with-devices unload_with_devices
try unload-refused-while-open unload_busy
if [ "${RXE_MODULE:-ours}" = shipped ]; then
	skip autoload "the shipped module is where it is"
else
	try autoload autoload
	echo /sbin/modprobe > /proc/sys/kernel/modprobe
fi
