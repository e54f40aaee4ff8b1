# SPDX-License-Identifier: GPL-2.0
# test: default_roce_mode decides which RoCE version RDMA_CM connects with
# nodes: 2
# level: full
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

# versions CLIENT SERVER: sets both modes
versions() {
	cm_mode rxe0 "$1" && srv_host cm_mode rxe0 "$2"
}

# connects CLIENT SERVER ADDRESS: programs connect in the client's version.  At most two packets of the
# other version are on the wire: a DREQ and its answer, or two answers, of the connection before.  A program
# ends without waiting for these.
connects() {
	local v1 v2
	versions "$1" "$2" || return 1
	SRV_BIND=$3 SRV_CM=$3
	capture_begin '' eth0 /tmp/cm.pcap 'udp port 4791 or ether proto 0x8915' && run_ucmatose && run_rping || return 1
	capture_end
	v1=$(frames /tmp/cm.pcap 'ether proto 0x8915') v2=$(frames /tmp/cm.pcap 'udp port 4791')
	say "$v1 frames of v1, $v2 of v2"
	if [ "$1" = v1 ]; then
		[ "$v1" -gt 20 ] && [ "$v2" -le 2 ]
	else
		[ "$v2" -gt 20 ] && [ "$v1" -le 2 ]
	fi
}

rxe_up
path vms
try v2-v2-ipv4 connects v2 v2 $B4
try v2-v2-ipv6 connects v2 v2 $B6
try v1-v1-ipv4 connects v1 v1 $B4
try v1-v1-ipv6 connects v1 v1 $B6
# The client's mode counts.  The server answers in the version of the request
try v2-client connects v2 v1 $B4
try v1-client connects v1 v2 $B4
try resources-gone wait_for 20 resources_gone
