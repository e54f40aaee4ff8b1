# SPDX-License-Identifier: GPL-2.0
# Functions for the tests, which run in machine a of a pair.  Each test sources this file.
# shellcheck shell=bash disable=SC2034,SC2120
#
# A test reports its results by ok, fail, skip or try.  Its other output goes to its
# log.  A test may leave devices, namespaces, queueing disciplines and processes
# behind: scripts/vm/run-test removes them.

set -euo pipefail

PEER=198.51.100.2		# machine b on the control network
A4=192.0.2.1 B4=192.0.2.2	# a and b on the wire
A6=2001:db8::1 B6=2001:db8::2
TESTS=${TESTS:-/src/scripts/tests}
PATH=/job/bin:$TESTS/bin:$PATH

# Factor for deadlines: the checkers of a debug kernel are slow
PATIENCE=1
[ ! -e /sys/kernel/debug/kmemleak ] || PATIENCE=6

# devtmpfs has no /dev/fd, which <(...) needs
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd

has_linux() { # VERSION, or a later one
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

# Results go to file descriptor 3 (stdout, if a person runs the test by hand).
{ true >&3; } 2>/dev/null || exec 3>&1

say() {
	echo "--- $*" >&2
}

ok() { # CASE
	say "ok $*"
	echo "ok $*" >&3
}

fail() { # CASE WHY...
	say "fail $*"
	echo "fail $*" >&3
}

skip() { # CASE WHY...
	say "skip $*"
	echo "skip $*" >&3
}

# try CASE COMMAND...: reports ok if the command succeeds, else fail.  The command
# may be a function.  set -e is off in it, so it must join its commands by &&.
try() {
	local case=$1 status=0
	shift
	say "try $case: $*"
	"$@" || status=$?
	if [ $status -eq 0 ]; then
		ok "$case"
	else
		fail "$case" "status $status: $*"
	fi
}

# on_b COMMAND...: runs the command on machine b.  Output and exit status are those
# of the command.  A single argument is a line for the shell.  The command may be a
# function of this file.
on_b() {
	local line=$1
	if declare -F "$1" > /dev/null; then
		line=". $TESTS/lib.sh; $(printf '%q ' "$@")"
	elif [ $# -gt 1 ]; then
		line=$(printf '%q ' "$@")
	fi
	ssh $PEER "echo \$\$ > /sys/fs/cgroup/test/cgroup.procs; export RXE_MODULE=${RXE_MODULE:-ours} PATH=/job/bin:$TESTS/bin:\$PATH; cd /tmp; $line"
}

# wait_for SECONDS COMMAND...: polls until the command succeeds
wait_for() {
	local limit=$(($1 * PATIENCE)) deadline=$((SECONDS + $1 * PATIENCE)) late=''
	shift
	until "$@" > /dev/null 2>&1; do
		# The last try began after the deadline, even if this machine stood still for a while.
		if [ "$late" ]; then
			say "waited $limit s in vain for: $*"
			return 1
		fi
		sleep 0.1
		[ $SECONDS -le "$deadline" ] || late=yes
	done
}

# wait_tcp PORT: waits until a process of this machine listens on the port
wait_tcp() {
	wait_for 60 eval "ss -Hltn sport = :$1 | grep -q ."
}

# wait_cm: waits until a process of this machine listens with RDMA_CM
wait_cm() {
	wait_for 60 eval "rdma resource show cm_id | grep -q LISTEN"
}

# extra_up: makes the programs of scripts/vm/packages-extra available on this machine, until the
# machine ends.  For tests whose header says "extra: yes".
extra_up() {
	! mountpoint -q /usr || return 0
	mkdir -p /run/extra /run/usr/{new,work}
	modprobe loop
	mount -o loop,ro /job/extra.ext4 /run/extra
	cp -an /run/extra/etc/. /etc/
	mount -t overlay -o lowerdir=/run/extra/usr:/usr,upperdir=/run/usr/new,workdir=/run/usr/work overlay /usr
	# bookworm's libfabric wants a library whose name is a link of update-alternatives
	[ ! -d /usr/lib/libpsm1 ] || ln -s libpsm1/libpsm_infinipath.so.1.16 /usr/lib/libpsm_infinipath.so.1
}

# --- the module -------------------------------------------------------------

load_ours() {
	if [ "${RXE_MODULE:-ours}" = shipped ]; then
		load_shipped
		return
	fi
	local file=${RXE_KO:-/job/rdma_rxe.ko}
	# shellcheck disable=SC2046 # a list
	modprobe -a ib_uverbs rdma_ucm $(modinfo -F depends "$file" | tr , ' ')
	insmod "$file" "$@"
}

load_shipped() {
	modprobe -a ib_uverbs rdma_ucm
	modprobe rdma_rxe "$@"
}

# unload: unloads the module, if it is loaded.  A user may be about to let it go.  If the module is
# still in use after 10 s, that is a bug.
unload() {
	[ ! -d /sys/module/rdma_rxe ] || wait_for 10 rmmod rdma_rxe ||
		{ rmmod rdma_rxe || true; rdma resource >&2; return 1; }
}

# rxe_add [DEV NETDEV]: adds a device, and waits until it is ready
rxe_add() {
	local dev=${1:-rxe0} netdev=${2:-eth0}
	rdma link add "$dev" type rxe netdev "$netdev" && wait_for 20 rxe_ready "$dev" "$netdev"
}

# capture_trains: has devices send and merge trains while a test captures
capture_trains() {
	local file
	for file in /sys/class/infiniband/*/capture_singly; do
		[ ! -e "$file" ] || echo 0 > "$file" || return 1
	done
}

# rxe_ready DEV NETDEV: succeeds if the port is active, and each address of the netdev has a GID
rxe_ready() {
	local address
	grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state" || return 1
	for address in $(ip -o addr show dev "$2" | awk '{ sub("/.*", "", $4); print $4 }'); do
		gid_index "$1" any "$address" > /dev/null || return 1
	done
}

# rxe_up: loads the module on both machines, and adds rxe0 on eth0
rxe_up() {
	load_ours && rxe_add && on_b load_ours && on_b rxe_add
}

# rxe_down: unloads the module on both machines, which deletes the devices
rxe_down() {
	unload && on_b unload
}

# --- addresses --------------------------------------------------------------

# gid_of ADDRESS: prints its GID as sysfs does
gid_of() {
	local left right pad parts i out=''
	if [[ $1 != *:* ]]; then
		IFS=. read -ra parts <<< "$1"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "${parts[@]}"
		return
	fi
	left=$1 right=''
	if [[ $1 == *::* ]]; then
		left=${1%%::*} right=${1##*::}
		IFS=: read -ra parts <<< "$left${right:+${left:+:}$right}"
		pad=$((8 - ${#parts[@]}))
		for ((i = 0; i < pad; i++)); do
			left=${left:+$left:}0
		done
	fi
	IFS=: read -ra parts <<< "$left${right:+:$right}"
	for i in "${parts[@]}"; do
		out+=$(printf '%04x:' "0x$i")
	done
	echo "${out%:}"
}

# gid_index DEV v1|v2|any ADDRESS: prints the first index of the address's GID of that version
gid_index() {
	local port=/sys/class/infiniband/$1/ports/1 gid index have type
	gid=$(gid_of "$3")
	for index in $(cd "$port/gids" && grep -lix "$gid" -- * 2>/dev/null | sort -n); do
		read -r type < "$port/gid_attrs/types/$index" || continue
		case $type in
		*v1) have=v1 ;;
		*v2) have=v2 ;;
		*) continue ;;
		esac
		if [ "$2" = any ] || [ "$2" = $have ]; then
			echo "$index"
			return
		fi
	done
	return 1
}

# link_local DEV: prints the link-local IPv6 address of a netdev
link_local() {
	ip -6 -o addr show dev "$1" scope link | awk '{ sub("/.*", "", $4); print $4; exit }'
}

# netns_pair [MTU]: makes namespaces A and B, joined by a veth pair (netdev veth in
# each; 203.0.113.1 and .2, 2001:db8:1::1 and ::2), with an rxe device in each (rxeA,
# rxeB).  Use `ip netns exec A ...` for rdma and the verbs programs.
netns_pair() {
	local ns n=1
	[ -d /sys/module/rdma_rxe ] || load_ours
	ip netns add A
	ip netns add B
	ip link add veth netns A mtu "${1:-1500}" type veth peer name veth netns B mtu "${1:-1500}"
	for ns in A B; do
		ip -n $ns link set lo up
		ip -n $ns link set veth up
		ip -n $ns addr add 203.0.113.$n/24 dev veth
		ip -n $ns addr add 2001:db8:1::$n/64 dev veth nodad
		n=2
	done
	for ns in A B; do
		ip netns exec $ns bash -c ". $TESTS/lib.sh; rxe_add rxe$ns veth"
	done
}

# --- the kernel's log -------------------------------------------------------

BAD_DMESG='WARNING: |BUG: |BUG at |Oops|Call Trace|general protection|refcount_t:|unregister_netdevice: waiting'
BAD_DMESG+='|KASAN|UBSAN|kmemleak: [1-9]|INFO: (task|rcu|possible|suspicious|trying)|possible (recursive|circular)'
BAD_DMESG+='|soft lockup|hard LOCKUP|rcu_.* (stall|detected)|DEBUG_LOCKS|leaked|Voluntary context switch within RCU'

# leaks_scan: has kmemleak, if the kernel has it, report leaks to the log.  Fails if kmemleak has given
# up.  There are two scans: kmemleak reports only memory that looks the same in both.
leaks_scan() {
	[ -e /sys/kernel/debug/kmemleak ] || return 0
	echo scan > /sys/kernel/debug/kmemleak && echo scan > /sys/kernel/debug/kmemleak &&
		cat /sys/kernel/debug/kmemleak
}

# now: prints the time in milliseconds
now() {
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

log_lines() {
	dmesg | wc -l
}

# log_since LINES: prints the kernel's log behind its first LINES
log_since() {
	dmesg | tail -n +$(($1 + 1))
}

# logged_since LINES WORDS: succeeds if a line behind the first LINES of the kernel's log has the words.
# It need not be the last line, since others may follow.
logged_since() {
	[ "$(log_since "$1" | grep -c "$2")" -ge 1 ]
}

# dmesg_clean [FILE]: if the kernel has complained since the test began, or in a file with its log, prints the first
# complaint with its call trace, and fails
dmesg_clean() {
	local log bad
	log=$(if [ $# -gt 0 ]; then cat "$1"; else dmesg; fi) || { echo "the kernel's log can't be read"; return 1; }
	bad=$(grep -E -A 31 "$BAD_DMESG" <<< "$log") || return 0
	head -n 32 <<< "$bad"
	return 1
}

# dmesg_take: prints the kernel's log, and clears it.  With -S, that is one step: no line is lost
dmesg_take() {
	dmesg -S --read-clear
}

# lockdep_works: succeeds if lockdep, if the kernel has it, still looks.  Its first report turns it off
lockdep_works() {
	[ ! -e /proc/lockdep_stats ] || grep -q 'debug_locks: *1$' /proc/lockdep_stats
}

# --- between tests (for scripts/vm/run-test) ----------------------------------------------------------

# node_reset: brings this machine into its state after boot; fails if something stays
node_reset() {
	local ns dev online bad=0
	for online in /sys/devices/system/cpu/cpu*/online; do
		[ ! -e "$online" ] || [ "$(cat "$online")" = 1 ] || echo 1 > "$online"
	done
	# The processes that the test, or its commands on b, left running
	echo 1 > /sys/fs/cgroup/test/cgroup.kill
	wait_for 10 eval '[ -z "$(cat /sys/fs/cgroup/test/cgroup.procs)" ]' || { say "processes stay"; bad=1; }
	for ns in $(ip netns list | awk '{ print $1 }'); do
		# Otherwise, the TCP connection of a killed program keeps the namespace for 110 s, if the
		# peer can't answer any more.
		ip netns exec "$ns" sysctl -qw net.ipv4.tcp_orphan_retries=1
		ip netns del "$ns"
	done
	unload || { say "the module stays"; bad=1; }
	nft flush ruleset 2>/dev/null || true
	for dev in $(ip -o link | awk -F'[:@ ]+' '$2 !~ /^(lo|eth[0-9])$/ { print $2 }'); do
		ip link del "$dev" 2>/dev/null || true
	done
	rdma system set netns shared 2>/dev/null || true
	{ echo 0 > /sys/class/net/lo/queues/rx-0/rps_cpus; } 2>/dev/null || true	# see in_order()
	node_network || { say "eth0 can't be set up"; bad=1; }
	return $bad
}

# node_network: restores the name, MAC address, MTU, features and IP addresses of eth0
node_network() {
	local n dev
	case $(uname -n) in
	a) n=1 ;;
	b) n=2 ;;
	esac
	if [ ! -e /sys/class/net/eth0 ]; then
		dev=$(grep -lx "52:54:00:00:01:0$n" /sys/class/net/*/address | cut -d/ -f5)
		ip link set "$dev" down && ip link set "$dev" name eth0
	fi
	tc qdisc del dev eth0 root 2>/dev/null || true
	tc qdisc del dev eth0 clsact 2>/dev/null || true
	ethtool -K eth0 gso on gro on > /dev/null 2>&1 || true
	ip link set eth0 up mtu 4200 address "52:54:00:00:01:0$n"
	[ "$(node_addresses)" != "192.0.2.$n/24 2001:db8::$n/64 fe80::5054:ff:fe00:10$n/64 " ] || return 0
	ip link set eth0 down
	ip addr flush dev eth0
	ip link set eth0 up
	ip addr add "192.0.2.$n/24" dev eth0
	ip addr add "2001:db8::$n/64" dev eth0 nodad
}

node_addresses() {
	ip -o addr show dev eth0 | awk '{ printf "%s ", $4 }'
}
