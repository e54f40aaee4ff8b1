# SPDX-License-Identifier: GPL-2.0
# test: each counter of a device counts what it says, and nothing else does
# nodes: 1
# level: full
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband

# Names that programs know: the first are those of the distribution's module, the others those of mlx5
KNOWN="sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err send_rnr_err rcvd_seq_err
	ack_deferred retry_exceeded_err retry_rnr_exceeded_err completer_retry_err send_err link_downed
	rdma_sends rdma_recvs sent_bytes rcvd_bytes
	rx_write_requests rx_read_requests rx_atomic_requests out_of_buffer out_of_sequence
	rnr_nak_retry_err packet_seq_err implied_nak_seq_err local_ack_timeout_err
	resp_local_length_error resp_cqe_error req_cqe_error req_remote_invalid_request
	req_remote_access_errors resp_remote_access_errors resp_cqe_flush_error req_cqe_flush_error
	req_transport_retries_exceeded req_rnr_retries_exceeded roce_adp_retrans roce_slow_restart
	roce_slow_restart_cnps rp_cnp_ignored rp_cnp_handled np_ecn_marked_roce_packets np_cnp_sent
	rx_icrc_encapsulated"

# Always 0
NEVER="ack_deferred roce_slow_restart roce_slow_restart_cnps"

# Counters that other tests provoke: COUNTER, the file of the test, and the counter's name there
ELSEWHERE="
multicast_xmit_packets	scripts/tests/mcast.sh			multicast_xmit_packets
multicast_rcv_packets	scripts/tests/mcast.sh			multicast_rcv_packets
rx_held_differs		scripts/tests/py/kept_attack.py		rx_held_differs
rx_drop_queue_full	scripts/tests/py/kept_attack.py		rx_drop_queue_full
rx_drop_policy		scripts/tests/py/foreign.py		rx_drop_policy
tx_drop_unprivileged	scripts/tests/port.sh			tx_drop_unprivileged
tx_trains_off		scripts/tests/uso.sh			tx_trains_off
rx_drop_memory		kunit/net/split.c			RXE_CNT_DROP_MEMORY
tx_drop_no_memory	kunit/net/train.c			RXE_CNT_DROP_TX_MEM
"

# Counters of traffic, and those that grow when a host stands still: these may grow in each case
FREE="sent_pkts rcvd_pkts sent_bytes rcvd_bytes rdma_sends rdma_recvs rx_write_requests rx_read_requests
	rx_atomic_requests duplicate_request completer_retry_err local_ack_timeout_err roce_adp_retrans"

COVERED=''	# counters that cases have seen grow

# Prints the present value of each counter of a device
values() { # DEV
	local dir=$SYS/$1/ports/1/hw_counters
	echo 0 > "$dir/lifespan" && (cd "$dir" && grep -H . -- * | sed '/^lifespan:/d; s/:/ /')
}

# Prints the counters of a device that have grown since the output of values() in /tmp/before
grown() { # DEV
	values "$1" | awk 'NR == FNR { before[$1] = $2; next }
		$2 != before[$1] { print $1, $2 - before[$1] }' /tmp/before -
}

# as_wanted DEV WANT...: COUNTER=N has grown by N, COUNTER by one or more, and COUNTER? may have grown.
# Other counters haven't grown, except those of FREE
as_wanted() {
	grown "$1" > /tmp/grown && awk -v wants="${*:2}" -v free="$FREE" '
		BEGIN {
			n = split(free, names, " ")
			for (i = 1; i <= n; i++)
				may[names[i]] = 1
		}
		{ by[$1] = $2 }
		END {
			n = split(wants, words, " ")
			for (i = 1; i <= n; i++) {
				parts = split(words[i], word, "=")
				if (parts == 2 && by[word[1]] + 0 != word[2])
					bad = 1
				if (parts == 1 && !sub(/\?$/, "", word[1]) && by[word[1]] + 0 < 1)
					bad = 1
				may[word[1]] = 1
			}
			for (name in by)
				if (by[name] && !(name in may))
					bad = 1
			exit bad
		}' /tmp/grown
}

