# SPDX-License-Identifier: GPL-2.0
# test: RoCE v2 obeys the firewall at each of its hooks, in and out
# nodes: 1
# level: full
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# obeys NAMESPACE HOOK: no data while a rule drops the packets there, and data again without it
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
	! run_rc_pingpong || { say "data passed the rule"; return 1; }
	ip netns exec "$ns" nft list table inet wall >&2
	ip netns exec "$ns" nft list table inet wall | grep -q 'counter packets [1-9]' &&
		ip netns exec "$ns" nft delete table inet wall && run_rc_pingpong
}

path_up veth
use_gid v2-ipv4
try ipv4 run_rc_pingpong
try ipv4-prerouting obeys B prerouting
try ipv4-input obeys B input
try ipv4-output obeys A output
try ipv4-postrouting obeys A postrouting
use_gid v2-ipv6
try ipv6-input obeys B input
try ipv6-output obeys A output
