#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sends packets of the kinds that stdin names to wire_sink, one kind per line.

Runs in the sender's namespace. Prints the kind when a good datagram behind the packets has arrived.
The caller checks the counters. Ends when stdin ends.
"""
import argparse
import struct
import sys

import roce
from foreign import Foreign

BECN = 1 << 30  # above the QP number, in the BTH


def cnp(qpn):
    return roce.bth(0x81, qpn | BECN, 0) + bytes(16)


def datagram(sink, **kw):
    return roce.bth(0x64, sink.ud[1], 1, **kw) + struct.pack(">II", 0x11223344, 0x77) + bytes(256)


# Each kind is a single packet, except for "duplicate". After "gap", requests wait for a missing packet
KINDS = {
    "icrc": lambda f: [f.v2(f.ud(1, 1), icrc=b"junk")],
    "malformed": lambda f: [f.v2(datagram(f.sink, tver=1))],
    "no-qp": lambda f: [f.v2(roce.bth(0x04, 0xabcdef, 0) + bytes(264))],
    "address": lambda f: [f.v1(f.ud(1, 1), dst="::ffff:192.0.2.77")],
    "pkey": lambda f: [f.v2(datagram(f.sink, pkey=1))],
    "qkey": lambda f: [f.v2(f.ud(1, 1).replace(b"\x11\x22\x33\x44", b"\x11\x22\x33\x45", 1))],
    "answer": lambda f: [f.v2(f.rc_ack(0x1f))],
    "duplicate": lambda f: [f.v2(f.rc_send(1))] * 2,
    "gap": lambda f: [f.v2(roce.bth(0x04, f.sink.rc, f.psn + 1) + bytes(264))],
    "too-far": lambda f: [f.v2(roce.bth(0x04, f.sink.rc, f.psn + 0x400000) + bytes(264))],
    "marked": lambda f: [f.v2(f.rc_send(1), tos=3)],
    "cnp": lambda f: [f.v2(cnp(f.sink.rc))],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("netdev", "src", "dst", "src-mac", "dst-mac", "sink-ns", "sink-dev", "sink-gid"):
        parser.add_argument("--" + name, required=True)
    foreign = Foreign(parser.parse_args())
    print("ready", flush=True)
    for line in sys.stdin:
        kind = line.strip()
        foreign.single(KINDS[kind](foreign))
        if foreign.completed(0) is None:
            raise SystemExit(f"the datagram behind {kind} doesn't arrive")
        print(kind, flush=True)


main()
