# SPDX-License-Identifier: GPL-2.0
"""Parses and builds RoCE packets, and computes their ICRC, with the standard library only.

Written from the specification, independently of the driver's code: each checks the other.
"""
import socket
import struct
import zlib

ETH_ROCE1 = 0x8915
UDP_ROCE2 = 4791

OPCODES = {
    0x00: "SEND_FIRST", 0x01: "SEND_MIDDLE", 0x02: "SEND_LAST", 0x03: "SEND_LAST_IMM",
    0x04: "SEND_ONLY", 0x05: "SEND_ONLY_IMM", 0x06: "WRITE_FIRST", 0x07: "WRITE_MIDDLE",
    0x08: "WRITE_LAST", 0x09: "WRITE_LAST_IMM", 0x0a: "WRITE_ONLY", 0x0b: "WRITE_ONLY_IMM",
    0x0c: "READ_REQ", 0x0d: "READ_RESP_FIRST", 0x0e: "READ_RESP_MIDDLE", 0x0f: "READ_RESP_LAST",
    0x10: "READ_RESP_ONLY", 0x11: "ACK", 0x12: "ATOMIC_ACK", 0x13: "CMP_SWAP", 0x14: "FETCH_ADD",
    0x16: "SEND_LAST_INV", 0x17: "SEND_ONLY_INV", 0x1c: "FLUSH", 0x1d: "ATOMIC_WRITE",
    0x64: "UD_SEND", 0x65: "UD_SEND_IMM",
}
CNP = 0x81  # of no transport, and not in OPCODES
# UC has the SENDs and WRITEs of RC, without Invalidate
OPCODES.update({0x20 + op: "UC_" + name for op, name in OPCODES.items() if op <= 0x0b})
RC = sorted(op for op in OPCODES if op < 0x20)
UC = sorted(op for op in OPCODES if op >> 5 == 1)
FETH = {0x1c}
RETH = {0x06, 0x0a, 0x0b, 0x0c, 0x1c, 0x1d, 0x26, 0x2a, 0x2b}
AETH = {0x0d, 0x0f, 0x10, 0x11, 0x12}
IMM = {0x03, 0x05, 0x09, 0x0b, 0x23, 0x25, 0x29, 0x2b, 0x65}
IETH = {0x16, 0x17}
# What a FLUSH may ask for: placement type global or persistent, selectivity range or region
FETH_VALUES = {kind | level << 4 for kind in (1, 2, 3) for level in (0, 1)}
# The bytes of payload that an opcode must have
PAYLOAD = {0x0c: 0, 0x11: 0, 0x12: 0, 0x13: 0, 0x14: 0, 0x1c: 0, 0x1d: 8, CNP: 16}


def extended_length(opcode):
    """Return: bytes of the headers between BTH and payload"""
    length = 0
    if opcode in FETH:
        length += 4
    if opcode in RETH:
        length += 16
    if opcode in AETH:
        length += 4
    if opcode in IMM or opcode in IETH:
        length += 4
    if opcode in (0x13, 0x14):
        length += 28
    if opcode == 0x12:
        length += 8
    if opcode >> 5 == 3:
        length += 8
    return length


def icrc(ip, rest):
    """ip: the IP header or GRH; rest: UDP header (v2) and all from BTH up to the ICRC"""
    ip = bytearray(ip)
    if ip[0] >> 4 == 4:
        ip[1] = 0xff
        ip[8] = 0xff
        ip[10:12] = b"\xff\xff"
        bth = 8
    else:
        ip[0] |= 0x0f
        ip[1:4] = b"\xff\xff\xff"
        ip[7] = 0xff
        bth = 8 if ip[6] == 17 else 0
    rest = bytearray(rest)
    if bth:
        rest[6:8] = b"\xff\xff"
    rest[bth + 4] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(ip) + bytes(rest)))


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def is_roce(frame):
    """Is it a packet of RoCE, with a VLAN tag or without?"""
    ethertype, at = frame[12:14], 14
    if ethertype == b"\x81\x00":
        ethertype, at = frame[16:18], 18
    if ethertype == ETH_ROCE1.to_bytes(2, "big"):
        return True
    if ethertype == b"\x08\x00":
        return frame[at + 9] == 17 and frame[at + 22:at + 24] == b"\x12\xb7"
    return ethertype == b"\x86\xdd" and frame[at + 6] == 17 and frame[at + 42:at + 44] == b"\x12\xb7"


