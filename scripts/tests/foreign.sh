# SPDX-License-Identifier: GPL-2.0
# test: packets that a router, a tunnel or a policy has changed are checked one by one
# nodes: 1
# level: full
# debug: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# Namespace A sends frames by its netdev "veth", without an RDMA device.  Each case has another network
# behind it.
SRC4=203.0.113.1 SRC6=2001:db8:1::1

# link NS DEV ADDRESS... -- NS DEV ADDRESS...: makes a veth pair
link() {
	local ns=$1 dev=$2 ends=("$@") i
	for ((i = 0; i < ${#ends[@]}; i++)); do
		[ "${ends[i]}" != -- ] || break
	done
	set -- "${ends[@]:i + 1}"
	ip link add "$dev" netns "$ns" type veth peer name "$2" netns "$1" || return 1
	link_up "${ends[@]:0:i}" && link_up "$@"
}

link_up() { # NS DEV ADDRESS...
	local ns=$1 dev=$2 address
	shift 2
	ip netns exec "$ns" sysctl -qw "net/ipv6/conf/$dev/accept_dad=0"
	ip -n "$ns" link set lo up && ip -n "$ns" link set "$dev" up || return 1
	for address; do
		ip -n "$ns" addr add "$address" dev "$dev" || return 1
	done
}

# namespaces NAME...: loads the module again, and makes these namespaces in place of all others
namespaces() {
	local ns
	unload
	for ns in $(ip netns list | awk '{ print $1 }'); do
		ip netns del "$ns"
	done
	load_ours
	for ns; do
		ip netns add "$ns"
	done
}

# throw CASES DST DST6 MAC [NS DEV]: sends frames of these cases from A, to a sink in B or NS
throw() {
	local cases=$1 dst=$2 dst6=$3 mac=$4 ns=${5:-B} dev=${6:-rxeB} gid
	shift 4
	[ $# = 0 ] || shift 2
	gid=$(in_netns "$ns" gid_index "$dev" v2 "$dst") || return 1
	ip netns exec A env PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/foreign.py" \
		--netdev veth --src-mac "$(mac_of A veth)" --dst-mac "$mac" --src $SRC4 --src6 $SRC6 \
		--dst "$dst" --dst6 "$dst6" --sink-ns "$ns" --sink-dev "$dev" --sink-gid "$gid" "$@" "$cases"
}

# Counts the skbs of RoCE v2 that come in to a namespace, and those that are larger than a packet
count_skbs() { # NS
	ip netns exec "$1" nft -f - <<-END
	table inet count {
		chain in {
			type filter hook prerouting priority -300
			udp dport 4791 counter comment "all"
			udp dport 4791 meta length > 1500 counter comment "large"
		}
	}
	END
}

skbs() { # NS all|large
	ip netns exec "$1" nft list table inet count | sed -n "s/.*packets \([0-9]*\) .*\"$2\".*/\1/p"
}

# fewer_skbs NS BEFORE LIMIT: GRO on the way has combined packets
fewer_skbs() {
	local came
	came=$(($(skbs "$1" all) - $2))
	say "$came skbs came to $1"
	[ "$came" -le "$3" ]
}

# A and B are neighbours
neighbours() {
	namespaces A B
	link A veth $SRC4/24 $SRC6/64 -- B veth 203.0.113.2/24 2001:db8:1::2/64
	in_netns B rxe_add rxeB veth
}

# routed OPTION on|off: R forwards what A sends to B, with this option of ethtool for its GRO
routed() {
	namespaces A R B
	link A veth $SRC4/24 $SRC6/64 -- R ra 203.0.113.254/24 2001:db8:1::fe/64
	link R rb 198.18.0.254/24 2001:db8:2::fe/64 -- B veth 198.18.0.2/24 2001:db8:2::2/64
	ip netns exec R sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ip -n A route add 198.18.0.0/24 via 203.0.113.254
	ip -n B route add 203.0.113.0/24 via 198.18.0.254
	ip netns exec A ethtool -K veth tso off
	ip netns exec R ethtool -K ra gro on "$@"
	in_netns B rxe_add rxeB veth
	count_skbs B
}

# A vxlan tunnel that uses RoCE's port carries TCP, which the GRO of a tun has merged
tunnel() {
	modprobe -a tun vxlan
	neighbours
	ip netns exec A sysctl -qw net.ipv4.ip_forward=1
	ip -n A link add vx0 type vxlan id 1 remote 203.0.113.2 dstport 4791 dev veth nolearning
	ip -n A link set vx0 up
	ip -n A route add 10.8.0.0/24 dev vx0
	ip -n A neigh add 10.8.0.2 lladdr 02:00:00:00:00:01 nud permanent dev vx0
	count_skbs B
	cases "" throw tunnel 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)"
	try tcp-in-vxlan-merged came_merged
}

# The segments came as GSO: a single one has less than 1200 bytes
came_merged() {
	local large
	large=$(skbs B large)
	say "$large of $(skbs B all) skbs were merged"
	[ "$large" -gt 0 ]
}

# forwarded PREFIX CASES SKBS: packets come to B in so many skbs at most.  Each case has a burst, which
# should be one skb, and the marker
forwarded() {
	local before
	before=$(skbs B all)
	cases "$1" throw "$2" 198.18.0.2 2001:db8:2::2 "$(mac_of R ra)"
	try "$1$2-merged" fewer_skbs B "$before" "$3"
}

# R's GRO merges the packets of a train: from the 18th packet on, into a frag_list whose members have many
# packets each.  A sends single packets, since GRO doesn't merge trains.
gro_of_trains() {
	local before
	srv() { in_netns B "$@"; }
	cli() { in_netns A "$@"; }
	ip netns exec A ethtool -K veth tx-udp-segmentation off
	# Otherwise, packets are reordered when the sender or R moves to another processor.  UC loses these
	ip netns exec B sh -c 'echo 1 > /sys/class/net/veth/queues/rx-0/rps_cpus' || return 1
	in_netns A rxe_add rxeA veth || return 1
	SRV_DEV=rxeB SRV4=198.18.0.2 SRV_GID=$(srv gid_index rxeB v2 198.18.0.2)
	CLI_DEV=rxeA CLI_GID=$(cli gid_index rxeA v2 $SRC4)
	before=$(damaged)
	try train-uc-whole run_uc_whole -n 500 -w 12	# a veth with GRO has room for 256 packets
	try train-rc-random run_rc_random -n 500 -q 1 -s 5 -m 65536
	try train-intact combined_and_intact "$before"
}

# Prints how many packets B has dropped as damaged
damaged() {
	(cd /sys/class/infiniband/rxeB/ports/1/hw_counters && cat rx_icrc_encapsulated rx_drop_malformed)
}

# R has merged packets, and B has accepted each of them
combined_and_intact() { # BEFORE: what damaged() has printed
	local sent passed
	sent=$(sent_by A veth) passed=$(sent_by R rb)
	say "$sent packets of A came to B in $passed skbs"
	[ $((passed * 2)) -lt "$sent" ] && [ "$(damaged)" = "$1" ]
}

# An IPsec policy forbids clear text, except from the port of the marker.  GRO in B merges the trains
policy() {
	local ends
	neighbours
	ip netns exec A ethtool -K veth tso off
	ip netns exec B ethtool -K veth gro on
	count_skbs B
	for ends in "src $SRC4 dst 203.0.113.2" "src $SRC6 dst 2001:db8:1::2"; do
		# shellcheck disable=SC2086
		ip -n B xfrm policy add $ends proto udp sport $((0xc123)) dport 4791 dir in \
			tmpl $ends proto esp mode transport level required
	done
	cases policy- throw policy 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)"
	# Two trains of six packets, four packets, four markers.  Packets of a local socket are chained in pairs:
	# a chain doesn't keep the socket, by which GRO compares it with the third packet
	try policy-merged fewer_skbs B 0 14
}

strict() {
	modprobe 8021q
	neighbours
	ip -n B link add veth.5 link veth type vlan id 5
	link_up B veth.5 203.0.113.130/25
	ip -n B link add dummy0 type dummy
	link_up B dummy0 192.0.2.99/32
	wait_for 20 in_netns B rxe_ready rxeB veth.5
	cases "" throw strict 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)" B rxeB \
		--vlan-dst 203.0.113.130 --other-dst 192.0.2.99
	cases "" throw vlan 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)"
}

