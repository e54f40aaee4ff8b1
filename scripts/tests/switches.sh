# SPDX-License-Identifier: GPL-2.0
# test: the device's switches, each on and off, change the path of data, but not the data
# nodes: 1
# level: full
# debug: yes
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SWITCHES="trains zero_copy same_device trust_local cork capture_singly"

refused() { # NAME: the switch refuses other text than 0 or 1, and the log says so
	local file=/sys/class/infiniband/rxe0/$1
	! (echo maybe > "$file") 2> /dev/null && dmesg | grep -q "rxe0: $1: write 0 or 1" &&
		[ "$(cat "$file")" = 1 ]
}

off_and_on() { # PATH NAME
	switch_is "$2" 0 && run_random && switch_is "$2" 1 && run_random
}

same_device_by_stack() {
	local on off
	on=$(packets lo run_rc_pingpong) && switch_is same_device 0 &&
		off=$(packets lo run_rc_pingpong) && switch_is same_device 1 || return 1
	say "on the loopback netdev: $on packets, $off with same_device off"
	[ "$off" -gt $((on + 20)) ]
}

# A hundred messages of ten packets.  A stall may split some trains, or send some again.
trains_split() {
	local on off
	count_on_off trains 100 || return 1
	[ "$off" -gt $((on + 500)) ]
}

# Changes the UDP source port of trains that leave A.  The ICRC covers the port, so it is wrong then
mangle_trains() {
	ip netns exec A nft -f - <<- END
		table inet mangle {
			chain out {
				type filter hook postrouting priority 0;
				udp dport 4791 meta length > 3000 counter udp sport set 49999
			}
		}
	END
}

mangled() {
	ip netns exec A nft list ruleset | sed -n 's/.*counter packets \([0-9]*\).*/\1/p'
}

icrc_errors() {
	cat /sys/class/infiniband/rxeB/ports/1/hw_counters/rx_icrc_encapsulated
}

# Trains within this machine are trusted: nobody looks at a wrong ICRC.  With trust_local off, it is found, and
# the data may not arrive in time
trust_seen() {
	local on off trains status=0
	mangle_trains || return 1
	on=$(icrc_errors)
	LIMIT=20 run_perftest write_bw 20 65536 || status=1
	on=$(($(icrc_errors) - on)) trains=$(mangled)
	switch_is trust_local 0 || status=1
	off=$(icrc_errors)
	LIMIT=20 run_perftest write_bw 20 65536 || true
	off=$(($(icrc_errors) - off))
	ip netns exec A nft flush ruleset && switch_is trust_local 1 || status=1
	say "$trains trains changed: $on errors of the ICRC, $off with trust_local off"
	[ $status = 0 ] && [ "$trains" -gt 5 ] && [ "$on" = 0 ] && [ "$off" -gt 0 ]
}

# With trains off, packets come one by one, and GRO makes trains of them.  A capture shows these by their
# length.  A veth does no GRO if the sender has TSO.
gro() {
	local pid
	srv ethtool -K veth gro on && cli ethtool -K veth tso off && switch_is capture_singly 0 || return 1
	srv timeout 120 tcpdump -i veth -c 1 --immediate-mode -w /tmp/gro.pcap 'udp port 4791 and greater 3000' \
		2> /tmp/tcpdump &
	pid=$!
	wait_for 20 grep -q 'listening on' /tmp/tcpdump && switch_is trains 0 && run_random &&
		run_perftest write_bw && run_perftest read_bw && wait $pid && switch_is trains 1 && run_random &&
		srv ethtool -K veth gro off && cli ethtool -K veth tso on && switch_is capture_singly 1
}

knob_is() { # NAME VALUE
	[ "$(awk -v name="$1" '$1 == name { print $2 }' $KNOBS)" = "$2" ]
}

knobs_set() {
	knob_is cork_ns 20000 && echo cork_ns 30000 > $KNOBS && knob_is cork_ns 30000 &&
		echo " cork_ns  0x4e20 " > $KNOBS && knob_is cork_ns 20000
}

# knob_refused WORDS LINE: the line is refused, the log has these words, and nothing changes
knob_refused() {
	local before lines
	before=$(cat $KNOBS) lines=$(log_lines)
	! (echo "$2" > $KNOBS) 2> /dev/null && logged_since "$lines" "$1" && [ "$before" = "$(cat $KNOBS)" ]
}

# Without memory for early packets, none is held, and data passes
knob_works() {
	echo held_qp_bytes 0 > $KNOBS && run_random && echo held_qp_bytes 4194304 > $KNOBS
}

path_up loop
use_gid v2-ipv4
try knobs-set knobs_set
try knobs-range knob_refused "go_back must be 1 to 255, not 256" "go_back 256"
try knobs-negative knob_refused "go_back must be 1 to 255, not -1" "go_back -1"
try knobs-no-value knob_refused "go_back must be 1 to 255, not nothing" go_back
try knobs-unknown knob_refused "no knob 'go_forth'" "go_forth 1"
try knobs-fixed knob_refused "no knob 'LOCAL_MTU'" "LOCAL_MTU 1"
try knobs-long knob_refused . "go_back $(printf %0200d 1)"
try knobs-work knob_works
for name in $SWITCHES; do
	try "loop-$name" off_and_on loop "$name"
	try "refused-$name" refused "$name"
done
try same_device-by-stack same_device_by_stack
unload
path_up veth
use_gid v2-ipv4
for name in trains trust_local cork; do
	try "veth-$name" off_and_on veth "$name"
done
try trains-split trains_split
try trust_local-seen trust_seen
try gro-makes-trains gro
