# SPDX-License-Identifier: GPL-2.0
# test: unreliable connections: no loss on a good wire, and only whole messages on a bad one
# nodes: 1
# level: full
# debug: yes
# timeout: 500
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/wires.sh"

# over PATH TYPE...: verifies messages.  On one device, they are sent directly, and by packets
over() {
	local path=$1 type
	shift
	for type; do
		use_gid "$type" || { fail "$path-$type" "no such GID"; continue; }
		try "$path-$type-whole" run_uc_whole
		[ "$path" != loop ] || {
			switch_is zero_copy 0
			try "$path-$type-packets" run_uc_whole -n 500
			switch_is zero_copy 1
		}
	done
}

# Prints how many of 1000 messages must arrive.  A wire that drops or reorders packets never causes a wrong
# completion, and a lost packet loses its message and no other.  Two thirds of the messages have one packet,
# the others 20 on average.  If 1 % of the packets are lost, 7 of the first and 60 of the others are lost; with
# 5 %, 33 and 195, if packets are lost singly.  All reordered packets may be lost.
least() { # WIRE
	case $1 in
	loss-5) echo 700 ;;
	reorder | mix) echo 300 ;;
	*) echo 900 ;;
	esac
}

bad_wires() { # WIRE...
	local wire
	for wire; do
		wire_is "$wire"
		try "veth-$wire-whole" run_uc_whole -l "$(least "$wire")" -n 1000
	done
	wire_is clean
}

programs() { # PATH
	local program
	try "$1-uc_pingpong" run_uc_pingpong
	for program in uc_send_bw uc_write_bw uc_write_lat; do
		try "$1-ib_$program" run_perftest "$program"
	done
}

path_up loop
over loop v2-ipv4 v1-ipv4
programs loop
unload
path_up veth
in_order	# UC loses reordered packets
over veth v1-ipv4 v2-ipv6 v2-ipv4
programs veth
bad_wires loss-1 loss-5 reorder duplicate corrupt mix
use_gid v1-ipv4
bad_wires loss-5
try resources-gone wait_for 5 resources_gone
