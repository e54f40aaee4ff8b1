# SPDX-License-Identifier: GPL-2.0
# test: rsockets: streams of several sizes, over RoCE v2 and v1
# nodes: 2
# level: long
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# rstream and riostream: 20 times there and back, of several sizes; what arrives is compared
run_stream() { # PROGRAM SIZE
	PORT=$((PORT + 1))
	both cm_ready "$1" -b "$SRV_BIND" -p $PORT -I 20 -C 1 -S "$2" -T v -- \
		"$1" -s "$SRV_CM" -p $PORT -I 20 -C 1 -S "$2" -T v
}

path_up vms
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid $type
	for size in 64 5000 200000; do
		try $type-rstream-$size run_stream rstream $size
		try $type-riostream-$size run_stream riostream $size
	done
done
try resources-gone wait_for 10 resources_gone
try resources-gone-peer on_b_tools wait_for 10 resources_gone
