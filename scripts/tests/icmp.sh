# SPDX-License-Identifier: GPL-2.0
# test: redirects, and ICMP errors for other requests, don't keep RDMA_CM from connecting
# nodes: 1
# level: core
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

MADS=/tmp/mads.pcap

# ends_by EVENT: a client requests a connection and gets EVENT. No program listens at the server, which rejects it
ends_by() {
	PORT=$((PORT + 1))
	timeout 60 ip netns exec A ucmatose -s "$SRV_CM" -p $PORT -c 1 -C 1 > /tmp/client 2>&1 || true
	cat /tmp/client >&2
	grep -q "RDMA_CM_EVENT_$1" /tmp/client
}

# Captures the MADs that A sends for a connection, in $MADS
asked() {
	local status=0
	capture_begin B veth $MADS -Q in 'udp dst port 4791' || return 1
	ends_by REJECTED || status=1
	capture_end
	return $status
}

forge() { # unreachable|redirect [BITS]
	ip netns exec B python3 "$TESTS/py/icmp_forge.py" veth $MADS "$@"
}

# The message encloses the last request. The next one has another transaction ID
unaffected() { # unreachable|redirect
	asked && forge "$1" && ends_by REJECTED
}

last_tid() {
	printf '%d\n' "$(tshark -r $MADS -T fields -e infiniband.mad.transactionid 2> /dev/null | tail -n 1)"
}

# The message encloses the next request. Its transaction ID is known in advance: it is a number, XOR a constant.
# Each attempt takes two numbers, one on each side. If the last two attempts differ in more than bit 1, that bit
# is 0 now, so it is all that changes next
predicted() {
	local before tid
	asked && tid=$(last_tid) || return 1
	before=$((tid ^ 2))
	while [ $((before ^ tid)) = 2 ]; do
		before=$tid
		asked && tid=$(last_tid) || return 1
	done
	forge unreachable 2 && asked || return 1
	say "transaction IDs: $before, $tid, $(last_tid)"
	[ "$(last_tid)" = $((tid ^ 2)) ]
}

path_up veth
for kind in ipv4 ipv6; do
	use_gid v2-$kind
	cm_mode rxeA v2 || fail "$kind" "RDMA_CM can't be told to use v2"
	try $kind-unreachable unaffected unreachable
	try $kind-predicted predicted
	[ $kind = ipv4 ] || try ipv6-redirect unaffected redirect
done
