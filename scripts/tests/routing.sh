# SPDX-License-Identifier: GPL-2.0
# test: RoCE v2 across routers: ECMP, policy, changes under traffic, and why a peer doesn't answer
# nodes: 1
# level: long
# suites: all
# debug: yes
# timeout: 330
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband
MTU=1500

# Makes namespaces A and B, each on its own segment, and two routers R and S between the segments
routers_up() {
	local ns n
	ip link add name segA type bridge forward_delay 0 && ip link set segA up &&
		ip link add name segB type bridge forward_delay 0 && ip link set segB up || return 1
	for ns in A B R S; do
		ip netns add $ns && ip -n $ns link set lo up || return 1
	done
	plug A A veth && plug B B veth || return 1
	for ns in R S; do
		plug $ns A toA && plug $ns B toB && ip netns exec $ns sysctl -qw net.ipv4.ip_forward=1 \
			net.ipv6.conf.all.forwarding=1 net.ipv4.conf.toA.arp_notify=1 net.ipv4.conf.toA.promote_secondaries=1 net.ipv4.conf.all.send_redirects=0 \
			net.ipv4.conf.toA.send_redirects=0 net.ipv4.icmp_ratelimit=0 || return 1
	done
	addresses A veth 1 1 && addresses B veth 2 2 || return 1
	n=254
	for ns in R S; do
		addresses $ns toA 1 $n && ip -n $ns addr add 198.18.1.$((n - 10))/24 dev toA && addresses $ns toB 2 $n || return 1
		n=253
	done
	ip -n A route add 198.18.2.0/24 via 198.18.1.254 && ip -n A route add 2001:db8:2::/64 via 2001:db8:1::254 &&
		ip -n B route add 198.18.1.0/24 via 198.18.2.254 && ip -n B route add 2001:db8:1::/64 via 2001:db8:2::254 &&
		in_netns A rxe_add rxeA veth && in_netns B rxe_add rxeB veth || return 1
	path veth
	SRV4=198.18.2.2 CLI4=198.18.1.1 SRV6=2001:db8:2::2 CLI6=2001:db8:1::1
	wait_for 20 cli ping -q -c 1 -W 1 $SRV4 && wait_for 20 cli ping -q -c 1 -W 1 $SRV6
}

plug() { # NS A|B NETDEV
	ip link add "port$1$2" type veth peer name "$3" netns "$1" && ip link set "port$1$2" master "seg$2" up &&
		ip -n "$1" link set "$3" up
}

addresses() { # NS NETDEV SUBNET HOST
	ip -n "$1" addr add "198.18.$3.$4/24" dev "$2" && ip -n "$1" addr add "2001:db8:$3::$4/64" dev "$2" nodad
}

# The next functions are for both families: TYPE is v2-ipv4 or v2-ipv6
TYPE=v2-ipv4