# Packets come in fragments.  The stack reassembles them when it delivers them.  With connection tracking,
# it reassembles them when they come in.
reassembled() {
	cases "" throw reassembled 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)"
	ip netns exec B nft -f - <<-END
	table inet t {
		chain in {
			type filter hook input priority 0
			ct state invalid drop
		}
	}
	END
	cases tracked- throw reassembled 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)"
	ip netns exec B nft delete table inet t
}

# Packets with the peer's address come in by a second netdev of B, which has no device.  B's reverse path
# filter there is loose.
elsewhere() {
	link A other 198.18.9.1/24 -- B side 198.18.9.2/24
	ip netns exec B sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.side.rp_filter=2
	cases elsewhere- throw elsewhere 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)" B rxeB \
		--other-netdev other --other-mac "$(mac_of B side)"
}

# The same with GRO in B
strict_gro() {
	ip netns exec A ethtool -K veth tso off
	ip netns exec B ethtool -K veth gro on
	cases gro- throw strict 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)" B rxeB \
		--vlan-dst 203.0.113.130 --other-dst 192.0.2.99
	cases gro- throw datagrams 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)"
	cases gro- throw junk 203.0.113.2 2001:db8:1::2 "$(mac_of B veth)"
}

# Two netdevs of B have the same address and a device each, and each is in a VRF of its own.  A packet is
# for the device of the netdev by which it comes in, whichever device was added first.
vrf() {
	local n
	modprobe vrf
	namespaces A C B
	for n in 1 2; do
		ip -n B link add red$n type vrf table 10$n
		ip -n B link set red$n up
	done
	link A veth $SRC4/24 -- B veth1
	link C veth $SRC4/24 -- B veth2
	for n in 1 2; do
		ip -n B link set veth$n master red$n
		link_up B veth$n 203.0.113.2/24 2001:db8:1::2/64
		in_netns B rxe_add rxeB$n veth$n
	done
	cases vrf1- throw own 203.0.113.2 2001:db8:1::2 "$(mac_of B veth1)" B rxeB1
	# By another netdev of the same VRF.  The socket, which counts them, must get packets of VRFs
	link A aside 198.18.9.1/24 -- B side
	ip -n B link set side master red1
	link_up B side 198.18.9.2/24
	ip netns exec B sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.side.rp_filter=0 net.ipv4.udp_l3mdev_accept=1
	cases vrf1-elsewhere- throw elsewhere 203.0.113.2 2001:db8:1::2 "$(mac_of B veth1)" B rxeB1 \
		--other-netdev aside --other-mac "$(mac_of B side)"
	ip netns exec B sysctl -qw net.ipv4.udp_l3mdev_accept=0
	ip -n A link set veth name other
	ip -n C link set veth netns A
	link_up A veth $SRC4/24
	cases vrf2- throw own 203.0.113.2 2001:db8:1::2 "$(mac_of B veth2)" B rxeB2
	try vrf2-with-queue vrf_with_queue
	try vrf2-peer-is-port vrf_peer_is_port
}

