# SPDX-License-Identifier: GPL-2.0
# test: traffic classes and TTL of the administrator are set in packets, also of running connections
# nodes: 1
# level: full
# debug: yes
# timeout: 360
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband
TC=$SYS/rxeA/tc/1/traffic_class
TTL=$SYS/rxeA/ttl/1/ttl

# Captures what A sends.  The filter selects the direction, not -Q out: tcpdump would count the other
# direction as received, too, and capture_end() waits until all that was received is written.
capture_sent() {
	capture_begin A veth /tmp/admin.pcap "ether src $(mac_of A veth) and (udp port 4791 or ether proto 0x8915)"
}

# all FILTER: each captured frame matches
all() {
	local hits total
	hits=$(frames /tmp/admin.pcap "$1") total=$(frames /tmp/admin.pcap)
	say "$hits of $total frames: $1"
	[ "$total" -ge 10 ] && [ "$hits" = "$total" ]
}

# sends FILTER [TYPE [COMMAND...]]: each packet of a ping-pong, or of the command, matches
sends() {
	use_gid "${2:-v2-ipv4}" && capture_sent || return 1
	if [ $# -gt 2 ]; then "${@:3}"; else run_rc_pingpong; fi || return 1
	capture_end
	all "$1"
}

set_tc() { # TEXT
	echo "$1" > $TC
}

shows() { # LINES...
	diff <(printf '%s\n' "$@") $TC >&2
}

# refused FILE TEXT WORDS [ERROR]: the file refuses the text and keeps its value, and the log gets one line of
# rxeA, with the words.  The kernel drops such lines when ten have come in 5 s, which no setting changes.
# So the text is refused again until the limit lets a line pass.
refused() {
	local before lines
	before=$(cat "$1") lines=$(log_lines)
	wait_for 10 refused_loudly "$lines" "$@" && log_since "$lines" >&2 &&
		[ "$(log_since "$lines" | grep -c 'rxeA: ')" = 1 ] && [ "$before" = "$(cat "$1")" ]
}

refused_loudly() { # LINES FILE TEXT WORDS [ERROR]
	! (echo "$3" > "$2") 2> /tmp/error && grep -q "${5:-Invalid argument}" /tmp/error &&
		logged_since "$1" "rxeA: .*$4"
}

global() {
	set_tc 104 && shows "Global tclass=104" && sends 'ip[1] = 104' && sends 'ip6[0:2] & 0x0ff0 = 0x0680' v2-ipv6 &&
		set_tc -1 && [ -z "$(cat $TC)" ] && sends 'ip[1] = 0'
}

# The value for all packets takes precedence, then a rule with both addresses, then the first rule
precedence() {
	set_tc "tclass=8,dst_ip=203.0.113.0/24" && sends 'ip[1] = 8' &&
		set_tc "tclass=16,src_ip=203.0.113.1" && sends 'ip[1] = 8' &&
		set_tc "tclass=24,src_ip=203.0.113.1,dst_ip=203.0.113.0/24" && sends 'ip[1] = 24' &&
		set_tc "tclass=32,src_ip=203.0.113.9,dst_ip=203.0.113.2" && sends 'ip[1] = 24' &&
		shows "tclass=8,dst_ip=203.0.113.0/24" "tclass=16,src_ip=203.0.113.1/32" \
			"tclass=24,src_ip=203.0.113.1/32,dst_ip=203.0.113.0/24" \
			"tclass=32,src_ip=203.0.113.9/32,dst_ip=203.0.113.2/32" &&
		set_tc 40 && sends 'ip[1] = 40' && set_tc tclass=-1 && sends 'ip[1] = 24' &&
		set_tc "tclass=-1,src_ip=203.0.113.1,dst_ip=203.0.113.0/24" && sends 'ip[1] = 8' &&
		set_tc "tclass=-1,dst_ip=203.0.113.0/24" && sends 'ip[1] = 16' &&
		set_tc "tclass=48,src_ip=203.0.113.1" && sends 'ip[1] = 48' &&
		set_tc "tclass=-1,src_ip=203.0.113.1" && set_tc "tclass=-1,src_ip=203.0.113.9,dst_ip=203.0.113.2" &&
		[ -z "$(cat $TC)" ]
}

rule_ipv6() {
	set_tc "tclass=96,dst_ip=2001:db8:1::/48" && shows "tclass=96,dst_ip=2001:db8:1::/48" &&
		sends 'ip6[0:2] & 0x0ff0 = 0x0600' v2-ipv6 && sends 'ip[1] = 0' &&
		set_tc "tclass=-1,dst_ip=2001:db8:1::/48"
}

# A rule with IPv4 addresses in their IPv6-mapped form
rule_mapped() {
	set_tc "tclass=96,dst_ip=::ffff:203.0.113.0/120" && shows "tclass=96,dst_ip=203.0.113.0/24" &&
		sends 'ip[1] = 96' && set_tc "tclass=-1,dst_ip=203.0.113.0/24"
}

# asks CLASS: runs programs that ask for this traffic class, for queue pairs and address handles
asks() {
	PORT=$((PORT + 1))
	both wait_tcp wire_gen -d rxeB -g "$SRV_GID" --listen $PORT -- \
		wire_gen -d rxeA -g "$CLI_GID" -t "$1" --connect "$SRV4:$PORT"
}

to_group() {
	ip -n A route replace 224.0.0.0/4 dev veth &&
		ip netns exec A verbs_mcast send rxeA "$CLI_GID" 239.1.2.3 20
}

# ecn TOS: packets have this TOS if the administrator or a program asks for class 106 or 107
ecn() {
	local tos=$1 hex
	hex=$(printf '0x%04x' $((tos << 4)))
	set_tc 106 && sends "ip6[0:2] & 0x0ff0 = $hex" v2-ipv6 && set_tc 107 && sends "ip[1] = $tos" && set_tc -1 &&
		sends "ip[1] = $tos" v2-ipv4 asks 106 && sends "ip6[0:2] & 0x0ff0 = $hex" v2-ipv6 asks 107
}

# Congestion control sets the two low bits of a class, the ECN field: to ECT(0), or to 0
ecn_dcqcn() {
	echo dcqcn > $SYS/rxeA/congestion_control && ecn 106
}

ecn_priority_off() {
	echo 0xf7 > $SYS/rxeA/ecn_priorities && ecn 104 && echo 0xff > $SYS/rxeA/ecn_priorities
}

ecn_multicast() {
	set_tc 107 && sends 'ip[1] = 104' v2-ipv4 to_group && set_tc -1
}

# RoCE v1 has no ECN: the GRH has all bits of the class that was asked for
ecn_v1() {
	set_tc 107 && sends 'ether[14:2] & 0x0ff0 = 0x06b0' v1-ipv4 && set_tc -1 &&
		sends 'ether[14:2] & 0x0ff0 = 0x06a0' v1-ipv4 asks 106 && echo window > $SYS/rxeA/congestion_control
}

# sees FILTER: packets that match are being sent
sees() {
	timeout $((20 * PATIENCE)) ip netns exec A tcpdump -i veth -n -Q out -c 100 "udp port 4791 and $1" > /dev/null
}

# A busy connection uses the new class and TTL at once, and goes on
running() {
	local status=0
	use_gid v2-ipv4
	stream_begin && set_tc 104 && echo 7 > $TTL && sees 'ip[1] = 104 and ip[8] = 7' &&
		set_tc -1 && echo 0 > $TTL && sees 'ip[1] != 104 and ip[8] != 7' && stream_moves && stream_alive || status=1
	stream_end || status=1
	return $status
}

# Settings change all the time, while random operations are verified
hammer() {
	local pid
	use_gid v2-ipv4
	run_rc_random -n 3000 & pid=$!
	while kill -0 $pid 2> /dev/null; do
		set_tc 104 && echo 9 > $TTL && set_tc "tclass=7,src_ip=203.0.113.1" && set_tc -1 &&
			set_tc "tclass=-1,src_ip=203.0.113.1" && echo 0 > $TTL || return 1
	done
	wait $pid
}

ttl() {
	echo 3 > $TTL && [ "$(cat $TTL)" = 3 ] && sends 'ip[8] = 3' && sends 'ip6[7] = 3' v2-ipv6 &&
		echo 0 > $TTL && sends 'ip[8] = 64'
}

many_rules() {
	local n
	for n in $(seq 1 32); do
		set_tc "tclass=1,src_ip=198.18.0.$n" || return 1
	done
	refused $TC "tclass=1,src_ip=198.18.1.1" "no more than 32 rules" "No space left" || return 1
	for n in $(seq 1 32); do
		set_tc "tclass=-1,src_ip=198.18.0.$n" || return 1
	done
}

comes_and_goes() {
	set_tc "tclass=1,src_ip=198.18.0.1" && ip netns exec A rdma link delete rxeA && ! [ -e $TC ] &&
		ip netns exec A rdma link add rxeA type rxe netdev veth && [ -z "$(cat $TC)" ]
}

path_up veth
try global global
try precedence precedence
try rule-ipv6 rule_ipv6
try rule-mapped rule_mapped
try ttl ttl
try ecn-window ecn 104
try ecn-dcqcn ecn_dcqcn
try ecn-priority-off ecn_priority_off
try ecn-multicast ecn_multicast
try ecn-v1 ecn_v1
try running running
try hammer hammer
for text in 256 -2 "" x tclass= tclass=1,tclass=2 src_ip=1.1.1.1 tclass=1,src_ip=1.1.1 tclass=1,src_ip=1.1.1.1/33 \
	tclass=1,src_ip=1.1.1.1/ tclass=1,dst_ip=::1/129 tclass=1,src_ip=::ffff:1.1.1.1/95 tclass=1,prio=3 "tclass=1,,src_ip=1.1.1.1" "tclass=1,src_ip=1.1.1.1,src_ip=1.1.1.2"; do
	try "refused-${text:-nothing}" refused $TC "$text" "traffic_class: write"
done
try refused-long refused $TC "tclass=1,src_ip=$(printf %01000d 1)" "traffic_class: write"
try refused-no-rule refused $TC "tclass=-1,src_ip=1.1.1.1" "no such rule" "No such file"
for text in 256 -1 x ""; do
	try "refused-ttl-${text:-nothing}" refused $TTL "$text" "ttl: write a number"
done
try many-rules many_rules
try comes-and-goes comes_and_goes
