# SPDX-License-Identifier: GPL-2.0
# test: SL and type of service reach the queues, the VLAN tag and the IP header, both ways
# nodes: 1
# level: full
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# Makes VLAN 5 on both ends, with tags whose priorities differ from the SLs, and a queue per priority
up() {
	local ns n=1
	path_up veth || return 1
	for ns in A B; do
		ip -n $ns link add link veth name veth.5 type vlan id 5 \
			egress-qos-map 1:2 3:5 4:6 5:1 6:3 7:7 &&
			ip -n $ns link set veth.5 up && ip -n $ns addr add 198.18.5.$n/24 dev veth.5 &&
			ip -n $ns addr add 2001:db8:5::$n/64 dev veth.5 nodad || return 1
		queues $ns
		n=2
	done
	wait_for 10 in_netns A gid_index rxeA v2 2001:db8:5::1 && wait_for 10 in_netns B gid_index rxeB v2 2001:db8:5::2
}

# Band N+1 of eight has the packets of priority N
queues() { # NS
	ip netns exec "$1" tc qdisc replace dev veth root handle 1: prio bands 8 priomap 0 1 2 3 4 5 6 7 0 0 0 0 0 0 0 0
}

band() { # NS PRIORITY
	ip netns exec "$1" tc -s class show dev veth |
		awk -v class="1:$(($2 + 1))" '$1 == "class" { on = $3 == class } on && $1 == "Sent" { print $4 }'
}

untagged() {
	SRV4=203.0.113.2 CLI4=203.0.113.1 SRV6=2001:db8:1::2 CLI6=2001:db8:1::1
}

tagged() {
	SRV4=198.18.5.2 CLI4=198.18.5.1 SRV6=2001:db8:5::2 CLI6=2001:db8:5::1
}

# marked WHAT COUNT COMMAND...: tcpdump shows WHAT for all RoCE frames in each direction, which are COUNT or
# more
marked() {
	local what=$1 count=$2 ns mac all hits
	shift 2
	capture_begin A veth /tmp/prio.pcap \
		'udp port 4791 or ether proto 0x8915 or (vlan and (udp port 4791 or ether proto 0x8915))' && "$@" || return 1
	capture_end
	tcpdump -r /tmp/prio.pcap -nnev 2> /dev/null | awk '/^[0-9]/ { if (line) print line; line = $0; next } { line = line $0 } END { print line }' > /tmp/prio.txt
	for ns in A B; do
		mac=$(mac_of $ns veth)
		all=$(grep -c " $mac >" /tmp/prio.txt) hits=$(grep " $mac >" /tmp/prio.txt | grep -c "$what")
		say "$ns sent $all frames, $hits with $what"
		[ "$hits" -ge "$count" ] && [ "$hits" = "$all" ] || return 1
	done
}

# verbs SL: a ping-pong without RDMA_CM, with this SL
verbs() {
	PORT=$((PORT + 1))
	both wait_tcp ibv_rc_pingpong -e -p $PORT -l "$1" -d rxeB -g "$SRV_GID" -n 10 -s 3000 -- \
		ibv_rc_pingpong -e -p $PORT -l "$1" -d rxeA -g "$CLI_GID" -n 10 -s 3000 203.0.113.2
}

# cm [TOS]: a program that uses RDMA_CM, with or without a type of service
cm() {
	PORT=$((PORT + 1))
	both cm_ready ucmatose -b "$SRV_BIND" -p $PORT -c 1 -C 10 -S 3000 -- \
		ucmatose -s "$SRV_CM" -p $PORT -c 1 -C 10 -S 3000 ${1:+-t $1}
}

# in_band PRIORITY COMMAND...: both ends send packets by the queue of this priority
in_band() {
	local priority=$1 a b
	a=$(band A "$1") b=$(band B "$1")
	shift
	"$@" || return 1
	say "band of priority $priority: A sent $(($(band A $priority) - a)), B $(($(band B $priority) - b))"
	[ $(($(band A $priority) - a)) -ge 5 ] && [ $(($(band B $priority) - b)) -ge 5 ]
}