# via ROUTER [ROUTER]: sets A's route to B
via() {
	local net=198.18.2.0/24 gate=198.18.1. hops=() router host
	[ $TYPE != v2-ipv6 ] || net=2001:db8:2::/64 gate=2001:db8:1::
	for router; do
		[ "$router" = R ] && host=254 || host=253
		hops+=(nexthop via "$gate$host")
	done
	[ $# -gt 1 ] || hops=("${hops[@]:1}")
	ip -n A route replace $net "${hops[@]}"
}

across() { # GID-TYPE
	use_gid "$1" && run_rc_pingpong && run_ud_pingpong && run_rping
}

# goes_by ROUTER COMMAND...: the packets to B go by this router only
goes_by() {
	local other=R before by
	[ "$1" = S ] || other=S
	by=$(sent_by "$1" toB) before=$(sent_by $other toB)
	"${@:2}" || return 1
	by=$(($(sent_by "$1" toB) - by)) before=$(($(sent_by $other toB) - before))
	say "$by packets by $1, $before by $other"
	[ $by -gt 15 ] && [ $before -lt 10 ]
}

ecmp() {
	local status=0
	ip netns exec A sysctl -qw net.ipv4.fib_multipath_hash_policy=1 net.ipv6.fib_multipath_hash_policy=1 &&
		via R S && use_gid $TYPE || return 1
	spread_over R toB S toB || status=1
	via R && return $status
}

by_source() {
	addresses A veth 1 9 && ip -n A route add 198.18.2.0/24 via 198.18.1.253 table 100 &&
		ip -n A rule add from 198.18.1.9 table 100 && wait_for 20 in_netns A rxe_ready rxeA veth || return 1
	use_gid v2-ipv4 && goes_by R run_rc_pingpong && CLI4=198.18.1.9 && use_gid v2-ipv4 && goes_by S run_rc_pingpong
	set -- $?
	CLI4=198.18.1.1
	ip -n A rule del from 198.18.1.9 table 100
	return "$1"
}

by_tos() {
	ip -n A rule add tos 0x10 table 100 && use_gid v2-ipv4 && goes_by R run_rc_pingpong &&
		echo 16 > $SYS/rxeA/tc/1/traffic_class && goes_by S run_rc_pingpong
	set -- $?
	echo -1 > $SYS/rxeA/tc/1/traffic_class
	ip -n A rule del tos 0x10 table 100
	return "$1"
}

# A rule marks packets when they leave, after their route was looked up.  They are routed again
by_mark() {
	ip -n A rule add fwmark 7 table 100 && ip netns exec A nft -f - <<- END || return 1
	table ip m {
		chain c {
			type route hook output priority -150
			udp dport 4791 meta mark set 7
		}
	}
	END
	use_gid v2-ipv4 && goes_by S run_rc_pingpong
	set -- $?
	ip netns exec A nft flush ruleset
	ip -n A rule del fwmark 7 table 100
	return "$1"
}

# moved_to ROUTER: the same queue pairs send their packets by this router now
moved_to() {
	wait_for 10 goes_by "$1" stream_moves && stream_alive
}

# Runs a command that changes routes, while queue pairs send
changes() { # COMMAND
	use_gid $TYPE && stream_begin && "$@"
	set -- $?
	[ "$1" = 0 ] || tail -n 3 /tmp/write-* >&2
	stream_end && return "$1"
}

route_change() {
	moved_to R && via S && moved_to S && via R && moved_to R
}

# The router's MAC address changes, and the router announces the new one
neighbour_change() {
	ip -n R link set toA address 52:54:00:11:22:33 && moved_to R && ip -n A neigh show 198.18.1.254 | grep -q 52:54:00:11:22:33
}

# The client's own MAC address changes.  The RDMA core then replaces the GIDs.  The queue pairs must find a
# route nevertheless
own_mac_change() { # MAC
	ip netns exec A sysctl -qw net.ipv4.conf.veth.arp_notify=1 net.ipv6.conf.veth.ndisc_notify=1 &&
		ip -n A link set veth address "$1" && moved_to R && wait_for 10 in_netns A rxe_ready rxeA veth &&
		via S && moved_to S && via R && moved_to R
}

# ip fails if traffic has restored the entry after each of its ten rounds
forget_router() {
	ip -n A neigh flush to 198.18.1.254 || true
}

# The address of the router moves to the other router
neighbour_moves() {
	ip -n R addr del 198.18.1.254/24 dev toA && ip -n S addr add 198.18.1.254/24 dev toA && forget_router &&
		moved_to S && ip -n S addr del 198.18.1.254/24 dev toA && ip -n R addr add 198.18.1.254/24 dev toA &&
		forget_router && moved_to R
}

# A router drops packets for a while: the queue pairs survive
short_drop() {
	drop 'counter drop' && wait_for 10 dropped 3 && ip netns exec R nft flush ruleset && moved_to R
}

drop() { # VERDICT
	ip netns exec R nft -f - <<-END
	table inet t {
		chain f {
			type filter hook forward priority 0
			udp dport 4791 $1
		}
	}
	END
}

# A router changes the source address of packets: their ICRC and their sender are wrong then
masquerade() {
	ip netns exec R nft -f - <<-END
	table ip n {
		chain c {
			type nat hook postrouting priority srcnat
			oifname "toB" udp dport 4791 masquerade
		}
	}
	END
}

# dropped COUNT: the router has dropped so many packets
dropped() {
	[ "$(ip netns exec R nft list ruleset | sed -n 's/.*counter packets \([0-9]*\).*/\1/p')" -ge "$1" ]
}

# ends COMMAND WORDS: after the command, a queue pair ends with a retry error, and one line of the log has the
# words
ends() {
	local lines status=0
	use_gid $TYPE && PERF_TIMEOUT=14 stream_begin || return 1
	lines=$(dmesg | wc -l)
	eval "$1" && wait_for 30 grep -q 'status 12\|retry counter exceeded\|vendor_err\|Completion with error' /tmp/write-cli || status=1
	tail -n 3 /tmp/write-cli >&2
	stream_end || status=1
	dmesg | tail -n +$((lines + 1)) >&2
	[ $status = 0 ] && [ "$(dmesg | tail -n +$((lines + 1)) | grep -c 'rxeA: QP .* exceeded')" = 1 ] &&
		dmesg | tail -n +$((lines + 1)) | grep 'rxeA: QP .* exceeded' | grep -q "$2"
}

undo() {
	"$@"
	set -- $?
	ip netns exec R nft flush ruleset
	ip -n R route del unreachable 198.18.2.2 2> /dev/null
	# A netdev loses IPv6 and its addresses with an MTU below 1280
	ip -n R link set toB mtu $MTU && ip -n R addr replace 2001:db8:2::254/64 dev toB nodad
	ip -n A route flush cache
	ip -n A -6 route flush cache
	ip -n B route flush cache
	ip -n B -6 route flush cache
	via R
	ip -n A link set veth up
	[ -e $SYS/rxeB ] || in_netns B rxe_add rxeB veth
	wait_for 10 cli ping -q -c 1 -W 1 "$SRV4"
	return "$1"
}

# With a small MTU at the router, a connection with a small IB MTU works
small_mtu() { # MTU-OF-ROUTER MTU-OF-CONNECTION
	ip -n R link set toB mtu "$1" && use_gid $TYPE || return 1
	PORT=$((PORT + 1))
	both wait_tcp ibv_rc_pingpong -m "$2" -e -p $PORT -d rxeB -g "$SRV_GID" -n 10 -s 30000 -- \
		ibv_rc_pingpong -m "$2" -e -p $PORT -d rxeA -g "$CLI_GID" -n 10 -s 30000 "$SRV4"
}

# IPv6 has no MTU below 1280, and an IB MTU of 1024 fits that.  So all netdevs get an MTU for an IB MTU of 2048
large_mtu() {
	local ns port
	MTU=2400
	for ns in A B; do
		ip -n $ns link set veth mtu $MTU && ip link set port$ns$ns mtu $MTU || return 1
	done
	for ns in R S; do
		for port in A B; do
			ip -n $ns link set to$port mtu $MTU && ip link set port$ns$port mtu $MTU || return 1
		done
	done
	ip link set segA mtu $MTU && ip link set segB mtu $MTU &&
		wait_for 10 eval 'ip netns exec A ibv_devinfo -d rxeA | grep -q "active_mtu:.*2048"' &&
		wait_for 10 eval 'ip netns exec B ibv_devinfo -d rxeB | grep -q "active_mtu:.*2048"'
}

# S, through which no packet goes, forges ICMP errors to both ends.  The hosts believe them, a queue
# pair doesn't: neither the one that there is, nor a new one
forged_mtu() { # MTU
	wait_for 20 forge_mtu A "$CLI_CM" "$SRV_CM" "$1" && wait_for 20 forge_mtu B "$SRV_CM" "$CLI_CM" "$1" &&
		stream_moves && stream_moves && run_perftest write_bw && run_perftest read_bw &&
		has_path_mtu A "$SRV_CM" "$1" && has_path_mtu B "$CLI_CM" "$1"
}

# A forger doesn't learn whether the error has come, and sends it again
forge_mtu() { # NS VICTIM PEER MTU
	ip netns exec S env PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/icmp_forge.py" mtu "${@:2}" && has_path_mtu "$1" "$3" "$4"
}

has_path_mtu() { # NS PEER MTU
	ip -n "$1" route get "$2" | grep "mtu $3"
}

# Neither do packets become smaller by the "mtu" of a route, so that it doesn't stop them
route_mtu() { # MTU
	local net=198.18.2.0/24 gate=198.18.1.254
	[ $TYPE != v2-ipv6 ] || net=2001:db8:2::/64 gate=2001:db8:1::254
	ip -n A route replace $net via $gate mtu "$1" && has_path_mtu A "$SRV_CM" "$1" && stream_moves && stream_moves
}

# RoCE v1 isn't routed: the client gets an error at once, without a server
v1_fails() { # ADDRESS
	local status=0
	cm_mode rxeA v1 || return 1
	cli timeout $((10 * PATIENCE)) ucmatose -s "$1" > /tmp/v1 2>&1 || status=$?
	cat /tmp/v1
	cm_mode rxeA v2 && [ $status != 124 ] && grep -q 'No route to host' /tmp/v1 &&
		dmesg | grep -q "rxeA: .*${1##*[.:]} is behind a router"
}

load_ours
try hooks hooks_on
try up routers_up
try across-ipv4 across v2-ipv4
try across-ipv6 across v2-ipv6
try v1-ipv4 v1_fails $SRV4
try v1-ipv6 v1_fails $SRV6
try ecmp ecmp
try by-source by_source
try by-tos by_tos
try by-mark by_mark
try route-change changes route_change
try neighbour-change changes neighbour_change
try own-mac-change changes own_mac_change 52:54:00:44:55:66
try neighbour-moves changes neighbour_moves
try short-drop undo changes short_drop
TYPE=v2-ipv6
try ecmp-ipv6 ecmp
try route-change-ipv6 changes route_change
try own-mac-change-ipv6 changes own_mac_change 52:54:00:44:55:77
TYPE=v2-ipv4
# This case comes before those with ICMP errors, which are remembered for a while
try ends-drop undo ends 'drop "counter drop"' 'packets or answers are lost'
try ends-nat undo ends masquerade 'packets or answers are lost'
try small-mtu-fits undo small_mtu 900 512
try forged-mtu undo changes forged_mtu 600
try route-mtu undo changes route_mtu 600
try ends-mtu undo ends 'ip -n R link set toB mtu 900' 'too big'
try ends-reject undo ends 'drop "reject with icmpx type admin-prohibited"' 'a firewall rejects it'
try ends-unreachable undo ends 'ip -n R route add unreachable 198.18.2.2' 'host unreachable'
try ends-no-device undo ends 'rdma link delete rxeB' 'port unreachable'
TYPE=v2-ipv6
try ends-no-device-ipv6 undo ends 'rdma link delete rxeB' 'port unreachable'
try large-mtu large_mtu
try small-mtu-fits-ipv6 undo small_mtu 1400 1024
try forged-mtu-ipv6 undo changes forged_mtu 1280
try route-mtu-ipv6 undo changes route_mtu 1280
try ends-mtu-ipv6 undo ends 'ip -n R link set toB mtu 1400' 'too big'
TYPE=v2-ipv4
try ends-link undo ends 'ip -n A link set veth down' 'the netdev is down'
