# SPDX-License-Identifier: GPL-2.0
# test: as bottleneck, with 2 to 16 flows at two rates; READs, IPv6, swift
# nodes: 1
# level: long
# alone: yes
# timeout: 1200
# clock: leaps
RATES="50 100" FLOWS="2 4 8 16"
. "$(dirname "$0")/bottleneck.sh"

# four FLOWS: runs them at 50 Mb/s; in the first and in the last third, half of them run
four() {
	# shellcheck disable=SC2046 # words
	shares run_flows $((3 * MS)) $(halves 4 $MS)
}

rate=50
bottleneck_is $rate $ROOM
algorithm_is dcqcn
OP='read'
for flows in $FLOWS; do
	# shellcheck disable=SC2046 # words
	try "read-$flows-flows" shares run_flows $((3 * MS)) $(halves "$flows" "$MS")
done
try read-incast shares incast 4000
OP='write' FAMILY=6
try ipv6-4-flows four
FAMILY=4
algorithm_is swift
try swift-4-flows four
try swift-incast shares incast 4000
