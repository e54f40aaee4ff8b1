# SPDX-License-Identifier: GPL-2.0
# test: many queue pairs share one slow wire, whose queue drops nothing
# nodes: 2
# level: full
# alone: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"

# Each line is QDISC VERSION OP WAY QPS.  fq_codel drops packets that wait too long, fq drops those that
# exceed 100 per flow, and tbf has a short queue
FLOWS="fq_codel v2 write one 1
fq_codel v2 write both 8
fq_codel v2 read both 8
fq_codel v1 send one 8
fq_codel v2 write one 64
fq v2 write both 8
tbf v2 write both 16"

# All queue pairs succeed and get their share.  Only the short queue drops.  An emulated processor
# sometimes stands still for longer than a timeout: then each sender sends some packets again.  That
# happens a few times in three seconds at most.  A sender that took late answers for lost ones would send
# thousands of packets again.
judge() { # LINE
	local qdisc way qps status rate jain lost timeouts duplicates drops
	read -r qdisc _ _ way qps _ status rate jain lost timeouts duplicates drops _ <<< "$1"
	[ "$status" = ok ] && [ "$lost" = 0 ] || return 1
	[ "$way" = one ] || qps=$((2 * qps))
	[ "$timeouts" -le $((4 * qps + 4)) ] && [ "$duplicates" -le $((16 * qps + 64)) ] || return 1
	awk "BEGIN { exit !($jain >= .7 && $rate > 0) }" || return 1
	[ "$qdisc" = tbf ] || [ "$drops" = 0 ]
}

# The program sets up its devices and cleans up. It prints one measurement, and no complaint of the kernel
measure() { # QDISC VERSION OP WAY QPS [NAME]
	local name=${6-$1-$2-$3-$4-$5} lines status=0
	lines=$(bash "$TESTS/../bench.d/flows-measure" vms "$1" "$2" "$3" "$4" "$5" 3000 0 3>&- < /dev/null) ||
		status=$?
	say "$lines"
	if [ $status = 0 ] && [ "$(wc -l <<< "$lines")" = 2 ] && [ "${lines##*$'\n'}" = end ]; then
		try "$name" judge "${lines%%$'\n'*}"
	else
		fail "$name" "status $status: ${lines//$'\n'/; }"
	fi
}

# As many bytes may be queued as on a fast wire: these are more packets than fq accepts of one flow
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