# If a VRF's netdev has a queueing discipline, the hooks of LOCAL_OUT are called behind that queue, with
# the packet's own socket
vrf_with_queue() {
	srv() { in_netns A "$@"; }
	cli() { in_netns B "$@"; }
	link A ctl 192.0.2.1/24 -- B ctl 192.0.2.2/24 || return 1
	ip netns exec B tc qdisc add dev red2 root pfifo || return 1
	in_netns A rxe_add rxeA veth || return 1
	SRV_DEV=rxeA SRV4=192.0.2.1 SRV_GID=$(in_netns A gid_index rxeA v2 $SRC4)
	CLI_DEV=rxeB2 CLI_GID=$(in_netns B gid_index rxeB2 v2 203.0.113.2)
	run_rc_random -n 500 -q 2 -s 3 -m 65536
}

# The peer in the VRF has the address of another netdev of B, which has a device and is outside of the
# VRF.  For such overlaps, the VRF's routing table must come before that of local addresses.
vrf_peer_is_port() {
	ip -n B rule add pref 32765 table local && ip -n B rule del pref 0 &&
		ip -n B link add port type dummy && link_up B port $SRC4/24 && in_netns B rxe_add rxeBp port &&
		run_rc_random -n 500 -q 2 -s 4 -m 65536
}

