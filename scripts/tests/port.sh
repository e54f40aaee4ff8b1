# SPDX-License-Identifier: GPL-2.0
# test: which sockets may send to UDP port 4791, and with which priority; also behind masquerading
# nodes: 1
# level: core
# debug: yes
# timeout: 180
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)

# says WHAT COMMAND...: the command prints exactly this
says() {
	local what=$1 said
	shift
	said=$("$@")
	[ "$said" = "$what" ] || { say "$said, not $what: $*"; return 1; }
}

anybody() { cli "${NOBODY[@]}" python3 - "$@" < "$TESTS/py/udp_to.py"; }	# a user without access to the script
raw() { cli python3 - "$@" < "$TESTS/py/udp_to.py"; }

counter() { # DEV NAME
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# packets OPTION...: prints how many packets udp_to sends with these options.  With "gso", four leave in one
# skb
packets() {
	case " $* " in
	*" gso "*) echo 4 ;;
	*) echo 1 ;;
	esac
}

# The sender gets EPERM, nothing reaches the peer, and each packet is counted.
refused() { # OPTION of udp_to...
	local rcvd dropped
	rcvd=$(counter rxeB rcvd_pkts) dropped=$(counter rxeA tx_drop_unprivileged)
	says EPERM anybody "$@" && [ "$(counter rxeB rcvd_pkts)" = "$rcvd" ] &&
		[ "$(counter rxeA tx_drop_unprivileged)" = $((dropped + $(packets "$@"))) ]
}

# The sender's own device doesn't get the packet, either
refused_here() { # OPTION of udp_to...
	local rcvd
	rcvd=$(counter rxeA rcvd_pkts)
	refused "$@" && [ "$(counter rxeA rcvd_pkts)" = "$rcvd" ]
}

allowed() { # OPTION of udp_to...
	says sent anybody "$@"
}

switched() {
	switch_is guard_port 0 && allowed $SRV4 4791 && switch_is guard_port 1 && refused $SRV4 4791
}

# The highest priority of the packets that a client with SL 7 sends
PINGPONG=ibv_rc_pingpong
priority_is() { # PRIORITY COMMAND...
	local want=$1
	shift
	cli nft -f - <<-END || return 1
	table inet t
	delete table inet t
	table inet t {
		chain out {
			type filter hook output priority 0
			udp dport 4791 meta priority 0:6 counter name six
			udp dport 4791 meta priority 0:7 counter name seven
		}
		counter six { }
		counter seven { }
	}
	END
	PORT=$((PORT + 1))
	both wait_tcp "$PINGPONG" -e -p $PORT -d "$SRV_DEV" -g "$SRV_GID" -n 10 -- \
		"$@" "$PINGPONG" -e -p $PORT -d "$CLI_DEV" -g "$CLI_GID" -n 10 -l 7 "$SRV4" || return 1
	cli nft list counters table inet t >&2
	case $want in
	6) counted six && ! counted seven ;;
	7) counted seven && ! counted six ;;
	esac
}

counted() {
	grep -q 'packets [1-9]' <<< "$(cli nft list counter inet t "$1")"
}

# Namespace C is behind A, as a container is behind its host
container_up() {
	ip netns add C && ip link add inner netns A type veth peer name veth netns C &&
		ip netns exec A sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 &&
		side_up A inner 198.18.7.1/24 2001:db8:7::1/64 && side_up C veth 198.18.7.2/24 2001:db8:7::2/64 &&
		ip -n C route add default via 198.18.7.1 && ip -n C route add default via 2001:db8:7::1 &&
		ip -n B route add 198.18.7.0/24 via $CLI4 && ip -n B route add 2001:db8:7::/64 via $CLI6
}

side_up() { # NS DEV ADDRESS ADDRESS6
	ip -n "$1" link set "$2" up && ip -n "$1" addr add "$3" dev "$2" && ip -n "$1" addr add "$4" dev "$2" nodad
}

contained() { ip netns exec C "${NOBODY[@]}" python3 - "$@" < "$TESTS/py/udp_to.py"; }

# translated NETDEV TYPE RULE...: A applies these rules to packets that leave by the netdev
translated() {
	local netdev=$1 type=$2 rule
	shift 2
	{
		printf 'table inet n\ndelete table inet n\n'
		printf 'table inet n { chain post { type %s hook postrouting priority 100;\n' "$type"
		for rule; do
			echo "oifname $netdev $rule"
		done
		printf '}\n}\n'
	} > /tmp/rules
	cat /tmp/rules >&2
	ip netns exec A nft -f /tmp/rules
}

is_counter() { # DEV NAME VALUE
	[ "$(counter "$1" "$2")" = "$3" ]
}

