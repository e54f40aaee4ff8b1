# SPDX-License-Identifier: GPL-2.0
# test: two devices of one namespace communicate like two ports of a host
# nodes: 1
# level: full
# debug: yes
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$TESTS/tools.sh"

CM="rping ucmatose udaddy"

# cm TYPE PREFIX: runs the programs that use RDMA_CM
cm() {
	local program
	use_gid "$1" || { fail "$2$1" "no such GID"; return; }
	for program in $CM; do
		try "$2$1-$program" "run_$program"
	done
}

# Packets of RoCE v1 leave by the netdev.  (Packets of RoCE v2 to the other port pass through lo.)
leaves_by_the_port() {
	local sent
	use_gid v1-ipv4 && sent=$(counted_by cli $CLI_NET bytes run_rc_pingpong) && [ "$sent" -gt 300000 ]
}

# If the neighbour isn't known, it is resolved.
asks_anew() {
	ip neigh flush dev portA && ip neigh flush dev portB && use_gid v2-ipv4 && run_rc_pingpong &&
		ip neigh show dev portA | grep -q '^203.0.113.2 '
}

# An ARP request with an address of this host as sender gets no answer if the sender's MAC address is wrong,
# or if the netdev with that address has no device.
no_answer() { # SENDER'S-MAC
	python3 - "$1" <<- 'END'
		import sys
		from scapy.layers.l2 import ARP, Ether
		from scapy.sendrecv import srp
		ask = Ether(dst="ff:ff:ff:ff:ff:ff", src=sys.argv[1]) / \
			ARP(hwsrc=sys.argv[1], psrc="203.0.113.1", pdst="203.0.113.2")
		answered, _ = srp(ask, iface="portA", timeout=2, verbose=0)
		sys.exit(len(answered))
	END
}

quiet_for_others() {
	no_answer 02:00:00:00:00:99 && rdma link delete rxeA &&
		no_answer "$(cat /sys/class/net/portA/address)"
}

TYPES="v2-ipv4 v2-ipv6 v2-ll v1-ipv4 v1-ipv6 v1-ll"
matrix ports "$TYPES" "rc_pingpong ud_pingpong" "write_bw"
# From port to port.  Over IPv6, the server's RDMA core expects the client's address behind the netdev by
# which the request came.  A global address of this host isn't there, whatever the driver.
for type in v2-ipv4 v2-ll v1-ipv4 v1-ll; do
	cm $type port-to-port-
done
# The client names no address of its own: the RDMA core chooses the port that has the server's address.
FROM=''
for type in $TYPES; do
	cm $type local-address-
done
try v1-leaves-by-the-port leaves_by_the_port
try asks-anew asks_anew
try no-answer-to-others quiet_for_others
