# SPDX-License-Identifier: GPL-2.0
# test: packets on the wire, as decoded by tshark, scapy and an independent checker
# nodes: 1
# level: full
# timeout: 500
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

TCLASS=0x68 HOP=33 FLOW=0x12345 SL=3
# The value of rdma_flow_label_to_udp_sport() for the flow label
SPORT=$((((FLOW & 0x3fff) ^ ((FLOW & 0xfc000) >> 14)) | 0xc000))

# Captures show packets as on a wire: the netdevs leave neither segmentation nor checksums to do.  The RDMA core
# takes the hop limit of a path from the route, so the test sets it there.
wire_true() {
	local ns
	for ns in A B; do
		ip netns exec $ns sysctl -qw net.ipv4.ip_default_ttl=$HOP net.ipv6.conf.all.hop_limit=$HOP \
			net.ipv6.conf.default.hop_limit=$HOP net.ipv6.conf.veth.hop_limit=$HOP
		ip netns exec $ns ethtool -K veth tx-udp-segmentation off tx off gro off
	done
}

vlans() {
	local ns n=1
	modprobe 8021q
	for ns in A B; do
		ip -n $ns link add link veth name veth.5 type vlan id 5 egress-qos-map $SL:$SL
		ip -n $ns link set veth.5 up
		ip -n $ns addr add 198.18.5.$n/24 dev veth.5
		ip -n $ns addr add 2001:db8:5::$n/64 dev veth.5 nodad
		n=2
	done
	wait_for 10 in_netns A gid_index rxeA v2 198.18.5.1 && wait_for 10 in_netns B gid_index rxeB v2 198.18.5.2 &&
		wait_for 10 in_netns A gid_index rxeA v2 2001:db8:5::1 &&
		wait_for 10 in_netns B gid_index rxeB v2 2001:db8:5::2
}

# capture FILE COMMAND...: captures what crosses the veth while the command runs.  When a last packet is in the
# file, all others are, too.
capture() {
	local file=$1 status=0
	shift
	capture_begin B veth "$file" \
		'udp dst port 9 or udp port 4791 or ether proto 0x8915 or (vlan and (udp port 4791 or ether proto 0x8915))' || return 1
	"$@" || status=$?
	ip netns exec A bash -c 'echo END-OF-CAPTURE > /dev/udp/203.0.113.2/9'
	wait_for 20 grep -q END-OF-CAPTURE "$file" || status=1
	capture_end
	cat "$file.log" >&2
	return $status
}

# generate GID-A GID-B OPTION...: runs the two ends of wire_gen
generate() {
	local a=$1 b=$2
	shift 2
	PORT=$((PORT + 1))
	both wait_tcp wire_gen -d rxeB -g "$b" --listen $PORT "$@" -- \
		wire_gen -d rxeA -g "$a" --connect "$SRV4:$PORT" "$@"
}

# Prints "--lacks OPCODE" for each opcode that this kernel or rdma-core doesn't have
lacks() {
	in_netns A wire_gen --lacks -d rxeA | sed -n 's/./--lacks &/p'
}

check() { # NAME OPTION...
	local name=$1
	shift
	# shellcheck disable=SC2046 # words
	PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/wire_check.py" "/tmp/$name.pcap" --every $(lacks) "$@" >&2
}

# flavour NAME TYPE ADDRESS-A ADDRESS-B OPTION-OF-CHECK...: captures and checks packets between these addresses
flavour() {
	local name=$1 type=$2 a b
	a=$(in_netns A gid_index rxeA "$type" "$3") && b=$(in_netns B gid_index rxeB "$type" "$4") ||
		{ fail "$name" "no GID"; return; }
	shift 4
	if ! capture "/tmp/$name.pcap" generate "$a" "$b" -t $TCLASS -H $HOP -f $FLOW -s $SL; then
		fail "$name" "the traffic failed"
		return
	fi
	try "$name" check "$name" --tclass $TCLASS --hop $HOP "$@"
}

# A connection from A with DCQCN.  B gets all of its packets with a mark, and answers with CNPs
congested() {
	echo dcqcn > /sys/class/infiniband/rxeA/congestion_control && ip netns exec B nft -f - <<- END || return 1
		table inet congestion {
			chain in {
				type filter hook prerouting priority 0;
				udp dport 4791 ip ecn ect0 ip ecn set ce
			}
		}
	END
	use_gid v2-ipv4 && run_perftest write_bw 10 10000 && ip netns exec B nft flush ruleset &&
		echo window > /sys/class/infiniband/rxeA/congestion_control
}