# The sender gets no error, but nothing reaches the peer, and each packet is counted.
stopped() { # OPTION of udp_to...
	local rcvd dropped
	rcvd=$(counter rxeB rcvd_pkts) dropped=$(counter rxeA tx_drop_unprivileged)
	says sent contained "$@" && wait_for 20 is_counter rxeA tx_drop_unprivileged $((dropped + $(packets "$@"))) &&
		is_counter rxeB rcvd_pkts "$rcvd"
}

forwarded() { # OPTION of udp_to...
	local rcvd dropped
	rcvd=$(counter rxeB rcvd_pkts) dropped=$(counter rxeA tx_drop_unprivileged)
	says sent contained "$@" && wait_for 20 is_counter rxeB rcvd_pkts $((rcvd + 1)) &&
		is_counter rxeA tx_drop_unprivileged "$dropped"
}

forwarded_switched() {
	switch_is guard_port 0 && forwarded $SRV4 4791 && switch_is guard_port 1 && stopped $SRV4 4791
}

# A process sends by another netdev, and a rule takes the packet to the device's
rerouted() {
	local status=0
	cli ip route add default via $SRV4 table 77 && cli ip rule add fwmark 77 lookup 77 && cli nft -f - <<-END || return 1
	table inet r {
		chain out {
			type route hook output priority mangle
			ip daddr 198.18.9.2 meta mark set 77
		}
	}
	END
	refused 198.18.9.2 4791 198.18.9.1 || status=1
	cli nft delete table inet r && cli ip rule del fwmark 77 && cli ip route flush table 77 && return $status
}

# NAT gives a process's packet the address of the device
own_translated() {
	if translated other nat "ip protocol udp snat ip to $CLI4"; then
		try own-translated refused 198.18.9.2 4791
	else
		skip own-translated "this kernel has no NAT"
	fi
	ip netns exec A nft delete table inet n || true
}

# Without a connection table, too: some kernels have no NAT
behind() {
	try routed forwarded $SRV4 4791
	try routed-ipv6 forwarded $SRV6 4791
	translated veth filter "ip saddr set $CLI4" "ip6 saddr set $CLI6" || fail translated "no such rule"
	try translated stopped $SRV4 4791
	try translated-ipv6 stopped $SRV6 4791
	if translated veth nat masquerade; then
		try masquerade stopped $SRV4 4791
		try masquerade-ipv6 stopped $SRV6 4791
		try masquerade-gso stopped $SRV4 4791 gso
		try masquerade-fragments stopped $SRV4 4791 long
		try masquerade-switch forwarded_switched
		try masquerade-other ip netns exec C ping -q -c 1 -W 20 $SRV4
		try masquerade-other-port udp_through 4792
	else
		skip masquerade "this kernel has no NAT"
	fi
	ip netns exec A nft delete table inet n || true
}

# B counts a datagram from C
udp_through() { # PORT
	ip netns exec B nft -f - <<-END || return 1
	table inet t {
		chain in {
			type filter hook input priority 0
			udp dport $1 counter name came
		}
		counter came { }
	}
	END
	says sent contained $SRV4 "$1" && wait_for 20 came
	set -- $?
	ip netns exec B nft delete table inet t
	return "$1"
}

came() {
	grep -q 'packets 1 ' <<< "$(ip netns exec B nft list counter inet t came)"
}

path_up veth
use_gid v2-ipv4
chmod a+rw /dev/infiniband/*
cli ip link add other type dummy
cli ip link set other up
cli ip addr add 198.18.9.1/24 dev other
cli ip neigh add 198.18.9.2 lladdr 2:0:0:0:0:1 dev other

try ipv4 refused $SRV4 4791
try ipv6 refused $SRV6 4791
try ipv6-routing-header refused $SRV6 4791 rthdr
try gso refused $SRV4 4791 gso
try fragments refused $SRV4 4791 long
try to-itself refused $CLI4 4791
try as-the-peer refused_here $CLI6 4791 $SRV6 freebind
try as-loopback refused_here $CLI4 4791 127.0.0.1
try as-loopback-ipv6 refused_here $CLI6 4791 ::1
try by-other-netdev refused 198.18.9.2 4791 $CLI4
try other-address refused $SRV4 4791 198.18.9.1
try by-pktinfo refused 198.18.9.2 4791 $CLI4 pktinfo
try by-pktinfo-ipv6 refused $SRV6 4791 $CLI6 pktinfo
try other-netdev allowed 198.18.9.2 4791
try other-port allowed $SRV4 4792
try privileged says sent raw $SRV4 4791
try switch switched
try rdma-unprivileged priority_is 6 "${NOBODY[@]}"
try rdma-privileged priority_is 7
PINGPONG=ibv_ud_pingpong
try rdma-unprivileged-ud priority_is 6 "${NOBODY[@]}"
try rdma-privileged-ud priority_is 7
try rerouted rerouted
container_up
behind
own_translated
cli rdma link delete rxeA
try no-device allowed $SRV4 4791
