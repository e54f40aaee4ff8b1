# SPDX-License-Identifier: GPL-2.0
# test: RoCE, and each version of it, is turned off and on while the device is in use
# nodes: 1
# level: full
# debug: yes
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SYS=/sys/class/infiniband
ROCE=$SYS/rxeA/roce_enable

# types DEV: prints the types of the device's GIDs
types() {
	cat $SYS/"$1"/ports/1/gid_attrs/types/* 2> /dev/null | sort -u | paste -sd,
}

ready() { # NS
	if [ "$(cat $SYS/rxe"$1"/roce_enable)" = 0 ]; then
		grep -q ACTIVE $SYS/rxe"$1"/ports/1/state
	else
		in_netns "$1" rxe_ready rxe"$1" veth
	fi
}

set_roce() { # VALUE [NS]
	local ns=${2:-A}
	echo "$1" > "$SYS/rxe$ns/roce_enable" && [ "$(cat "$SYS/rxe$ns/roce_enable")" = "$1" ] && wait_for 20 ready "$ns"
}

listens() { # NS: UDP port 4791 is bound there
	ip netns exec "$1" ss -Hlun sport = :4791 | grep -q .
}

# The port has the flag IBV_PORT_IP_BASED_GIDS
gids_are_ips() {
	[ $(($(awk '/port_cap_flags:/ { print $2 }' /tmp/info) & 0x4000000)) != 0 ]
}

# has VALUE TYPES: with this value, the device has GIDs of these types, and UDP port 4791 is bound if one is v2
has() {
	set_roce "$1" && wait_for 10 eval "[ \"\$(types rxeA)\" = '$2' ]" || return 1
	ibv_devinfo -v -d rxeA > /tmp/info && grep -q 'state:.*PORT_ACTIVE' /tmp/info || return 1
	[ -z "$2" ] || gids_are_ips || return 1
	case $2 in
	*v2) listens A ;;
	*) ! listens A ;;
	esac
}

disabled() {
	has 0 "" && [ -z "$(ls $SYS/rxeA/ports/1/gids)" ]
}

# gid_is INDEX ADDRESS: the GID at this index is that of the address
gid_is() {
	[ "$(cat $SYS/rxeA/ports/1/gids/"$1")" = "$(gid_of "$2")" ]
}

# With v1 off, index 1 is the IPv4 address, as with the distribution's module
habit() {
	set_roce v2 && set_roce v2 B && wait_for 10 gid_is 1 203.0.113.1 && gid_is 2 2001:db8:1::1 || return 1
	capture_begin A veth /tmp/habit.pcap '' || return 1
	SRV_GID=1 CLI_GID=1
	run_perftest write_bw || return 1
	capture_end
	[ "$(frames /tmp/habit.pcap 'udp dst port 4791')" -gt 10 ] &&
		[ "$(frames /tmp/habit.pcap 'ether proto 0x8915')" = 0 ]
}

# programs VALUE TYPE: with this value on both ends, programs work
programs() {
	set_roce "$1" && set_roce "$1" B && use_gid "$2" && run_rc_pingpong && run_rping
}

# total DEV: prints the sum of all counters
total() {
	cat $SYS/"$1"/ports/1/hw_counters/* | awk '{ n += $1 } END { print n }'
}

# send_v2, send_v1: send a packet of this version from B to A, for no queue pair
send_v2() {
	ip netns exec B python3 "$TESTS/py/udp_to.py" 203.0.113.1 4791
}

send_v1() {
	ip netns exec B python3 - <<-'END'
	import fcntl, socket, struct
	mac = bytes.fromhex(open("/tmp/mac").read().strip().replace(":", ""))
	s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
	s.bind(("veth", 0))
	grh = struct.pack("!IHBB", 6 << 28, 32, 0x1b, 1) + bytes(10) + b"\xff\xff\xcb\x00\x71\x02" + bytes(10) + b"\xff\xff\xcb\x00\x71\x01"
	bth = struct.pack("!BBHII", 4, 0x40, 0xffff, 99999, 0) + bytes(20)
	s.send(mac + b"\x02" * 6 + b"\x89\x15" + grh + bth)
	END
}

# took DEV v1|v2: the device counts a packet of that version
took() {
	local before
	before=$(total "$1")
	"send_$2" && wait_for 5 eval "[ \"\$(total $1)\" != $before ]"
}

# ignored DEV v1|v2: the device doesn't count such a packet, though a ping behind the packet has arrived
ignored() {
	local before
	before=$(total "$1")
	"send_$2" && ip netns exec B ping -q -c 1 -W 20 203.0.113.1 > /dev/null &&
		[ "$(total "$1")" = "$before" ]
}

# The device takes no packet of a version that is off, though another device keeps the port bound
deaf() {
	local dev
	ip netns exec A cat /sys/class/net/veth/address > /tmp/mac
	ip -n A link add other type dummy && ip -n A link set other up && ip -n A addr add 198.18.9.1/24 dev other &&
		ip netns exec A rdma link add rxeC type rxe netdev other || return 1
	set_roce 1 && took rxeA v1 && took rxeA v2 && set_roce v1 && listens A && took rxeA v1 || return 1
	for dev in rxeA rxeC; do
		ignored $dev v2 || { say "$dev took v2"; return 1; }
	done
	set_roce v2 && took rxeA v2 && ignored rxeA v1 &&
		set_roce 0 && ignored rxeA v1 && ignored rxeA v2 &&
		ip netns exec A rdma link delete rxeC && ! listens A && set_roce 1
}

settings() {
	cd $SYS/rxeA && cat trains zero_copy same_device trust_local cork guard_port roce_np capture_singly \
		congestion_control ecn_priorities tc/1/traffic_class ttl/1/ttl node_guid node_desc parent && cd /
}

kept() {
	echo 0 > $SYS/rxeA/trains && echo 0 > $SYS/rxeA/roce_np && echo dcqcn > $SYS/rxeA/congestion_control &&
		echo 0x7e > $SYS/rxeA/ecn_priorities && echo tclass=104,src_ip=203.0.113.1 > $SYS/rxeA/tc/1/traffic_class &&
		echo 9 > $SYS/rxeA/ttl/1/ttl &&
		echo "my node" > $SYS/rxeA/node_desc && settings > /tmp/before && set_roce v2 && set_roce 1 &&
		settings > /tmp/after && diff /tmp/before /tmp/after && grep -q 'my node' /tmp/after || return 1
	echo 1 > $SYS/rxeA/trains && echo window > $SYS/rxeA/congestion_control && echo 0xff > $SYS/rxeA/ecn_priorities
	echo 0 > $SYS/rxeA/ttl/1/ttl && echo tclass=-1,src_ip=203.0.113.1 > $SYS/rxeA/tc/1/traffic_class
}

# Packets of v1 belong to a socket, so the driver knows when they leave fq.  fq would drop packets of a flow
# with more than 100
v1_owned() {
	local dropped
	set_roce v1 && set_roce v1 B && use_gid v1-ipv4 && switch_is trains 0 &&
		ip netns exec A tc qdisc add dev veth root fq maxrate 100mbit && run_perftest write_bw 100 65536 &&
		dropped=$(ip netns exec A tc -s qdisc show dev veth | sed -n 's/.*dropped \([0-9]*\).*/\1/p') &&
		ip netns exec A tc qdisc del dev veth root && switch_is trains 1 && set_roce 1 && set_roce 1 B || return 1
	say "fq dropped $dropped"
	[ "$dropped" = 0 ]
}

