# SPDX-License-Identifier: GPL-2.0
# test: which sockets may send to UDP port 4791, and with which priority
# nodes: 1
# level: core
# debug: yes
# timeout: 180
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)

# says WHAT COMMAND...
says() {
	local what=$1 said
	shift
	said=$("$@")
	[ "$said" = "$what" ] || { say "$said, not $what: $*"; return 1; }
}

anybody() { cli "${NOBODY[@]}" python3 - "$@" < "$TESTS/py/udp_to.py"; }	# who may not read there
raw() { cli python3 - "$@" < "$TESTS/py/udp_to.py"; }

counter() { # DEV NAME
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# Nothing of it reaches the peer, and each counts.
refused() { # OPTION of udp_to...
	local rcvd dropped
	rcvd=$(counter rxeB rcvd_pkts) dropped=$(counter rxeA tx_drop_unprivileged)
	says EPERM anybody "$@" && [ "$(counter rxeB rcvd_pkts)" = "$rcvd" ] &&
		[ "$(counter rxeA tx_drop_unprivileged)" = $((dropped + 1)) ]
}

allowed() { # OPTION of udp_to...
	says sent anybody "$@"
}

switched() {
	switch_is guard_port 0 && allowed $SRV4 4791 && switch_is guard_port 1 && refused $SRV4 4791
}

# the highest priority of the packets that a client with SL 7 sends
priority_is() { # PRIORITY COMMAND...
	local want=$1
	shift
	cli nft -f - <<-END || return 1
	table inet t
	delete table inet t
	table inet t {
		chain out {
			type filter hook output priority 0
			udp dport 4791 meta priority 0:6 counter name six
			udp dport 4791 meta priority 0:7 counter name seven
		}
		counter six { }
		counter seven { }
	}
	END
	PORT=$((PORT + 1))
	both wait_tcp ibv_rc_pingpong -e -p $PORT -d "$SRV_DEV" -g "$SRV_GID" -n 10 -- \
		"$@" ibv_rc_pingpong -e -p $PORT -d "$CLI_DEV" -g "$CLI_GID" -n 10 -l 7 "$SRV4" || return 1
	cli nft list counters table inet t >&2
	case $want in
	6) counted six && ! counted seven ;;
	7) counted seven && ! counted six ;;
	esac
}

counted() {
	grep -q 'packets [1-9]' <<< "$(cli nft list counter inet t "$1")"
}

path_up veth
use_gid v2-ipv4
chmod a+rw /dev/infiniband/*
cli ip link add other type dummy
cli ip link set other up
cli ip addr add 198.18.9.1/24 dev other
cli ip neigh add 198.18.9.2 lladdr 2:0:0:0:0:1 dev other

try ipv4 refused $SRV4 4791
try ipv6 refused $SRV6 4791
try ipv6-routing-header refused $SRV6 4791 rthdr
try gso refused $SRV4 4791 gso
try fragments refused $SRV4 4791 long
try to-itself refused $CLI4 4791
try by-other-netdev refused 198.18.9.2 4791 $CLI4
try other-address refused $SRV4 4791 198.18.9.1
try by-pktinfo refused 198.18.9.2 4791 $CLI4 pktinfo
try by-pktinfo-ipv6 refused $SRV6 4791 $CLI6 pktinfo
try other-netdev allowed 198.18.9.2 4791
try other-port allowed $SRV4 4792
try privileged says sent raw $SRV4 4791
try switch switched
try rdma-unprivileged priority_is 6 "${NOBODY[@]}"
try rdma-privileged priority_is 7
cli rdma link delete rxeA
try no-device allowed $SRV4 4791
