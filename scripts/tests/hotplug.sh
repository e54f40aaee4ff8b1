# SPDX-License-Identifier: GPL-2.0
# test: a processor goes offline and comes back under traffic: traffic goes on, and nothing stays behind
# nodes: 1
# level: long
# suites: all
# debug: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/devices/system/cpu
LAST=cpu$(($(nproc --all) - 1))		# the processor that comes and goes; many machines need the first one
ROUNDS=5

# Retries and timeouts that are long enough for a host that stands still.  Events of the last vector's completion
# queue are for the processor that comes and goes.
RC=(-F -u 18 -n 10000000)
EVENTS=(-e -X $(($(nproc --all) - 1)))

FLOWS='^ib_(send|read|write)_bw$'

cpu() { # 0|1: takes the processor offline, or brings it back
	echo "$1" > $SYS/$LAST/online && [ "$(cat $SYS/$LAST/online)" = "$1" ]
}

# flow srv|cli PROGRAM OPTION...: a program of perftest sends to this end until flows_end().  Not ib_send_bw -b with
# events: an alarm of its own interrupts its select() after a minute, and it gives up
flow() {
	local to=(srv "$SRV_DEV" "$SRV_GID" "$SRV4") from=(cli "$CLI_DEV" "$CLI_GID")
	[ "$1" = srv ] || { to=(cli "$CLI_DEV" "$CLI_GID" "$CLI4") from=(srv "$SRV_DEV" "$SRV_GID"); }
	PORT=$((PORT + 1))
	shift
	"${to[0]}" "$@" -p $PORT -d "${to[1]}" -x "${to[2]}" > "/tmp/to.$PORT" 2>&1 &
	"${to[0]}" wait_tcp $PORT || return 1
	"${from[0]}" "$@" -p $PORT -d "${from[1]}" -x "${from[2]}" "${to[3]}" > "/tmp/from.$PORT" 2>&1 &
}

# pinned: the programs' threads run on the processor that comes and goes.  The kernel lets them run anywhere while
# it is offline.
pinned() {
	local pid
	for pid in $(pgrep "$FLOWS"); do
		taskset -a -c -p "${LAST#cpu}" "$pid" > /dev/null || return 1
	done
}