# On a netdev with a small MTU, the new device and its GSI queue pair have the smallest IB MTU from the start
small_mtu() {
	local out
	ip -n A link set veth mtu 300 && echo v2 > $ROCE && out=$(rdma res show qp link rxeA -dd) || return 1
	ip -n A link set veth mtu 1500 && set_roce 1 || return 1
	say "$out"
	grep -q 'drv_mtu 256' <<< "$out"
}

# The folder of RDMA_CM's settings stays.  The settings are those of a new device, and can be written again
core_settings() {
	local dir=/sys/kernel/config/rdma_cm/rxeA/ports/1
	set_roce 1 && cm_mode rxeA v1 && echo 104 > $dir/default_roce_tos && set_roce v2 && set_roce 1 &&
		[ "$(cat $dir/default_roce_mode) $(cat $dir/default_roce_tos)" = "RoCE v2 0" ] &&
		cm_mode rxeA v1 && grep -q 'RoCE v1' $dir/default_roce_mode && cm_mode rxeA v2
}

# A program that has the device open gets an event (IBV_EVENT_DEVICE_FATAL is 8).  A program that sends can be
# killed
told() {
	local watch server client
	set_roce 1 && set_roce 1 B && use_gid v2-ipv4 || return 1
	stdbuf -oL ibv_asyncwatch -d rxeA > /tmp/watch & watch=$!
	PORT=$((PORT + 1))
	srv ib_write_bw -F -u 16 -D 100 -p $PORT -d rxeB -x "$SRV_GID" & server=$!
	srv wait_tcp $PORT || return 1
	cli ib_write_bw -F -u 16 -D 100 -p $PORT -d rxeA -x "$CLI_GID" "$SRV4" & client=$!
	wait_for 20 grep -q rxeA /tmp/watch && wait_for 20 eval "[ \$(cat $SYS/rxeB/ports/1/hw_counters/rcvd_pkts) -gt 100 ]" &&
		set_roce 1 && ! grep -q 'event_type .*(8)' /tmp/watch && kill -0 $client &&
		set_roce v2 && wait_for 10 grep -q 'event_type .*(8)' /tmp/watch || return 1
	kill $watch $client $server 2> /dev/null || true
	wait_for 10 eval "! kill -0 $client 2> /dev/null" && wait_for 10 eval "! kill -0 $watch 2> /dev/null"
	wait $watch $client $server || true
	pkill ib_write_bw || true
	wait_for 20 resources_gone 2
}

