# SPDX-License-Identifier: GPL-2.0
# test: a RoCE v2 client fails cleanly if the server receives only v1
# nodes: 2
# level: full
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# The RDMA core gives up after 15 requests of 4.3 s each.
LONGEST=120

# A machine that doesn't hear RoCE v2.
v1_only() {
	on_b "nft 'table inet v1only { chain c { type filter hook prerouting priority -400; udp dport 4791 drop; }; }'"
}

# The client must end by itself and with an error, and the same server still serves v1.
fails_cleanly() {
	local pid status=0 start=$SECONDS
	PORT=$((PORT + 1))
	on_b timeout 200 rping -s -a $B4 -p $PORT -C 3 -V &
	pid=$!
	srv cm_ready $PORT || return 1
	timeout $LONGEST rping -c -a $B4 -p $PORT -C 3 -V || status=$?
	say "the client ended with status $status after $((SECONDS - start)) s"
	[ $status != 0 ] && [ $status != 124 ] || return 1
	cm_mode rxe0 v1 && timeout 30 rping -c -a $B4 -p $PORT -C 3 -V && wait $pid
}

rxe_up
path vms
cm_mode rxe0 v2
v1_only
try v2-client-v1-only-server fails_cleanly
try resources-gone wait_for 20 resources_gone
