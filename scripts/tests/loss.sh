# SPDX-License-Identifier: GPL-2.0
# test: 1 % random loss on the wire delays programs, but never breaks or corrupts them
# nodes: 2
# level: full
# timeout: 800
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

lossy() { # COMMAND...: where to run tc
	"$@" tc qdisc replace dev eth0 root netem loss 1% limit 10000
}

dropped() {
	tc -s qdisc show dev eth0 | grep -oE 'dropped [0-9]+' | grep -vq 'dropped 0'
}

# The end that finishes first exits at once.  If its last ACK is lost, the other end uses up its retries,
# though all data has arrived and is verified.  Other programs end by a handshake.
pingpong() {
	local log=/tmp/pingpong
	run_rc_pingpong > $log 2>&1 && return
	cat $log
	grep -q ' iters in ' $log && [ "$(grep -c 'Failed status' $log)" = 1 ] &&
		grep -q 'Failed status transport retry counter exceeded (12) for wr_id 2$' $log
}

LIMIT=300 RC_TIMEOUT=16 LOSSY=1
path_up vms
lossy
lossy on_b
for type in v2-ipv4 v1-ll; do
	use_gid $type || { fail "$type" "no such GID"; continue; }
	try "$type-rc_random" run_rc_random -n 2000 -q 4 -s 5 -m 262144
	try "$type-rc_pingpong" pingpong
	try "$type-rping" run_rping
	try "$type-ucmatose" run_ucmatose
	for program in send_bw write_bw read_bw atomic_bw; do
		try "$type-ib_$program" run_perftest $program
	done
done
try packets-were-lost dropped
try resources-gone wait_for 20 resources_gone
