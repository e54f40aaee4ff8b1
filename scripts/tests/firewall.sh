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
