# SPDX-License-Identifier: GPL-2.0
# test: the device's switches, each on and off, change how data goes, but not the data
# nodes: 1
# level: core
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

SWITCHES="trains zero_copy same_device trust_local cork"

switch_is() { # NAME 0|1, on all devices
	local file
	for file in /sys/class/infiniband/rxe*/"$1"; do
		echo "$2" > "$file" && [ "$(cat "$file")" = "$2" ] || return 1
	done
}

random() { # random operations on the path
	run_rc_random -n 1000 -q 4 -s "$RANDOM" -m 200000
}

# packets NETDEV COMMAND...: how many the netdev sent meanwhile
packets() {
	local netdev=$1 before
	shift
	before=$(cat "/sys/class/net/$netdev/statistics/tx_packets")
	"$@" >&2 || return 1
	echo $(($(cat "/sys/class/net/$netdev/statistics/tx_packets") - before))
}

refused() { # NAME: what is no truth value
	local file=/sys/class/infiniband/rxe0/$1
	! (echo maybe > "$file") 2> /dev/null && [ "$(cat "$file")" = 1 ]
}

off_and_on() { # PATH NAME
	switch_is "$2" 0 && random && switch_is "$2" 1 && random
}

same_device_by_stack() {
	local on off
	on=$(packets lo run_rc_pingpong) && switch_is same_device 0 &&
		off=$(packets lo run_rc_pingpong) && switch_is same_device 1 || return 1
	say "on the loopback netdev: $on packets, $off with same_device off"
	[ "$off" -gt $((on + 20)) ]
}

# veth counts a train as one packet; these are ten messages of ten packets
trains_split() {
	local on off
	count_on_off trains || return 1
	[ "$off" -gt $((on + 60)) ]
}

# A thousand messages that are posted one after the other, in trains or each by itself
cork_gathers() {
	local on off
	count_on_off cork 1000 64 || return 1
	[ "$on" -lt 700 ] && [ "$off" -gt 1000 ]
}

count_on_off() { # NAME [COUNT SIZE]: sets on and off
	on=$(packets_of_a "${@:2}") && switch_is "$1" 0 && off=$(packets_of_a "${@:2}") &&
		switch_is "$1" 1 || return 1
	say "on the veth: $on packets, $off with $1 off"
}

packets_of_a() { # [COUNT SIZE]
	local file=/sys/class/net/veth/statistics/tx_packets before
	before=$(ip netns exec A cat $file)
	run_perftest write_bw "$@" >&2 || return 1
	echo $(($(ip netns exec A cat $file) - before))
}

# With trains off, packets come one by one, and GRO makes trains of them: they are longer than what
# the wire takes.  A veth leaves GRO to a sender that has TSO.
gro() {
	local pid
	srv ethtool -K veth gro on && cli ethtool -K veth tso off || return 1
	srv timeout 60 tcpdump -i veth -c 1 --immediate-mode -w /tmp/gro.pcap 'udp port 4791 and greater 3000' \
		2> /tmp/tcpdump &
	pid=$!
	wait_for 20 grep -q 'listening on' /tmp/tcpdump && switch_is trains 0 && random &&
		run_perftest write_bw && run_perftest read_bw && wait $pid && switch_is trains 1 && random &&
		srv ethtool -K veth gro off && cli ethtool -K veth tso on
}

path_up loop
use_gid v2-ipv4
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
try cork-gathers cork_gathers
try gro-makes-trains gro
