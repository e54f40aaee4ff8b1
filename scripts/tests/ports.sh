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

# answers_to MAC: sends an ARP request with an address of this host and this MAC address as the sender, and
# prints the number of answers.  Another host's request follows, which is always answered
answers_to() {
	python3 - portA "$1" <<- 'END'
		import socket
		import struct
		import sys
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x806))
		s.bind((sys.argv[1], 0x806))
		s.settimeout(20)

		def ask(mac, address):
		    mac = bytes.fromhex(mac.replace(":", ""))
		    s.send(b"\xff" * 6 + mac + struct.pack(">HHHBBH6s4s6s4s", 0x806, 1, 0x800, 6, 4, 1, mac,
		                                           address, bytes(6), bytes([203, 0, 113, 2])))

		own, other = bytes([203, 0, 113, 1]), bytes([203, 0, 113, 77])
		ask(sys.argv[2], own)
		ask("02:00:00:00:00:77", other)
		answers = 0
		while True:
		    frame = s.recv(2048)
		    if frame[20:22] != b"\0\2":	# not an answer
		        continue
		    if frame[38:42] == other:
		        break
		    answers += frame[38:42] == own
		print(answers)
	END
}

# The answer is only for a genuine request: the MAC address is that of the netdev with the address, which has a
# device
quiet_for_others() {
	local mac
	mac=$(cat /sys/class/net/portA/address)
	[ "$(answers_to "$mac")" = 1 ] && [ "$(answers_to 02:00:00:00:00:99)" = 0 ] &&
		rdma link delete rxeA && [ "$(answers_to "$mac")" = 0 ]
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
