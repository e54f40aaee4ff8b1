# SPDX-License-Identifier: GPL-2.0
# test: SRP: the kernel's target and initiator, by RDMA_CM, over RoCE v2 and v1
# nodes: 2
# level: long
# extra: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/disk.sh"

connect() {
	local id address=$SRV_CM
	[ $type != v2-ipv6 ] || address="[$SRV_CM]"
	id=$(srv cat /sys/module/ib_srpt/parameters/srpt_service_guid) &&
		echo "id_ext=$id,ioc_guid=$id,dest=$address:5555" > /sys/class/infiniband_srp/srp-rxe0-1/add_target &&
		wait_for 20 find_scsi_disk ib_srp
}

gone() {
	[ ! -e "$DISK" ] && ! ls /sys/class/srp_remote_ports/* > /dev/null 2>&1
}

disconnect() {
	echo 1 > /sys/class/srp_remote_ports/port-*/delete && wait_for 20 gone
}

everything() {
	try "$type-target" srv scsi-target srp up "$SRV_CM"
	try "$type-connect" connect
	try "$type-64k" write_compare 64k 4k
	try "$type-4k" write_compare 4k 64k
	try "$type-parallel" parallel
	try "$type-disconnect" disconnect
	try "$type-connect-again" connect
	try "$type-same-data" same_data 1M
	try "$type-verified" verified
	[ "$PATH_NAME-$type" != vms-v2-ipv4 ] || try "$type-loss" loss
	try "$type-disconnect-last" disconnect
	try "$type-target-gone" srv scsi-target srp down
}

extra_up
path_up vms
modprobe ib_srp
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid $type
	everything
done
path loop
use_gid v2-ipv4
type=loop
everything
modprobe -r ib_srp
try resources-gone wait_for 10 resources_gone 99
try resources-gone-peer on_b_tools wait_for 10 resources_gone 99
