#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: nfqueue.py NUMBER

Accepts all packets of a netfilter queue.  Prints "ready" when it listens, and ends when it is
killed."""

import socket
import struct
import sys

NETLINK_NETFILTER, SUBSYS = 12, 3 << 8
PACKET, VERDICT, CONFIG = SUBSYS | 0, SUBSYS | 1, SUBSYS | 2
REQUEST, ACK, NLMSG_ERROR = 1, 4, 2
CFG_CMD, CFG_PARAMS, CFG_MAXLEN = 1, 2, 3
CMD_BIND, COPY_META = 1, 1
PACKET_HDR, VERDICT_HDR, NF_ACCEPT = 1, 2, 1
SO_RCVBUFFORCE = 33


def attr(kind, value):
    size = 4 + len(value)
    return struct.pack("=HH", size, kind) + value + bytes(-size % 4)


def send(sock, kind, queue, attrs, flags=0):
    body = struct.pack(">BBH", 0, 0, queue) + attrs
    sock.send(struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 0, 0) + body)


def messages(data):
    while len(data) >= 16:
        size, kind = struct.unpack_from("=IH", data)
        yield kind, data[16:size]
        data = data[(size + 3) & ~3:]


def configure(sock, queue, attrs):
    send(sock, CONFIG, queue, attrs, ACK)
    for kind, body in messages(sock.recv(65536)):
        error = struct.unpack_from("=i", body)[0] if kind == NLMSG_ERROR else 0
        if error:
            sys.exit(f"queue {queue}: error {error}")


def packet_id(body):
    """The header is the first attribute"""
    size, kind, number = struct.unpack_from("=HHI", body, 4)
    return struct.pack("=I", number) if kind == PACKET_HDR and size >= 8 else None


def main():
    queue = int(sys.argv[1])
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    sock.bind((0, 0))
    configure(sock, queue, attr(CFG_CMD, struct.pack(">BBH", CMD_BIND, 0, 0)))
    configure(sock, queue, attr(CFG_PARAMS, struct.pack(">IB", 0, COPY_META)))
    configure(sock, queue, attr(CFG_MAXLEN, struct.pack(">I", 10000)))
    print("ready", flush=True)
    while True:
        for kind, body in messages(sock.recv(65536)):
            number = packet_id(body) if kind == PACKET else None
            if number:
                send(sock, VERDICT, queue, attr(VERDICT_HDR, struct.pack(">I", NF_ACCEPT) + number))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    main()
