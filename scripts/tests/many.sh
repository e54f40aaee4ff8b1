# SPDX-License-Identifier: GPL-2.0
# test: a million MRs, a million AHs, all contexts, PDs, CQs, SRQs, and QPs until memory is short: the last takes no longer than the first
# nodes: 1
# level: long
# suites: all
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

ENOMEM=12
MILLION=1048576		# MRs or AHs of a device
OTHERS=65536		# contexts, PDs, CQs or SRQs
# Limit of the time per object, relative to the time with a sixteenth of the objects.  If the time grew
# with the number, it would be 16 times as long.  Load of the host hardly triples it.
SLACK=3

oom_kills() {
	awk '$1 == "oom_kill" { print $2 }' /proc/vmstat
}

# many KIND [NUMBER]: makes NUMBER objects, or as many as possible, and destroys them.  Sets num, err, and
# make and destroy: the ns for one object while more than half of them exist.  These are medians of the
# better of two quarters, since the host may be busy
many() {
	local line
	line=$(verbs_many -d rxe0 -g "$gid" ${2:+-n "$2"} "$1") || return 1
	say "$1: $line"
	read -r num err make destroy < <(awk '
		function less(a, b) { return a < b ? a : b }
		{ print $1, $2, less($6, $7), less($9, $10) }' <<< "$line")
	say "$num of $1: $((num * make / 1000000)) ms to make and $((num * destroy / 1000000)) ms to destroy, at $make and $destroy ns each"
}

# counted KIND NUMBER: so many objects can be made
counted() {
	many "$1" "$2" && [ "$num" = "$2" ] && [ "$err" = 0 ]
}

in_proportion() {
	awk "BEGIN { exit !($make <= $SLACK * $made && $destroy <= $SLACK * $destroyed) }"
}

# linear KIND NUMBER: makes so many objects, and then four times as many: an object takes no longer.  Later
# cases compare with the first time, too
linear() {
	counted "$1" "$2" || return 1
	made=$make destroyed=$destroy
	counted "$1" $((4 * $2)) && in_proportion
}

# full KIND: a million objects can be made, and not one more
full() {
	many "$1" && [ "$num" = $MILLION ] && [ "$err" = $ENOMEM ] && in_proportion
}

# held KIND: prints how many other objects there are while verbs_many runs, its own context, PD and CQ included
held() {
	case $1 in
	ctx) echo 1 ;;
	srq) echo 0 ;;
	*) rdma resource show rxe0 | sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" | awk '{ print $1 + 1 }' ;;
	esac
}

# to_the_last KIND: as many objects can be made as the device reports, the last one works, and not one more
# can be made.  Each CQ or SRQ takes 0.45 ms: its ring is allowed only if 256 KB can be allocated
# beside it, which the kernel clears (init_on_alloc).  An emulated machine is slow at that.
to_the_last() {
	many "$1" && [ "$err" = $ENOMEM ] && [ $((num + $(held "$1"))) = $OTHERS ]
}

# QPs can be made until memory is short, and no process is killed
until_enomem() {
	local kills
	kills=$(oom_kills)
	many qp && [ "$num" -gt 8192 ] && [ "$err" = $ENOMEM ] && [ "$(oom_kills)" = "$kills" ] && in_proportion &&
		! dmesg | grep -i 'out of memory\|oom-kill'
}

load_ours
rxe_add
# The RDMA core derives the MAC address from such an address: it doesn't resolve it for each AH.
gid=$(gid_index rxe0 v1 "$(link_local eth0)")
for kind in mr ah; do
	try linear-$kind linear $kind $((MILLION / 16))
	try most-$kind full $kind
	try gone-$kind wait_for 5 resources_gone
done
# Each context has two files
ulimit -n $((3 * OTHERS))
try last-ctx to_the_last ctx
try gone-ctx wait_for 5 resources_gone
# Each CQ and SRQ is mapped.  By default, a process may not have so many mappings.
sysctl -qw vm.max_map_count=200000
for kind in pd cq srq; do
	try last-$kind to_the_last $kind
	try gone-$kind wait_for 5 resources_gone
done
try linear-qp linear qp 2048
try most-qp until_enomem
try gone-qp wait_for 5 resources_gone
