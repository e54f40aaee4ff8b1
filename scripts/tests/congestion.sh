# SPDX-License-Identifier: GPL-2.0
# test: ECN marks are answered by CNPs, which look as they should and make senders slow down
# nodes: 1
# level: full
# timeout: 260
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

LIMIT=120
CNPS=/tmp/cnp.pcap

counter() { # DEVICE NAME
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

chosen() { # NAME
	local file
	for file in /sys/class/infiniband/rxe[AB]/congestion_control; do
		echo "$1" > "$file" && [ "$(cat "$file")" = "$1" ] || return 1
	done
}

refused() { # an unknown name changes nothing, and the log lists the names
	chosen dcqcn && ! echo reno > /sys/class/infiniband/rxeA/congestion_control 2> /dev/null &&
		dmesg | grep -q 'rxeA: congestion_control: write window, dcqcn or swift' &&
		[ "$(cat /sys/class/infiniband/rxeA/congestion_control)" = dcqcn ]
}

PARAMS=/sys/kernel/debug/rdma_rxe/cc_params

params() { # a number is set; a value beyond its bounds, and text, are refused
	echo 7 > $PARAMS/rp_ai_rate && [ "$(cat $PARAMS/rp_ai_rate)" = 7 ] &&
		! echo 0 > $PARAMS/rp_threshold 2> /dev/null &&
		! echo 64 > $PARAMS/np_cnp_dscp 2> /dev/null &&
		dmesg | grep -q 'rdma_rxe: np_cnp_dscp must be 0 to 63, not 64' &&
		! echo many > $PARAMS/np_cnp_dscp 2> /dev/null &&
		dmesg | grep -q 'rdma_rxe: np_cnp_dscp must be 0 to 63, not many' &&
		[ "$(cat $PARAMS/np_cnp_dscp)" = 48 ] && echo 5 > $PARAMS/rp_ai_rate
}

# set_ce ip|ip6: prints nft's statement that marks a packet.  For "ip6 ecn set ce", nft writes the second
# byte of the header only, which Linux 7.3 ignores.  So the whole traffic class is set, with DSCP 0
set_ce() {
	[ "$1" = ip ] && echo "ip ecn set ce" || echo "@nh,4,8 set 3"
}

# mark PERCENT [NS]: has so many of the ECN-capable packets to port 4791 marked in the namespace
mark() {
	local ns=${2:-B}
	ip netns exec "$ns" nft flush ruleset
	[ "$1" = 0 ] || ip netns exec "$ns" nft -f - <<- END
		table inet congestion {
			chain in {
				type filter hook prerouting priority 0;
				udp dport 4791 ip ecn ect0 numgen random mod 100 < $1 $(set_ce ip)
				udp dport 4791 ip6 ecn ect0 numgen random mod 100 < $1 $(set_ce ip6)
			}
		}
	END
}

flows() { # OPTION of rc_flows...
	PORT=$((PORT + 1))
	both wait_tcp rc_flows -d "$SRV_DEV" -g "$SRV_GID" --listen $PORT -- \
		rc_flows -d "$CLI_DEV" -g "$CLI_GID" --connect "$SRV4:$PORT" -t 16 "$@"
}

marks() { # SENDER RECEIVER: prints numbers of marks, of CNPs sent, and of CNPs handled
	echo "$(counter "$2" np_ecn_marked_roce_packets) $(counter "$2" np_cnp_sent) $(counter "$1" rp_cnp_handled)"
}

# marked_run END COMMAND...: marks are answered by CNPs, and the sender handles the CNPs.  END has the sender
marked_run() {
	local sender=rxe$1 receiver before after
	receiver=$(tr AB BA <<< "$sender")
	before=$(marks "$sender" "$receiver")
	"${@:2}" >&2 || return 1
	after=$(marks "$sender" "$receiver")
	say "marks, CNPs sent, CNPs handled: $before, then $after"
	awk '{ exit !($4 > $1 && $5 > $2 && $6 > $3 && $6 - $3 <= $5 - $2) }' <<< "$before $after"
}

# Captures the CNPs that A receives while the command runs.  The filter selects the direction, as in admin.sh
captured() { # COMMAND...
	local status=0
	capture_begin A veth $CNPS "ether dst $(mac_of A veth) and udp dst port 4791 and udp[8] = 0x81" || return 1
	"$@" || status=$?
	capture_end
	return $status
}

# CNPs look like those of a ConnectX: DSCP 48, not ECN-capable, 60 bytes of IP; BECN, PSN 0, 16 bytes of zeros
like_hardware() {
	local dscp ecn len opcode payload n=0
	while read -r dscp ecn len opcode payload; do
		[ "$dscp $ecn $len $opcode" = "48 0 60 129" ] || return 1
		[[ $payload =~ ^8100ffff40[0-9a-f]{6}00000000(00){16}[0-9a-f]{8}$ ]] || return 1
		n=$((n + 1))
	done < <(roce_fields $CNPS dscp ecn length opcode bytes)
	say "$n CNPs"
	[ $n -gt 0 ]
}

# spaced US: prints, for each queue pair of the captured CNPs, its number, the number of CNPs, and the least and
# the mean gap in us.  Fails if there are less than two queue pairs, or a gap is too short.  A host that stands
# still just before a CNP is captured makes one gap shorter and the next one longer, so a single gap has half of
# the time at least, and the mean nearly all of it
spaced() {
	roce_fields $CNPS qpn us | awk -v want="$1" '
		{
			if ($1 in last) {
				gap = $2 - last[$1]
				if (!($1 in least) || gap < least[$1])
					least[$1] = gap
			} else
				first[$1] = $2
			last[$1] = $2
			n[$1]++
		}
		END {
			for (qpn in least) {
				mean = (last[qpn] - first[qpn]) / (n[qpn] - 1)
				print qpn, n[qpn], least[qpn], mean
				if (least[qpn] < want / 2 || (last[qpn] - first[qpn]) < (n[qpn] - 1.5) * want)
					bad = 1
				qps++
			}
			exit bad || qps < 2
		}'
}

# A queue pair sends at most one CNP in np_min_time_between_cnps, and queue pairs don't wait for each other.  The time
# is long enough for a host that stands still for a moment
cnp_gaps() {
	local us=100000 status=0 gaps
	mark 99 && echo $us > $PARAMS/np_min_time_between_cnps && captured flows -o write -q 4 -T 2500 >&2 || status=1
	echo 50 > $PARAMS/np_min_time_between_cnps && mark 20 || status=1
	gaps=$(spaced $us) || status=1
	say "QP, CNPs, least gap, mean gap: $gaps"
	return $status
}

# Prints the number of packets that B has sent with priority 5
urgent() {
	ip netns exec B tc -s class show dev veth | awk '$1 == "class" { on = $3 == "1:6" } on && $1 == "Sent" { print $4 }'
}

# All CNPs have the DSCP and the priority that the numbers give them, and other packets don't
own_class() {
	local queued sent dscps status=0
	ip netns exec B tc qdisc replace dev veth root handle 1: prio bands 8 priomap 0 1 2 3 4 5 6 7 0 0 0 0 0 0 0 0 &&
		echo 5 > $PARAMS/np_cnp_prio && echo 40 > $PARAMS/np_cnp_dscp || return 1
	queued=$(urgent) sent=$(counter rxeB np_cnp_sent)
	captured flows -o write -T 400 >&2 || status=1
	queued=$(($(urgent) - queued)) sent=$(($(counter rxeB np_cnp_sent) - sent))
	dscps=$(roce_fields $CNPS dscp | sort -u)
	echo 6 > $PARAMS/np_cnp_prio && echo 48 > $PARAMS/np_cnp_dscp &&
		ip netns exec B tc qdisc del dev veth root || status=1
	say "$sent CNPs, $queued packets of their priority, DSCP $dscps"
	[ $status = 0 ] && [ "$sent" -gt 0 ] && [ "$queued" = "$sent" ] && [ "$dscps" = 40 ]
}

# Each tracepoint fires for the right end
traced() {
	local dir=/sys/kernel/tracing status=0
	# Otherwise, tracing would enable sched_switch and sched_wakeup, too, which patches the scheduler's code
	echo 0 > $dir/options/record-cmd
	echo > $dir/trace && echo 1 > $dir/events/rxe/enable && flows -T 500 >&2 || status=1
	echo 0 > $dir/events/rxe/enable
	cp $dir/trace /tmp/trace
	say "$(grep -m 40 'rxe_' /tmp/trace)"
	[ $status = 0 ] && grep -q 'rxe_mark: rxeB qpn [0-9]* packets [0-9]* cnp 1' /tmp/trace &&
		grep -q 'rxe_cnp: rxeA qpn [0-9]* handled 1' /tmp/trace &&
		grep -q 'rxe_cut: rxeA qpn [0-9]* rate [0-9]* to [1-9]' /tmp/trace &&
		grep -q 'rxe_increase: rxeA qpn [0-9]* rate [1-9][0-9]* to [0-9]' /tmp/trace
}

np_off() {
	local before after
	before=$(counter rxeB np_cnp_sent)
	switch_is roce_np 0 && flows -T 200 >&2 && switch_is roce_np 1 || return 1
	after=$(counter rxeB np_cnp_sent)
	[ "$before" = "$after" ]
}

# Queue pairs with another algorithm ignore CNPs.  Their packets aren't ECN-capable, so none is marked
not_capable() {
	local before
	before=$(counter rxeB np_ecn_marked_roce_packets)
	chosen "$1" && flows -T 200 >&2 &&
		[ "$before" = "$(counter rxeB np_ecn_marked_roce_packets)" ] && chosen dcqcn
}

# MADs of RDMA_CM aren't ECN-capable: the GSI doesn't slow down
mads_not_capable() {
	local mads
	capture_begin A veth /tmp/mads.pcap "udp dst port 4791 and udp[12:4] & 0xffffff = 1" && run_rping >&2 || return 1
	capture_end
	mads=$(roce_fields /tmp/mads.pcap qpn ecn | sort | uniq -c)
	say "packets, QP, ECN: $mads"
	[ "$(awk '{ print $2, $3 }' <<< "$mads")" = "1 0" ]
}

priorities() { # DEVICE MASK
	echo "$2" > "/sys/class/infiniband/$1/ecn_priorities" &&
		[ "$(cat "/sys/class/infiniband/$1/ecn_priorities")" = "$2" ]
}

# The flows have priority 0.  If it is off at the sender, no packet is marked.  If it is off at the receiver,
# marks aren't answered
not_this_priority() {
	local before after
	priorities rxeA 0xfe || return 1
	before=$(marks rxeA rxeB)
	flows -T 200 >&2 && [ "$before" = "$(marks rxeA rxeB)" ] || return 1
	priorities rxeA 0x01 && priorities rxeB 0xfe && flows -T 1000 >&2 || return 1
	after=$(marks rxeA rxeB)
	say "marks, CNPs sent, CNPs handled: $before, then $after"
	awk '{ exit !($4 > $1 && $5 == $2) }' <<< "$before $after" &&
		! echo 256 2> /dev/null > /sys/class/infiniband/rxeB/ecn_priorities &&
		priorities rxeB 0xff && priorities rxeA 0xff
}

# Without a rule that marks packets, none is marked
unmarked() {
	local before
	before=$(counter rxeB np_cnp_sent)
	flows -T 1000 > /tmp/unmarked && [ "$before" = "$(counter rxeB np_cnp_sent)" ]
}

# If nearly all packets are marked, the rate falls to a tenth or less
slows() {
	local fast slow
	flows -T 1000 > /tmp/marked || return 1
	read -r _ fast _ < /tmp/unmarked && read -r _ slow _ < /tmp/marked
	say "$fast MB/s, $slow with marks"
	awk "BEGIN { exit !($slow * 10 < $fast) }"
}

# The responder of READs slows down if nearly all of its packets are marked
slows_read() {
	local fast slow
	mark 0 A
	flows -o read -T 1000 > /tmp/unmarked && mark 99 A && flows -o read -T 1000 > /tmp/marked || return 1
	read -r _ fast _ < /tmp/unmarked && read -r _ slow _ < /tmp/marked
	say "$fast MB/s, $slow with marks"
	awk "BEGIN { exit !($slow * 10 < $fast) }"
}

# Prints the bytes that A sends in half a second
sent_now() {
	local before
	before=$(counter rxeA sent_bytes)
	sleep 0.5
	echo $(($(counter rxeA sent_bytes) - before))
}

crawls() {
	SLOW=$(sent_now)
	[ $((SLOW * 10)) -lt "$FAST" ]
}

recovers() {
	[ $(($(sent_now) * 5)) -gt "$FAST" ]
}

# UC and UD have no window: only the rate slows them down.  Marks begin while they send.  They measure no
# round trip, and so don't know how late CNPs are on a busy host.  The rate must not rise by time meanwhile.
# Without marks, it rises again
slows_stream() { # NAME of stream_begin
	local status=0
	FAST=0 SLOW=0
	mark 0
	echo 131071 > $PARAMS/rp_time_reset && stream_begin "$1" && FAST=$(sent_now) && mark 99 &&
		wait_for 5 crawls && stream_alive && mark 0 && echo 5000 > $PARAMS/rp_time_reset &&
		wait_for 20 recovers || status=1
	say "$FAST bytes in half a second, $SLOW with marks"
	stream_end && echo 5000 > $PARAMS/rp_time_reset && return $status
}

# At the receiver, the priority in the packets decides, not that of the queue pair.  Class 96 is priority 3
by_class() { # SERVICE
	local before after
	echo 96 > /sys/class/infiniband/rxeA/tc/1/traffic_class && priorities rxeB 0xf7 || return 1
	before=$(marks rxeA rxeB)
	"run_$1_pingpong" >&2 || return 1
	after=$(marks rxeA rxeB)
	say "marks, CNPs sent, CNPs handled: $before, then $after"
	awk '{ exit !($4 > $1 && $5 == $2) }' <<< "$before $after" && priorities rxeB 0x08 &&
		marked_run A "run_$1_pingpong" && priorities rxeB 0xff && echo -1 > /sys/class/infiniband/rxeA/tc/1/traffic_class
}

# gid_at DEVICE NETDEV: prints the index of the v2 GID of the netdev's link-local address
gid_at() {
	local port=/sys/class/infiniband/$1/ports/1 index
	for index in $(cd "$port/gid_attrs/ndevs" && grep -lsx "$2" -- * | sort -n); do
		! grep -q ^fe80 "$port/gids/$index" || ! grep -q v2 "$port/gid_attrs/types/$index" || { echo "$index"; return; }
	done
	return 1
}

# A VLAN has the link-local address of the netdev below it.  CNPs have the VLAN tag of the packets that they
# answer
vlan_link_local() {
	local tags
	modprobe 8021q && vlan_pair 5 && wait_for 10 gid_at rxeA veth.5 && wait_for 10 gid_at rxeB veth.5 || return 1
	CLI_GID=$(gid_at rxeA veth.5) SRV_GID=$(gid_at rxeB veth.5)
	mark 99
	capture_begin A veth $CNPS && marked_run A run_ud_pingpong || return 1
	capture_end
	tags=$(roce_fields $CNPS opcode vlan | awk '$1 == 129 { print $2 }' | sort | uniq -c)
	say "CNPs by tag: $tags"
	ip -n A link del veth.5 && ip -n B link del veth.5 && path veth && [ "$(awk '{ print $2 }' <<< "$tags")" = 5 ]
}

# If GRO merges packets, each mark still counts
gro_marks() { # nft's word for the family
	local set before
	switch_is trains 0 && switch_is capture_singly 0 && srv ethtool -K veth gro on && cli ethtool -K veth tso off &&
		ip netns exec A nft -f - <<- END || return 1
		table inet marks {
			chain out {
				type filter hook postrouting priority 0
				udp dport 4791 $1 ecn ect0 numgen random mod 100 < 20 counter $(set_ce $1)
			}
		}
	END
	before=$(counter rxeB np_ecn_marked_roce_packets)
	flows -o write -T 400 >&2 || return 1
	set=$(ip netns exec A nft list ruleset | sed -n 's/.*counter packets \([0-9]*\).*/\1/p')
	ip netns exec A nft flush ruleset
	say "$set marks set, $(($(counter rxeB np_ecn_marked_roce_packets) - before)) counted"
	[ "$set" -gt 20 ] && [ $(($(counter rxeB np_ecn_marked_roce_packets) - before)) = "$set" ] || return 1
	cli ethtool -K veth tso on
	switch_is trains 1 && switch_is capture_singly 1
}

hooks_on
path_up veth
use_gid v2-ipv4
try refuses refused
try params params
chosen dcqcn
try unmarked unmarked
mark 20
try write captured marked_run A flows -o write -T 400
try like-hardware like_hardware
try cnp-gaps cnp_gaps
try own-class own_class
try send marked_run A flows -o send -q 4 -T 400
try traced traced
try np-off np_off
try window-not-capable not_capable window
try mads-not-capable mads_not_capable
try not-this-priority not_this_priority
try swift-not-capable not_capable swift
mark 99
try slows slows
try ud marked_run A run_ud_pingpong
in_order	# otherwise UC loses packets
try uc marked_run A run_uc_pingpong
try uc-by-class by_class uc
try ud-by-class by_class ud
try slows-uc slows_stream uc_send
try slows-ud slows_stream ud_send
try vlan-link-local vlan_link_local
use_gid v2-ipv4
mark 0
mark 20 A
try read marked_run B flows -o read -T 400
try slows-read slows_read
mark 0 A
try gro-marks gro_marks ip
use_gid v2-ipv6
try gro-marks-ipv6 gro_marks ip6
mark 20
try ipv6 marked_run A flows -o write -T 400
try swift chosen swift
try swift-write flows -o write -q 4 -T 400
