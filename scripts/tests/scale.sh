# SPDX-License-Identifier: GPL-2.0
# test: hundreds of busy queue pairs share fairly, ten thousand idle ones cost almost nothing, and as many connect at once
# nodes: 1
# level: long
# alone: yes
# timeout: 700
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

IDLE=10000		# queue pairs
MOST_BYTES=4700		# of kernel memory per queue pair, without its rings
MOST_UNFAIR=1.5		# ratio of the busiest queue pair to the least busy one
TRACE=/sys/kernel/tracing

# value NAME FILE: prints the value in the line of rc_scale
value() {
	awk -v name="$1" '{ for (i = 1; i < NF; i += 2) if ($i == name) print $(i + 1) }' "$2"
}

less() { # A B
	awk "BEGIN { exit !($1 <= $2) }"
}

# All queue pairs get about the same share, and the data is right.
busy() { # QPS [BYTES]
	timeout 100 rc_scale busy -d rxeA -g "$CLI_GID" -D rxeB -G "$SRV_GID" -q "$1" -s "${2:-16384}" -T 4000 > /tmp/busy || return 1
	cat /tmp/busy >&2
	less "$(value unfairness /tmp/busy)" $MOST_UNFAIR
}

# Prints how busy all processors together are while a command runs, in per cent of one processor.
percent_busy() { # COMMAND...
	local before
	before=$(grep '^cpu ' /proc/stat)
	"$@" >&2 || return 1
	{ echo "$before"; grep '^cpu ' /proc/stat; } | awk -v cpus="$(nproc)" '
		{ busy = $2 + $3 + $4 + $7 + $8 - busy; idle = $5 + $6 - idle }
		END { printf "%d\n", 100 * cpus * busy / (busy + idle) }'
}

# One thread posts to many queue pairs.  Workers on other processors send, too: without workers, little more
# than 100 % would be busy.  In the first run, the emulator translates the code.
spread() {
	local percent
	busy 16 65536 || return 1
	percent=$(percent_busy busy 16 65536) || return 1
	echo "busy: $percent %" >&2
	less 110 "$percent"
}

idle_up() {
	rm -f /tmp/hold /tmp/idle
	mkfifo /tmp/hold
	rc_scale idle -d rxe0 -g "$(gid_index rxe0 v2 $A4)" -q $IDLE < /tmp/hold > /tmp/idle &
	idle_pid=$!
	exec 4> /tmp/hold
	wait_for 200 eval "grep -q bytes_per_qp /tmp/idle || ! kill -0 $idle_pid"
	cat /tmp/idle >&2
	[ "$(value qps /tmp/idle)" = $IDLE ]
}

idle_down() {
	exec 4>&-
	wait $idle_pid && wait_for 60 resources_gone
}

no_timer() {
	! grep rdma_rxe /proc/timer_list
}

# Prints how many timers, works and tasklets of the driver ran while a command ran.
traced() { # COMMAND...
	local event
	# Otherwise, tracing would enable sched_switch and sched_wakeup, too, which patches the scheduler's code
	echo 0 > $TRACE/options/record-cmd
	for event in timer/hrtimer_start timer/hrtimer_expire_entry timer/timer_expire_entry \
		workqueue/workqueue_execute_start irq/tasklet_entry; do
		[ ! -e $TRACE/events/$event ] || echo 1 > $TRACE/events/$event/enable
	done
	echo > $TRACE/trace
	"$@" >&2
	echo 0 > $TRACE/events/enable
	grep -c rdma_rxe $TRACE/trace
}

nothing_ran() {
	local lines
	lines=$(traced sleep 2) || true
	grep -m 5 rdma_rxe $TRACE/trace >&2 || true
	[ "$lines" = 0 ]
}

# The trace shows the driver when there is something to do.
something_ran() {
	[ "$(traced rc_scale latency -d rxe0 -c 20)" -gt 0 ]
}

# connections COUNT: so many connections are made by RDMA_CM at once, and ended.  cmtime stops at the first
# error, and prints a table when all have ended.  Its second test, without queue pairs, may fail.
connections() {
	local pid
	# Requests that the server hasn't accepted yet
	sysctl -qw net.rdma_ucm.max_backlog=65536 || return 1
	(ulimit -n 65536 && exec timeout 400 cmtime -b $A4 -c "$1") > /tmp/cm-server 2>&1 & pid=$!
	wait_cm && (ulimit -n 65536 && exec timeout 400 cmtime -s $A4 -c "$1") > /tmp/cm 2>&1
	kill $pid
	wait $pid
	cat /tmp/cm >&2
	grep -q '^full connect' /tmp/cm && wait_for 60 resources_gone
}

path_up veth
SRV_GID=$(in_netns B gid_index rxeB v2 203.0.113.2) CLI_GID=$(in_netns A gid_index rxeA v2 203.0.113.1)
for qps in 1 4 16 64 256; do
	try "busy-$qps" busy $qps
done
try busy-spread spread
unload
ip netns del A
ip netns del B

path_up loop
if idle_up; then
	ok "idle-$IDLE"
	try idle-memory less "$(value bytes_per_qp /tmp/idle)" $MOST_BYTES
	try idle-no-timer wait_for 10 no_timer
	try idle-nothing-runs nothing_ran
	try idle-trace-works something_ran
else
	fail "idle-$IDLE" "they don't come up"
fi
try idle-gone idle_down
try connections-10000 connections 10000
