#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Repeat an operation of the kernel. Each time, another of its allocations fails.

usage: fail_nth.py STEP add DEVICE NETDEV
       fail_nth.py STEP load MODULE

  STEP  random distance from one failing allocation to the next, at most this (SEED); 1: each one
        fails in turn; "x": the distance grows, so that their number doubles on average
  add   put a device on a netdev, as `rdma link add` does
  load  load a module

The settings in debugfs (fail.sh) say which allocations count. A failed call must leave nothing
behind: the last call, without a failure, succeeds. It is undone. Prints how many allocations and how
many calls failed.
"""
import ctypes
import errno
import os
import random
import socket
import struct
import subprocess
import sys

NETLINK_RDMA, NEWLINK, F_REQUEST, F_ACK = 20, (5 << 10) + 3, 1, 4
DEV_NAME, NDEV_NAME, LINK_TYPE = 2, 51, 65
SYS_FINIT_MODULE = 313


class Add:
    """rdma link add"""
    def __init__(self, name, netdev):
        self.name = name
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
        self.socket.bind((0, 0))
        body = b"".join(self.attr(*a) for a in ((DEV_NAME, name), (LINK_TYPE, "rxe"),
                                                (NDEV_NAME, netdev)))
        self.message = struct.pack("=IHHII", 16 + len(body), NEWLINK, F_REQUEST | F_ACK, 1, 0) + body

    @staticmethod
    def attr(kind, text):
        data = text.encode() + b"\0"
        return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)

    def call(self):
        self.socket.send(self.message)

    def result(self):
        """Return: an errno. The kernel has done all when send() returns"""
        return -struct.unpack_from("=i", self.socket.recv(4096), 16)[0]

    def there(self):
        return os.path.exists("/sys/class/infiniband/" + self.name)

    def undo(self):
        subprocess.run(["rdma", "link", "delete", self.name], check=True)


class Load:
    """insmod"""
    def __init__(self, path):
        self.path, self.name = path, os.path.basename(path).removesuffix(".ko")
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.syscall = ctypes.CDLL(None, use_errno=True).syscall
        self.errno = 0

    def call(self):
        self.errno = ctypes.get_errno() if self.syscall(SYS_FINIT_MODULE, self.fd, b"", 0) else 0

    def result(self):
        return self.errno

    def there(self):
        return os.path.exists("/sys/module/" + self.name)

    def undo(self):
        subprocess.run(["rmmod", self.name], check=True)


def once(subject, nth_fd, n):
    """Return: an errno, and whether the n-th allocation failed"""
    os.pwrite(nth_fd, b"%d" % n, 0)
    subject.call()
    left = int(os.pread(nth_fd, 16, 0))
    os.pwrite(nth_fd, b"0", 0)
    err = subject.result()
    if subject.there() == bool(err):
        raise SystemExit(f"allocation {n}: errno {err}, but it is {'' if err else 'not '}there")
    if err not in (0, errno.ENOMEM):
        raise SystemExit(f"allocation {n}: {os.strerror(err)}")
    if not err:
        subject.undo()
    return err, left == 0


def main():
    most = sys.argv[1]
    subject = {"add": Add, "load": Load}[sys.argv[2]](*sys.argv[3:])
    nth_fd = os.open("/proc/thread-self/fail-nth", os.O_RDWR | os.O_CLOEXEC)
    seed = int(os.environ.get("SEED", random.randrange(10000)))
    step = random.Random(seed)
    n, tried, errors = 1, 0, []
    while True:
        err, failed = once(subject, nth_fd, n)
        if not failed:
            break
        tried += 1
        errors += [n] if err else []
        n += step.randint(1, 2 * n if most == "x" else int(most))
    print(f"{sys.argv[2]}: {tried} allocations of about {n} failed (SEED={seed}), and the calls {errors}")
    if err or not errors:
        raise SystemExit("no allocation that matters failed" if tried else "no allocation failed")


main()
