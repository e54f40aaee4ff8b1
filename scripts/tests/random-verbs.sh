# SPDX-License-Identifier: GPL-2.0
# test: random verbs by several processes at once, compared with a model
# nodes: 1
# level: long
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# On a kernel with checkers, all runs together take more than ten minutes.  VR_SECONDS sets the seconds of a
# run.  The seed is the date.  VR_SEED sets another, to repeat a run.
SECS=${VR_SECONDS:-$([ $PATIENCE = 1 ] && echo 10 || echo 200)}
SEED=${VR_SEED:-$(date +%Y%m%d)000}

lists() { # v1|v2
	timeout $((SECS + 200)) verbs_random -d rxe0 -g "$(gid_index rxe0 "$1" $A4)" -t "$SECS" -s "$SEED" >&2
}

# The requesters are on one device, the responders on another.
lists_across() { # v1|v2
	use_gid "$1-ipv4" && timeout $((SECS + 200)) verbs_random -d rxeA -D rxeB -g "$CLI_GID" \
		-G "$SRV_GID" -t "$SECS" -s "$SEED" >&2
}

# Each process sees the devices of both namespaces.  UC needs its packets in order, and multicast packets
# need a route.
veth_up() {
	netns_pair && path veth && in_order && cli ip route add 224.0.0.0/4 dev veth
}

# With a wrong model, the program fails, and shrinks the run to a few operations that show the fault.  These
# always show it: in lockstep, no operation depends on timing.
finds_and_shrinks() {
	local run=(timeout 900 verbs_random -d rxe0 -l -w -g "$(gid_index rxe0 v2 $A4)") out left
	out=$("${run[@]}" -p 2 -n 200 -t 600) && return 1
	say "$out"
	left=$(sed -n 's/^shrunk to \([0-9]*\) operations.*/\1/p' <<< "$out")
	[ "${left:-99}" -le 12 ] && ! "${run[@]}" -f /tmp/verbs_random.ops >&2
}

# The device is deleted while objects of all kinds are in use.  The program gets errors, and ends
deleted_under_it() {
	local pid
	verbs_random -d rxe0 -g "$(gid_index rxe0 v2 $A4)" -t 100 -o /dev/null >&2 &
	pid=$!
	wait_for 30 eval "rdma resource show rxe0 | grep -q 'qp [2-9].*mr [2-9].*srq [1-9]'" &&
		rdma link delete rxe0 && wait_for 90 eval "! kill -0 $pid"
}

load_ours
rxe_add
ulimit -l unlimited
try over-v2 lists v2
try over-v1 lists v1
if [ $PATIENCE = 1 ]; then
	try shrinks finds_and_shrinks
else
	skip shrinks "it takes long on a kernel with checkers"
fi
try resources-gone wait_for 10 resources_gone
try deleted-under-it deleted_under_it
try unloads unload
load_ours
try veth-up veth_up
try across-v2 lists_across v2
try across-v1 lists_across v1
try across-resources-gone wait_for 10 resources_gone
try across-unloads unload