# Puts every opcode on the wire.  The queue pairs of A have SL 3 and DSCP 10, those of B SL 4 and DSCP 20
each_its_own() {
	PORT=$((PORT + 1))
	both wait_tcp wire_gen -d rxeB -g "$SRV_GID" -s 4 -t 0x50 --listen $PORT -- \
		wire_gen -d rxeA -g "$CLI_GID" -s 3 -t 0x28 --connect "203.0.113.2:$PORT"
}

# own_priority A B: the SLs and classes of the ends differ.  Each end sends all of its packets by the queue of its
# own SL, and with its own "PCP DSCP".  What B sends are acknowledgements and responses of RC, of all kinds
own_priority() {
	local before after mac from_a from_b kinds
	before="$(band A 3) $(band A 4) $(band B 3) $(band B 4)"
	capture_begin A veth /tmp/own.pcap && each_its_own >&2 || return 1
	capture_end
	after="$(band A 3) $(band A 4) $(band B 3) $(band B 4)"
	mac=$(mac_of A veth | tr -d :)
	roce_fields /tmp/own.pcap mac pcp dscp opcode > /tmp/own
	from_a=$(awk -v mac="$mac" '$1 != mac { print $2, $3 }' /tmp/own | sort -u)
	from_b=$(awk -v mac="$mac" '$1 == mac { print $2, $3 }' /tmp/own | sort -u)
	kinds=$(awk -v mac="$mac" '$1 == mac { print $4 }' /tmp/own | sort -nu | xargs)
	say "bands of priorities 3 and 4, of A and of B: $before, then $after"
	say "A sent \"$from_a\"; B sent \"$from_b\", opcodes $kinds"
	awk '{ exit !($5 - $1 > 20 && $6 == $2 && $7 == $3 && $8 - $4 > 10) }' <<< "$before $after" &&
		[ "$from_a" = "$1" ] && [ "$from_b" = "$2" ] && [ "$kinds" = "13 14 15 16 17 18" ]
}

# ets PRIORITY: a queueing discipline with four strict classes and four that share the rest
ets() {
	local ns status=0
	for ns in A B; do
		ip netns exec $ns tc qdisc del dev veth root &&
			ip netns exec $ns tc qdisc add dev veth root handle 1: ets bands 8 strict 4 \
				quanta 4000 3000 2000 1000 priomap 0 1 2 3 4 5 6 7 || return 1
	done
	in_band "$1" verbs "$1" || status=1
	ip netns exec A tc -s class show dev veth >&2
	for ns in A B; do
		ip netns exec $ns tc qdisc del dev veth root && queues $ns || return 1
	done
	return $status
}

# Bytes wait in the queue of priority 3
has_backlog() {
	ip netns exec A tc -s qdisc show dev veth | awk '/^qdisc tbf/ { on = 1 } on && $1 == "backlog" { exit $2 == "0b" }'
}

# The queue of one priority hardly drains, as if PFC paused it.  That delays no other priority.
slow_priority() {
	local pids=() status=0 LIMIT=60
	ip netns exec A tc qdisc replace dev veth root handle 1: prio bands 2 priomap 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 &&
		ip netns exec A tc qdisc add dev veth parent 1:2 handle 2: tbf rate 500kbit burst 20k limit 10m || return 1
	PORT=$((PORT + 1))
	srv timeout 120 ib_write_bw -F -n 100000 -u 18 -S 3 -p $PORT -d rxeB -x "$SRV_GID" > /tmp/slow.srv 2>&1 & pids+=($!)
	srv wait_tcp $PORT || status=1
	cli timeout 120 ib_write_bw -F -n 100000 -u 18 -S 3 -p $PORT -d rxeA -x "$CLI_GID" 203.0.113.2 > /tmp/slow 2>&1 & pids+=($!)
	wait_for 20 has_backlog && run_perftest write_bw 200 65536 && wait_for 5 has_backlog || status=1
	ip netns exec A tc -s qdisc show dev veth >&2
	# They never end by themselves.  The queue drains too slowly for a client that waits
	pkill -KILL ib_write_bw
	wait "${pids[@]}" || true
	ip netns exec A tc qdisc del dev veth root && queues A && wait_for 20 resources_gone 2 && return $status
}

