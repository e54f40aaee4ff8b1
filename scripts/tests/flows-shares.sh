# SPDX-License-Identifier: GPL-2.0
# test: queue pairs share a wire of 100 Mbit/s evenly and wholly; nothing is late, dropped or sent twice
# nodes: 1
# level: full
# timeout: 700
# clock: leaps
. "$(dirname "$0")/lib.sh"

# Each line is QDISC VERSION OP [offloads]: 1, 8 and 64 queue pairs send in both directions.  With
# "offloads", the netdev takes whole trains of RoCE v2, but tbf, which is the wire, segments them.
: "${FLOWS:=fq_codel v2 read
tbf v1 read}"

# The queue pairs have as many MB/s as a single one, most of the 25 MB/s of both directions, and share them
# evenly.  The clock counts instructions, so no stall of the machine can explain a late answer.  Only the
# short queue of tbf drops.
judge() { # MB/S-OF-ONE LINE
	local qdisc status rate jain lost timeouts duplicates drops
	read -r qdisc _ _ _ _ _ status rate jain lost timeouts duplicates drops _ <<< "$2"
	[ "$status" = ok ] && [ "$lost" = 0 ] && [ "$timeouts" = 0 ] && awk "BEGIN { exit !($jain >= .9 && $rate >= .9 * $1 && $rate >= 20) }" || return 1
	[ "$qdisc" = tbf ] || [ "$drops" = 0 ] && [ "$duplicates" = 0 ]
}

# Runs a program that sets up its devices and cleans up.  Its last line is "end", followed by its status
measure() { # FLOW
	local qdisc version op offloads status=0
	read -r qdisc version op offloads <<< "$1"
	bash /src/scripts/bench.d/flows-measure veth "$qdisc" "$version" "$op" both "1 8 64" 4000 0 "${offloads:-}" 3>&- < /dev/null ||
		status=$?
	echo "status $status"
}

judge_all() { # FLOW, with the output of measure() as input
	local line last='' qps rate seen=0 one=0
	while read -r line; do
		case $line in
		end)
			last=$line
			continue
			;;
		status*)
			last+=" $line"
			break
			;;
		esac
		say "$line"
		read -r _ _ _ _ qps _ _ rate _ <<< "$line"
		[ "$qps" != 1 ] || one=$rate
		seen=$((seen + 1))
		try "${1// /-}-$qps" judge "$one" "$line"
	done
	[ "$seen $last" = "3 end status 0" ] || fail "${1// /-}" "$seen measurements, not 3, then: $last"
}

while read -r flow; do
	judge_all "$flow" < <(measure "$flow")
done <<< "$FLOWS"
