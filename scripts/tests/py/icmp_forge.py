#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send an ICMP message that encloses a packet of RoCE v2.

usage: icmp_forge.py NETDEV CAPTURE unreachable|redirect [PSN]

The enclosed packet is the last one in CAPTURE. The message goes to its sender. PSN replaces the
packet's own PSN.
"""
import sys

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6ND_Redirect, ICMPv6NDOptRedirectedHdr,
                                IPv6)
from scapy.layers.l2 import Ether
from scapy.sendrecv import sendp
from scapy.utils import rdpcap


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
    netdev, capture, kind, *psn = sys.argv[1:]
    frame = rdpcap(capture)[-1]
    packet = frame[IPv6] if IPv6 in frame else frame[IP]
    if psn:
        bth = bytearray(bytes(packet[UDP].payload))
        bth[9:12] = int(psn[0]).to_bytes(3, "big")
        packet[UDP].remove_payload()
        packet = packet / bytes(bth)
    sendp(Ether(src=frame.dst, dst=frame.src) / message(packet, kind), iface=netdev, verbose=False)


main()