# Answers get no priority from a completion's SL field, which holds the kind of header.
answers() {
	local before
	before=$(band B 1) before+=" $(band B 2)"
	run_udaddy >&2 && [ "$(band B 1) $(band B 2)" = "$before" ]
}

# The SL in a datagram's completion is the priority that the receiver's VLAN maps the tag's priority to.
ingress() {
	local out
	ip -n B link set veth.5 type vlan ingress-qos-map 5:4 && PORT=$((PORT + 1)) || return 1
	out=$(both wait_tcp wire_gen -d rxeB -g "$SRV_GID" --listen $PORT -- \
		wire_gen -d rxeA -g "$CLI_GID" -s 3 --connect "203.0.113.2:$PORT") || return 1
	say "$out"
	[ "$(sort -u <<< "$out")" = "datagram with SL 4" ] && [ "$(wc -l <<< "$out")" = 4 ]
}

default_tos() { # TOS COMMAND...
	local file=/sys/kernel/config/rdma_cm/rxeA/ports/1/default_roce_tos status=0
	echo "$1" > $file && "${@:2}" || status=1
	echo 0 > $file
	return $status
}

# The netdev has several queues, one for each class: packets use the queue of their class
mqprio() {
	ip link add mq0 numtxqueues 4 numrxqueues 4 type veth peer name mq1 numtxqueues 4 numrxqueues 4 &&
		ip link set mq1 up && ip link set mq0 up && ip addr add 198.18.9.1/24 dev mq0 || return 1
	ip netns add C && ip link set mq1 netns C && ip -n C link set mq1 up && ip -n C addr add 198.18.9.2/24 dev mq1
	tc qdisc add dev mq0 root handle 1: mqprio num_tc 4 map 0 1 2 3 queues 1@0 1@1 1@2 1@3 hw 0 || return 1
	rxe_add rxemq mq0 && ip netns exec C bash -c ". $TESTS/lib.sh; rxe_add rxemp mq1" || return 1
	PORT=$((PORT + 1))
	srv() { in_netns C "$@"; }
	cli() { "$@"; }
	both wait_tcp ibv_rc_pingpong -e -p $PORT -d rxemp -g "$(srv gid_index rxemp v2 198.18.9.2)" -n 100 -s 3000 -- \
		ibv_rc_pingpong -e -p $PORT -l 3 -d rxemq -g "$(gid_index rxemq v2 198.18.9.1)" -n 100 -s 3000 198.18.9.2 || return 1
	tc -s class show dev mq0 >&2
	tc -s class show dev mq0 | awk '$1 == "class" { on = $3 == "1:4" } on && $1 == "Sent" { n = $4 } END { exit n < 100 }'
}

modprobe 8021q
try up up
untagged
for type in v2-ipv4 v2-ipv6 v1-ipv4; do
	use_gid $type
	try $type-sl in_band 3 verbs 3
	try $type-tos in_band 5 cm 0xa0
	try $type-answers answers
	try $type-slow slow_priority
done
use_gid v2-ipv4
try own-priority own_priority "- 10" "- 20"
try tos marked "tos 0xa8" 10 cm 0xa8
try default-tos in_band 2 default_tos 0x50 cm
try default-tos-header marked "tos 0x50" 10 default_tos 0x50 cm
use_gid v2-ipv6
try traffic-class marked "class 0xa8" 10 cm 0xa8
tagged
for type in v2-ipv4 v2-ipv6 v1-ipv4; do
	use_gid $type
	try $type-pcp-sl marked "vlan 5, p 5" 10 verbs 3
	try $type-pcp-tos marked "vlan 5, p 6" 10 cm 0x80
	try $type-own-priority own_priority "5 10" "6 20"
	try $type-ingress ingress
done
untagged
use_gid v2-ipv4
if modprobe -q sch_ets; then
	try ets-strict ets 3
	try ets-shared ets 5
else
	skip ets "this kernel has no ETS"
fi
if modprobe -q sch_mqprio; then
	try mqprio mqprio
else
	skip mqprio "this kernel has no mqprio"
fi
