#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Packets that look like a train of RoCE v2, but are answers to a UDP socket behind a NAT.

usage: natted.py ADDRESS PEER PEER-NS PEER-NETDEV MAC NAT-ADDRESS

A socket at ADDRESS and UDP port 4791 sends a datagram to PEER, for which the router's NAT has its
own address and the same port. The peer answers with bursts of frames to the router's MAC address.
They are packets of one queue pair, which GRO chains. Each must come to the socket once, as it was
sent. Runs in the namespace of the socket; --answer is the peer's part.
"""
import socket
import subprocess
import sys

import roce

SPORT, BURSTS, COUNT, SIZE = 0xc123, 4, 16, 900
TIMEOUT = 20
SO_RCVBUFFORCE = 33


def body(n):
    """SENDs of RC. Their bytes differ, at every place"""
    return roce.bth(0x01, 0x11, n) + bytes((n + i) % 251 for i in range(SIZE))


def tc(netdev, *words):
    subprocess.run(["tc", "qdisc", words[0], "dev", netdev, "root", *words[1:]], check=True)


def answer(peer, netdev, mac, address):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((netdev, 0))
    src = s.getsockname()[4]
    for first in range(0, BURSTS * COUNT, COUNT):
        tc(netdev, "add", "plug", "limit", "1000000")	# it holds them until the last is there
        for n in range(first, first + COUNT):
            s.send(roce.frame_v2(src, roce.mac(mac), peer, address, body(n), SPORT, ident=n))
        tc(netdev, "change", "plug", "release_indefinite")
        tc(netdev, "del")


def receive(s):
    """what came, without the ICRCs, which are wrong behind a NAT"""
    found = []
    while len(found) < BURSTS * COUNT:
        try:
            found.append(s.recv(2048)[:-4])
        except socket.timeout:
            break
    return found


def main():
    address, peer, peer_ns, *others = sys.argv[1:]
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(TIMEOUT)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)
    s.bind((address, roce.UDP_ROCE2))
    s.sendto(b"open", (peer, SPORT))	# not connected: the peer's host answers that nobody listens
    subprocess.run(["ip", "netns", "exec", peer_ns, sys.executable, __file__, "--answer", peer, *others],
                   check=True)
    found, sent = receive(s), [body(n) for n in range(BURSTS * COUNT)]
    if found != sent:
        sys.exit(f"{len(found)} of {len(sent)} came, {len(set(found) & set(sent))} of them as they were sent")


if sys.argv[1] == "--answer":
    answer(*sys.argv[2:])
else:
    main()
