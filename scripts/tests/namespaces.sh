# SPDX-License-Identifier: GPL-2.0
# test: a hundred namespaces with a device each, both modes of the RDMA core, limits of the rdma cgroup
# nodes: 1
# level: long
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband
CGROUP=/sys/fs/cgroup/rxe-rdma
EAGAIN=11

# A name can be used again when its device is gone, whichever namespace saw it.
names_free() { # NAME...
	local name
	for name; do
		rdma link add "$name" type rxe netdev eth0 && rdma link delete "$name" || return 1
	done
}

add_one() { # NUMBER
	ip netns add "n$1" && ip -n "n$1" link add dummy0 type dummy && ip -n "n$1" addr add 198.18.0.1/24 dev dummy0 &&
		ip -n "n$1" link set dummy0 up && ip netns exec "n$1" rdma link add "rxen$1" type rxe netdev dummy0
}

# All have the same address, which is another one in each.  Only in exclusive mode: else the RDMA core
# makes files for each GID of each device in each namespace, four gigabytes for these.
hundred() {
	local n
	for n in {1..100}; do
		add_one "$n" || return 1
	done
	for n in 1 50 100; do
		in_netns "n$n" wait_for 20 rxe_ready "rxen$n" dummy0 && in_netns "n$n" rc_random -d "rxen$n" -n 200 || return 1
	done
}

hundred_gone() {
	local n
	for n in {1..100}; do
		ip netns del "n$n" || return 1
	done
	wait_for 60 names_free rxen1 rxen50 rxen100
}

between() { # the two namespaces
	use_gid v2-ipv4 && run_rc_pingpong && run_rping
}

both_gone() {
	ip netns del A && ip netns del B && wait_for 20 names_free rxeA rxeB
}

# The programs are in the first namespace, so that the others can end.
deleted_under_traffic() {
	local pids=() end pid
	for end in A B; do
		rc_random -d rxe$end -n 100000000 -q 4 > /dev/null 2>&1 &
		pids+=($!)
		wait_for 20 eval "rdma resource show qp link rxe$end/1 | grep -q 'state RTS'" || return 1
	done
	both_gone || return 1
	for pid in "${pids[@]}"; do
		wait_for 20 eval "! kill -0 $pid" || return 1
		! wait "$pid" || { say "a program succeeded without its device"; return 1; }
	done
}

# Each namespace has its own device, and no other
each_its_own() {
	[ "$(in_netns A ls $SYS)" = rxeA ] && [ "$(in_netns B ls $SYS)" = rxeB ] && [ -z "$(ls $SYS)" ]
}

# The RDMA device alone, without its netdev, is of no use; returned, it is.
moved_and_back() {
	in_netns A rdma dev set rxeA netns B && in_netns B ls $SYS/rxeA >&2 && ! in_netns A ls $SYS/rxeA &&
		in_netns B rdma dev set rxeA netns A && wait_for 20 in_netns A rxe_ready rxeA veth && between
}

in_group() { # COMMAND...
	(
		echo $BASHPID > $CGROUP/cgroup.procs
		exec "$@"
	)
}

# limited LIMIT KIND: objects are made up to the limit, and one more is refused
limited() {
	local num err _
	echo "rxe0 $1" > $CGROUP/rdma.max || return 1
	read -r num err _ < <(in_group verbs_many -d rxe0 "$2")
	say "$2 with $1: $num made, errno $err"
	[ "$num" -gt 10 ] && [ "$num" -le 50 ] && [ "$err" = $EAGAIN ] &&
		! grep '^rxe0.*=[1-9]' $CGROUP/rdma.current >&2
}

load_ours
path veth
rdma system set netns exclusive
try hundred hundred
try hundred-gone hundred_gone
netns_pair
try exclusive each_its_own
try exclusive-data between
try moved-and-back moved_and_back
try exclusive-gone both_gone
rdma system set netns shared
netns_pair
try shared-data between
try deleted-under-traffic deleted_under_traffic
rxe_add
echo +rdma > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p $CGROUP
try cgroup-handle limited 'hca_handle=1 hca_object=50' mr
echo 'rxe0 hca_handle=0' > $CGROUP/rdma.max
try cgroup-none eval '! in_group ibv_devinfo -d rxe0'
for kind in qp cq mr; do
	try "cgroup-$kind" limited 'hca_handle=2 hca_object=50' $kind
done
rmdir $CGROUP
