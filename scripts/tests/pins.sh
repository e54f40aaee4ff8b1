# SPDX-License-Identifier: GPL-2.0
# test: pinned memory: its limit; its pages after a fork; no page remains pinned behind processes
# nodes: 1
# level: full
# debug: yes
# timeout: 120
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# Prints the number of pinned pages of the machine
pinned() {
	echo 1 > /proc/sys/vm/stat_refresh
	awk '$1 == "nr_foll_pin_acquired" { n += $2 } $1 == "nr_foll_pin_released" { n -= $2 } END { print n }' /proc/vmstat
}

pinned_are() {
	[ "$(pinned)" = "$1" ]
}

# Runs the case.  When all of its processes have ended, no page remains pinned
unpinned() { # CASE RUNNER...
	local case=$1 before
	shift
	before=$(pinned)
	cases "" "$@" verbs_pins -d rxe0 -g "$(gid_index rxe0 v2 $A4)" "$case"
	try "$case-unpinned" wait_for 20 pinned_are "$before"
}

# Runs the command as a user who may pin 64 KiB
ordinary() {
	(
		ulimit -l 64
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	)
}

load_ours
rxe_add
unpinned limit ordinary
for case in killed child-exits parent-exits; do
	unpinned $case eval
done
try resources-gone wait_for 5 resources_gone
