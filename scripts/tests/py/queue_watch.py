#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: queue_watch.py NETDEV HANDLE START MS

Prints "ready", and waits for the file START, which has a time of the monotonic clock in ms.
From that time on, it prints the state of a queueing discipline every 10 ms, for MS:

	queue MS BYTES PACKETS SENT DROPS MARKS

SENT (bytes), DROPS and MARKS (of RED) count from the beginning."""

import os
import socket
import struct
import sys
import time

RTM_NEWQDISC, RTM_GETQDISC, NLMSG_DONE = 36, 38, 3
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
TCA_STATS2, TCA_STATS_BASIC, TCA_STATS_QUEUE, TCA_STATS_APP = 7, 1, 3, 4


def attributes(data):
    """{type: payload}"""
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3fff] = data[4:size]
        data = data[(size + 3) & ~3:]
    return found


def messages(netlink):
    """Return: the answers to a dump"""
    while True:
        data = netlink.recv(65536)
        while data:
            size, kind = struct.unpack_from("=IH", data)
            if kind == NLMSG_DONE:
                return
            if kind == RTM_NEWQDISC:
                yield data[16:size]
            data = data[(size + 3) & ~3:]


def look(netlink, index, handle):
    """Return: (bytes, packets, sent, drops, marks) of the discipline"""
    request = struct.pack("=IHHII BxxxiIII", 36, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, 0, 0, 0, index, 0, 0, 0)
    netlink.send(request)
    result = None
    for message in messages(netlink):
        _, netdev, mine = struct.unpack_from("=BxxxiI", message)
        if netdev != index or mine != handle:
            continue
        stats = attributes(attributes(message[20:])[TCA_STATS2])
        packets, backlog, drops = struct.unpack_from("=III", stats[TCA_STATS_QUEUE])
        sent, = struct.unpack_from("=Q", stats[TCA_STATS_BASIC])
        marks = struct.unpack_from("=IIII", stats[TCA_STATS_APP])[3]
        result = backlog, packets, sent, drops, marks
    return result


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    index, handle = socket.if_nametoindex(sys.argv[1]), int(sys.argv[2].rstrip(":"), 16) << 16
    ms = int(sys.argv[4])
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    print("ready", flush=True)
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.005)
    with open(sys.argv[3], encoding="ascii") as file:
        start = int(file.read())
    for due in range(start, start + ms + 1, 10):
        time.sleep(max(due / 1000 - time.monotonic(), 0))
        print("queue", int(time.monotonic() * 1000), *look(netlink, index, handle))


main()
