# SPDX-License-Identifier: GPL-2.0
# test: RoCE v2 obeys the firewall at each of its hooks, in and out
# nodes: 1
# level: full
# debug: yes
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

transfer() {
	run_perftest write_bw 10 60000
}

# obeys NAMESPACE HOOK: no data passes while a rule drops the packets at the hook; data passes again
# without the rule
obeys() {
	local ns=$1 hook=$2
	ip netns exec "$ns" nft -f - <<- EOF || return 1
		table inet wall {
			chain wall {
				type filter hook $hook priority 0;
				udp dport 4791 counter drop
			}
		}
	EOF
	! PERF_TIMEOUT=10 transfer || { say "data passed the rule"; return 1; }
	ip netns exec "$ns" nft list table inet wall > /tmp/wall
	cat /tmp/wall >&2
	ip netns exec "$ns" nft delete table inet wall && grep -q 'counter packets [1-9]' /tmp/wall && transfer
}

# A program decides on each packet (NFQUEUE), as intrusion detection does.  After its verdict, a packet
# goes on in the program's system call, and not in a softirq.
queued() { # NAMESPACE
	local pid status=0 ns=$1
	ip netns exec "$ns" nft -f - <<- EOF || return 1
		table inet wall {
			chain wall {
				type filter hook input priority 0;
				udp dport 4791 counter queue num 5
			}
		}
	EOF
	ip netns exec "$ns" python3 "$TESTS/py/nfqueue.py" 5 > /tmp/nfqueue & pid=$!
	wait_for 20 grep -q ready /tmp/nfqueue && run_rc_random -n 200 && transfer || status=1
	ip netns exec "$ns" nft list table inet wall | grep 'counter packets [1-9]' >&2 || status=1
	ip netns exec "$ns" nft delete table inet wall
	kill $pid
	wait $pid
	return $status
}

# Devices on a GRE tunnel whose packets have a checksum and arrive one by one.  The stack of B then knows the sum
# of each inner packet (CHECKSUM_COMPLETE), and GRO makes trains of these.
tunnel() {
	local ns n=1
	for ns in A B; do
		ip netns exec $ns ethtool -K veth tx off gro off &&
			ip netns exec $ns rdma link delete rxe$ns && ip -n $ns link add gt type gretap csum \
			local 203.0.113.$n remote 203.0.113.$((3 - n)) && ip -n $ns link set gt up &&
			ip -n $ns addr add 198.18.9.$n/24 dev gt && ip -n $ns addr add 2001:db8:9::$n/64 dev gt nodad &&
			ip netns exec $ns bash -c ". $TESTS/lib.sh; rxe_add rxe$ns gt" || return 1
		n=2
	done
	SRV4=198.18.9.2 CLI4=198.18.9.1 SRV6=2001:db8:9::2 CLI6=2001:db8:9::1 SRV_NET=gt CLI_NET=gt
	wait_for 10 use_gid v2-ipv4 && wait_for 10 use_gid v2-ipv6
}

# Connection tracking finds no train invalid
all_valid() {
	local status=0
	ip netns exec B nft -f - <<- EOF || return 1
		table inet wall {
			chain wall {
				type filter hook input priority 0;
				udp dport 4791 ct state invalid counter drop
				udp dport 4791 counter accept
			}
		}
	EOF
	transfer || status=1
	ip netns exec B nft list table inet wall > /tmp/wall
	cat /tmp/wall >&2
	ip netns exec B nft delete table inet wall && grep -q 'packets 0 bytes 0 drop' /tmp/wall &&
		grep -q 'packets [1-9].* accept' /tmp/wall && [ $status = 0 ]
}

path_up veth
use_gid v2-ipv4
try ipv4 transfer
try ipv4-prerouting obeys B prerouting
try ipv4-input obeys B input
try ipv4-output obeys A output
try ipv4-postrouting obeys A postrouting
try ipv4-queued queued B
try ipv4-queued-answers queued A
use_gid v2-ipv6
try ipv6-input obeys B input
try ipv6-output obeys A output
try ipv6-queued queued B
if modprobe -q ip_gre; then
	try tunnel tunnel
	use_gid v2-ipv4
	try ipv4-valid all_valid
	use_gid v2-ipv6
	try ipv6-valid all_valid
else
	skip valid "this kernel has no GRE"
fi