class Packet:
    """One frame. .errors lists its faults."""

    def __init__(self, frame):
        self.errors = []
        self.vlan = self.pcp = None
        ethertype, at = struct.unpack_from(">H", frame, 12)[0], 14
        if ethertype == 0x8100:
            tci, ethertype = struct.unpack_from(">HH", frame, 14)
            self.vlan, self.pcp, at = tci & 0xfff, tci >> 13, 18
        self.version = 1 if ethertype == ETH_ROCE1 else 2
        if ethertype == 0x0800:
            self.parse_ipv4(frame[at:])
        else:
            self.parse_ipv6(frame[at:])

    def bad(self, text):
        self.errors.append(text)

    def parse_ipv4(self, data):
        self.kind = "ipv4"
        total = struct.unpack_from(">H", data, 2)[0]
        self.ip, self.tclass, self.hop, self.flow = data[:20], data[1], data[8], None
        if checksum(data[:20]):
            self.bad("IPv4 header checksum")
        if struct.unpack_from(">H", data, 6)[0] & 0x3fff:
            self.bad("IPv4 fragment")
        self.src, self.dst = (socket.inet_ntop(socket.AF_INET, data[i:i + 4]) for i in (12, 16))
        self.parse_udp(data[20:total])

    def parse_ipv6(self, data):
        self.kind = "ipv6"
        word, length, after = struct.unpack_from(">IHB", data)
        self.ip, self.tclass, self.hop, self.flow = data[:40], word >> 20 & 0xff, data[7], word & 0xfffff
        self.src, self.dst = (socket.inet_ntop(socket.AF_INET6, data[i:i + 16]) for i in (8, 24))
        if word >> 28 != 6:
            self.bad("IP version in the GRH")
        if len(data) < 40 + length:
            self.bad("payload length beyond the frame")
        if self.version == 2:
            self.parse_udp(data[40:40 + length])
            return
        if after != 0x1b:
            self.bad(f"NxtHdr 0x{after:x} in the GRH")
        self.sport, self.before = None, b""
        self.parse_bth(data[40:40 + length])

    def parse_udp(self, data):
        self.sport, dport, length, check = struct.unpack_from(">HHHH", data)
        if dport != UDP_ROCE2:
            self.bad(f"UDP port {dport}")
        if length != len(data):
            self.bad(f"UDP length {length}, not {len(data)}")
        if self.sport < 0xc000:
            self.bad(f"UDP source port {self.sport}")
        pseudo = self.ip[12:20] if self.kind == "ipv4" else self.ip[8:40]
        # 0 means none (RoCE allows that over IPv6, too)
        if check and checksum(pseudo + struct.pack(">HH", 17, length) + data):
            self.bad("UDP checksum")
        self.before = data[:8]
        self.parse_bth(data[8:])

    def parse_bth(self, data):
        self.opcode, flags, self.pkey, qpn, psn = struct.unpack_from(">BBHII", data)
        self.solicited, self.pad, tver = flags >> 7, flags >> 4 & 3, flags & 15
        self.qpn, self.psn, self.ackreq = qpn & 0xffffff, psn & 0xffffff, psn >> 31
        self.bth = data
        if self.opcode not in OPCODES and self.opcode != CNP:
            self.bad(f"opcode 0x{self.opcode:x}")
        if tver:
            self.bad(f"transport version {tver}")
        if self.pkey != 0xffff:
            self.bad(f"P_Key 0x{self.pkey:x}")
        payload = len(data) - 12 - extended_length(self.opcode) - 4 - self.pad
        if payload < 0 or len(data) % 4:
            self.bad(f"{len(data)} bytes from BTH to ICRC")
        if payload != PAYLOAD.get(self.opcode, payload):
            self.bad(f"{payload} bytes of payload in {self.name()}")
        if self.opcode in FETH and struct.unpack_from(">I", data, 12)[0] not in FETH_VALUES:
            self.bad(f"FETH {data[12:16].hex()}")
        self.payload = payload
        self.icrc = data[-4:]
        if icrc(self.ip, self.before + data[:-4]) != self.icrc:
            self.bad("ICRC")

    def name(self):
        return OPCODES.get(self.opcode, hex(self.opcode))


def read_pcap(path):
    """Yield the frames of a pcap file (Ethernet)"""
    for _, frame in read_timed(path):
        yield frame


def read_timed(path):
    """Yield (time in us, frame)"""
    with open(path, "rb") as f:
        magic = f.read(24)[:4]
        order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        unit = 1000 if magic in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1
        while head := f.read(16):
            seconds, part, length, _ = struct.unpack(order + "IIII", head)
            yield seconds * 1000000 + part // unit, f.read(length)


def bth(opcode, qpn, psn, pad=0, pkey=0xffff, flags=0, ackreq=0, tver=0):
    return struct.pack(">BBHII", opcode, flags | pad << 4 | tver, pkey, qpn, psn | ackreq << 31)


def frame_v2(src_mac, dst_mac, src, dst, body, sport=0xc123, break_icrc=0, ident=1):
    """Return: a RoCE v2 frame (IPv4) with body (BTH to pad). The ICRC is xored with break_icrc."""
    length = 8 + len(body) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + length, ident, 0x4000, 64, 17, 0,
                     socket.inet_aton(src), socket.inet_aton(dst))
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    udp = struct.pack(">HHHH", sport, UDP_ROCE2, length, 0)
    return dst_mac + src_mac + b"\x08\x00" + ip + udp + body + xor(icrc(ip, udp + body), break_icrc)


def frame_v1(src_mac, dst_mac, src, dst, body, break_icrc=0):
    """Return: the same for RoCE v1. src and dst are GIDs as IPv6 text."""
    grh = struct.pack(">IHBB", 6 << 28, len(body) + 4, 0x1b, 64)
    grh += socket.inet_pton(socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst)
    return dst_mac + src_mac + b"\x89\x15" + grh + body + xor(icrc(grh, body), break_icrc)


def xor(data, value):
    return struct.pack("<I", struct.unpack("<I", data)[0] ^ value)


def mac(text):
    return bytes.fromhex(text.replace(":", ""))
