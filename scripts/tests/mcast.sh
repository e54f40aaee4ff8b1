# SPDX-License-Identifier: GPL-2.0
# test: UD multicast: members on one and several devices, joining and leaving, limits, frames
# nodes: 1
# level: full
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

G4=239.1.2.3 MAC4=01005e010203
G6=ff0e::1:203 MAC6=333300010203
MACV1=3333ef010203	# RDMA_CM writes an IPv4 group as ff0e::ffff:239.1.2.3 for RoCE v1

# igmp, mld, mac: the netdev of the namespace has joined the group, or lets its MAC address in
igmp() { # NS HEX-ADDRESS NETDEV
	ip netns exec "$1" awk -v dev="$3" -v group="$2" '
		/^[0-9]/ { in_dev = $2 == dev } in_dev && $1 == group { found = 1 } END { exit !found }' /proc/net/igmp
}

mld() { # NS HEX-ADDRESS NETDEV
	ip netns exec "$1" grep -q " $3 *$2 " /proc/net/igmp6
}

mac() { # NS MAC NETDEV [USERS]
	ip netns exec "$1" grep -qE " $3 +${4:-[0-9]+} +[0-9]+ +$2" /proc/net/dev_mcast
}

joined() { # NETDEV: of namespace B
	igmp B 030201EF "$1" && mac B $MAC4 "$1"
}

joined6() {
	mld B ff0e0000000000000000000000010203 "$1" && mac B $MAC6 "$1"
}

# A process of the namespace becomes a member, until let_go()
hold() { # NS GROUP [DEV]
	rm -f /tmp/hold
	ip netns exec "$1" verbs_mcast hold "${3:-rxe$1}" 0 "$2" > /tmp/hold &
	HOLDER=$!
	wait_for 20 grep -q ready /tmp/hold
}

# The member is killed
let_go() {
	kill -KILL "$HOLDER"
	wait "$HOLDER" || true
}

# The netdev lets the group's packets in while there are members [A17.4.3]
joins_and_leaves() { # GROUP PREDICATE
	! $2 veth && hold B "$1" && $2 veth && let_go && wait_for 10 eval "! $2 veth"
}

# VLANs of the netdev join the group, too, also a VLAN that is added later.  A VLAN may be deleted meanwhile.
vlan_joins() {
	ip -n B link add link veth name veth.5 type vlan id 5 && ip -n B link set veth.5 up &&
		hold B $G4 && joined veth.5 &&
		ip -n B link add link veth name veth.6 type vlan id 6 && ip -n B link set veth.6 up &&
		joined veth.6 && ip -n B link del veth.5 && joined veth.6 &&
		let_go && wait_for 10 eval '! joined veth.6' && ip -n B link del veth.6
}

# The device of the real netdev doesn't join on a VLAN that has its own device, until that is deleted
vlan_loses_its_device() {
	ip -n B link add link veth name veth.7 type vlan id 7 && ip -n B link set veth.7 up &&
		ip -n B addr add 198.18.7.1/24 dev veth.7 && in_netns B rxe_add rxeV veth.7 &&
		hold B $G4 && joined veth && ! joined veth.7 && ip netns exec B rdma link del rxeV &&
		wait_for 10 joined veth.7 && let_go && wait_for 10 eval '! joined veth.7' &&
		ip -n B link del veth.7
}

# With a small MTU, the netdev loses IPv6, and with it groups and addresses.  Both come back.
ipv6_comes_back() {
	hold B $G6 && joined6 veth && ip -n B link set veth mtu 1200 &&
		! mld B ff0e0000000000000000000000010203 veth && ip -n B link set veth mtu 1500 &&
		wait_for 10 joined6 veth && let_go && wait_for 10 eval '! joined6 veth' &&
		ip -n B addr add $SRV6/64 dev veth nodad &&
		wait_for 10 eval 'srv gid_index rxeB v1 $SRV6 > /dev/null'
}

# device_goes, netdev_goes: the device or its netdev is deleted while there is a member.
device_goes() {
	hold B $G4 && ip netns exec B rdma link del rxeB && wait_for 10 eval '! joined veth' && let_go &&
		ip netns exec B bash -c ". $TESTS/lib.sh; rxe_add rxeB veth"
}

netdev_goes() {
	ip -n B link add gone type dummy && ip -n B link set gone up && ip -n B addr add 198.18.7.1/24 dev gone &&
		ip netns exec B bash -c ". $TESTS/lib.sh; rxe_add rxeG gone" || return 1
	hold B $G4 rxeG && joined gone && timeout 20 ip -n B link del gone && let_go
}

