# SPDX-License-Identifier: GPL-2.0
# The kernel's host of NVMe over Fabrics.  Tests source this file after lib.sh, tools.sh and disk.sh.
# shellcheck shell=bash disable=SC2034,SC2154

CONTROLLER=''	# of the connection

connect() { # [ARGUMENT...]
	nvme connect -t rdma -a "$SRV_CM" -s 4420 -n test -i 2 --reconnect-delay=1 "$@" >&2 &&
		wait_for 10 find_disk
}

find_disk() {
	local ctrl
	for ctrl in /sys/class/nvme/nvme*; do
		[ "$(cat "$ctrl/subsysnqn" 2> /dev/null)" = test ] || continue
		CONTROLLER=${ctrl##*/}
		DISK=$(find /dev -name 'nvme*n1' | head -n 1)
		[ -b "$DISK" ] && return
	done
	return 1
}

live() {
	[ "$(cat "/sys/class/nvme/$CONTROLLER/state")" = live ]
}

gone() {
	! grep -qsx test /sys/class/nvme/nvme*/subsysnqn
}

disconnect() {
	nvme disconnect -n test >&2 && wait_for 10 gone
}
