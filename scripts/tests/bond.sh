# SPDX-License-Identifier: GPL-2.0
# test: a device on a bond goes on when a slave fails and returns, and spreads its queue pairs
# nodes: 1
# level: long
# suites: all
# debug: yes
# alone: yes
# timeout: 420
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband
# ms that traffic may stand still when a slave fails or returns.  The bond looks at its slaves every
# 50 ms.  A queue pair probes its path as soon as the bond uses another slave.
STALL=$((1000 * PATIENCE))
PERF_TIMEOUT=14	# the default of most tools

# bond_up MODE [OPTION...]: makes namespaces A and B with two veth pairs.  Each has a bond over its two
# ends, and a device on the bond.  The names and addresses are those of path veth.
bond_up() {
	local ns n slave
	for ns in A B; do
		ip netns add $ns && ip -n $ns link set lo up &&
			ip -n $ns link add bond0 type bond mode "$1" miimon 50 "${@:2}" || return 1
	done
	for n in 0 1; do
		ip link add s$n netns A type veth peer name s$n netns B || return 1
	done
	n=1
	for ns in A B; do
		for slave in s0 s1; do
			ip -n $ns link set $slave master bond0 && ip -n $ns link set $slave up || return 1
		done
		ip -n $ns link set bond0 up && ip -n $ns addr add 203.0.113.$n/24 dev bond0 &&
			ip -n $ns addr add 2001:db8:1::$n/64 dev bond0 nodad || return 1
		ip -n $ns link add link bond0 name bond0.7 type vlan id 7 && ip -n $ns link set bond0.7 up &&
			ip -n $ns addr add 198.18.7.$n/24 dev bond0.7 || return 1
		n=2
	done
	for ns in A B; do
		in_netns $ns rxe_add rxe$ns bond0 || return 1
	done
	wait_for 20 gid_index rxeA v2 198.18.7.1 && wait_for 20 gid_index rxeB v2 198.18.7.2 || return 1
	path veth
	SRV_NET=bond0 CLI_NET=bond0
	wait_for 20 cli ping -q -c 1 -W 1 "$SRV4" && wait_for 20 both_slaves
}

# Both slaves are usable.  With LACP, both ends must have agreed.
both_slaves() {
	local ns
	for ns in A B; do
		[ "$(ip netns exec $ns grep -c 'MII Status: up' /proc/net/bonding/bond0)" = 3 ] || return 1
		! ip netns exec $ns grep -q 802.3ad /proc/net/bonding/bond0 ||
			[ "$(ip netns exec $ns grep -c 'port state: 63' /proc/net/bonding/bond0)" = 4 ] || return 1
	done
}

bond_down() {
	ip netns del A
	ip netns del B
	wait_for 10 eval "! [ -e $SYS/rxeA ] && ! [ -e $SYS/rxeB ]"
}

# watch_stalls FILE [COUNTER]: while FILE exists, watches the server's counter.  Prints the longest time
# without a change, in ms.  The time from one look to the next counts as 100 ms at most: on a busy host,
# this loop or the whole machine may stand still for seconds.
watch_stalls() {
	local file=${2:-$SYS/rxeB/ports/1/hw_counters/rcvd_pkts} count last='' time looked=0 stall=0 longest=0
	while [ -e "$1" ]; do
		read -r count < "$file"
		time=$(now)
		if [ "$count" = "$last" ]; then
			stall=$((stall + (time - looked < 100 ? time - looked : 100)))
			[ $stall -le $longest ] || longest=$stall
		else
			last=$count stall=0
		fi
		looked=$time
		sleep 0.02
	done
	echo $longest
}

slave_goes() {
	ip -n A link set "$1" down
}

slave_returns() {
	ip -n A link set "$1" up
}

# The bond sets a slave that it releases down.
slave_is_released() {
	ip -n A link set "$1" nomaster
}

slave_is_taken() {
	ip -n A link set "$1" down && ip -n A link set "$1" master bond0 && ip -n A link set "$1" up
}

# slaves_change GO RETURN: runs both commands for each slave, one after the other.  One of the slaves
# carries the traffic.
slaves_change() {
	local slave
	for slave in s0 s1; do
		stream_moves && "$1" $slave && stream_moves && "$2" $slave &&
			wait_for 10 both_slaves && stream_moves || return 1
	done
	stream_alive
}

# B has learned the present MAC address of A's bond
address_known() {
	ip -n B neigh show | grep "^$CLI_CM .*$(mac_of A bond0)"
}

# Does what slaves_change() does.  With fail_over_mac, the bond has the MAC address of the active slave.  B
# learns it from the bond's announcement (NETDEV_NOTIFY_PEERS), or when A asks for B's MAC address.
addresses_change() {
	local slave mac
	for slave in s0 s1; do
		mac=$(mac_of A bond0)
		stream_moves && slave_goes $slave && wait_for 5 eval "[ \$(mac_of A bond0) != $mac ]" &&
			wait_for 1 address_known && stream_moves && slave_returns $slave &&
			wait_for 10 both_slaves && stream_moves || return 1
	done
	stream_alive
}

