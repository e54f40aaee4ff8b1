# SPDX-License-Identifier: GPL-2.0
# test: on-demand paging: all operations while pages of the process are taken back; endless faults
# nodes: 1
# level: core
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

KNOBS=/sys/kernel/debug/rdma_rxe/knobs

# Swap, so that anonymous pages can be taken back; tmpfs files can be swap only by a loop device
swap_on() {
	local file=/tmp/swap
	fallocate -l 64M $file && SWAP=$(losetup -f --show $file) && mkswap -q "$SWAP" && swapon "$SWAP"
}

swap_off() {
	[ -z "$SWAP" ] || { swapoff "$SWAP"; losetup -d "$SWAP"; } || true
}

# Between two devices by the network's way
between() {
	cases "ports-" verbs_odp -d "$CLI_DEV" -g "$CLI_GID" -D "$SRV_DEV" -G "$SRV_GID"
}

# Of a user 8 processes, also ones that have exited, and of all users 16
left_behind() {
	local lines
	[ -e /proc/sys/vm/unprivileged_userfaultfd ] || { skip left "the kernel has no userfaultfd"; return; }
	lines=$(log_lines)
	echo "odp_processes 16" > $KNOBS
	cases "left-" odp_left rxe0 8
	echo "odp_processes 2048" > $KNOBS
	try left-told logged_since "$lines" "rxe0: user 1000 has on-demand paging in 8 processes of at most 8, "
}

SWAP=
# A datagram that waits for a page isn't dropped, however long this machine stands still
patient() {
	echo "inq_age_ms 10000" > $KNOBS
}

swap_on || say "no swap on this machine"
path_up loop
patient
use_gid v2-ipv4
cases "direct-" verbs_odp -d rxe0 -g "$SRV_GID"
switch_is zero_copy 0
cases "packets-" verbs_odp -d rxe0 -g "$SRV_GID"
left_behind
unload
path_up ports
patient
in_order
use_gid v2-ipv4
between
swap_off
try resources-gone wait_for 5 resources_gone
