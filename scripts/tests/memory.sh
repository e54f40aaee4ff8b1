# SPDX-License-Identifier: GPL-2.0
# test: creating objects without end fails, is charged to the process and its user, and affects no other
# nodes: 1
# level: full
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

CGROUP=/sys/fs/cgroup/rxe-memory
ENOMEM=12

oom_kills() {
	awk '$1 == "oom_kill" { print $2 }' /proc/vmstat
}

available() { # in MiB
	awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo
}

# Runs the command in a cgroup with a limit of 200 MiB
limited() { # COMMAND...
	echo 200M > $CGROUP/memory.max
	(
		echo $BASHPID > $CGROUP/cgroup.procs
		ulimit -n 1048576
		exec "$@"
	)
}

# refused_by KIND DEPTH RUNNER...: objects can be made until ENOMEM, and no process is killed
refused_by() {
	local kind=$1 depth=$2 kills num err rest
	shift 2
	kills=$(oom_kills)
	read -r num err rest < <("$@" verbs_many -l -d rxe0 -w "$depth" "$kind")
	say "$kind of $depth: $num made, errno $err, $rest"
	[ "$num" -gt 0 ] && [ "$err" = $ENOMEM ] && [[ $rest == *" ms "* ]] && [ "$(oom_kills)" = "$kills" ]
}

# Objects are charged to the cgroup: the machine has at most 400 MiB less while they are made
charged() { # KIND DEPTH
	local before num err
	before=$(available)
	limited verbs_many -l -d rxe0 -w "$2" "$1" > /tmp/many &
	while kill -0 $! 2> /dev/null; do
		[ "$(available)" -gt $((before - 400)) ] ||
			{ say "only $(available) of $before MiB left"; kill -9 $!; return 1; }
		sleep 0.02
	done
	cat /tmp/many >&2
	read -r num err _ < /tmp/many && [ "$num" -gt 0 ] && [ "$err" = $ENOMEM ]
}

# Prefetches of a process that has exited don't go on: their pages would be charged to no cgroup
gone() {
	local before least
	before=$(available) least=$before
	limited odp_gone rxe0 1024 || return 1
	while [ "$(cat /sys/module/rdma_rxe/refcnt)" != 0 ]; do
		[ "$(available)" -ge "$least" ] || least=$(available)
		sleep 0.02
	done
	say "$((before - least)) MiB less"
	[ $((before - least)) -lt 400 ]
}

A=65534 B=65533

as_user() { # UID COMMAND...
	setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
}

# makes UID NUM ERRNO ARGS...: the user can make so many objects, and then gets this error
makes() {
	local uid=$1 want=$2 err=$3 out
	shift 3
	out=$(as_user "$uid" verbs_many -d rxe0 "$@" < /dev/null) || return 1
	say "user $uid: $* $out"
	[[ $out == "$want $err "* ]]
}

# The user's budget is used up: the user can't even make a completion queue
used_up() { # UID
	! as_user "$1" verbs_many -d rxe0 -n 1 cq
}

# Queues of one page use up a budget of 1024 pages.  verbs_many itself has one of them
all_pages() {
	makes $A 1023 $ENOMEM -k cq && makes $A 1023 $ENOMEM -k cq
}

# During a resize, both rings exist.  Afterwards, only the new ring is charged.  A ring has 17 pages
resized() {
	makes $A 59 $ENOMEM -k -w 1000 resized-cq && all_pages
}

# A queue pair is charged for two rings of a page each, and an array
arrays() {
	local num err rest
	read -r num err rest < <(as_user $A verbs_many -d rxe0 -k -w 1 qp < /dev/null)
	say "$num queue pairs, errno $err, $rest"
	[ "$num" -gt 200 ] && [ "$num" -lt 511 ] && [ "$err" = $ENOMEM ] && all_pages
}

# keeping OPTION: a user uses up the budget, until finished().  The program's output is in /tmp/kept
keeping() {
	rm -f /tmp/keep /tmp/kept
	mkfifo /tmp/keep
	as_user $A verbs_many -d rxe0 "$1" cq < /tmp/keep > /tmp/kept &
	exec 9> /tmp/keep
	wait_for 60 grep -q . /tmp/kept
}

finished() {
	exec 9>&-
	wait_for 10 all_pages
}

# While one user has used up the budget, another user and root can make objects.  The log has the reason
apart() {
	local lines
	lines=$(log_lines)
	keeping -k && used_up $A && makes $B 500 0 -n 500 cq && makes 0 2000 0 -n 2000 cq && used_up $A &&
		finished && logged_since "$lines" "user $A have 4194304 bytes.*user_ring_bytes"
}

# A destroyed object is charged until it is unmapped, also in a child
mapped() {
	keeping -f && wait_for 60 grep -q destroy /tmp/kept && used_up $A && finished
}

# The page table of a region with ODP is charged, and uncharged, though no page is present.  It has
# slightly more than 2 MiB, so the budget of 4 MiB allows one
page_tables() {
	makes $A 1 $ENOMEM odp && wait_for 10 all_pages && makes 0 10 0 -n 10 odp
}

unlimited() {
	echo user_ring_bytes 0 > $KNOBS && makes $A 2000 0 -n 2000 cq
}

user_budget() {
	echo user_ring_bytes 4194304 > $KNOBS
	try user-all all_pages
	try user-resized resized
	try user-arrays arrays
	try user-page-tables page_tables
	cases user- as_user $A verbs_odp -d rxe0 -g "$(gid_index rxe0 v2 $A4)" -c few-places
	try user-apart apart
	try user-mapped mapped
	try user-unlimited unlimited
	echo user_ring_bytes 1073741824 > $KNOBS
}

load_ours
rxe_add
user_budget
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p $CGROUP
try charged-qp charged qp 2000
try charged-cq charged cq 100000
try gone gone
for kind in qp cq; do
	for depth in 1 2000; do
		try "cgroup-$kind-$depth" refused_by $kind $depth limited
	done
done
cases "" verbs_err -d rxe0 mw-limit
try machine-qp refused_by qp 16000 eval
try machine-cq refused_by cq 500000 eval
try resources-gone wait_for 5 resources_gone
rmdir $CGROUP
