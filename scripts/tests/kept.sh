# SPDX-License-Identifier: GPL-2.0
# test: early packets are held within limits, and never executed in place of those in order
# nodes: 1
# level: full
# debug: yes
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# The peer and the forger are in A, the target is in B.  Nobody handles the target's answers
attack() {
	local gid
	gid=$(in_netns B gid_index rxeB v2 203.0.113.2) || return 1
	ip netns exec A env PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/kept_attack.py" --netdev veth \
		--target "ip netns exec B rc_kept -d rxeB -g $gid -p ::ffff:203.0.113.1" \
		--dev rxeB --sender rxeA \
		--src-mac "$(mac_of A veth)" \
		--dst-mac "$(mac_of B veth)" \
		--src 203.0.113.1 --dst 203.0.113.2
}

# Adds the device again, and prints the number of its first queue pair
first_qpn() {
	ip netns exec B rdma link del rxeB 2> /dev/null || true
	in_netns B rxe_add rxeB veth >&2
	echo quit | ip netns exec B rc_kept -d rxeB -g "$(in_netns B gid_index rxeB v2 203.0.113.2)" \
		-p ::ffff:203.0.113.1 | cut -d' ' -f1
}

# Numbers of first queue pairs are random.  Two of 4096 are equal by chance, so three are compared.
numbers_differ() {
	local one two three
	one=$(first_qpn) && two=$(first_qpn) && three=$(first_qpn) || return 1
	say "first queue pairs: $one, $two, $three"
	[ -n "$one" ] && [ -n "$two" ] && [ -n "$three" ] && [ "$one $one" != "$two $three" ]
}

netns_pair 4200
path veth
# Incomplete datagrams hold memory for a second only, as the packets under test do
ip netns exec B sysctl -q net.ipv4.ipfrag_time=1
cases '' attack
try first-number-differs numbers_differ
