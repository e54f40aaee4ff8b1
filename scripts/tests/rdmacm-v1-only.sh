# SPDX-License-Identifier: GPL-2.0
# test: a RoCE v2 client fails cleanly, and soon, if the server receives only v1
# nodes: 2
# level: full
# timeout: 150
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# The client sends its request for a connection again after 4.3 s.  That fails, because the first request
# was refused.  Without that, the client would ask for more than a minute.
LONGEST=30

v1_only() {
	on_b 'echo v1 > /sys/class/infiniband/rxe0/roce_enable'
}

# The clients end by themselves, with this event.  Each asks with another request, and learns from the refusal
# of any.
clients_fail() { # ADDRESS NUMBER
	local i pids=() status start=$SECONDS
	for ((i = 0; i < $2; i++)); do
		timeout $LONGEST rping -c -a $1 -p $PORT -C 3 -V > /tmp/rping$i 2>&1 &
		pids+=($!)
	done
	for ((i = 0; i < $2; i++)); do
		status=0
		wait "${pids[i]}" || status=$?
		say "client $i: status $status after $((SECONDS - start)) s: $(cat /tmp/rping$i)"
		[ $status != 0 ] && [ $status != 124 ] && grep -q RDMA_CM_EVENT_UNREACHABLE /tmp/rping$i || return 1
	done
}

# The same server still serves v1.
fails_cleanly() { # ADDRESS
	local pid
	PORT=$((PORT + 1))
	cm_mode rxe0 v2 || return 1
	on_b timeout 120 rping -s -a $1 -p $PORT -C 3 -V &
	pid=$!
	srv cm_ready $PORT || return 1
	clients_fail $1 3 || return 1
	dmesg | grep -q "rxe0: no connection to .*port unreachable" || return 1
	cm_mode rxe0 v1 && timeout 30 rping -c -a $1 -p $PORT -C 3 -V && wait $pid
}

# When the peer has RoCE v2 again, the client connects
asked_again() {
	on_b 'echo 1 > /sys/class/infiniband/rxe0/roce_enable' && cm_mode rxe0 v2 && use_gid v2-ipv4 && run_rping
}

rxe_up
path vms
try v1-only v1_only
try v2-client-v1-only-server-ipv4 fails_cleanly $B4
try v2-client-v1-only-server-ipv6 fails_cleanly $B6
try asked-again asked_again
try resources-gone wait_for 20 resources_gone
