# SPDX-License-Identifier: GPL-2.0
# test: redirects, and ICMP errors for packets that were not sent, don't keep RDMA_CM from connecting
# nodes: 1
# level: core
# timeout: 120
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

forge() { # unreachable|redirect [PSN]
	ip netns exec B python3 "$TESTS/py/icmp_forge.py" veth $MADS "$@"
}

unaffected() { # unreachable|redirect [PSN]
	asked && forge "$@" && ends_by REJECTED
}

# The message encloses the last MAD with its PSN, so the sender can't distinguish it from a genuine one
refused() {
	asked && forge unreachable && ends_by UNREACHABLE
}

path_up veth
for kind in ipv4 ipv6; do
	use_gid v2-$kind
	cm_mode rxeA v2 || fail "$kind" "RDMA_CM can't be told to use v2"
	try $kind-guessed-psn unaffected unreachable 0
	[ $kind = ipv4 ] || try ipv6-redirect unaffected redirect
	if core_ignores_unsent_mads; then
		skip $kind-last-psn "this kernel's RDMA core waits for answers to MADs that were not sent"
	else
		try $kind-last-psn refused
	fi
done
