# SPDX-License-Identifier: GPL-2.0
# test: SRP: the kernel's target and initiator, by RDMA_CM, over RoCE v2 and v1
# nodes: 2
# level: long
# suites: all
# extra: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/disk.sh"

add_target() { # TARGET
	echo "$1" > /sys/class/infiniband_srp/srp-rxe0-1/add_target
}

# The initiator forgets the disk and the port of an earlier connection first, and then its target.  Until
# then, the error is "File exists".
connect() {
	local id address=$SRV_CM
	[ $type != v2-ipv6 ] || address="[$SRV_CM]"
	id=$(srv cat /sys/module/ib_srpt/parameters/srpt_service_guid) &&
		wait_for 20 add_target "id_ext=$id,ioc_guid=$id,dest=$address:5555" &&
		wait_for 20 find_scsi_disk ib_srp
}

gone() {
	[ ! -e "$DISK" ] && ! ls /sys/class/srp_remote_ports/* > /dev/null 2>&1
}

disconnect() {
	echo 1 > /sys/class/srp_remote_ports/port-*/delete && wait_for 20 gone
}

has_srq() {
	local text
	text=$(srv rdma resource show srq) && say "$text" && grep -q 'type BASIC.*comm.*ib_srpt' <<< "$text"
}

# The target has one shared receive queue for all connections
shared_receives() {
	try "$type-srq-target" srv env USE_SRQ=1 scsi-target srp up "$SRV_CM"
	try "$type-srq-connect" connect
	try "$type-srq-made" has_srq
	try "$type-srq-parallel" parallel
	try "$type-srq-4k" write_compare 4k 64k
	try "$type-srq-verified" verified
	try "$type-srq-disconnect" disconnect
	try "$type-srq-target-gone" srv scsi-target srp down
}

# When a channel with a shared receive queue ends, ib_srpt of Linux 6.12 gives back a cache that it never
# took, and warns, whatever the device.  There must be no other complaint.  The log of b ends here, and is in
# the test's log
forget_warning() {
	local bad
	on_b dmesg_take > /tmp/peer.log || return 1
	cat /tmp/peer.log
	bad=$(grep -E "$BAD_DMESG" /tmp/peer.log) || return 0
	! grep -v -e 'WARNING: .* srpt_cache_put+' -e ' Call Trace:' <<< "$bad"
}

extra_up
path_up vms
modprobe ib_srp
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid $type
	use_target srp
done
type=v2-ipv4
use_gid $type
shared_receives
path loop
use_gid v2-ipv4
type=loop
use_target srp
modprobe -r ib_srp
try resources-gone wait_for 10 resources_gone 99
try resources-gone-peer on_b_tools wait_for 10 resources_gone 99
try srq-warning forget_warning
