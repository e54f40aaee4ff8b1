# SPDX-License-Identifier: GPL-2.0
# test: NFS over RDMA: versions 3 and 4, over RoCE v2 and v1, also with loss
# nodes: 2
# level: long
# suites: all
# extra: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SIZE=4			# MiB that are written and read
TREE=/usr/include/rdma	# small files

mount_nfs() { # VERSION
	local path=/ lock=''
	[ "$1" != 3 ] || path=/run/nfs lock=,nolock
	timeout 60 mount -t nfs -o "proto=rdma,port=20049,vers=$1$lock" "$HOST:$path" /mnt >&2 && grep -q 'proto=rdma' /proc/mounts
}

# Writes a large file by the page cache, one by direct requests, many small files, and a link
write_files() {
	find /mnt -mindepth 1 -delete && dd if=/dev/urandom of=/tmp/data bs=1M count=$SIZE status=none &&
		cp /tmp/data /mnt/data && dd if=/tmp/data of=/mnt/direct bs=4k count=256 oflag=direct status=none &&
		cp -r $TREE /mnt/tree && ln -s tree /mnt/link && sync
}

same_files() {
	cmp /tmp/data /mnt/data && cmp -n 1048576 /tmp/data /mnt/direct && diff -r $TREE /mnt/link/ &&
		dd if=/mnt/data of=/tmp/back bs=64k iflag=direct status=none && cmp /tmp/data /tmp/back
}

# Files are written with one version of the protocol, and read with the other by a new mount, whose cache is
# empty
remounted() { # VERSION OTHER
	mount_nfs "$1" && write_files && umount /mnt && mount_nfs "$2" && same_files && umount /mnt
}

# Both machines lose packets meanwhile
remounted_lossy() {
	local lost
	with_loss remounted_and_lost "$@" || return 1
	lost=$(cat /tmp/lost) && say "$lost" && [ "$(grep -c 'dropped [1-9]' <<< "$lost")" = 2 ]
}

# The counts of lost packets, which the end of the loss removes
remounted_and_lost() {
	remounted "$@" && { tc -s qdisc show dev eth0 && on_b tc -s qdisc show dev eth0; } > /tmp/lost
}

use() { # TYPE
	use_gid "$1" && HOST=$SRV_CM
}

path_up vms
extra_up
on_b extra_up
for type in v2-ipv4 v1-ipv4; do
	use $type
	try $type-server srv nfs-server up
	try $type-v4 remounted 4.2 4.1
	try $type-v3 remounted 3 4.2
	[ $type != v2-ipv4 ] || try $type-loss remounted_lossy 4.2 4.1
	try $type-server-gone srv nfs-server down
done
modprobe -r rpcrdma
try resources-gone wait_for 10 resources_gone 99
try resources-gone-peer on_b_tools wait_for 10 resources_gone 99
