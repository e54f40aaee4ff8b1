#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send RoCE v2 datagrams to QP 1 until killed.

usage: flood.py NETDEV SOURCE-MAC DESTINATION-MAC SOURCE DESTINATION
"""
import socket
import struct
import sys

import roce

netdev, src_mac, dst_mac, src, dst = sys.argv[1:]
body = roce.bth(0x64, 1, 0) + struct.pack(">II", 0x80010000, 1) + bytes(256)
frame = roce.frame_v2(roce.mac(src_mac), roce.mac(dst_mac), src, dst, body)
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sock.bind((netdev, 0))
while True:
    try:
        sock.send(frame)
    except OSError:  # the queue is full
        pass
