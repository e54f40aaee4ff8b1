# SPDX-License-Identifier: GPL-2.0
# test: flows share a bottleneck that marks, fill it and lose nothing; without congestion control it overflows
# nodes: 1
# level: full
# alone: yes
# timeout: 400
# clock: leaps
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/congested.sh"

ROOM=600000		# bytes in the bottleneck's queue
RATES=${RATES:-50}	# Mb/s
FLOWS=${FLOWS:-4}
MS=${MS:-4000}		# between the start or end of flows and the next
LEAST_USED=90		# of the rate, per cent

judged() { # what congested.py prints
	python3 "$TESTS/py/congested.py" /tmp/run $rate --show >&2
	python3 "$TESTS/py/congested.py" /tmp/run $rate
}

# In each run, nothing is dropped, the queue stays short, and the flows use the rate and share it.  Only
# DCQCN depends on marks
shares() { # COMMAND of a run...
	local queue steady drops marks used jain
	"$@" >&2 || return 1
	read -r queue steady drops marks used jain < <(judged)
	say "queue $queue KB, $steady later on; $drops drops, $marks marks, $used % used, Jain's index $jain"
	[ "$ALGORITHM" != dcqcn ] || [ "$marks" -gt 0 ] || return 1
	awk "BEGIN { exit !($drops == 0 && $queue < $ROOM / 1000 && $steady < $ROOM / 2000 && $used >= $LEAST_USED &&
		$jain >= .95) }"
}

overflows() { # COMMAND of a run...
	local drops
	"$@" >&2
	read -r _ _ drops _ < <(judged)
	say "$drops drops"
	[ "$drops" -gt 0 ]
}

incast() { # MS: 8 flows begin at once
	run_flows "$1" "0-$1" "0-$1" "0-$1" "0-$1" "0-$1" "0-$1" "0-$1" "0-$1"
}

bottleneck_up 16
slow_wire
for rate in $RATES; do
	bottleneck_is "$rate" $ROOM
	algorithm_is dcqcn
	for flows in $FLOWS; do
		# shellcheck disable=SC2046 # words
		try "$rate-mbit-$flows-flows" shares run_flows $((3 * MS)) $(halves "$flows" "$MS")
	done
	try "$rate-mbit-incast" shares incast 4000
	algorithm_is window
	try "$rate-mbit-off" overflows incast 1500
done