# A netdev with a VLAN, and a VLAN on that, moves to another namespace.  The VLANs stay, and leave the group.
moved_away() {
	ip -n B link add moved type dummy && ip -n B link set moved up && ip -n B addr add 198.18.7.1/24 dev moved &&
		ip netns exec B bash -c ". $TESTS/lib.sh; rxe_add rxeG moved" || return 1
	ip -n B link add link moved name moved.5 type vlan id 5 &&
		ip -n B link add link moved.5 name moved.5.6 type vlan id 6 || return 1
	hold B $G4 rxeG && joined moved && joined moved.5 && joined moved.5.6 &&
		timeout 20 ip -n B link set moved netns A && ! mac A $MAC4 moved &&
		! mac B $MAC4 moved.5 && ! mac B $MAC4 moved.5.6 &&
		ip -n A link set moved up && mac A $MAC4 moved && let_go && ip -n A link del moved
}

gid() { # TYPE: prints the index of A's GID of that version and family
	local address=$CLI4
	[[ $1 = *ipv4 ]] || address=$CLI6
	gid_index rxeA "${1%-*}" "$address"
}

count() { # NS COUNTER
	cat "/sys/class/infiniband/rxe$1/ports/1/hw_counters/$2"
}

# counted NS COUNTER FROM MORE: the counter shows so many more than FROM, as soon as the RDMA core updates it
counted() {
	wait_for 5 eval "[ \$(count $1 $2) = $(($3 + $4)) ]"
}

# members GROUP MODE COUNT MEMBER...: starts members, each NS.NUMBER, in a mode of verbs_mcast, and waits until they
# have joined.  Each prints what it got to /tmp/got.MEMBER
members() {
	local n
	rm -f /tmp/got.*
	pids=()
	for n in "${@:4}"; do
		ip netns exec ${n%.*} timeout $LIMIT verbs_mcast "$2" rxe${n%.*} 0 "$1" "$3" > /tmp/got.$n &
		pids+=($!)
	done
	for n in "${@:4}"; do
		wait_for 20 grep -q ready /tmp/got.$n || return 1
	done
}

