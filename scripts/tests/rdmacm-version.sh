# SPDX-License-Identifier: GPL-2.0
# test: RDMA_CM connects equal RoCE versions, and fails cleanly between different ones
# nodes: 2
# level: core
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# versions CLIENT SERVER
versions() {
	cm_mode rxe0 "$1" && srv_host cm_mode rxe0 "$2"
}

frames() { # PCAP-FILTER
	tcpdump -r /tmp/cm.pcap "$1" 2> /dev/null | wc -l
}

# connects VERSION ADDRESS: and nothing of the other version is on the wire
connects() {
	local pid v1 v2
	versions "$1" "$1" || return 1
	SRV_BIND=$2 SRV_CM=$2
	tcpdump -i eth0 -U -w /tmp/cm.pcap 'udp port 4791 or ether proto 0x8915' 2> /tmp/tcpdump &
	pid=$!
	wait_for 20 grep -q 'listening on' /tmp/tcpdump && run_ucmatose && run_rping || return 1
	kill -INT $pid
	wait $pid || true
	v1=$(frames 'ether proto 0x8915') v2=$(frames 'udp port 4791')
	say "$v1 frames of v1, $v2 of v2"
	if [ "$1" = v1 ]; then
		[ "$v1" -gt 20 ] && [ "$v2" = 0 ]
	else
		[ "$v2" -gt 20 ] && [ "$v1" = 0 ]
	fi
}

# The client must end by itself, with an error, and the server must live on.
refused() { # CLIENT SERVER
	local pid status=0
	versions "$1" "$2" || return 1
	PORT=$((PORT + 1))
	on_b timeout 100 rping -s -a $B4 -p $PORT -C 3 -V &
	pid=$!
	srv cm_ready $PORT || return 1
	timeout 60 rping -c -a $B4 -p $PORT -C 3 -V || status=$?
	say "the client ended with status $status"
	if [ $status = 0 ] || [ $status = 124 ]; then
		kill $pid
		return 1
	fi
	# and in its own version the same server still serves
	cm_mode rxe0 "$2" && timeout 60 rping -c -a $B4 -p $PORT -C 3 -V && wait $pid
}

rxe_up
path vms
try v2-v2-ipv4 connects v2 $B4
try v2-v2-ipv6 connects v2 $B6
try v1-v1-ipv4 connects v1 $B4
try v1-v1-ipv6 connects v1 $B6
try v2-client-v1-server refused v2 v1
try v1-client-v2-server refused v1 v2
try resources-gone wait_for 20 resources_gone
