#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print fields of the RoCE packets in a capture, a line for each packet.

usage: roce_fields.py CAPTURE FIELD...

Fields, which are decimal unless said otherwise:

    us       the time, relative to the first packet
    mac      the destination's MAC address, hex, without colons
    vlan     the VLAN ID, or -
    pcp      the tag's priority, or -
    dscp     the two parts of TOS or traffic class
    ecn
    length   bytes from the IP header on
    hop      TTL or hop limit
    opcode
    qpn      the destination queue pair
    bytes    all from the BTH to the ICRC, hex
"""
import sys

import roce

FIELDS = {
    "us": lambda frame, packet: packet.us,
    "mac": lambda frame, packet: frame[:6].hex(),
    "vlan": lambda frame, packet: "-" if packet.vlan is None else packet.vlan,
    "pcp": lambda frame, packet: "-" if packet.pcp is None else packet.pcp,
    "dscp": lambda frame, packet: packet.tclass >> 2,
    "ecn": lambda frame, packet: packet.tclass & 3,
    "length": lambda frame, packet: len(packet.ip) + len(packet.before) + len(packet.bth),
    "hop": lambda frame, packet: packet.hop,
    "opcode": lambda frame, packet: packet.opcode,
    "qpn": lambda frame, packet: packet.qpn,
    "bytes": lambda frame, packet: packet.bth.hex(),
}


def main():
    start = None
    for us, frame in roce.read_timed(sys.argv[1]):
        if not roce.is_roce(frame):
            continue
        packet = roce.Packet(frame)
        start = us if start is None else start
        packet.us = us - start
        print(*(FIELDS[name](frame, packet) for name in sys.argv[2:]))


main()
