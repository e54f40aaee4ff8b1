# SPDX-License-Identifier: GPL-2.0
# test: as bottleneck, with 2 to 16 flows at two rates; READs, IPv6, swift
# nodes: 1
# level: long
# alone: yes
# timeout: 900
# clock: leaps
RATES="50 100" FLOWS="2 4 8 16"
. "$(dirname "$0")/bottleneck.sh"

# four FLOWS: at 50 Mb/s, with half of the flows in the first and last third
four() {
	# shellcheck disable=SC2046 # words
	shares run_flows $((3 * MS)) $(halves 4 $MS)
}

rate=50
bottleneck_is $rate $ROOM
algorithm_is dcqcn
# A READ's responder has no measure of the round trip, and cuts more often than once in it. Nor has
# it a window: the first READs of an incast overflow the queue, so this isn't tried
OP='read' LEAST_USED=65
try read-4-flows four
OP='write' LEAST_USED=90 FAMILY=6
try ipv6-4-flows four
FAMILY=4
algorithm_is swift
try swift-4-flows four
try swift-incast shares incast 4000