# provoke DEV WANT COMMAND...: the command makes the counters of a device grow as wanted.  A queue
# pair may count later than the command sees its effect.
provoke() {
	local dev=$1 want=$2 word
	values "$dev" > /tmp/before && "${@:3}" >&2 || return 1
	# shellcheck disable=SC2086 # words
	if ! wait_for 10 as_wanted "$dev" $want; then
		say "wanted: $want; counted: $(tr '\n' ' ' < /tmp/grown)"
		return 1
	fi
	for word in $want; do
		[[ $word = *\? || $word = *=0 ]] || COVERED+=" ${word%=*}"
	done
}

# --- one device, whose error paths a program takes

# spoil CASE...: runs these cases of verbs_err
spoil() {
	verbs_err -d rxe0 -g "$SRV_GID" "$@"
}

# Errors of the verbs.  The names of cases are prefixes: "recv-too-long" is two cases.
verbs() {
	try send provoke rxe0 "sent_pkts=1 rcvd_pkts=1 sent_bytes=1024 rcvd_bytes=1024 rdma_sends=1 rdma_recvs=1" \
		spoil ud-send
	try write provoke rxe0 "rx_write_requests=1 rdma_sends=1 rdma_recvs=0" spoil write-zero
	try reads provoke rxe0 "rx_read_requests=32 rdma_sends=0" spoil read-depth-fence
	try atomics provoke rxe0 rx_atomic_requests=10 run_perftest atomic_bw
	try rnr-0 provoke rxe0 "rcvd_rnr_err=1 send_rnr_err=1 out_of_buffer=1 retry_rnr_exceeded_err=1
		req_rnr_retries_exceeded=1 req_cqe_error=1" spoil rnr-0
	try rnr-3 provoke rxe0 "rcvd_rnr_err=4 send_rnr_err=4 out_of_buffer=4 rnr_nak_retry_err=3 completer_retry_err
		retry_rnr_exceeded_err=1 req_rnr_retries_exceeded=1 req_cqe_error=1" spoil rnr-3
	try dead-peer provoke rxe0 "retry_exceeded_err=1 req_transport_retries_exceeded=1 local_ack_timeout_err
		rx_drop_qp_state req_cqe_error=1" spoil dead-peer-0
	try bad-rkey provoke rxe0 "req_remote_access_errors=3 resp_remote_access_errors=3 req_cqe_error=3" \
		spoil write-bad-rkey read-bad-rkey atomic-bad-rkey
	try recv-too-long provoke rxe0 "resp_local_length_error=2 resp_cqe_error=2 req_remote_invalid_request=2
		req_cqe_error=2" spoil recv-too-long
	try bad-lkey provoke rxe0 req_cqe_error=1 spoil send-bad-lkey
	try flush-sends provoke rxe0 "req_cqe_flush_error=20 req_cqe_error=20 rcvd_rnr_err send_rnr_err
		out_of_buffer rnr_nak_retry_err" spoil flush-sends
	try flush-recvs provoke rxe0 "resp_cqe_flush_error=20 resp_cqe_error=20" spoil flush-recvs
	try uc-bad-rkey provoke rxe0 "rx_drop_refused=1 resp_remote_access_errors=1" spoil uc-bad-rkey
	try uc-packets provoke rxe0 "rx_drop_refused=1 rx_drop_rest_of_message=2 resp_remote_access_errors=1" \
		by_packets spoil uc-bad-rkey
	try ud-no-recv provoke rxe0 rx_drop_no_recv_wqe=1 spoil ud-no-recv
	try bound bound
}

# The same by the loopback netdev, in packets of the path MTU
by_packets() {
	switch_is same_device 0 && "$@" && switch_is same_device 1
}