# tshark decodes each frame as InfiniBand, and finds none malformed or worth a warning.  It must not guess the
# protocol of the payload, which is random.  A UDP checksum of 0 is right in RoCE, over IPv6, too.
tshark_clean() {
	local all known bad
	mergecap -w /tmp/all.pcap /tmp/v*-*.pcap || return 1
	tshark -n -r /tmp/all.pcap --disable-protocol rpcordma -o udp.ignore_ipv6_zero_checksum:TRUE -Y 'udp.dstport != 9 || infiniband' -T fields -e frame.number -e infiniband.bth.opcode -e _ws.malformed \
		-e _ws.expert.severity -e ip.src -e ip.dsfield -e ip.len -e infiniband.reserved -e infiniband.bth.destqp \
		-e infiniband.bth.psn -e _ws.expert.message -E separator='|' > /tmp/fields 2> /tmp/tshark.err
	all=$(wc -l < /tmp/fields)
	known=$(awk -F'|' '$2 != ""' /tmp/fields | wc -l)
	# A warning is 0x600000 (6291456), an error 0x800000.  Some versions print decimal numbers, others hex
	bad=$(awk -F'|' '$3 != "" { print; next }
		{ n = split($4, s, ","); for (i = 1; i <= n; i++) if (s[i] ~ /6291456|8388608|0x0*[68]00000/) { print; next } }' /tmp/fields)
	say "$all frames, $known of them InfiniBand"
	[ -z "$bad" ] || { echo "$bad" | head -n 20 >&2; return 1; }
	[ "$all" -gt 100 ] && [ "$all" = "$known" ]
}

# What tshark has found in each CNP: it comes from B, has DSCP 48, isn't ECN-capable, and has 60 bytes of IP.  Of
# the byte behind the P_Key, BECN alone is set (tshark has no name for it).  It goes to the queue pair to which B's
# acknowledgements go, with PSN 0
cnps_decoded() {
	local qpn src tos len reserved dest psn n=0
	qpn=$(roce_fields /tmp/v2-cnp.pcap opcode qpn | awk '$1 == 17 { print $2 }' | sort -u)
	while IFS='|' read -r _ _ _ _ src tos len reserved dest psn _; do
		[ "$src $((tos)) $len $reserved $((dest)) $psn" = "203.0.113.2 192 60 40 $qpn 0" ] ||
			{ say "$src TOS $tos length $len reserved $reserved QP $dest, not $qpn, PSN $psn"; return 1; }
		n=$((n + 1))
	done < <(grep '^[0-9]*|\(129\|0x81\)|' /tmp/fields)
	say "$n CNPs"
	[ $n -gt 0 ]
}

scapy_agrees() {
	check v2-ipv4 --scapy
}

# Large messages, and datagrams of RDMA_CM
trains() {
	SRV_GID=$(in_netns B gid_index rxeB v2 203.0.113.2) CLI_GID=$(in_netns A gid_index rxeA v2 203.0.113.1)
	SRV_BIND=$SRV4 SRV_CM=$SRV4
	run_rc_random -n 300 -q 2 -s 3 -m 131072 && run_ucmatose
}

check_trains() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/wire_check.py" /tmp/trains-all.pcap --version 2 --kind ipv4 --mtu 4096 >&2
}

hooks_on
path_up veth
wire_true
flavour v2-ipv4 v2 203.0.113.1 203.0.113.2 --version 2 --kind ipv4 --sport $SPORT
flavour v2-ipv6 v2 2001:db8:1::1 2001:db8:1::2 --version 2 --kind ipv6 --flow $FLOW --sport $SPORT
flavour v1-ipv4 v1 203.0.113.1 203.0.113.2 --version 1 --flow $FLOW
flavour v1-ll v1 "$CLILL" "$SRVLL" --version 1 --flow $FLOW
if vlans; then
	flavour v2-ipv4-vlan v2 198.18.5.1 198.18.5.2 --version 2 --vlan 5 --pcp $SL
	flavour v2-ipv6-vlan v2 2001:db8:5::1 2001:db8:5::2 --version 2 --vlan 5 --pcp $SL --flow $FLOW
	flavour v1-vlan v1 198.18.5.1 198.18.5.2 --version 1 --vlan 5 --pcp $SL
else
	fail vlan "no GIDs for the VLAN's addresses"
fi
if capture /tmp/trains-all.pcap trains; then
	try trains check_trains
else
	fail trains "the traffic failed"
fi
try cnp capture /tmp/v2-cnp.pcap congested
try scapy-icrc scapy_agrees
try tshark tshark_clean
try tshark-cnp cnps_decoded
