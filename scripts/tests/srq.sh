# SPDX-License-Identifier: GPL-2.0
# test: shared receive queues: verbs, and well-known programs
# nodes: 1
# level: full
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

run_srq_pingpong() {
	PORT=$((PORT + 1))
	both wait_tcp ibv_srq_pingpong -e -p $PORT -d "$SRV_DEV" -g "$SRV_GID" -q 8 -n 200 -s 3000 -- \
		ibv_srq_pingpong -e -p $PORT -d "$CLI_DEV" -g "$CLI_GID" -q 8 -n 200 -s 3000 "$SRV4"
}

run_perftest_srq() { # NAME
	local args=(-e -F -u 16 -n 200 -s 3000 --use-srq -x)
	[ "$1" != send_bw ] || args=(-q 4 "${args[@]}")	# other programs have one queue pair
	PORT=$((PORT + 1))
	both wait_tcp "ib_$1" -p $PORT -d "$SRV_DEV" "${args[@]}" "$SRV_GID" -- \
		"ib_$1" -p $PORT -d "$CLI_DEV" "${args[@]}" "$CLI_GID" "$SRV4"
}

# `rdma resource show srq` shows the SRQ of a program that waits
shown() {
	ibv_srq_pingpong -p 19999 -d rxe0 -g "$SRV_GID" -q 3 > /dev/null &
	wait_for 10 eval "rdma resource show srq | grep -q 'type BASIC lqpn .*pid $!'" && kill $!
}

path_up loop
for type in v2-ipv4 v1-ipv4; do
	use_gid $type
	cases "$type-" verbs_srq -d rxe0 -g "$SRV_GID"
	try "$type-ibv_srq_pingpong" run_srq_pingpong
	try "$type-ib_send_bw" run_perftest_srq send_bw
	try "$type-ib_send_lat" run_perftest_srq send_lat
done
use_gid v2-ipv4
try shown shown
try resources-gone wait_for 5 resources_gone
