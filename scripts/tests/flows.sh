# SPDX-License-Identifier: GPL-2.0
# test: many queue pairs share one slow wire, and nothing is sent twice
# nodes: 2
# level: full
# timeout: 400
. "$(dirname "$0")/lib.sh"

# QDISC VERSION OP WAY QPS: a queue that drops what waits too long, as hosts have it, and one that
# is short
FLOWS="fq_codel v2 write one 1
fq_codel v2 write both 8
fq_codel v2 read both 8
fq_codel v1 send one 8
fq_codel v2 write one 64
tbf v2 write both 16"

# All queue pairs end well, have their share, and no answer times out; fq_codel drops nothing, so
# nothing is sent twice
judge() { # LINE
	local qdisc status rate jain lost timeouts duplicates drops
	read -r qdisc _ _ _ _ _ status rate jain lost timeouts duplicates drops _ <<< "$1"
	[ "$status" = ok ] && [ "$lost" = 0 ] && [ "$timeouts" = 0 ] && awk "BEGIN { exit !($jain >= .9 && $rate > 0) }" || return 1
	[ "$qdisc" != fq_codel ] || { [ "$drops" = 0 ] && [ "$duplicates" = 0 ]; }
}

while read -r qdisc version op way qps; do
	name=$qdisc-$version-$op-$way-$qps
	# it is another program, which sets up and cleans up for itself
	line=$(bash "$TESTS/../bench.d/flows-measure" "$qdisc" "$version" "$op" "$way" "$qps" 3000 0 3>&- < /dev/null | head -n 1) || true
	say "$line"
	try "$name" judge "${line:-- - - - - - nothing}"
done <<< "$FLOWS"
