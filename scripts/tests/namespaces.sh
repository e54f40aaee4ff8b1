# SPDX-License-Identifier: GPL-2.0
# test: a hundred namespaces with a device each, both modes of the RDMA core, moves, limits of the rdma cgroup
# nodes: 1
# level: long
# suites: all
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband
CGROUP=/sys/fs/cgroup/rxe-rdma
EAGAIN=11

# When a device is gone, its name can be used again, also in another namespace.
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

# A hundred namespaces use the same address, each for its own netdev.  Only in exclusive mode: in shared
# mode, the RDMA core would make files for each GID of each device in each namespace, of 4 GB in all.
# Three of them carry data: to look at a device and to send takes two seconds in an emulated machine.
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

between() { # data passes between the two namespaces
	use_gid v2-ipv4 && run_rc_pingpong && run_rping
}

both_gone() {
	ip netns del A && ip netns del B && wait_for 20 names_free rxeA rxeB
}

# The program is in the first namespace, so the others can be deleted.  Its two ends use one device each,
# and its data crosses the veth
deleted_under_traffic() { # VERSION
	local pid before
	use_gid "$1" || return 1
	before=$(sent_by A veth)
	rc_random -d rxeA -g "$CLI_GID" -D rxeB -G "$SRV_GID" -n 100000000 -q 4 > /dev/null 2>&1 & pid=$!
	wait_for 20 eval "[ \$(sent_by A veth) -gt $((before + 500)) ]" || return 1
	rdma resource show qp link rxeA/1 | grep -q 'state RTS.*rc_random' && both_gone &&
		wait_for 20 eval "! kill -0 $pid" || return 1
	! wait $pid || { say "the program succeeded without its devices"; return 1; }
}

# Each namespace sees its own device, and no other
each_its_own() {
	[ "$(in_netns A ls $SYS)" = rxeA ] && [ "$(in_netns B ls $SYS)" = rxeB ] && [ -z "$(ls $SYS)" ]
}

# The RDMA device is moved without its netdev, and back.  Then it works again.
moved_and_back() {
	in_netns A rdma dev set rxeA netns B && in_netns B ls $SYS/rxeA >&2 && ! in_netns A ls $SYS/rxeA &&
		in_netns B rdma dev set rxeA netns A && wait_for 20 in_netns A rxe_ready rxeA veth && between
}

# A write to roce_enable replaces the device. The new one is in the namespace to which the old one was moved
renewed_elsewhere() {
	in_netns A rdma dev set rxeA netns B && in_netns B sh -c "echo v2 > $SYS/rxeA/roce_enable" &&
		in_netns B ls $SYS/rxeA >&2 && ! in_netns A ls $SYS/rxeA &&
		in_netns B sh -c "echo 1 > $SYS/rxeA/roce_enable" && in_netns B rdma dev set rxeA netns A &&
		wait_for 20 in_netns A rxe_ready rxeA veth && between
}

listens() { # NS: the driver has UDP port 4791 there
	ip netns exec "$1" ss -Hlun sport = :4791 | grep -q .
}

netdev_to() { # NS FROM TO: moves the netdev of NS; then it is down and has no addresses, so both are restored
	local n=1
	[ "$1" = A ] || n=2
	ip -n "$2" link set veth netns "$3" && ip -n "$3" link set veth up && ip -n "$3" addr add 203.0.113.$n/24 dev veth &&
		ip -n "$3" addr add 2001:db8:1::$n/64 dev veth nodad
}

rdma_to() { # NS FROM TO
	ip netns exec "$2" rdma dev set "rxe$1" netns "$3"
}

# A container gets the netdev and the RDMA device, in either order.  Both are moved back.
moves() { # FIRST SECOND
	local ns
	ip netns add C && ip netns add D && ip -n C link set lo up && ip -n D link set lo up || return 1
	"$1_to" A A C && "$2_to" A A C && "$2_to" B B D && "$1_to" B B D || return 1
	! listens A && ! listens B && listens C && listens D || return 1
	srv() { in_netns D "$@"; }
	cli() { in_netns C "$@"; }
	for ns in "C rxeA" "D rxeB"; do
		[ "$(in_netns "${ns% *}" ls $SYS)" = "${ns#* }" ] && wait_for 20 in_netns "${ns% *}" rxe_ready "${ns#* }" veth || return 1
	done
	between && use_gid v2-ipv6 && run_rping || return 1
	path veth
	"$1_to" A C A && "$1_to" B D B && "$2_to" A C A && "$2_to" B D B && ! listens C && ! listens D &&
		ip netns del C && ip netns del D && wait_for 20 each_its_own &&
		wait_for 20 in_netns A rxe_ready rxeA veth && wait_for 20 in_netns B rxe_ready rxeB veth && between
}

# When a namespace is deleted, its real netdev returns to the first namespace, and so does the device
returned() {
	rxe_add && ip netns add C && ip link set eth0 netns C && rdma dev set rxe0 netns C && listens C &&
		in_netns C ls $SYS/rxe0 >&2 && [ -z "$(ls $SYS)" ] && ip netns del C || return 1
	wait_for 20 eval "rdma link show rxe0/1 | grep -q 'netdev eth0'" && node_network &&
		wait_for 20 rxe_ready rxe0 eth0 && rc_random -d rxe0 -n 100 && rdma link delete rxe0
}

state_is() { # STATE
	grep -q "$1" $SYS/rxe0/ports/1/state
}

# A program has bound the port in the new namespace: the device receives nothing until the port is free and
# the netdev is set up again.  Another event of the netdev may have the same effect, if the port is free then.
port_taken() {
	local pid
	rxe_add && ip netns add C || return 1
	ip netns exec C python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 4791))
