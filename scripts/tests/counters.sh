# SPDX-License-Identifier: GPL-2.0
# test: counters of queue pairs, by hand and by type; the driver's details of objects
# nodes: 1
# level: core
# debug: yes
# timeout: 120
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

LINK=rxe0/1

# Prints one counter of the port, which includes the counters of its queue pairs
port_count() { # NAME
	cat "/sys/class/infiniband/rxe0/ports/1/hw_counters/$1"
}

# Queue pairs of a type are bound as they are created, and then count in a counter of their type.  The
# port's counter includes those of queue pairs, also of destroyed ones
auto_type() {
	local before after bound=0 others status=0
	before=$(port_count rx_write_requests)
	rdma statistic qp set link $LINK auto type on && rdma statistic qp mode link $LINK | grep -q 'auto type' &&
		stream_begin && wait_for 20 eval '[ "$(qp_count rx_write_requests qp-type RC)" -gt 100 ]' &&
		bound=$(qp_count rx_write_requests qp-type RC) || status=1
	say "$(rdma statistic qp show link $LINK | tr '\n' ' ')"
	others=$(qp_count rx_write_requests qp-type UD)
	stream_end && rdma statistic qp set link $LINK auto off || status=1
	after=$(port_count rx_write_requests)
	say "rx_write_requests: of RC $bound, of UD $others; of the port $before, then $after"
	[ $status = 0 ] && [ "$others" = 0 ] && [ $((after - before)) -ge "$bound" ]
}

# The queue pair of one end is bound to a counter while it sends
by_hand() {
	local client qpn counter status=1 before after
	PORT=$((PORT + 1))
	ib_write_bw -F -u 16 -D 100 -s 1000 -x "$SRV_GID" -d rxe0 -p $PORT > /dev/null &
	wait_tcp $PORT
	ib_write_bw -F -u 16 -D 100 -s 1000 -x "$SRV_GID" -d rxe0 -p $PORT "$SRV4" > /dev/null &
	client=$!
	wait_for 20 eval 'rdma resource show qp link $LINK | grep "type RC" | grep -q "state RTS.*pid $client "' || return 1
	qpn=$(rdma resource show qp link $LINK | grep "type RC .*pid $client " | grep -o 'lqpn [0-9]*')
	rdma statistic qp bind link $LINK $qpn && wait_for 10 eval '[ "$(qp_count rdma_sends)" -gt 100 ]' &&
		counter=$(rdma statistic qp show link $LINK | grep -o 'cntn [0-9]*') &&
		before=$(port_count rdma_sends) && rdma statistic qp unbind link $LINK $counter $qpn && {
			! rdma statistic qp show link $LINK | grep -q cntn || return 1
			after=$(port_count rdma_sends)
			say "rdma_sends of the port: $before, $after without the counter"
			[ "$after" -ge "$before" ]
		} && status=0
	kill $client
	wait $client || true
	return $status
}

# The driver's own details of objects that a program has
details() {
	local pid
	ibv_srq_pingpong -p 19999 -d rxe0 -g "$SRV_GID" -q 3 > /dev/null &
	pid=$!
	wait_tcp 19999		# then it has created its objects
	wait_for 10 eval "rdma resource show srq | grep -q 'pid $pid'" &&
		shows qp "pid $pid .*mtu 4096.*open_sends 0.*early_bytes 0" &&
		shows cq "pid $pid .*overflow 0" && shows mr "pid $pid .*access 0x.*valid 1" &&
		shows_srq "pid $pid " && kill $pid
}

shows() { # OBJECT PATTERN
	local text
	text=$(rdma resource show "$1" -dd | tr '\n' ' ') && say "$text" && grep -q "$2" <<< "$text"
}

# Before Linux 6.7, SRQs have no details of the driver
shows_srq() {
	[[ $(uname -r) == 6.1.* ]] || shows srq "$1.*limit 0"
}

HOLD_CQS='
import sys
from pyverbs.cq import CQ
from pyverbs.device import Context
context = Context(name="rxe0")
cqs = [CQ(context, 10, comp_vector=int(vector)) for vector in sys.argv[1:]]
print("made", flush=True)
sys.stdin.read()
'

# cq_cpus VECTOR...: prints the CPU of a completion queue for each vector
cq_cpus() {
	local pid
	rm -f /tmp/hold && mkfifo /tmp/hold
	python3 -c "$HOLD_CQS" "$@" < /tmp/hold > /tmp/made &
	pid=$!
	exec 8> /tmp/hold
	wait_for 60 grep -q made /tmp/made &&
		rdma resource show cq -dd | tr '\n' ' ' | sed 's/dev rxe0/\n&/g' |
		sed -n "s/.* pid $pid .*drv_cpu \([0-9]*\).*/\1/p"
	exec 8>&-
	wait $pid
}

# Different vectors have different CPUs, and a vector always has the same CPU
vectors() {
	local cpus
	mapfile -t cpus < <(cq_cpus 0 1 0)
	say "completion queues of the vectors 0, 1, 0 are on CPUs: ${cpus[*]}"
	[ ${#cpus[@]} = 3 ] && [ "${cpus[0]}" != "${cpus[1]}" ] && [ "${cpus[0]}" = "${cpus[2]}" ]
}

path_up loop
use_gid v2-ipv4
try details details
if [ "$(nproc)" -gt 1 ]; then
	try vectors vectors
else
	skip vectors "this machine has one processor"
fi
try auto-type auto_type
try by-hand by_hand
try resources-gone wait_for 5 resources_gone