# counters: prints the devices' counters
counters() {
	grep -H . /sys/class/infiniband/rxe*/ports/1/hw_counters/* | grep -v /lifespan:
}

# grown: no counter is less than in the last call
grown() {
	counters > /tmp/counters.new && [ -s /tmp/counters.new ] && awk -F: 'NR == FNR { was[$1] = $2; next }
		$2 < was[$1] { print $1 ": " was[$1] ", then " $2; bad = 1 } END { exit bad }' \
		/tmp/counters /tmp/counters.new >&2 && mv /tmp/counters.new /tmp/counters
}

# psns: prints the PSNs of each RC queue pair of the flows: those that it sends and expects
psns() {
	rdma resource show qp | awk '/type RC .*comm ib_/ {
		for (i = 1; i < NF; i++) v[$i] = $(i + 1)
		print v["link"] "," v["lqpn"], v["rq-psn"] "," v["sq-psn"] }'
}

# all_up: the flows have so many RC queue pairs
all_up() {
	[ "$(psns | wc -l)" = $QPS ]
}

# each_moved: each queue pair has sent or received since moving() began
each_moved() {
	psns | awk 'NR == FNR { was[$1] = $2; before++; next } was[$1] != $2 { n++ } END { exit !before || n != before }' \
		/tmp/psns -
}

# moving: from now on, each of the queue pairs sends or receives something
moving() {
	psns > /tmp/psns
	[ "$(wc -l < /tmp/psns)" = "$QPS" ] || { say "$(wc -l < /tmp/psns) queue pairs, not $QPS"; return 1; }
	wait_for 30 each_moved || { cat /tmp/psns >&2; say now; psns >&2; return 1; }
}

# flows_end: ends the programs.  Their queue pairs are destroyed, which waits for their tasks
flows_end() {
	pkill "$FLOWS" || true
	wait_for 60 eval '! pgrep "$FLOWS"' && wait_for 20 resources_gone 2
}

# rounds [COMMAND...]: the processor goes offline and comes back while the flows go on, and goes offline once more
# before they end.  The command runs before each round
rounds() {
	local n
	counters > /tmp/counters
	for n in $(seq $ROUNDS); do
		"$@" && cpu 0 && moving && grown && cpu 1 && moving && grown || return 1
	done
	"$@" && cpu 0
}

no_errors() {
	local bad
	say "$(counters | grep -E '/(local_ack_timeout_err|roce_adp_retrans|[^/]*drop[^/]*):[1-9]' | tr '\n' ' ')"
	bad=$(counters | grep -E '/(retry_exceeded_err|retry_rnr_exceeded_err|req_cqe_error|resp_cqe_error):[1-9]') || return 0
	say "$bad"
	return 1
}

# under FUNCTION [COMMAND...]: starts the flows of a function, and does the rounds
under() {
	local status=0
	"$1" && wait_for 60 all_up && moving && rounds "${@:2}" || status=1
	flows_end && cpu 1 && grown && no_errors || status=1
	[ $status = 0 ] || head -n 1000 /tmp/to.* /tmp/from.* >&2
	rm -f /tmp/to.* /tmp/from.*
	return $status
}

# Both ways: small messages to the one end, large ones to the other, READs, and datagrams
by_events() {
	flow srv ib_send_bw "${RC[@]}" "${EVENTS[@]}" -q 8 -s 64 &&
		flow cli ib_send_bw "${RC[@]}" "${EVENTS[@]}" -q 2 -s 100000 &&
		flow srv ib_read_bw "${RC[@]}" "${EVENTS[@]}" -b -q 2 -s 100000 &&
		flow srv ib_send_bw "${RC[@]}" "${EVENTS[@]}" -c UD -s 1024 && QPS=24
}

# Programs that poll
by_polling() {
	flow srv ib_write_bw "${RC[@]}" -b -q 8 -s 8192 && QPS=16
}

# toggled COMMAND...: the processor goes and comes until the command has ended.  That verifies all data
toggled() {
	local pid n=0
	"$@" &
	pid=$!
	while kill -0 $pid 2> /dev/null; do
		cpu 0 && cpu 1 || return 1
		n=$((n + 1))
	done
	say "offline $n times"
	wait $pid && [ $n -ge 5 ]
}

random_verbs() { # also on-demand paging, shared receive queues, multicast
	timeout $((100 * PATIENCE)) verbs_random -d rxe0 -g "$(gid_index rxe0 v2 $A4)" -t $((5 * PATIENCE)) -s "$RANDOM" >&2
}

# While the processor is offline, the module is loaded, data passes on a new device, and the module is unloaded
loaded_meanwhile() {
	cpu 0 && unload && path_up loop && use_gid v2-ipv4 && run_perftest send_bw && cpu 1 && run_perftest send_bw &&
		cpu 0 && unload && cpu 1
}

ulimit -l unlimited
for path in loop veth; do
	path_up $path && use_gid v2-ipv4 || { fail "$path-up" "no devices"; continue; }
	try "$path-events" under by_events true
	try "$path-bound" under by_events pinned
	try "$path-polling" under by_polling true
	try "$path-polling-bound" under by_polling pinned
	try "$path-random" toggled run_rc_random -n 20000 -q 8 -s "$RANDOM" -m 200000
	[ $path = veth ] || try random-verbs toggled random_verbs
	try "$path-gone" wait_for 10 resources_gone
	[ $path = veth ] || rdma link del rxe0
done
try loaded-meanwhile loaded_meanwhile
try kernel-log dmesg_clean
