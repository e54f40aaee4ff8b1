# SPDX-License-Identifier: GPL-2.0
# test: on-demand paging: all operations while pages of the process are taken back; endless faults
# nodes: 1
# level: core
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/wires.sh"

# Turns on swap, so that anonymous pages can be taken back.  A file on tmpfs can be swap only by a loop device
swap_on() {
	local file=/tmp/swap
	fallocate -l 64M $file && SWAP=$(losetup -f --show $file) && mkswap -q "$SWAP" && swapon "$SWAP"
}

swap_off() {
	swapoff "$SWAP" && losetup -d "$SWAP" && rm /tmp/swap
}

vmstat() { # NAME
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

# Pages were written to swap and read again.  The other cases have compared every byte
swapped() {
	local in out
	in=$(($(vmstat pswpin) - SWAP_IN)) out=$(($(vmstat pswpout) - SWAP_OUT))
	say "$out pages written to swap, $in read"
	[ "$in" -gt 100 ] && [ "$out" -gt 100 ]
}

# Operations between two devices, over the network
between() { # PREFIX [OPTION...]
	cases "$1" verbs_odp -d "$CLI_DEV" -g "$CLI_GID" -D "$SRV_DEV" -G "$SRV_GID" "${@:2}"
}

dropped() { # cli|srv NETDEV
	"$1" tc -s qdisc show dev "$2" | sed -n 's/.*dropped \([0-9]*\).*/\1/p'
}

# Packets were lost in both directions.  Packets that were sent again found other pages, or none
lost() {
	local there back
	there=$(dropped cli "$CLI_NET") back=$(dropped srv "$SRV_NET")
	say "lost: $there there, $back back"
	[ "$there" -gt 0 ] && [ "$back" -gt 0 ]
}

# Limits: 8 processes of one user, also ones that have exited, and 16 of all users
left_behind() {
	local lines
	[ -e /proc/sys/vm/unprivileged_userfaultfd ] || { skip left "the kernel has no userfaultfd"; return; }
	[ -e /proc/self/ns/user ] || { skip left "the kernel has no user namespaces"; return; }
	lines=$(log_lines)
	echo "odp_processes 16" > $KNOBS
	cases "left-" odp_left rxe0 8
	echo "odp_processes 2048" > $KNOBS
	try left-told logged_since "$lines" "rxe0: user 1000 has on-demand paging in 8 processes of at most 8, "
}

SWAP=
# A datagram that waits for a page isn't dropped, even if this machine stands still for seconds
patient() {
	echo "inq_age_ms 10000" > $KNOBS
}

SWAP_IN=$(vmstat pswpin) SWAP_OUT=$(vmstat pswpout)
if modprobe loop; then
	try swap swap_on
else
	skip swap "the kernel has no loop devices"
fi
path_up loop
patient
use_gid v2-ipv4
cases "direct-" verbs_odp -d rxe0 -g "$SRV_GID"
echo "inq_age_ms 100" > $KNOBS
cases "direct-" verbs_odp -d rxe0 -g "$SRV_GID" -c slow-read
patient
switch_is zero_copy 0
cases "packets-" verbs_odp -d rxe0 -g "$SRV_GID"
left_behind
unload
path_up ports
patient
in_order
use_gid v2-ipv4
between "ports-" -n 20
use_gid v1-ipv4
between "v1-" -n 20 -c rc-shared,rc-anon-implicit,ud-shared,uc-shared,srq-uc,unmapped
unload
path_up veth
patient
in_order
use_gid v2-ipv4
wire_is loss-5
between "loss-" -n 20 -c rc-shared,rc-anon-implicit,srq-rc
try lost lost
wire_is clean
if [ "$SWAP" ]; then
	try swapped swapped
	try swap-off swap_off
fi
try resources-gone wait_for 5 resources_gone