# failover GID-TYPE write|send|read [COMMAND...]: the queue pairs and their traffic survive the command (by
# default, that slaves fail and return)
failover() {
	local watch status=0 longest change=(slaves_change slave_goes slave_returns)
	[ $# -le 2 ] || change=("${@:3}")
	use_gid "$1" || return 1
	stream_begin "$2" || { stream_end; return 1; }
	touch /tmp/watching
	watch_stalls /tmp/watching > /tmp/longest & watch=$!
	"${change[@]}" || status=1
	rm /tmp/watching
	wait $watch
	stream_end || status=1
	[ $status = 0 ] || { tail -n 3 /tmp/"$2"-* >&2; return 1; }
	longest=$(cat /tmp/longest)
	say "nothing for $longest ms at most"
	[ "$longest" -lt $STALL ]
}

spread() {
	use_gid v2-ipv4 && spread_over A s0 A s1
}

# The port follows the state of the bond, not that of a slave (IBV_EVENT_PORT_ACTIVE is 9, PORT_ERR 10)
events() {
	local watch
	stdbuf -oL ibv_asyncwatch -d rxeA > /tmp/watch & watch=$!
	wait_for 20 grep -q rxeA /tmp/watch && ip -n A link set s0 down && wait_for 10 eval '! both_slaves' &&
		! grep -q '(10)' /tmp/watch && ip -n A link set s1 down && wait_for 10 grep -q 'event_type .*(10)' /tmp/watch &&
		ip -n A link set s1 up && wait_for 10 grep -q 'event_type .*(9)' /tmp/watch && ip -n A link set s0 up && wait_for 10 both_slaves
	set -- $?
	kill $watch
	wait $watch || true
	return "$1"
}

# A program that has connected by RDMA_CM gets an event when the bond's MAC address changes
address_change() {
	local server client
	ip -n A link set bond0 type bond primary s0 && use_gid v2-ipv4 || return 1
	PORT=$((PORT + 1))
	srv timeout 60 rping -s -a "$SRV4" -p $PORT > /tmp/rping-srv 2>&1 & server=$!
	srv cm_ready $PORT || return 1
	cli stdbuf -oL -eL timeout 60 rping -c -a "$SRV4" -p $PORT -C 1000000 > /tmp/rping-cli 2>&1 & client=$!
	wait_for 20 eval "rdma resource show cm_id | grep -q 'CONNECT .*:$PORT '" && ip -n A link set s0 down &&
		wait_for 20 grep -q ADDR_CHANGE /tmp/rping-cli
	set -- $?
	tail -n 3 /tmp/rping-cli >&2
	ip -n A link set s0 up
	pkill -x rping
	wait $client $server || true
	return "$1"
}

# The device is on a bridge over the bond
bridge() {
	local ns n=1
	for ns in A B; do
		ip -n $ns link add br0 type bridge forward_delay 0 && ip -n $ns link set bond0 master br0 &&
			ip -n $ns link set br0 up && ip -n $ns addr add 198.18.8.$n/24 dev br0 &&
			in_netns $ns rxe_add br$ns br0 || return 1
		n=2
	done
	SRV_DEV=brB CLI_DEV=brA SRV_NET=br0 CLI_NET=br0 SRV4=198.18.8.2 CLI4=198.18.8.1
	use_gid v2-ipv4 && wait_for 20 cli ping -q -c 1 -W 1 "$SRV4" && run_rc_pingpong && run_rping
}

# A VLAN on the bond: its addresses are GIDs of the bond's device
vlan() {
	SRV4=198.18.7.2 CLI4=198.18.7.1
	use_gid v2-ipv4 && run_rc_pingpong && run_rping && failover v2-ipv4 send
	set -- $?
	path veth
	return "$1"
}

load_ours
modprobe -a bonding 8021q bridge
try mode-1-up bond_up active-backup
try mode-1-failover-v2 failover v2-ipv4 write
try mode-1-failover-v1 failover v1-ipv4 send
try mode-1-failover-ipv6 failover v2-ipv6 write
try mode-1-failover-read failover v2-ipv4 read
try mode-1-released failover v2-ipv4 write slaves_change slave_is_released slave_is_taken
try mode-1-released-read failover v2-ipv4 read slaves_change slave_is_released slave_is_taken
try mode-1-events events
try mode-1-end bond_down
try mode-1-active-mac-up bond_up active-backup fail_over_mac active
try mode-1-active-mac-write failover v2-ipv4 write addresses_change
try mode-1-active-mac-read failover v2-ipv4 read addresses_change
try mode-1-active-mac-ipv6 failover v2-ipv6 read addresses_change
try mode-1-address-change address_change
try mode-1-active-mac-end bond_down
try mode-2-up bond_up balance-xor xmit_hash_policy layer3+4
try mode-2-failover failover v2-ipv4 send
try mode-2-end bond_down
try mode-4-up bond_up 802.3ad xmit_hash_policy layer3+4 lacp_rate fast
try mode-4-failover failover v2-ipv4 write
try mode-4-failover-read failover v2-ipv6 read
try mode-4-released failover v2-ipv4 write slaves_change slave_is_released slave_is_taken
try mode-4-spread spread
try mode-4-vlan vlan
try mode-4-bridge bridge
try mode-4-end bond_down
