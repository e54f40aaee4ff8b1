# SPDX-License-Identifier: GPL-2.0
# test: libfabric's ping-pong over its verbs providers, and qperf over RC, RoCE v2 and v1
# nodes: 2
# level: long
# suites: all
# extra: yes
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# run_pingpong ENDPOINT PROVIDER: all sizes; with -c, the program compares what arrives
run_pingpong() {
	PORT=$((PORT + 1))
	both wait_tcp fi_pingpong -c -e "$1" -p "$2" -I 10 -B $PORT -- \
		fi_pingpong -c -e "$1" -p "$2" -I 10 -P $PORT "$SRV_CM"
}

# run_qperf TEST...: connects by RDMA_CM, which qperf supports for RC only.  Without RDMA_CM, qperf needs
# LIDs, and RoCE has none.  Without the library, the server may listen too late.
run_qperf() {
	PORT=$((PORT + 1))
	both wait_tcp env LD_PRELOAD=/job/bin/qperf_preload.so qperf -lp $PORT -- \
		qperf "$SRV4" -lp $PORT -t 1 -cm1 "$@" quit
}

path_up vms
extra_up
on_b extra_up
for type in v2-ipv4 v1-ipv4; do
	use_gid $type
	try $type-msg run_pingpong msg verbs
	try $type-rdm-rxm run_pingpong rdm 'verbs;ofi_rxm'
	try $type-rdm-rxd run_pingpong rdm 'verbs;ofi_rxd'
	try $type-qperf-rc run_qperf rc_bw rc_lat rc_rdma_read_bw rc_rdma_write_lat rc_rdma_write_bw
	try $type-qperf-atomic run_qperf ver_rc_compare_swap ver_rc_fetch_add
done
try resources-gone wait_for 10 resources_gone
try resources-gone-peer on_b_tools wait_for 10 resources_gone
