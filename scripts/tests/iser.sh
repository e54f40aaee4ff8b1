# SPDX-License-Identifier: GPL-2.0
# test: iSER: the kernel's target and initiator of iSCSI, over RoCE v2 and v1
# nodes: 2
# level: long
# suites: all
# extra: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/disk.sh"

NAME=iqn.2001-04.com.example:test
PORTAL=''		# address and port of the target

# Does what the package's scripts would have done, and starts the daemon.  When it ends, it kills its
# process group, so it gets one of its own.  It gives up if iscsiadm makes the folder /var/lib/iscsi at
# the same time, so the folder is there before.
daemon_up() {
	echo InitiatorName=iqn.2001-04.com.example:a > /etc/iscsi/initiatorname.iscsi
	mkdir -p /run/lock/iscsi /var/lib/iscsi /etc/iscsi/{nodes,send_targets,ifaces}
	modprobe -a ib_iser
	setsid iscsid -f < /dev/null 3>&- &
	wait_for 10 grep -q @ISCSIADM /proc/net/unix && iscsiadm -m iface >&2
}

# Creates the record of the target without a discovery.  In a discovery over iSER, iscsiadm (2.1.11) loses
# the target's answer if it comes while iscsiadm reads the kernel's answer to its request.  Then iscsiadm
# waits until it gives up.  The faster the device, the more often that happens.
connect() {
	iscsiadm -m node -T $NAME -p "$PORTAL" -I iser -o new >&2 &&
		iscsiadm -m node -T $NAME -p "$PORTAL" -I iser --login >&2 && wait_for 20 find_scsi_disk iscsi_iser
}

gone() {
	[ ! -e "$DISK" ] && ! ls /sys/class/iscsi_session/* > /dev/null 2>&1
}

disconnect() {
	iscsiadm -m node -T $NAME -p "$PORTAL" -I iser --logout >&2 && wait_for 20 gone && iscsiadm -m node -o delete >&2
}

extra_up
path_up vms
try daemon daemon_up
for type in v2-ipv4 v1-ipv4 v2-ipv6; do
	use_gid $type
	PORTAL=$SRV_CM:3260
	[ $type != v2-ipv6 ] || PORTAL="[$SRV_CM]:3260"
	use_target iser
done
path loop
use_gid v2-ipv4
PORTAL=$SRV_CM:3260 type=loop
use_target iser
iscsiadm -k 0 >&2
wait
modprobe -r ib_iser
try resources-gone wait_for 10 resources_gone 99
try resources-gone-peer on_b_tools wait_for 10 resources_gone 99
