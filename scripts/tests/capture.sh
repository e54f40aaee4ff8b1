# SPDX-License-Identifier: GPL-2.0
# test: captures show packets as on the wire, on both ends; without a capture there are trains
# nodes: 1
# level: full
# debug: yes
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

listen() { # NS NETDEV FILE
	capture_begin "$@" -s 4000 'udp port 4791 or ether proto 0x8915 or (vlan and udp port 4791)'
}

# valid FILE: each frame is one RoCE packet.  Its headers, checksum and ICRC are right
valid() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/wire_check.py" "$1" >&2
}

big() { # number of frames with more than one packet
	frames "$1" greater 2000
}

writes() {
	run_perftest write_bw 10 60000 && run_perftest read_bw 10 60000
}

# seen NS NETDEV COMMAND...: a capture there shows single packets: 20 messages of 59 packets, and ACKs
seen() {
	local status=0
	listen "$1" "$2" /tmp/seen.pcap && "${@:3}" && wait_for 20 has_frames /tmp/seen.pcap 1180 || status=1
	capture_end
	say "$(frames /tmp/seen.pcap) frames"
	[ $status = 0 ] && valid /tmp/seen.pcap
}

# Without a capture, there are trains
trains_again() {
	local n
	n=$(packets veth run_perftest write_bw 10 60000) || return 1
	say "$n skbs for 590 packets"
	[ "$n" -lt 200 ]
}

# A capture on all netdevs of another namespace changes nothing here
elsewhere() {
	local status=0
	ip netns add D && ip -n D link set lo up || return 1
	{ capture_begin D any /tmp/elsewhere.pcap udp && trains_again; } || status=1
	capture_end
	ip netns del D
	return $status
}

# If the peer sends single packets, GRO would make trains of them
by_gro() {
	srv ethtool -K veth gro on && switch_is trains 0 || return 1
	"$@"
	local status=$?
	switch_is trains 1 && srv ethtool -K veth gro off && return $status
}

# With capture_singly off, a capture shows trains
otherwise() {
	switch_is capture_singly 0 && listen B veth /tmp/trains.pcap && writes && capture_end &&
		switch_is capture_singly 1 && [ "$(big /tmp/trains.pcap)" -gt 20 ]
}

vlans() {
	vlan_pair 5 && wait_for 10 use_gid v2-ipv4
}

# same_device GID-TYPE NETDEV: two queue pairs of one device communicate through the network stack
same_device() {
	local status=0
	use_gid "$1" && switch_is same_device 0 && listen A "$2" /tmp/own.pcap && run_perftest write_bw 10 60000 &&
		wait_for 20 has_frames /tmp/own.pcap 590 || status=1
	capture_end
	switch_is same_device 1 && [ $status = 0 ] && valid /tmp/own.pcap
}

path_up veth
for type in v2-ipv4 v2-ipv6 v1-ipv4; do
	use_gid $type
	try $type-trains-before trains_again
	try $type-sender seen A veth writes
	try $type-receiver seen B veth writes
	try $type-gro by_gro seen B veth writes
done
use_gid v2-ipv4
try trains-after trains_again
try elsewhere elsewhere
try otherwise otherwise
modprobe 8021q
try vlans vlans
try vlan-lower seen A veth writes
try vlan-upper seen A veth.5 writes
try vlan-upper-receiver by_gro seen B veth.5 writes
path veth
srv() { cli "$@"; }
SRV_DEV=rxeA SRV4=$CLI4
try same-device same_device v2-ipv4 lo
try same-device-v1 same_device v1-ipv4 veth
