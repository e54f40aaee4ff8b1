#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Checks a capture of RoCE packets: each header, length, checksum and ICRC.

Prints all faults, and a table of opcodes. With --every, the capture must have each opcode.
"""
import argparse
import collections
import sys

from roce import OPCODES, Packet, is_roce, read_pcap


def scapy_icrc_errors(frames):
    """Compare each ICRC with that of scapy, which supports RoCE v2 over IPv4"""
    from scapy.layers.l2 import Ether
    from scapy.contrib.roce import BTH
    bad = 0
    for number, frame in enumerate(frames, 1):
        packet = Ether(frame)
        if BTH not in packet:
            print(f"packet {number}: scapy sees no BTH")
            bad += 1
            continue
        packet[BTH].icrc = None
        want = bytes(packet)[-4:]
        if want != frame[-4:]:
            print(f"packet {number}: ICRC {frame[-4:].hex()}, scapy says {want.hex()}")
            bad += 1
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pcap")
    parser.add_argument("--every", action="store_true", help="every opcode of RC, UC and UD is there")
    parser.add_argument("--lacks", action="append", default=[], help="but for this one")
    parser.add_argument("--version", type=int, help="RoCE version of all packets")
    parser.add_argument("--kind", choices=("ipv4", "ipv6"), help="network header of all packets")
    for name in ("tclass", "hop", "flow", "vlan", "pcp", "sport"):
        parser.add_argument(f"--{name}", type=lambda s: int(s, 0),
                            help="its value in the packets of the test's own queue pairs")
    parser.add_argument("--scapy", action="store_true", help="ask scapy for every ICRC too (v2, IPv4)")
    parser.add_argument("--mtu", type=int, default=1024, help="IB MTU")
    args = parser.parse_args()

    frames = [f for f in read_pcap(args.pcap) if is_roce(f)]
    seen, bad = collections.Counter(), 0
    for number, frame in enumerate(frames, 1):
        packet = Packet(frame)
        seen[packet.opcode] += 1
        if packet.payload > args.mtu:
            packet.bad(f"{packet.payload} bytes of payload")
        for name in ("version", "kind"):
            want = getattr(args, name)
            if want is not None and getattr(packet, name) != want:
                packet.bad(f"{name} {getattr(packet, name)}, not {want}")
        for name in ("tclass", "hop", "flow", "vlan", "pcp", "sport"):
            want = getattr(args, name)
            if want is not None and packet.qpn > 1 and getattr(packet, name) != want:
                packet.bad(f"{name} {getattr(packet, name)}, not {want}")
        if packet.errors:
            bad += 1
            print(f"packet {number}, {packet.name()} of PSN {packet.psn}: {', '.join(packet.errors)}")
    for opcode, count in sorted(seen.items()):
        print(f"{OPCODES.get(opcode, hex(opcode)):18} {count}")
    missing = [name for opcode, name in OPCODES.items() if not seen[opcode] and name not in args.lacks] \
        if args.every else []
    if missing:
        print("missing:", " ".join(missing))
    if args.scapy:
        bad += scapy_icrc_errors(frames)
    print(f"{len(frames)} packets, {bad} wrong")
    sys.exit(1 if bad or missing or not frames else 0)


main()
