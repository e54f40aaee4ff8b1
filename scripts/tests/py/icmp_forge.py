#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send an ICMP message that encloses a packet of RoCE v2.

usage: icmp_forge.py NETDEV CAPTURE unreachable|redirect [BITS]

The enclosed packet is the last one in CAPTURE. The message goes to its sender. BITS are changed in
the MAD's transaction ID.
"""
import sys

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6ND_Redirect, ICMPv6NDOptRedirectedHdr,
                                IPv6)
from scapy.layers.l2 import Ether
from scapy.sendrecv import sendp
from scapy.utils import rdpcap

BTH_AND_DETH = 20  # bytes


def message(packet, kind):
    """Return the part of the message that follows the Ethernet header."""
    if kind == "redirect":  # from a router, whose address is link-local
        return (IPv6(src="fe80::1", dst=packet.src, hlim=255) /
                ICMPv6ND_Redirect(tgt="fe80::1", dst=packet.dst) /
                ICMPv6NDOptRedirectedHdr(pkt=packet))
    if IPv6 in packet:
        return IPv6(src=packet.dst, dst=packet.src) / ICMPv6DestUnreach(code=4) / packet
    return IP(src=packet.dst, dst=packet.src) / ICMP(type=3, code=3) / packet


def main():
    netdev, capture, kind, *bits = sys.argv[1:]
    frame = rdpcap(capture)[-1]
    packet = frame[IPv6] if IPv6 in frame else frame[IP]
    if bits:
        mad = bytearray(bytes(packet[UDP].payload))
        tid = slice(BTH_AND_DETH + 8, BTH_AND_DETH + 16)
        mad[tid] = (int.from_bytes(mad[tid], "big") ^ int(bits[0])).to_bytes(8, "big")
        packet[UDP].remove_payload()
        packet = packet / bytes(mad)
    sendp(Ether(src=frame.dst, dst=frame.src) / message(packet, kind), iface=netdev, verbose=False)


main()
