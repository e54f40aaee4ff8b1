# SPDX-License-Identifier: GPL-2.0
# test: many queue pairs share one slow wire, whose queue drops nothing
# nodes: 2
# level: full
# alone: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"

# QDISC VERSION OP WAY QPS: the usual disciplines, which drop packets that wait too long (fq_codel)
# or exceed 100 per flow (fq), and a short queue
FLOWS="fq_codel v2 write one 1
fq_codel v2 write both 8
fq_codel v2 read both 8
fq_codel v1 send one 8
fq_codel v2 write one 64
fq v2 write both 8
tbf v2 write both 16"

# All queue pairs end well and have their share, and only the short queue drops. Now and then an
# emulated processor stands still, and each sender waits longer than a timeout, a few times in the
# three seconds at most, and sends some of its packets again. Senders that take what is late for lost
# send thousands again.
judge() { # LINE
	local qdisc way qps status rate jain lost timeouts duplicates drops
	read -r qdisc _ _ way qps _ status rate jain lost timeouts duplicates drops _ <<< "$1"
	[ "$status" = ok ] && [ "$lost" = 0 ] || return 1
	[ "$way" = one ] || qps=$((2 * qps))
	[ "$timeouts" -le $((4 * qps + 4)) ] && [ "$duplicates" -le $((16 * qps + 64)) ] || return 1
	awk "BEGIN { exit !($jain >= .7 && $rate > 0) }" || return 1
	[ "$qdisc" = tbf ] || [ "$drops" = 0 ]
}

measure() { # QDISC VERSION OP WAY QPS [NAME]
	local name=${6-$1-$2-$3-$4-$5} line
	# it is another program, which sets up and cleans up for itself
	line=$(bash "$TESTS/../bench.d/flows-measure" vms "$1" "$2" "$3" "$4" "$5" \
		3000 0 3>&- < /dev/null | head -n 1) || true
	say "$line"
	try "$name" judge "${line:-- - - - - - nothing}"
}

# As on a fast wire, more bytes may be in the queue than one flow may have packets in fq's
many_bytes() {
	echo txq_min_bytes $((1 << 20)) > /sys/kernel/debug/rdma_rxe/knobs
}

while read -r flow; do
	# shellcheck disable=SC2086 # words
	measure $flow
done <<< "$FLOWS"

rxe_up
many_bytes
on_b "$(declare -f many_bytes); many_bytes"
measure fq v2 write both 4 fq-many-bytes
