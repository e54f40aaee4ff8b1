#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Gives this machine an enterprise ID for SMC-R version 2, as "smcr ueid add" of smc-tools does.

usage: smc_eid.py NAME
"""
import os
import socket
import struct
import sys

NETLINK_GENERIC, GENL_ID_CTRL, F_REQUEST, F_ACK, NLMSG_ERROR = 16, 16, 1, 4, 2
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2
# <linux/smc.h>
SMC_NETLINK_ADD_UEID, SMC_NLA_EID_TABLE_ENTRY, SMC_MAX_EID_LEN = 10, 1, 32


def attribute(kind, text):
    data = text.encode() + b"\0"
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def call(sock, family, command, body):
    """Return: attributes of the first answer.  Raises OSError if the kernel answers with an error"""
    sock.send(struct.pack("=IHHIIBBH", 20 + len(body), family, F_REQUEST | F_ACK, 1, 0, command, 1,
                          0) + body)
    answer = sock.recv(65536)
    if struct.unpack_from("=H", answer, 4)[0] == NLMSG_ERROR:
        err = -struct.unpack_from("=i", answer, 16)[0]
        if err:
            raise OSError(err, os.strerror(err))
    return answer[20:struct.unpack_from("=I", answer)[0]]


def family_of(sock, name):
    body = call(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, name))
    sock.recv(65536)    # the acknowledgement
    while body:
        length, kind = struct.unpack_from("=HH", body)
        if kind == CTRL_ATTR_FAMILY_ID:
            return struct.unpack_from("=H", body, 4)[0]
        body = body[(length + 3) & ~3:]
    raise OSError(f"no family {name}")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sock.bind((0, 0))
    call(sock, family_of(sock, "SMC_GEN_NETLINK"), SMC_NETLINK_ADD_UEID,
         attribute(SMC_NLA_EID_TABLE_ENTRY, sys.argv[1].ljust(SMC_MAX_EID_LEN)))


main()