# refused TEXT: the error is EINVAL, the log has one line, and nothing changes
refused() {
	local before lines
	before=$(cat $ROCE) lines=$(log_lines)
	! (echo "$1" > $ROCE) 2> /tmp/error && grep -q "Invalid argument" /tmp/error &&
		logged_since "$lines" 'roce_enable: write 0, 1, v1 or v2' &&
		[ "$(log_since "$lines" | grep -c roce_enable)" = 1 ] && [ "$(cat $ROCE)" = "$before" ]
}

# A change is refused if the RDMA core would take the device's name for a pattern
pattern() {
	local lines
	set_roce 1 && ip netns exec A rdma dev set rxeA name 'a%d' && lines=$(log_lines) || return 1
	! (echo v2 > "$SYS/a%d/roce_enable") 2> /tmp/error && grep -q "Invalid argument" /tmp/error &&
		logged_since "$lines" "the name has a %" && [ "$(cat "$SYS/a%d/roce_enable")" = 1 ] &&
		ip netns exec A rdma dev set 'a%d' name rxeA && set_roce v2 && set_roce 1
}

# On a netdev without Ethernet, v1 alone is refused
tunnel() {
	local lines
	ip link add tun9 type ipip remote 192.0.2.2 local 192.0.2.1 && ip link set tun9 mtu 1500 up &&
		rdma link add rxeT type rxe netdev tun9 && lines=$(log_lines) || return 1
	! (echo v1 > $SYS/rxeT/roce_enable) 2> /tmp/error && grep -q "Invalid argument" /tmp/error &&
		logged_since "$lines" "tun9 isn't Ethernet" && echo 0 > $SYS/rxeT/roce_enable &&
		echo v2 > $SYS/rxeT/roce_enable && rdma link delete rxeT && ip link del tun9
}

# If another program has bound the port meanwhile, v2 can't be turned on, and v1 stays
port_taken() {
	local pid lines
	set_roce v1 && lines=$(log_lines) || return 1
	ip netns exec A python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 4791))
time.sleep(1000)' & pid=$!
	wait_for 10 listens A && ! (echo 1 > $ROCE) 2> /tmp/error && grep -q "Address already in use" /tmp/error &&
		[ "$(cat $ROCE)" = v1 ] && ready A && logged_since "$lines" "roce_enable: can't change" || return 1
	kill $pid
	wait $pid || true
	wait_for 10 eval '! listens A' && set_roce 1
}

# The file works from another namespace, too, where a separate kernel object represents the device
from_inside() {
	ip netns exec A sh -c "echo v2 > $ROCE" && [ "$(cat $ROCE)" = v2 ] && ip netns exec A sh -c "echo 1 > $ROCE" &&
		[ "$(cat $ROCE)" = 1 ] && wait_for 20 ready A
}

# The value changes 20 times while other devices of both namespaces are busy
quick() {
	local pid n value
	ip -n A addr add 198.18.8.1/24 dev far && ip -n B addr add 198.18.8.2/24 dev far || return 1
	in_netns A rxe_add farA far && in_netns B rxe_add farB far || return 1
	SRV_DEV=farB CLI_DEV=farA SRV4=198.18.8.2 CLI4=198.18.8.1
	use_gid v2-ipv4
	run_rc_random -n 4000 & pid=$!
	for n in 1 2 3 4 5; do
		for value in 0 v1 v2 1; do
			echo $value > $ROCE && [ "$(cat $ROCE)" = $value ] || { kill $pid; return 1; }
		done
	done
	wait $pid && path veth && wait_for 20 ready A && use_gid v2-ipv4 && run_rc_pingpong
}

