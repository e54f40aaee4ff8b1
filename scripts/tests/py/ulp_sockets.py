#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends data between two sockets of a protocol that the kernel runs over RDMA: RDS or SMC.

usage: ulp_sockets.py rds|smc listen ADDRESS PORT
       ulp_sockets.py rds|smc send ADDRESS PORT PEER MIB

The listener prints "ready", and sends all bytes back until the stream ends.  RDS has no
end of stream: there, it runs until it is killed.  The sender compares the bytes, and exits
with 0 if they are the same.
"""
import os
import socket
import sys
import threading

AF_RDS = 21
IPPROTO_SMC = 256
MESSAGE = 32768


class Rds:
    """Datagrams, reliable and in order."""

    def __init__(self, address, port):
        # blocking, so that sending waits while the peer's buffer is full
        self.sock = socket.socket(AF_RDS, socket.SOCK_SEQPACKET)
        self.sock.bind((address, port))

    def listen(self):
        pass

    def connect(self, peer, port):
        self.peer = (peer, port)
        return self

    def accept(self):
        data, self.peer = self.sock.recvfrom(MESSAGE)
        self.sock.sendto(data, self.peer)
        return self

    def send(self, data):
        self.sock.sendto(data, self.peer)

    def receive(self):
        return self.sock.recv(MESSAGE)


class Smc:
    """A stream."""

    def __init__(self, address, port):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SMC)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.settimeout(60)
        self.sock.bind((address, port))

    def connect(self, peer, port):
        self.sock.connect((peer, port))
        return self

    def listen(self):
        self.sock.listen()

    def accept(self):
        self.sock = self.sock.accept()[0]
        self.sock.settimeout(60)
        return self

    def send(self, data):
        self.sock.sendall(data)

    def receive(self):
        return self.sock.recv(MESSAGE)


def echo(sock):
    while data := sock.receive():
        sock.send(data)


def compare(sock, mib):
    sent = os.urandom(mib << 20)

    def send():
        for at in range(0, len(sent), MESSAGE):
            sock.send(sent[at:at + MESSAGE])

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    back = bytearray()
    while len(back) < len(sent):
        data = sock.receive()
        if not data:
            sys.exit(f"the peer ended after {len(back)} of {len(sent)} bytes")
        back += data
    thread.join()
    if back != sent:
        sys.exit("what came back differs")
    print(f"{mib} MiB there and back")


def main():
    if len(sys.argv) < 5 or "--help" in sys.argv:
        sys.exit(__doc__)
    kind, role, address, port = sys.argv[1:5]
    sock = (Rds if kind == "rds" else Smc)(address, int(port) if role == "listen" else int(port) + 1)
    if role == "listen":
        sock.listen()
        print("ready", flush=True)
        echo(sock.accept())
    else:
        compare(sock.connect(sys.argv[5], int(port)), int(sys.argv[6]))


main()