# spoil_bound CASE: runs a case of verbs_err with queue pairs that have their own counters, which show its errors
spoil_bound() {
	local pid status=0
	rm -f /tmp/hold && mkfifo /tmp/hold || return 1
	spoil --hold "$1" < /tmp/hold > /tmp/held & pid=$!
	exec 8> /tmp/hold
	wait_for 20 grep -q held /tmp/held && wait_for 10 eval '[ "$(qp_errors)" = "1 1 1" ]' || status=1
	say "errors in counters of queue pairs: $(qp_errors)"
	exec 8>&-
	wait $pid && [ $status = 0 ]
}

qp_errors() {
	echo "$(qp_count req_remote_access_errors) $(qp_count resp_remote_access_errors) $(qp_count req_cqe_error)"
}

# The counters of the port include those of queue pairs that have their own
bound() {
	rdma statistic qp set link rxe0/1 auto type on && provoke rxe0 "req_remote_access_errors=1
		resp_remote_access_errors=1 req_cqe_error=1" spoil_bound write-bad-rkey &&
		rdma statistic qp set link rxe0/1 auto off
}

# --- two ends: packets that A sends to B

# thrower_begin, throw KIND, thrower_end: provoke.py sends a packet of this kind from A to B
thrower_begin() {
	local gid
	gid=$(srv gid_index rxeB v2 "$SRV4") || return 1
	coproc ip netns exec A env PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/provoke.py" \
		--netdev veth --src-mac "$(mac_of A veth)" --dst-mac "$(mac_of B veth)" --src "$CLI4" --dst "$SRV4" \
		--sink-ns B --sink-dev rxeB --sink-gid "$gid"
	said ready
}

said() { # WORD
	local word
	# shellcheck disable=SC2153 # of coproc
	read -r -t $((60 * PATIENCE)) word <&"${COPROC[0]}" && [ "$word" = "$1" ]
}

throw() {
	echo "$1" >&"${COPROC[1]}" && said "$1"
}

thrower_end() {
	local pid=$COPROC_PID to=${COPROC[1]}
	exec {to}>&- && wait "$pid"
}

# A queue pair has the device's algorithm of when it was created.  The default algorithm ignores CNPs.
packets() {
	try thrower thrower_begin
	try icrc provoke rxeB rx_icrc_encapsulated=1 throw icrc
	try malformed provoke rxeB rx_drop_malformed=1 throw malformed
	try no-qp provoke rxeB rx_drop_no_qp=1 throw no-qp
	try address provoke rxeB rx_drop_address=1 throw address
	try pkey provoke rxeB rx_drop_pkey=1 throw pkey
	try qkey provoke rxeB rx_drop_qkey=1 throw qkey
	try answer provoke rxeB rx_drop_psn=1 throw answer
	try duplicate provoke rxeB duplicate_request=1 throw duplicate
	try marked provoke rxeB "np_ecn_marked_roce_packets=1 np_cnp_sent=1" throw marked
	try cnp-ignored provoke rxeB rp_cnp_ignored=1 throw cnp
	try too-far provoke rxeB "rx_drop_early=1 out_of_seq_request=1 out_of_sequence=1" throw too-far
	try gap provoke rxeB "out_of_seq_request=1 out_of_sequence=1 rx_drop_age=1" throw gap	# held for a time
	try thrower-end thrower_end
	echo dcqcn > $SYS/rxeB/congestion_control
	try dcqcn thrower_begin
	try cnp-handled provoke rxeB rp_cnp_handled=1 throw cnp
	try dcqcn-end thrower_end
	echo window > $SYS/rxeB/congestion_control
}