# Packets flood the device while it changes: it receives before it is registered and has GIDs
flooded() {
	local pid n value
	PYTHONDONTWRITEBYTECODE=1 ip netns exec B python3 "$TESTS/py/flood.py" veth "$(mac_of B veth)" "$(mac_of A veth)" \
		203.0.113.2 203.0.113.1 & pid=$!
	wait_for 20 eval '[ "$(cat $SYS/rxeA/ports/1/hw_counters/rcvd_pkts)" -gt 1000 ]' || { kill $pid; return 1; }
	for n in 1 2 3 4 5; do
		for value in v1 v2 0 1; do
			echo $value > $ROCE || { kill $pid; return 1; }
		done
	done
	kill $pid
	wait_for 20 ready A && use_gid v2-ipv4 && run_rc_pingpong
}

# toggle [PAUSE]: changes the value until it is killed.  It starts no process to write, so no write goes on
# after stop().  Each write holds the module.  The PAUSE of so many seconds before a round lets others unload
# it.
toggle() {
	local value
	while :; do
		[ -z "${1:-}" ] || sleep "$1"
		for value in 0 v1 v2 1; do
			{ echo $value > $ROCE; } 2>> /tmp/toggles || :
		done
	done
}

stop() { # PID
	kill "$1"
	wait "$1" || true
}

# Of two writers, one may find that the file is gone.  Afterwards, the device exists.
writers() {
	local one two n
	: > /tmp/toggles
	toggle & one=$!
	toggle & two=$!
	for n in 1 2 3 4 5; do
		timeout 20 ip netns exec A ibv_devinfo -d rxeA || :
	done
	stop $one && stop $two && sort /tmp/toggles | uniq -c | sort -rn | head -n 4 >&2
	! grep -v 'No such device\|No such file\|Permission denied' /tmp/toggles && set_roce 1
}

absent() {
	! [ -e $SYS/rxeA ]
}

# A device is deleted while it changes.  It may have to be deleted twice
delete_meanwhile() {
	local pid n
	for n in 1 2 3 4 5; do
		toggle & pid=$!
		wait_for 20 eval 'rdma link delete rxeA' && stop $pid || return 1
		wait_for 10 eval 'absent || ! rdma link delete rxeA && absent' || return 1
		in_netns A rxe_add rxeA veth || return 1
	done
}

netdev_meanwhile() {
	local pid
	toggle & pid=$!
	wait_for 10 grep -q . $ROCE || true
	timeout 60 ip -n A link del veth && wait_for 20 absent && stop $pid && absent && wait_for 10 eval '! listens A || [ -e $SYS/farA ]'
}

unload_meanwhile() {
	local pid
	ip -n A link add veth type dummy && ip -n A link set veth up && in_netns A rxe_add rxeA veth || return 1
	toggle .1 & pid=$!
	wait_for 60 rmmod rdma_rxe && stop $pid && ! [ -d /sys/module/rdma_rxe ]
}

path_up veth
ip link add far netns A type veth peer name far netns B
ip -n A link set far up
ip -n B link set far up
use_gid v2-ipv4
try disabled disabled
try v1 has v1 "IB/RoCE v1"
try v2 has v2 "RoCE v2"
try all has 1 "IB/RoCE v1,RoCE v2"
try index-1-is-v2 habit
try v2-programs programs v2 v2-ipv4
try v1-programs programs v1 v1-ipv4
try all-programs programs 1 v2-ipv4
try takes-none-of-it deaf
try settings-kept kept
try v1-alone-owns-packets v1_owned
try small-mtu small_mtu
try core-settings-written-again core_settings
try programs-told told
for text in 2 v3 "" on "v1 v2"; do
	try "refused-${text:-nothing}" refused "$text"
done
try pattern pattern
try tunnel tunnel
try port-taken port_taken
try from-inside from_inside
try twenty-beside-traffic quick
try flooded flooded
try two-writers writers
try delete-meanwhile delete_meanwhile
try netdev-goes-meanwhile netdev_meanwhile
try unload-meanwhile unload_meanwhile
