# SPDX-License-Identifier: GPL-2.0
# test: the shipped module on one machine, this one on the other, over RoCE v2
# nodes: 2
# level: full
# timeout: 500
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/wires.sh"

# Swaps the ends: the client is on b
swap() {
	srv() { "$@"; }
	cli() { on_b_tools "$@"; }
	srv_host() { "$@"; }
	SRV4=$A4 CLI4=$B4 SRV6=$A6 CLI6=$B6
}

programs() { # PREFIX TYPE
	local program PERF_TIMEOUT
	case $2 in
	v2-ipv4) SRV_CM=$SRV4 ;;
	v2-ipv6) SRV_CM=$SRV6 ;;
	esac
	SRV_BIND=$SRV_CM
	SRV_GID=$(srv gid_index rxe0 v2 "$SRV_CM")
	CLI_GID=$(cli gid_index rxe0 v2 "$([ "$2" = v2-ipv4 ] && echo "$CLI4" || echo "$CLI6")")
	# The shipped module computes the ICRC of a FLUSH in its own way: each end drops the other's FLUSH
	try "$1-$2-rc_random" run_rc_random -n 2000 -q 3 -s 7 -m 262144 --no-flush
	for program in rc_pingpong uc_pingpong ud_pingpong rping ucmatose; do
		try "$1-$2-$program" "run_$program"
	done
	for program in write_bw read_bw send_lat atomic_bw uc_send_bw uc_write_bw; do
		# The shipped module resends all when this timeout expires, so it is longer where that
		# module sends requests
		case $1-$program in
		to-shipped-send_lat | from-shipped-*) PERF_TIMEOUT=18 ;;
		*) PERF_TIMEOUT=16 ;;
		esac
		try "$1-$2-ib_$program" run_perftest $program
	done
	try "$1-$2-uc_whole" run_uc_whole -n 500
}

# The shipped module drops the packets behind a lost one.  This module must detect that.
lossy() { # PREFIX
	wire_is loss-1
	goodput_up
	verified "$1-loss" -T 1500
	goodput_down
	try "$1-loss-uc_whole" run_uc_whole -l 1 -n 500
	wire_is clean
}

load_ours
rxe_add
on_b load_shipped
on_b rxe_add
path vms
programs to-shipped v2-ipv4
lossy to-shipped
swap
programs from-shipped v2-ipv6
try resources-gone wait_for 20 resources_gone