# A host behind B's bridge has the same address as B.  Frames for that host's MAC address aren't for B: B
# forwards them without merging them.
bridged() {
	local skbs
	namespaces A B C
	ip -n B link add br0 type bridge && link_up B br0 203.0.113.2/24 &&
		link A veth $SRC4/24 -- B ba && link C veth 203.0.113.2/24 -- B bc &&
		ip -n B link set ba master br0 && ip -n B link set bc master br0 &&
		ip -n A neigh replace 203.0.113.2 lladdr "$(mac_of C veth)" nud permanent dev veth || return 1
	ip netns exec A ethtool -K veth tso off tx-udp-segmentation off
	ip netns exec B ethtool -K ba gro on
	in_netns A rxe_add rxeA veth && in_netns B rxe_add rxeB br0 && in_netns C rxe_add rxeC veth || return 1
	srv() { in_netns C "$@"; }
	cli() { in_netns A "$@"; }
	SRV_DEV=rxeC SRV4=203.0.113.2 SRV_GID=$(srv gid_index rxeC v2 203.0.113.2)
	CLI_DEV=rxeA CLI_GID=$(cli gid_index rxeA v2 $SRC4)
	run_perftest write_bw 10 60000 || return 1
	skbs=$(ip netns exec B cat /sys/class/net/bc/statistics/tx_packets)
	say "590 packets and some others in $skbs skbs"
	[ "$skbs" -ge 590 ]
}

# R has a device and translates addresses: UDP to its port 4791 may be for D, which is behind a tunnel.
# GRO can't know, and chains it.  The stack has to put the tunnel's headers in front of each packet.
natted() { # vxlan|geneve
	local words=(id 1 remote 2001:db8:3::2) skbs
	namespaces B R D
	link B veth 203.0.113.1/24 -- R rb 203.0.113.2/24 && link R rd 2001:db8:3::1/64 -- D veth 2001:db8:3::2/64 &&
		in_netns R rxe_add rxeR rb || return 1
	[ "$1" != vxlan ] || words+=(dstport 8472)
	ip -n R link add tun0 type "$1" "${words[@]}" && link_up R tun0 10.9.0.1/24 || return 1
	words[3]=2001:db8:3::1
	ip -n D link add tun0 type "$1" "${words[@]}" && link_up D tun0 10.9.0.2/24 &&
		ip -n D route add 203.0.113.0/24 via 10.9.0.1 || return 1
	ip netns exec R sysctl -qw net.ipv4.ip_forward=1 || return 1
	# as a card, it takes no chains
	ip netns exec R ethtool -K rd tx-gso-list off tx-udp-segmentation off
	ip netns exec B ethtool -K veth tso off
	ip netns exec R ethtool -K rb gro on
	ip netns exec R nft -f - <<-END || return 1
	table ip t {
		chain pre {
			type filter hook prerouting priority -300
			iifname rb udp dport 4791 counter name came
		}
		chain post {
			type nat hook postrouting priority 100
			oifname rb masquerade
		}
		counter came { }
	}
	END
	ip netns exec D env PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/natted.py" 10.9.0.2 203.0.113.1 B veth \
		"$(mac_of R rb)" 203.0.113.2 || return 1
	skbs=$(ip netns exec R nft list counter ip t came | sed -n 's/.*packets \([0-9]*\).*/\1/p')
	say "64 packets in $skbs skbs"
	[ "$skbs" -lt 64 ]
}

# can_nat vxlan|geneve: kernels that are built for tests may have no such tunnel, or no NAT
can_nat() {
	modprobe "$1" && nft add table ip probe && nft add chain ip probe c '{ type nat hook postrouting priority 100; }' &&
		nft add rule ip probe c masquerade
	set -- $?
	nft delete table ip probe || true
	return "$1"
}

natted_by() { # vxlan|geneve
	if can_nat "$1"; then
		try "natted-$1" natted "$1"
	else
		skip "natted-$1" "this kernel has no NAT, or no $1"
	fi
}

case=${1:-all}
[[ $case != all && $case != tunnel ]] || tunnel
if [[ $case = all || $case = list ]]; then
	routed rx-gro-list on
	forwarded list- datagrams 22
	forwarded list- junk 12
fi
if [[ $case = all || $case = fwd ]]; then
	routed rx-udp-gro-forwarding on
	forwarded fwd- datagrams 22
	forwarded fwd- junk 12
	forwarded socket- segmented 8
	gro_of_trains
fi
[[ $case != all && $case != policy ]] || policy
[[ $case != all && $case != vrf ]] || vrf
[[ $case != all && $case != bridge ]] || try bridged bridged
if [[ $case = all || $case = nat ]]; then
	natted_by vxlan
	natted_by geneve
fi
if [[ $case = all || $case = strict ]]; then
	strict
	reassembled
	elsewhere
	strict_gro
fi
