# SPDX-License-Identifier: GPL-2.0
# test: rsockets and qperf: streams, files and datagrams by RDMA_CM, RC, UC and UD, over RoCE v2 and v1
# nodes: 2
# level: long
# extra: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# rstream and riostream: 20 times there and back, of several sizes; what arrives is compared
run_stream() { # PROGRAM SIZE
	PORT=$((PORT + 1))
	both cm_ready "$1" -b "$SRV_BIND" -p $PORT -I 20 -C 1 -S "$2" -T v -- \
		"$1" -s "$SRV_CM" -p $PORT -I 20 -C 1 -S "$2" -T v
}

# The server goes on until it's killed.
run_rcopy() {
	local pid status=0
	PORT=$((PORT + 1))
	dd if=/dev/urandom of=/tmp/source bs=1000 count=3000 status=none
	srv timeout $LIMIT rcopy -p $PORT &
	pid=$!
	srv cm_ready $PORT && cli timeout $LIMIT rcopy -p $PORT /tmp/source "$SRV_CM:/tmp/copy" || status=1
	kill $pid
	wait $pid || true
	srv pkill -x rcopy || true
	[ $status -eq 0 ] && srv cat /tmp/copy | cmp /tmp/source
}

path_up vms
extra_up
on_b extra_up
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid $type
	for size in 64 5000 200000; do
		try $type-rstream-$size run_stream rstream $size
		try $type-riostream-$size run_stream riostream $size
	done
	[ $type = v2-ipv6 ] || try $type-rcopy run_rcopy
done
try resources-gone wait_for 10 resources_gone
try resources-gone-peer on_b_tools wait_for 10 resources_gone
