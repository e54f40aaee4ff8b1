# SPDX-License-Identifier: GPL-2.0
# test: a card that gives all packets of a train one IPv4 ID is detected, and a good one never is
# nodes: 1
# level: full
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"
. "$TESTS/wires.sh"

# Makes namespaces A and B, each with a veth whose other end is in R
ends_up() {
	local ns n=1
	load_ours && ip netns add R || return 1
	for ns in A B; do
		ip netns add $ns && ip link add veth netns $ns type veth peer name r$ns netns R || return 1
		ip netns exec R sysctl -qw net.ipv6.conf.r$ns.disable_ipv6=1 && ip -n R link set r$ns up || return 1
		ip -n $ns link set lo up && ip -n $ns link set veth up || return 1
		ip -n $ns addr add 203.0.113.$n/24 dev veth || return 1
		ip -n $ns addr add 2001:db8:1::$n/64 dev veth nodad || return 1
		ip netns exec $ns ethtool -K veth tso off || return 1	# the card has no TSO
		in_netns $ns rxe_add rxe$ns veth || return 1
		n=2
	done
	capture_trains	# the card, a packet socket, must get trains
	path veth
}

card_up() { # OPTION of uso_card...
	ip netns exec R uso_card "$@" rA rB > /tmp/card 2>&1 &
	CARD=$!
	wait_for 20 grep -q ready /tmp/card
}

card_down() {
	kill $CARD && wait $CARD && cat /tmp/card >&2
}

trains() {
	awk '/^trains/ { print $2 }' /tmp/card
}

# Prints how many connections have given up trains
given_up() {
	cat /sys/class/infiniband/rxe[AB]/ports/1/hw_counters/tx_trains_off | awk '{ n += $1 } END { print n }'
}

# moves EXPECTED OPERATION OPTION...: the data is right and arrives in time, and so many connections give up
# trains
moves() {
	local want=$1 op=$2 before line
	shift 2
	before=$(given_up)
	line=$(goodput -o "$op" -t 16 -r 7 -l 90 "$@") && say "$line" &&
		[ "$(awk '{ print $2 }' <<< "$line")" = ok ] || return 1
	say "$(($(given_up) - before)) gave up trains"
	[ $(($(given_up) - before)) = "$want" ]
}

# all PREFIX EXPECTED OPTION...: tests each operation on its own connection.  READs of one packet are left out:
# they are sent again one by one, so they don't show the fault.
all() {
	local prefix=$1 want=$2 op
	shift 2
	for op in write send $([[ $prefix = *small ]] || echo read); do
		try "$prefix-$op" moves "$want" $op "$@"
	done
}

warned() {
	dmesg | grep >&2 'only the first packet arrives.*ethtool -K veth tx-udp-segmentation off'
}

# The card has got more than so many trains
trains_left() { # NUMBER
	card_down && [ "$(trains)" -gt "$1" ]
}

ends_up
use_gid v2-ipv4
card_up
if ! cli ping -c 1 -W 20 $SRV4 > /dev/null; then
	card_down || cat /tmp/card >&2
	fail up "the card doesn't pass anything on"
	exit
fi
goodput_up
all good 0 -s 1048576 -n 16
all good-small 0 -s 704 -n 2000
try good-trains trains_left 50

card_up -l 100
all good-loss-1 0 -s 1048576 -n 16
try good-loss-1-trains trains_left 50
card_up -l 500
all good-loss-5 0 -s 1048576 -n 4
try good-loss-5-read-pairs moves 0 read -s 2048 -n 2000
try good-loss-5-trains trains_left 50

try good-silent eval '! warned'
card_up -i
all one-id 1 -s 1048576 -n 8
all one-id-small 1 -s 704 -n 2000
try one-id-warned warned
card_down
card_up -i -l 100
all one-id-loss-1 1 -s 1048576 -n 8
card_down
goodput_down

use_gid v2-ipv6
goodput_up
card_up -i
all ipv6 0 -s 1048576 -n 8
try ipv6-trains trains_left 50
goodput_down