time.sleep(1000)' & pid=$!
	wait_for 10 listens C && ip link set eth0 netns C && ip -n C link set eth0 up && state_is DOWN &&
		dmesg | grep -q 'rxe0: receives nothing .* eth0' && kill $pid || return 1
	wait $pid || true
	ip -n C link set eth0 down && ip -n C link set eth0 up && listens C &&
		wait_for 10 state_is ACTIVE && ip netns del C && node_network && rdma link delete rxe0
}

# Waits until all namespaces that were deleted before are freed.  The kernel frees namespaces in their
# order, perhaps two at a time, so this deletes two more and waits for their devices
ends_seen() {
	local n
	for n in 1 2; do
		add_one $n && ip netns del n$n && wait_for 20 names_free rxen$n || return 1
	done
}

# A queue pair outlives the namespace of its route.  The programs are in the first namespace.
route_of_the_gone() { # VERSION
	local pids=() ns
	use_gid "$1" || return 1
	PORT=$((PORT + 1))
	ib_write_bw -F -D 1000 -p $PORT -d rxeB -x "$SRV_GID" > /dev/null 2>&1 & pids+=($!)
	wait_tcp $PORT || return 1
	ib_write_bw -F -D 1000 -p $PORT -d rxeA -x "$CLI_GID" 127.0.0.1 > /dev/null 2>&1 & pids+=($!)
	wait_for 20 eval '[ "$(rdma resource show qp | grep -c "state RTS.*ib_write_bw")" -ge 1 ]' && SRV_DEV=rxeB stream_moves || return 1
	kill -STOP "${pids[@]}"
	for ns in A B; do
		ip -n $ns link set veth netns 1 && ip netns del $ns && ip link set veth name end$ns || return 1
	done
	ends_seen && ls $SYS/rxeA $SYS/rxeB > /dev/null || return 1
	kill -KILL "${pids[@]}"
	wait "${pids[@]}" || true
	wait_for 20 resources_gone 2 && ip link del endA && wait_for 20 names_free rxeA rxeB
}

# The same with a route by a VLAN.  The netdev moves to a namespace where a program has the port, so the
# device is in no namespace.  The VLAN stays, and is deleted with its namespace.
route_of_the_upper() {
	local pids=() port ns n=1 SRV6=2001:db8:5::2 CLI6=2001:db8:5::1
	for ns in A B; do
		ip -n $ns link add link veth name veth.5 type vlan id 5 && ip -n $ns link set veth.5 up &&
			ip -n $ns addr add 2001:db8:5::$n/64 dev veth.5 nodad || return 1
		n=2
	done
	wait_for 20 use_gid v2-ipv6 && ip netns add C || return 1
	ip netns exec C python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 4791))
time.sleep(1000)' & port=$!
	PORT=$((PORT + 1))
	ib_write_bw -F -D 1000 -p $PORT -d rxeB -x "$SRV_GID" > /dev/null 2>&1 & pids+=($!)
	wait_for 10 listens C && wait_tcp $PORT || return 1
	ib_write_bw -F -D 1000 -p $PORT -d rxeA -x "$CLI_GID" 127.0.0.1 > /dev/null 2>&1 & pids+=($!)
	wait_for 20 eval '[ "$(rdma resource show qp | grep -c "state RTS.*ib_write_bw")" -ge 1 ]' && SRV_DEV=rxeB stream_moves || return 1
	kill -STOP "${pids[@]}"
	ip -n A link set veth netns C && wait_for 10 eval "dmesg | grep -q 'rxeA: receives nothing'" &&
		ip -n A link del veth.5 && ip netns del A && ends_seen && ls $SYS/rxeA > /dev/null || return 1
	kill -KILL "${pids[@]}" $port
	wait "${pids[@]}" $port || true
	wait_for 20 resources_gone 2 && ip -n C link del veth && ip netns del B && ip netns del C && wait_for 20 names_free rxeA rxeB
}

in_group() { # COMMAND...
	(
		echo $BASHPID > $CGROUP/cgroup.procs
		exec "$@"
	)
}

# limited LIMIT KIND: objects can be made up to the limit, and one more is refused
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
each_netns_its_devices
try hundred hundred
try hundred-gone hundred_gone
netns_pair
try exclusive each_its_own
try exclusive-data between
try moved-and-back moved_and_back
try renewed-elsewhere renewed_elsewhere
try netdev-then-device moves netdev rdma
try device-then-netdev moves rdma netdev
try exclusive-gone both_gone
try returned returned
rdma system set netns shared
netns_pair
try shared-data between
try v2-deleted-under-traffic deleted_under_traffic v2-ipv4
netns_pair
try v1-deleted-under-traffic deleted_under_traffic v1-ipv4
try port-taken-there port_taken
for version in v2-ipv4 v2-ipv6; do
	netns_pair
	try $version-route-of-the-gone route_of_the_gone $version
done
netns_pair
try route-of-the-upper route_of_the_upper
rxe_add
echo +rdma > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p $CGROUP
try cgroup-handle limited 'hca_handle=1 hca_object=50' mr
echo 'rxe0 hca_handle=0' > $CGROUP/rdma.max
try cgroup-none eval '! in_group ibv_devinfo -d rxe0'
for kind in qp cq mr; do
	try "cgroup-$kind" limited 'hca_handle=2 hca_object=50' $kind
done
# The kernel would keep the limits of a deleted group, and access its memory when the device is deleted
echo 'rxe0 hca_handle=max hca_object=max' > $CGROUP/rdma.max
rmdir $CGROUP