# drop NS HOOK RULE: applies the rule at the hook to packets to port 4791.  Without arguments, ends that
drop() {
	ip netns exec A nft flush ruleset && ip netns exec B nft flush ruleset || return 1
	[ $# = 0 ] || ip netns exec "$1" nft "add table inet t; add chain inet t c { type filter hook $2 priority 0; }
		add rule inet t c udp dport 4791 $3 drop"
}

grew() { # NAME
	awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' /tmp/grown
}

# lossy END PROGRAM SIZE WANT: one in ten of the program's skbs to this end is lost.  The answers show that
# by a NAK or by a gap.
lossy() {
	drop "$1" input 'numgen inc mod 10 1' && provoke rxeA "$4" run_perftest "$2" 100 "$3" && drop &&
		[ "$(grew rcvd_seq_err)" = $(($(grew packet_seq_err) + $(grew implied_nak_seq_err))) ]
}

# while_streaming NAME BEGIN END: runs BEGIN while A sends WRITEs to B without end, waits until A's counter
# has grown, and runs END.  The retries would take two minutes
while_streaming() {
	local before status=0 file=$SYS/rxeA/ports/1/hw_counters/$1
	PERF_TIMEOUT=20 stream_begin && read -r before < "$file" && $2 || status=1
	[ $status != 0 ] || wait_for 60 eval "[ \$(cat $file) -gt $before ]" || status=1
	$3 || status=1
	stream_end || status=1
	return $status
}

no_output() {
	drop A output ''
}

link() { # up|down
	ip -n A link set veth "$1"
}

wire() {
	try naks lossy B write_bw 65536 "rcvd_seq_err packet_seq_err completer_retry_err"
	try gaps lossy A read_bw 8192 "rcvd_seq_err implied_nak_seq_err completer_retry_err packet_seq_err? roce_adp_retrans? rx_drop_early?"
	# ACKs may come when the stream's queue pair is gone
	try silence provoke rxeA "tx_drop roce_adp_retrans rcvd_seq_err? packet_seq_err? rx_drop_no_qp?" \
		while_streaming roce_adp_retrans no_output drop
	try link-down provoke rxeA "link_downed=1 send_err tx_drop? rcvd_seq_err? packet_seq_err? rx_drop_no_qp?" \
		while_streaming send_err "link down" "link up"
}

# --- all of them

in_list() { # WORD LIST
	[[ " $2 " = *[[:space:]]"$1"[[:space:]]* ]]
}

names() { # DEV
	values "$1" | cut -d' ' -f1
}

# listed LIST NAME...: each name is in the list
listed() {
	local list=$1 name bad=0
	shift
	for name; do
		in_list "$name" "$list" || { say "no $name"; bad=1; }
	done
	return $bad
}

# shellcheck disable=SC2086 # a list
known_there() {
	listed "$(names rxe0)" $KNOWN
}

# `rdma statistic` shows all counters, too: its message has room for them
tool_shows() {
	# shellcheck disable=SC2046 # a list
	listed "$(rdma statistic show link rxe0/1)" $(names rxe0)
}

always_0() {
	local dev name bad=0
	for dev; do
		for name in $NEVER; do
			[ "$(cat $SYS/"$dev"/ports/1/hw_counters/"$name")" = 0 ] || { say "$dev $name"; bad=1; }
		done
	done
	return $bad
}

# Each file of ELSEWHERE names its counter
elsewhere() {
	local name file word
	while read -r name file word; do
		[ -z "$name" ] || grep -qw -- "$word" "$TESTS/../../$file" || { say "$file has no $word"; return 1; }
	done <<< "$ELSEWHERE"
}

all_covered() { # DEV
	# shellcheck disable=SC2046 # a list
	listed "$COVERED $NEVER $ELSEWHERE" $(names "$1")
}

path_up loop
use_gid v2-ipv4
try names known_there
try tool tool_shows
verbs
try never always_0 rxe0
unload
path_up veth
use_gid v2-ipv4
packets
wire
try never-by-wire always_0 rxeA rxeB
try elsewhere elsewhere
try all-covered all_covered rxeA
drop
try resources-gone wait_for 5 resources_gone
