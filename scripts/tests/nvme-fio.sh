# SPDX-License-Identifier: GPL-2.0
# test: NVMe over Fabrics: data that fio verifies, with loss, and while the link goes away
# nodes: 2
# level: long
# suites: all
# extra: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/disk.sh"
. "$TESTS/nvme-host.sh"

# disk_requests reads|writes: prints how many requests the paths to the disk have answered.  Linux 6.1
# doesn't count the requests of the disk itself, because it is a multipath device
disk_requests() {
	awk -v kind="$1" '{ sum += kind == "reads" ? $1 : $5 } END { print sum }' /sys/class/block/nvme*c*n1/stat
}

link_is() { # STATE
	grep -q "$1" /sys/class/infiniband/rxe0/ports/1/state
}

# The link is down for a short time: the queue pairs send again what was lost
down_briefly() {
	ip link set eth0 down && wait_for 10 link_is DOWN && ip link set eth0 up
}

# The link is down until the queue pairs give up: the host connects again
down_for_long() {
	ip link set eth0 down && wait_for 30 eval '! live' && ip link set eth0 up
}

# flap HOW reads|writes OPTION...: the link goes down while fio, with these options, reads or writes.  fio's
# rate is limited, so that it doesn't end before.
flap() {
	local pid begun
	begun=$(disk_requests "$2")
	verified --rate=500k,500k "${@:3}" &
	pid=$!
	wait_for 60 eval "[ \$(disk_requests $2) -gt $((begun + 3)) ]" && "$1" && kill -0 $pid &&
		ip addr add "$A6/64" dev eth0 nodad && wait_for 60 live && wait $pid
}

# fio doesn't limit the rate of the reads that verify its writes.  So the data is written before
flap_reads() {
	verified --bs=16k && flap "$1" reads --bs=16k --rw=randread
}

flaps() {
	try "$type-brief-flap-writes" flap down_briefly writes
	try "$type-long-flap-writes" flap down_for_long writes
	try "$type-brief-flap-reads" flap_reads down_briefly
	try "$type-long-flap-reads" flap_reads down_for_long
}

disk_sum() {
	dd if="$DISK" bs=64k iflag=direct status=none | sha256sum
}

# A new connection reads what the old one has written
reconnected() {
	local sum
	sum=$(disk_sum) && disconnect && connect --ctrl-loss-tmo=600 && say "$sum" &&
		[ "$(disk_sum)" = "$sum" ]
}

modprobe -a nvme-fabrics nvme-rdma
path_up vms
extra_up
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid $type
	try "$type-target" srv nvme-target up "${SRV_CM%%%*}"
	try "$type-connect" connect --ctrl-loss-tmo=600
	try "$type-verified" verified
	try "$type-loss" with_loss verified
	[ "$type" = v2-ipv6 ] || flaps
	try "$type-same-data" reconnected
	try "$type-disconnect" disconnect
	try "$type-target-gone" srv nvme-target down
done
modprobe -r nvme-rdma
try resources-gone wait_for 10 resources_gone 99
try resources-gone-peer on_b_tools wait_for 10 resources_gone 99
