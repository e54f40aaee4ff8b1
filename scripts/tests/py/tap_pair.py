#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: tap_pair.py tap|tun [--offload] NAMESPACE NETDEV NAMESPACE NETDEV

Makes two netdevs in two namespaces, prints "ready", and passes packets between them, as a
hypervisor does between two machines.  With --offload, the netdevs pass whole trains, with virtio's
header."""

import ctypes
import fcntl
import os
import select
import struct
import sys

TUNSETIFF, TUNSETOFFLOAD, TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
IFF_TUN, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x1, 0x2, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6, TUN_F_USO4, TUN_F_USO6 = 0x1, 0x2, 0x4, 0x20, 0x40
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    with open(f"/run/netns/{namespace}", "rb") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def take_trains(tap):
    """Set offloads for TCP, and for UDP if the kernel supports that"""
    fcntl.ioctl(tap, TUNSETVNETHDRSZ, struct.pack("=i", 12))
    tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6
    try:
        fcntl.ioctl(tap, TUNSETOFFLOAD, tcp | TUN_F_USO4 | TUN_F_USO6)
    except OSError:
        fcntl.ioctl(tap, TUNSETOFFLOAD, tcp)


def make(kind, offload, namespace, netdev):
    enter(namespace)
    tap = os.open("/dev/net/tun", os.O_RDWR)
    flags = IFF_NO_PI | (IFF_TUN if kind == "tun" else IFF_TAP) | (IFF_VNET_HDR if offload else 0)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", netdev.encode(), flags))
    if offload:
        take_trains(tap)
    return tap


def main():
    args = [a for a in sys.argv[1:] if a != "--offload"]
    if len(args) != 5 or args[0] not in ("tap", "tun"):
        sys.exit(__doc__)
    one, other = (make(args[0], "--offload" in sys.argv, *args[n:n + 2]) for n in (1, 3))
    print("ready", flush=True)
    to = {one: other, other: one}
    while True:
        for tap in select.select(to, [], [])[0]:
            try:
                os.write(to[tap], os.read(tap, 1 << 17))
            except OSError as error:    # the other end is down
                print(error, file=sys.stderr)


main()
