# SPDX-License-Identifier: GPL-2.0
# test: rsockets: streams of several sizes, over RoCE v2 and v1
# nodes: 2
# level: long
# suites: all
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# rstream and riostream send data there and back 20 times, and compare what arrives
run_stream() { # PROGRAM SIZE
	PORT=$((PORT + 1))
	both cm_ready "$1" -b "$SRV_BIND" -p $PORT -I 20 -C 1 -S "$2" -T v -- \
		"$1" -s "$SRV_CM" -p $PORT -I 20 -C 1 -S "$2" -T v
}

# rcopy copies a file of 5 MiB.  Its options must come last.  The server doesn't end by itself.
run_rcopy() {
	local status=0
	PORT=$((PORT + 1))
	srv timeout $LIMIT rcopy -p $PORT &
	dd if=/dev/urandom of=/tmp/data bs=1M count=5 status=none && srv cm_ready $PORT &&
		cli timeout $LIMIT rcopy /tmp/data "$SRV_CM:/tmp/copy" -p $PORT &&
		srv cat /tmp/copy | cmp - /tmp/data || status=1
	srv pkill -x rcopy || true
	wait
	return $status
}

path_up vms
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid $type
	for size in 64 5000 200000; do
		try $type-rstream-$size run_stream rstream $size
		try $type-riostream-$size run_stream riostream $size
	done
	[ $type = v2-ipv6 ] || try $type-rcopy run_rcopy	# rcopy can't parse IPv6 addresses in "SERVER:FILE"
done
try resources-gone wait_for 10 resources_gone
try resources-gone-peer on_b_tools wait_for 10 resources_gone
