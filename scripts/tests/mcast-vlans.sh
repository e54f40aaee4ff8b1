# SPDX-License-Identifier: GPL-2.0
# test: a thousand VLANs join multicast groups and leave them, each by a bounded number of steps
# nodes: 1
# clock: instructions
# level: full
# timeout: 120
. "$(dirname "$0")/lib.sh"

VLANS=1000 NGROUPS=20
G4=239.1.2.3 MAC4=01005e010203		# the first group
MOST=1000	# instructions to find that a netdev is in a group already; about 350 are enough

declare -A event	# instructions that an event takes: alone (no group), joined

vlans_add() {
	seq "$VLANS" | sed 's/.*/link add link veth name v& type vlan id &/' | ip -n B -batch -
}

vlans_del() { # LAST: deletes the VLANs up to this one
	seq "$1" | sed 's/.*/link del v&/' | ip -n B -batch -
}

# joined NUMBER: exactly so many netdevs have joined the first group
joined() {
	[ "$(ip netns exec B grep -c $MAC4 /proc/net/dev_mcast)" = "$1" ]
}

# measure_event NAME: measures an event of the real netdev: a flag without a meaning changes.  The
# machine's clock counts instructions, a thousand per microsecond.  All else that runs in the machine adds
# to the time, so the shortest time counts.
measure_event() {
	local to start least=''
	for to in on off on off; do
		start=${EPOCHREALTIME/.}
		ip -n B link set veth dynamic $to || return 1
		least=$(printf '%s\n' $least $((${EPOCHREALTIME/.} - start)) | sort -n | head -n 1)
	done
	event[$1]=$((1000 * least))
}

# A process becomes a member of all groups, until let_go()
hold() {
	rm -f /tmp/hold
	ip netns exec B verbs_mcast hold rxeB 0 $G4 $NGROUPS > /tmp/hold &
	HOLDER=$!
	wait_for 20 grep -q ready /tmp/hold
}

let_go() {
	kill -KILL "$HOLDER"
	wait "$HOLDER" || true
}

joins() {
	measure_event alone && hold && joined $((1 + VLANS))
}

event_is_cheap() {
	local each
	measure_event joined || return 1
	each=$(((event[joined] - event[alone]) / (VLANS * NGROUPS)))
	say "an event: ${event[alone]} instructions; with groups: ${event[joined]}, $each for each that a netdev has joined"
	[ $each -lt $MOST ]
}

vlans_go() {
	vlans_del $((VLANS - 10)) && joined 11
}

leaves() {
	let_go && wait_for 10 joined 0
}

modprobe 8021q
netns_pair
vlans_add
try joins joins
try event-is-cheap event_is_cheap
try vlans-go vlans_go
try leaves leaves
try kernel-log dmesg_clean
