#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Forge ICMP messages, which enclose a packet to a peer.

usage: icmp_forge.py mtu VICTIM PEER MTU
       icmp_forge.py mads NETDEV

mtu: An error tells VICTIM that a packet to PEER was too big. The forger has seen no packet between
the two. The error encloses an echo reply. For IPv6, another one follows, which encloses a UDP packet
with ports that nobody uses.

mads: Print "ready", then wait for commands on stdin, and print an answer to each:

    last                             the transaction ID of the last MAD that came over RoCE v2
    unreachable|redirect [BITS]      send this message to the MAD's sender, and print "sent"

The message encloses the last MAD. BITS are changed in its transaction ID.
"""
import socket
import struct
import sys

import roce

ETH_ALL, OUTGOING = 3, 4
UD_SEND = 0x64
TID = slice(8 + 12 + 8 + 8, 8 + 12 + 8 + 16)  # behind the headers: UDP, BTH, DETH, MAD to the status
ROUTER = socket.inet_pton(socket.AF_INET6, "fe80::1")
ICMP, ICMP6 = socket.IPPROTO_ICMP, socket.IPPROTO_ICMPV6


def icmp4(kind, code, mtu, enclosed):
    message = struct.pack(">BBHHH", kind, code, 0, 0, mtu) + enclosed
    return message[:2] + struct.pack(">H", roce.checksum(message)) + message[4:]


def icmp6(kind, code, word, rest):
    """Return: the message without checksum, which the kernel computes for a socket of ICMPv6"""
    return struct.pack(">BBHI", kind, code, 0, word) + rest


def ipv4(src, dst, protocol, payload):
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, src, dst)
    return header[:10] + struct.pack(">H", roce.checksum(header)) + header[12:] + payload


def ipv6(src, dst, message):
    pseudo = src + dst + struct.pack(">II", len(message), ICMP6)
    message = message[:2] + struct.pack(">H", roce.checksum(pseudo + message)) + message[4:]
    return struct.pack(">IHBB", 6 << 28, len(message), ICMP6, 255) + src + dst + message


def forge_mtu(victim, peer, mtu):
    if ":" not in victim:
        s = socket.socket(socket.AF_INET, socket.SOCK_RAW, ICMP)
        enclosed = struct.pack(">BBHHHBBH4s4sBBHHH", 0x45, 0, 1500, 1, 0x4000, 64, ICMP, 0,
                               socket.inet_aton(victim), socket.inet_aton(peer), 0, 0, 0, 1, 1)
        s.sendto(icmp4(3, 4, mtu, enclosed), (victim, 0))
        return
    s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, ICMP6)
    echo, udp = struct.pack(">BBHHH", 129, 0, 0, 1, 1), struct.pack(">HHHH", 1, 2, 2000, 1)
    for protocol, packet in (ICMP6, echo), (socket.IPPROTO_UDP, udp):
        enclosed = struct.pack(">IHBB16s16s", 6 << 28, 2000, protocol, 64,
                               socket.inet_pton(socket.AF_INET6, victim),
                               socket.inet_pton(socket.AF_INET6, peer)) + packet
        s.sendto(icmp6(2, 0, mtu, enclosed), (victim, 0))


class Mads:
    def __init__(self, netdev):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_ALL))
        self.socket.bind((netdev, ETH_ALL))
        self.frame = self.mad = None

    def catch_up(self):
        """Read what has come since the last command, and keep the last MAD"""
        self.socket.setblocking(False)
        while True:
            try:
                frame, address = self.socket.recvfrom(65536)
            except BlockingIOError:
                break
            if address[2] == OUTGOING or frame[12:14] not in (b"\x08\x00", b"\x86\xdd"):
                continue
            at = 14 + (20 if frame[12] == 8 else 40)
            if frame[at + 2:at + 4] != struct.pack(">H", roce.UDP_ROCE2):
                continue
            packet = roce.Packet(frame)
            if packet.opcode == UD_SEND and not packet.errors:
                self.frame, self.mad = frame, (packet.ip, packet.before + packet.bth)
        if not self.frame:
            raise SystemExit("no MAD came")

    def last(self):
        return int.from_bytes(self.mad[1][TID], "big")

    def forge(self, kind, bits=0):
        header, rest = bytes(self.mad[0]), bytearray(self.mad[1])
        rest[TID] = (self.last() ^ bits).to_bytes(8, "big")
        enclosed = header + bytes(rest)
        if header[0] >> 4 == 4:
            packet = ipv4(header[16:20], header[12:16], ICMP, icmp4(3, 3, 0, enclosed))
        else:
            packet = self.forge6(kind, header[8:24], header[24:40], enclosed)
        self.socket.send(self.frame[6:12] + self.frame[:6] + self.frame[12:14] + packet)

    @staticmethod
    def forge6(kind, sender, peer, enclosed):
        if kind == "unreachable":
            return ipv6(peer, sender, icmp6(1, 4, 0, enclosed))
        # From a router. The option with the packet has a length in units of 8 bytes
        enclosed = enclosed[:len(enclosed) // 8 * 8]
        option = struct.pack(">BBHI", 4, 1 + len(enclosed) // 8, 0, 0) + enclosed
        return ipv6(ROUTER, sender, icmp6(137, 0, 0, ROUTER + peer + option))

    def run(self):
        print("ready", flush=True)
        for line in sys.stdin:
            command, *bits = line.split()
            self.catch_up()
            if command == "last":
                print(self.last(), flush=True)
            else:
                self.forge(command, *map(int, bits))
                print("sent", flush=True)


def main():
    if sys.argv[1] == "mtu":
        forge_mtu(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        Mads(sys.argv[2]).run()


main()
