# SPDX-License-Identifier: GPL-2.0
# test: many queue pairs share one slow wire, whose queue drops nothing
# nodes: 2
# level: full
# timeout: 400
. "$(dirname "$0")/lib.sh"

# QDISC VERSION OP WAY QPS: queues as hosts have them, which drop what waits too long (fq_codel) or
# is more than 100 packets of a flow (fq), and one that is short
FLOWS="fq_codel v2 write one 1
fq_codel v2 write both 8
fq_codel v2 read both 8
fq_codel v1 send one 8
fq_codel v2 write one 64
fq v2 write both 8
tbf v2 write both 16"

# All queue pairs end well and have their share, and only the short queue drops. Now and then an
# answer takes longer than a timeout, since emulated processors stand still: much less than once
# a queue pair and second.
judge() { # LINE
	local qdisc qps status rate jain lost timeouts duplicates drops
	read -r qdisc _ _ _ qps _ status rate jain lost timeouts duplicates drops _ <<< "$1"
	[ "$status" = ok ] && [ "$lost" = 0 ] || return 1
	[ "$timeouts" -le $((qps + 4)) ] && [ "$duplicates" -le $((4 * qps + 16)) ] || return 1
	awk "BEGIN { exit !($jain >= .7 && $rate > 0) }" || return 1
	[ "$qdisc" = tbf ] || [ "$drops" = 0 ]
}

while read -r qdisc version op way qps; do
	name=$qdisc-$version-$op-$way-$qps
	# it is another program, which sets up and cleans up for itself
	line=$(bash "$TESTS/../bench.d/flows-measure" "$qdisc" "$version" "$op" "$way" "$qps" \
		3000 0 3>&- < /dev/null | head -n 1) || true
	say "$line"
	try "$name" judge "${line:-- - - - - - nothing}"
done <<< "$FLOWS"
