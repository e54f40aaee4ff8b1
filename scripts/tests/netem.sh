# SPDX-License-Identifier: GPL-2.0
# test: bad wires of all kinds break and corrupt nothing; on a good one nothing is sent again
# nodes: 2
# level: long
# suites: all
# alone: yes
# debug: yes
# timeout: 900
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/wires.sh"

LOSSY=1

# wires PREFIX MESSAGES WIRE...: verifies data over each wire.  rping mostly waits, so it runs meanwhile
wires() {
	local prefix=$1 count=$2 wire rping
	shift 2
	for wire; do
		wire_is "$wire"
		PORT=$((PORT + 1))
		try "$prefix-$wire-rping" run_rping &
		rping=$!
		verified "$prefix-$wire" -n "$count"
		wait $rping
	done
}

# Since BEFORE was set, nothing was sent again, except after RNR NAKs: a busy server may post receives too
# late.  The packets behind a refused SEND then come early, and again
nothing_resent() {
	paste -d : <(echo "$BEFORE") <(resent) | awk -F : '
		{ name = $1; sub(".*/", "", name); more[name] += $4 - $2; if ($4 != $2) print }
		END {
			rnr = more["rnr_nak_retry_err"]
			exit NR != 12 || more["local_ack_timeout_err"] || more["rcvd_seq_err"] ||
				more["completer_retry_err"] != rnr ||
				!rnr && (more["duplicate_request"] || more["out_of_seq_request"])
		}' >&2
}

# clean PREFIX: while the wire is busy for some time, nothing is resent
clean() {
	wire_is clean
	in_order
	BEFORE=$(resent) || { fail "$1-clean" "no counters"; return; }
	verified "$1-clean" -T 1500
	try "$1-nothing-resent" nothing_resent
}

# corrupt PREFIX: corrupted packets are dropped and counted.  netem changes the linear part of a packet
# only: its network headers, or all of a small packet.
corrupt() {
	local before
	before=$(icrc_errors) || { fail "$1-corrupt" "no counter"; return; }
	wires "$1" 64 corrupt
	verified "$1-corrupt-small" -n 1000 -s 256
	try "$1-corrupt-counted" [ "$(icrc_errors)" -gt "$before" ]
}

path_up veth
use_gid v2-ipv4
goodput_up
clean veth-v2
# shellcheck disable=SC2086 # a list
wires veth-v2 64 $WIRES
goodput_down
use_gid v1-ipv4
goodput_up
clean veth-v1
corrupt veth-v1
wires veth-v1 64 mix
goodput_down
wire_is clean
rxe_down
ip netns del A
ip netns del B

path_up vms
use_gid v2-ipv4
goodput_up
clean vms-v2
corrupt vms-v2
wires vms-v2 32 loss-1 loss-5 reorder mix
goodput_down
wire_is clean
