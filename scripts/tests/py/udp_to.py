#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send one UDP datagram, and print "sent" or the name of the error.

usage: udp_to.py ADDRESS PORT [SOURCE] [OPTION...]

  long     longer than the MTU
  gso      several datagrams, by UDP_SEGMENT
  freebind SOURCE isn't an address of this host (IPv6)
  pktinfo  the socket isn't bound to SOURCE, which is given with the datagram
  rthdr    with a routing header (IPv6)
"""
import errno
import ipaddress
import socket
import struct
import sys

UDP_SEGMENT, IP_PKTINFO, IPV6_FREEBIND = 103, 8, 78


def control(family, source):
    address = ipaddress.ip_address(source).packed
    if family == socket.AF_INET:
        return [(socket.IPPROTO_IP, IP_PKTINFO, struct.pack("=i4s4x", 0, address))]
    return [(socket.IPPROTO_IPV6, socket.IPV6_PKTINFO, address + struct.pack("=i", 0))]


def send(address, port, source, options):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    ancillary = []
    s = socket.socket(family, socket.SOCK_DGRAM)
    if "gso" in options:
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 500)
    if "rthdr" in options:  # type 4, one segment: the destination
        header = struct.pack("!BBBBBBH", 0, 2, 4, 0, 0, 0, 0)
        header += ipaddress.ip_address(address).packed
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RTHDR, header)
    if "freebind" in options:
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    if "pktinfo" in options:
        ancillary = control(family, source)
    elif source:
        s.bind((source, 0))
    data = bytes(5000 if "long" in options else 2000 if "gso" in options else 64)
    s.sendmsg([data], ancillary, 0, (address, port))


def main():
    args = sys.argv[3:]
    source = args.pop(0) if args and args[0] not in ("long", "gso", "rthdr") else None
    try:
        send(sys.argv[1], int(sys.argv[2]), source, args)
    except OSError as e:
        print(errno.errorcode[e.errno])
    else:
        print("sent")


main()
