# SPDX-License-Identifier: GPL-2.0
# test: mutants of live packets, single, in trains and with partial checksums, at both ends
# nodes: 1
# level: full
# debug: yes
# timeout: 700
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# The test takes two minutes, or twenty on a kernel with checkers.
SEED=${SEED:-1}
TIME=${TIME:-120}
! grep -qw kasan_report /proc/kallsyms || TIME=${LONG_TIME:-1200}

# The devices have a VLAN, whose packets are changed, too
VLAN_A=198.18.5.1 VLAN_B=198.18.5.2

vlan_up() {
	modprobe 8021q && add_vlan A $VLAN_A && add_vlan B $VLAN_B
}

add_vlan() { # NETNS ADDRESS
	ip -n "$1" link add link veth name veth.5 type vlan id 5 && ip -n "$1" link set veth.5 up &&
		ip -n "$1" addr add "$2/24" dev veth.5 && wait_for 10 in_netns "$1" gid_index "rxe$1" any "$2"
}

# fuzz SEED SECONDS NETDEV: changes packets at the netdevs of both ends
fuzz() {
	say "$3 for $2 s, GRO: $(ip netns exec A ethtool -k veth | grep generic-receive)"
	nice -n -10 wire_fuzz --seed "$1" --seconds "$2" --spare $SPARE_A --spare $SPARE_B \
		${RATE:+--rate $RATE} ${ONLY:+--only $ONLY} "A:$3" "B:$3"
}

# Half of the time without GRO, a quarter with GRO, and a quarter with GRO and by the VLAN
fuzz_all() {
	fuzz "$SEED" $((TIME / 2)) veth &&
		ip netns exec A ethtool -K veth gro on && ip netns exec B ethtool -K veth gro on &&
		fuzz $((SEED + 1)) $((TIME / 4)) veth && fuzz $((SEED + 2)) $((TIME / 4)) veth.5
}

# The fuzzer gives no forged packet between these addresses a right ICRC, so data between them is verified.
SPARE_A=203.0.113.11 SPARE_B=203.0.113.12

spare_addresses() {
	ip -n A addr add $SPARE_A/24 dev veth && ip -n B addr add $SPARE_B/24 dev veth &&
		wait_for 10 in_netns A gid_index rxeA any $SPARE_A &&
		wait_for 10 in_netns B gid_index rxeB any $SPARE_B
}

# peers v1|v2 ADDRESS-A ADDRESS-B PORT: runs two processes that communicate, until the time is over
peers() {
	local a b pid status=0
	a=$(in_netns A gid_index rxeA "$1" "$2") && b=$(in_netns B gid_index rxeB "$1" "$3") || return 1
	ip netns exec B timeout $((TIME + 200)) fuzz_peer -d rxeB -g "$b" -p "$4" -t "$TIME" -s "$4" &
	pid=$!
	ip netns exec A timeout $((TIME + 200)) fuzz_peer -d rxeA -g "$a" -p "$4" -c 203.0.113.2 -t "$TIME" -s "$4" || status=$?
	wait $pid || status=$?
	return $status
}

# Each byte is compared, and no queue pair may fail.
verified() {
	local end=$((SECONDS + TIME)) version
	LIMIT=$((LIMIT + TIME / 4))	# a kernel with checkers is slow
	while [ $SECONDS -lt $end ]; do
		for version in v2 v1; do
			SRV_GID=$(in_netns B gid_index rxeB $version $SPARE_B) &&
				CLI_GID=$(in_netns A gid_index rxeA $version $SPARE_A) &&
				run_rc_random -n 300 -q 2 -s $SECONDS -m 65536 || return 1
		done
	done
}

# Programs whose packets are changed, too.  Forged packets may make them fail.
others() {
	local end=$((SECONDS + TIME)) program
	LIMIT=20 PORT=30000
	use_gid v2-ipv4
	while [ $SECONDS -lt $end ]; do
		for program in run_rping "run_perftest read_bw" "run_perftest send_bw" run_ud_pingpong; do
			$program || say "$program failed, status $?"
		done
	done
}

memory_kb() {
	awk '/^(MemAvailable):/ { print $2 }' /proc/meminfo
}

# The devices have freed their memory.  32 MB of difference may be due to all else that has run.
memory_back() {
	echo 3 > /proc/sys/vm/drop_caches
	say "$(memory_kb) kB available, $memory_before before"
	[ "$(memory_kb)" -gt $((memory_before - 32768)) ]
}

counter() { # NETNS NAME
	cat "/sys/class/infiniband/rxe$1/ports/1/hw_counters/$2"
}

# A packet that waits is examined more than once, and counted once.
counted_once() {
	local ns early
	for ns in A B; do
		early=$(counter $ns out_of_seq_request)
		say "$ns: $early of $(counter $ns rcvd_pkts) packets came too early"
		[ "$early" -lt "$(counter $ns rcvd_pkts)" ] || return 1
	done
}

alive() {
	local type
	for type in v2-ipv4 v2-ipv6 v1-ipv4; do
		use_gid $type && run_rc_random -n 200 -q 2 -s 3 -m 65536 && run_rping &&
			run_perftest read_bw && run_ud_pingpong || return 1
	done
}

judge() { # CASE PID LOG
	local status=0
	wait "$2" || status=$?
	cat "$3" >&2
	[ $status = 0 ] && ok "$1" || fail "$1" "status $status: $(tail -n 1 "$3")"
}

path_up veth
spare_addresses && vlan_up || { fail addresses "no GIDs"; exit; }
capture_trains || fail capture_trains "status $?"
sync
echo 3 > /proc/sys/vm/drop_caches
memory_before=$(memory_kb)

declare -A job=()
begin() { # NAME COMMAND...
	"${@:2}" > "/tmp/$1.log" 2>&1 &
	job[$1]=$!
}

begin fuzzer fuzz_all
begin v2-ipv4 peers v2 203.0.113.1 203.0.113.2 40001
begin v2-ipv6 peers v2 2001:db8:1::1 2001:db8:1::2 40002
begin v1-ipv4 peers v1 203.0.113.1 203.0.113.2 40003
begin v2-vlan peers v2 $VLAN_A $VLAN_B 40004
begin verified verified
begin others others
for name in fuzzer v2-ipv4 v2-ipv6 v1-ipv4 v2-vlan verified others; do
	judge $name "${job[$name]}" /tmp/$name.log
done
rdma statistic show >&2
try counted-once counted_once
try alive alive
try resources-gone wait_for 20 resources_gone
# Delete the devices before their netdevs.  With checkers, that may take so long that the kernel would complain
# about a netdev that is still in use.
rdma link delete rxeA
rdma link delete rxeB
ip netns del A
ip netns del B
try unload unload
rm -f /tmp/*.log	# files on tmpfs are memory, too
try memory wait_for 60 memory_back
