# SPDX-License-Identifier: GPL-2.0
# test: between two machines, captures on virtio's netdev show packets as on the wire, received and sent
# nodes: 2
# level: long
# suites: all
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

PCAP=/tmp/seen.pcap
PACKETS=150		# of ten messages of 60000 bytes, with an IB MTU of 4096

# captured COMMAND...: captures on this machine's eth0 while the command runs.  Each slot of the socket's
# ring has the snap length, so a short one makes room for more frames
captured() {
	local status=0
	capture_begin '' eth0 $PCAP -s 8192 'udp port 4791 or ether proto 0x8915' && "$@" &&
		wait_for 20 has_frames $PCAP $PACKETS || status=1
	capture_end
	say "$(frames $PCAP) frames, $(frames $PCAP greater 4200) of them longer than the netdev's MTU"
	return $status
}

# Each frame is one RoCE packet.  Its lengths, headers, checksum and ICRC are right
valid() { # COMMAND...
	captured "$@" && PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/wire_check.py" --mtu 4096 $PCAP >&2
}

# This machine receives the data: the peer's WRITEs, and responses to its own READs
written() {
	local PATH_NAME=back
	srv() { "$@"; }
	cli() { on_b_tools "$@"; }
	SRV4=$A4 CLI4=$B4 SRV6=$A6 CLI6=$B6
	use_gid "$1" && run_perftest write_bw 10 60000
	set -- $?
	path vms
	return "$1"
}

read_here() {
	use_gid "$1" && run_perftest read_bw 10 60000
}

writes() {
	use_gid "$1" && run_perftest write_bw 10 60000
}

# With capture_singly off, the receiver's GRO merges packets
merged() {
	switch_is capture_singly 0 && on_b_tools switch_is capture_singly 0 || return 1
	captured read_here v2-ipv4
	set -- $?
	switch_is capture_singly 1 && on_b_tools switch_is capture_singly 1 || return 1
	[ "$1" = 0 ] && [ "$(frames $PCAP greater 4200)" -gt 0 ]
}

path_up vms
for type in v2-ipv4 v2-ipv6 v1-ipv4; do
	try $type-written valid written $type
	try $type-read valid read_here $type
	try $type-sent valid writes $type
done
PACKETS=15
try otherwise merged
