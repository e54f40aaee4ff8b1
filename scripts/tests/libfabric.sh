# SPDX-License-Identifier: GPL-2.0
# test: libfabric's ping-pong over its verbs providers, and qperf, over RoCE v2 and v1
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

QPERF=(env LD_PRELOAD=/job/bin/qperf_preload.so)

# run_qperf TEST...: connects by RDMA_CM, which qperf supports for RC only.  Without the library, the server may
# listen too late
run_qperf() {
	PORT=$((PORT + 1))
	both wait_tcp "${QPERF[@]}" qperf -lp $PORT -- qperf "$SRV4" -lp $PORT -t 1 -cm1 "$@" quit
}

# run_qperf_by_lid TEST...: without RDMA_CM.  The library replaces LIDs by GIDs.  Each test must measure something
run_qperf_by_lid() {
	local out
	PORT=$((PORT + 1))
	out=$(both wait_tcp "${QPERF[@]}" QPERF_PEER="$(gid_of "$CLI4")" QPERF_GID="$SRV_GID" qperf -lp $PORT -- \
		"${QPERF[@]}" QPERF_PEER="$(gid_of "$SRV4")" QPERF_GID="$CLI_GID" \
		qperf "$SRV4" -lp $PORT -t 1 "$@" quit) || return 1
	say "$out"
	[ "$(grep -c ' = .*[1-9]' <<< "$out")" -ge $# ] && ! grep ' = *0 ' <<< "$out"
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
	[ $type = v2-ipv4 ] || continue
	try $type-qperf-by-lid run_qperf_by_lid rc_bw rc_lat
	try $type-qperf-uc run_qperf_by_lid uc_bw uc_lat uc_rdma_write_bw uc_rdma_write_lat
	try $type-qperf-ud run_qperf_by_lid ud_bw ud_lat
done
try resources-gone wait_for 10 resources_gone
try resources-gone-peer on_b_tools wait_for 10 resources_gone
