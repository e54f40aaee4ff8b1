# SPDX-License-Identifier: GPL-2.0
# test: redirects, and ICMP errors for other requests, don't keep RDMA_CM from connecting
# nodes: 1
# level: core
# timeout: 120
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# ends_by EVENT: a client requests a connection and gets EVENT. No program listens at the server, which rejects it
ends_by() {
	PORT=$((PORT + 1))
	timeout 60 ip netns exec A ucmatose -s "$SRV_CM" -p $PORT -c 1 -C 1 > /tmp/client 2>&1 || true
	cat /tmp/client >&2
	grep -q "RDMA_CM_EVENT_$1" /tmp/client
}

# The forger, in B, has seen a request when the client gets the answer
forger_up() {
	coproc FORGER { ip netns exec B env PYTHONDONTWRITEBYTECODE=1 python3 "$TESTS/py/icmp_forge.py" mads veth; }
	answered && [ "$ANSWER" = ready ]
}

# Sets ANSWER to the forger's next line
answered() {
	read -r -t $((60 * PATIENCE)) ANSWER <&"${FORGER[0]}" && say "the forger: $ANSWER"
}

forge() { # unreachable|redirect [BITS]
	echo "$*" >&"${FORGER[1]}" && answered && [ "$ANSWER" = sent ]
}

# Sets TID to the transaction ID of the last request
last_tid() {
	echo last >&"${FORGER[1]}" && answered && TID=$ANSWER
}

# The message encloses the last request. The next one has another transaction ID
unaffected() { # unreachable|redirect
	ends_by REJECTED && forge "$1" && ends_by REJECTED
}

# The message encloses the next request. Its transaction ID is known in advance: it is a number, XOR a constant.
# Each attempt takes two numbers, one on each side. If the last two attempts differ in more than bit 1, that bit
# is 0 now, so it is all that changes next
predicted() {
	local before tid
	ends_by REJECTED && last_tid || return 1
	tid=$TID before=$((TID ^ 2))
	while [ $((before ^ tid)) = 2 ]; do
		before=$tid
		ends_by REJECTED && last_tid || return 1
		tid=$TID
	done
	forge unreachable 2 && ends_by REJECTED && last_tid || return 1
	say "transaction IDs: $before, $tid, $TID"
	[ "$TID" = $((tid ^ 2)) ]
}

path_up veth
try forger forger_up
for kind in ipv4 ipv6; do
	use_gid v2-$kind
	cm_mode rxeA v2 || fail "$kind" "RDMA_CM can't be told to use v2"
	try $kind-unreachable unaffected unreachable
	try $kind-predicted predicted
	[ $kind = ipv4 ] || try ipv6-redirect unaffected redirect
done