# members_got COUNT: each of the members ends, and got so many datagrams
members_got() {
	local pid status=0
	for pid in "${pids[@]}"; do
		wait "$pid" || status=1
	done
	[ $status = 0 ] && [ "$(cat /tmp/got.* | grep -cx "got $1")" = ${#pids[@]} ]
}

# crosses TYPE GROUP: the sender in A reaches two members in B and one in A
crosses() {
	local status=0 sent rcvd
	sent=$(count A multicast_xmit_packets) rcvd=$(count B multicast_rcv_packets)
	members "$2" recv 10 A.0 B.0 B.1 || return 1
	ip netns exec A verbs_mcast send rxeA "$(gid "$1")" "$2" 10 || status=1
	members_got 10 && [ $status = 0 ] &&
		counted A multicast_xmit_packets "$sent" 10 && counted B multicast_rcv_packets "$rcvd" 10
}

# some_lost TYPE GROUP: B loses each twentieth datagram before its device sees it.  Other packets aren't lost.  Nor is
# the datagram that begins with zero, behind the network header, BTH and DETH
some_lost() {
	local protocol=ip match=(match ip dst "$2/32") data=48
	[[ $1 = *v4 ]] || protocol=ipv6 match=(match ip6 dst "$2/128") data=68
	[[ $1 = v2-* ]] || protocol=0x8915 match=(match u32 0 0 at 0) data=60
	ip netns exec B tc qdisc add dev veth clsact &&
		ip netns exec B tc filter add dev veth ingress protocol "$protocol" pref 1 u32 "${match[@]}" \
			match u8 0 0xff at $data action gact pass &&
		ip netns exec B tc filter add dev veth ingress protocol "$protocol" pref 2 u32 "${match[@]}" \
			action gact pass random determ drop 20
}

none_lost() {
	ip netns exec B tc qdisc del dev veth clsact
}

# loses TYPE GROUP: of 200 datagrams, B loses ten.  The others are whole, and each member gets each of them once
loses() {
	local status=0 sent rcvd
	sent=$(count A multicast_xmit_packets) rcvd=$(count B multicast_rcv_packets)
	members "$2" some 200 B.0 B.1 || return 1
	some_lost "$1" "$2" && ip netns exec A verbs_mcast send rxeA "$(gid "$1")" "$2" 200 &&
		ip netns exec A verbs_mcast end rxeA "$(gid "$1")" "$2" || status=1
	members_got 190 || status=1
	say "$(tail -n 1 /tmp/got.*) $(ip netns exec B tc -s filter show dev veth ingress | grep -o 'Sent.*dropped [0-9]*')"
	none_lost && [ $status = 0 ] &&
		counted A multicast_xmit_packets "$sent" 201 && counted B multicast_rcv_packets "$rcvd" 191
}

# frames TYPE GROUP MAC: each datagram is one frame on the wire, to the group's MAC address
frames() {
	local fields
	capture_begin B veth /tmp/mcast.pcap 'udp port 4791 or ether proto 0x8915' && crosses "$1" "$2" &&
		wait_for 10 eval '[ "$(tcpdump -r /tmp/mcast.pcap --count 2> /dev/null | cut -d " " -f 1)" -ge 10 ]' || return 1
	capture_end
	fields=$(roce_fields /tmp/mcast.pcap mac hop qpn | sort | uniq -c)
	say "$fields"
	[ "$(awk -v mac="$3" '{ print $1, $2 == mac, $3, $4 }' <<< "$fields")" = "10 1 3 $((0xffffff))" ]
}

# mckey joins the group by RDMA_CM, and data passes.  The netdev leaves the group afterwards
run_mckey() { # TYPE GROUP MAC USERS
	local pid status=0
	use_gid "$1" || return 1
	srv timeout $LIMIT mckey -b "$SRV_CM" -m "$2" -C 10 -S 100 &
	pid=$!
	wait_for 20 mac B "$3" veth "$4" && cli timeout $LIMIT mckey -b "$CLI_CM" -m "$2" -s -C 10 -S 100 || status=1
	[ $status = 0 ] || kill $pid
	wait $pid || status=1
	wait_for 10 eval "! mac B $3 veth" || status=1
	return $status
}

# Another program has joined the group, so the netdev lets its packets in.  The device drops and counts them.
drops() {
	local file=/sys/class/infiniband/rxeB/ports/1/hw_counters/rx_drop_address before pid status=0
	rm -f /tmp/hold
	ip netns exec B python3 -c "
import signal, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
             socket.inet_aton('$G4') + socket.inet_aton('203.0.113.2'))
print('ready', flush=True)
signal.pause()" > /tmp/hold &
	pid=$!
	before=$(cat $file)
	wait_for 20 grep -q ready /tmp/hold && ip netns exec A verbs_mcast send rxeA "$(gid v2-ipv4)" $G4 5 &&
		wait_for 10 eval "[ \$(cat $file) = $((before + 5)) ]" || status=1
	kill $pid
	wait $pid || true
	return $status
}

path_up veth
in_order
for ns in A B; do
	ip -n $ns route add 224.0.0.0/4 dev veth
done

for type in v2-ipv4 v1-ipv4 v2-ipv6 v1-ipv6; do
	group=$G4
	[[ $type = *ipv4 ]] || group=$G6
	cases "local-$type-" ip netns exec A verbs_mcast local rxeA "$(gid $type)" $group
done
try joins-igmp joins_and_leaves $G4 joined
try joins-mld joins_and_leaves $G6 joined6
try vlan vlan_joins
try vlan-loses-its-device vlan_loses_its_device
try ipv6-comes-back ipv6_comes_back
try frames-v2-ipv4 frames v2-ipv4 $G4 $MAC4
try frames-v2-ipv6 frames v2-ipv6 $G6 $MAC6
try frames-v1-ipv4 frames v1-ipv4 $G4 $MAC4
try frames-v1-ipv6 frames v1-ipv6 $G6 $MAC6
try loss-v2-ipv4 loses v2-ipv4 $G4
try loss-v2-ipv6 loses v2-ipv6 $G6
try loss-v1-ipv6 loses v1-ipv6 $G6
try no-member drops
try mckey-v2-ipv4 run_mckey v2-ipv4 $G4 $MAC4 2
try mckey-v1-ipv4 run_mckey v1-ipv4 $G4 $MACV1 2
try mckey-v1-ipv6 run_mckey v1-ipv6 $G6 $MAC6 2
try udaddy eval 'use_gid v2-ipv4 && run_udaddy'
try device-goes device_goes
try netdev-goes netdev_goes
try moved-away moved_away
try resources-gone wait_for 5 resources_gone
try kernel-log dmesg_clean
