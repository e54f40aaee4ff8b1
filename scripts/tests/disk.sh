# SPDX-License-Identifier: GPL-2.0
# Tests of a disk at the other end of a network.  Tests source this file after lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154

SIZE=4			# MiB that are written and read
DISK=''			# of the connection

# find_scsi_disk DRIVER: sets DISK to the disk of the driver's SCSI host
find_scsi_disk() {
	local host
	modprobe sd_mod
	for host in /sys/class/scsi_host/*; do
		[ "$(cat "$host/proc_name")" = "$1" ] || continue
		DISK=/dev/$(find "$host/device/" -path '*/block/sd?' -printf %f)
		[ -b "$DISK" ] && return
	done
	return 1
}

new_data() {
	dd if=/dev/urandom of=/tmp/data bs=1M count=$SIZE status=none
}

same_data() { # BYTES
	dd if="$DISK" of=/tmp/back bs="$1" iflag=direct,count_bytes count=${SIZE}M status=none && cmp /tmp/data /tmp/back
}

# The disk returns what was written.  Reads may have another size.  Both bypass the page cache
write_compare() { # BYTES [OF READS]
	new_data && dd if=/tmp/data of="$DISK" bs="$1" oflag=direct status=none && same_data "${2:-$1}"
}

# Eight programs write at once, each to its part of the disk
parallel() {
	local pids=() i status=0 part=$((SIZE * 8))
	new_data
	for i in {0..7}; do
		dd if=/tmp/data of="$DISK" bs=16k count=$part skip=$((i * part)) \
			seek=$((i * part)) oflag=direct conv=notrunc status=none &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || status=1
	done
	[ $status -eq 0 ] && same_data 1M
}

write_compare_sizes() {
	write_compare 64k && write_compare 4k 1M
}

loss() {
	with_loss write_compare_sizes
}

# verified [OPTION...]: fio writes blocks of many sizes in random order, 16 at a time, and verifies their
# checksums.  For tests with "extra: yes"
verified() {
	fio --name=verified --filename="$DISK" --size=${SIZE}M --rw=randwrite --bsrange=4k-128k \
		--ioengine=libaio --iodepth=16 --direct=1 --verify=crc32c --verify_fatal=1 --randseed=7 \
		--output-format=terse "$@" >&2
}

# use_target KIND: tests a target from its creation to its end.  The caller defines connect() and disconnect()
use_target() {
	try "$type-target" srv scsi-target "$1" up "$SRV_CM"
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
	try "$type-target-gone" srv scsi-target "$1" down
}
