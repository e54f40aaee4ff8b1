# SPDX-License-Identifier: GPL-2.0
# test: creating objects without end fails, is charged to the process, and affects no other
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

# In a cgroup that may have 200 MiB, whose processes' limits are a user's otherwise
limited() { # COMMAND...
	echo 200M > $CGROUP/memory.max
	(
		echo $BASHPID > $CGROUP/cgroup.procs
		ulimit -n 1048576
		exec "$@"
	)
}

# refused_by KIND DEPTH RUNNER...: all there is of it, then ENOMEM, and no one is killed
refused_by() {
	local kind=$1 depth=$2 kills num err rest
	shift 2
	kills=$(oom_kills)
	read -r num err rest < <("$@" verbs_many -l -d rxe0 -w "$depth" "$kind")
	say "$kind of $depth: $num made, errno $err, $rest"
	[ "$num" -gt 0 ] && [ "$err" = $ENOMEM ] && [ "$(oom_kills)" = "$kills" ]
}

# What they take is the cgroup's: it never had more than it may have, nor has the machine less
charged() { # KIND DEPTH
	local before
	before=$(available)
	limited verbs_many -l -d rxe0 -w "$2" "$1" > /tmp/many &
	while kill -0 $! 2> /dev/null; do
		[ "$(available)" -gt $((before - 400)) ] ||
			{ say "only $(available) of $before MiB left"; kill -9 $!; return 1; }
		sleep 0.02
	done
	cat /tmp/many >&2
}

load_ours
rxe_add
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p $CGROUP
try charged-qp charged qp 2000
try charged-cq charged cq 100000
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
