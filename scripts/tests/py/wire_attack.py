#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sends raw packets to wire_target, which runs in another namespace or machine.

Each round sends packets that must not be received, and then one good UD packet that must be received.
The good packet shows that the target works, and that nothing else was received. Prints "ok CASE" or
"fail CASE why".
"""
import argparse
import random
import socket
import struct
import subprocess
import time

import roce

QKEY = 0x11223344
RESERVED = sorted(set(range(0x20)) - set(roce.OPCODES))
PSN_ERROR, INVALID_REQUEST = 0x60, 0x61


class Attack:
    def __init__(self, args):
        self.args = args
        self.target = subprocess.Popen(args.target, shell=True, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        words = self.target.stdout.readline().split()
        if len(words) != 10:
            raise SystemExit("the target doesn't start")
        self.ud, self.rc, self.uc, self.rkey, self.va = (int(w) for w in words[1::2])
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind((args.netdev, 0))
        self.sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sniffer.bind((args.netdev, 3))
        self.src, self.dst = roce.mac(args.src_mac), roce.mac(args.dst_mac)
        self.good, self.failed = 0, 0
        self.random = random.Random(args.seed)

    def frame(self, body, **kw):
        make = roce.frame_v1 if self.args.v1 else roce.frame_v2
        return make(self.src, self.dst, self.args.src, self.args.dst, body, **kw)

    def send(self, frame):
        # Pad a frame to Ethernet's least length, as a network card does
        self.socket.send(frame if len(frame) >= 60 else frame + bytes(60 - len(frame)))

    def ud_body(self, qpn=None, qkey=QKEY, payload=b"abcd", opcode=0x64, **kw):
        return (roce.bth(opcode, self.ud if qpn is None else qpn, 1, **kw) +
                struct.pack(">II", qkey, 0x77) + payload)

    def rc_body(self, opcode, payload=b"", psn=0x1000, length=None, va=None, rkey=None, **kw):
        body = roce.bth(opcode, self.uc if opcode in roce.UC else self.rc, psn, **kw)
        length = len(payload) if length is None else length
        va, rkey = va if va is not None else self.va, self.rkey if rkey is None else rkey
        if opcode in roce.FETH:
            body += struct.pack(">I", self.random.choice((0x01, 0x11, self.random.getrandbits(32))))
        if opcode in roce.RETH:
            body += struct.pack(">QII", va & (2**64 - 1), rkey, length)
        if opcode in roce.AETH:
            body += struct.pack(">I", self.random.getrandbits(32))
        if opcode in (0x13, 0x14):
            body += struct.pack(">QIQQ", va & (2**64 - 1), rkey, 1, 2)
        if opcode == 0x12:
            body += bytes(8)
        if opcode in roce.IMM:
            body += b"\1\2\3\4"
        if opcode in roce.IETH:
            body += struct.pack(">I", rkey)
        return body + payload

    def ask(self):
        """Return: packets that the UD queue pair has received, and how often the others went to ERR"""
        self.target.stdin.write("?\n")
        self.target.stdin.flush()
        words = self.target.stdout.readline().split()
        if not words:
            raise SystemExit("the target died")
        return int(words[1]), int(words[3])

    def count(self):
        return self.ask()[0]

    def deaths(self):
        return self.ask()[1]

    def judge(self, case):
        """Send one good packet. It must arrive, and no other."""
        self.send(self.frame(self.ud_body()))
        self.good += 1
        deadline = time.monotonic() + 20
        while (count := self.count()) < self.good and time.monotonic() < deadline:
            time.sleep(0.01)
        if count == self.good:
            print(f"ok {case}", flush=True)
        else:
            print(f"fail {case} {count} packets received, expected {self.good}", flush=True)
            self.good = count
            self.failed += 1

    def ud_cases(self):
        self.judge("good-packet")
        for bit in range(32):
            self.send(self.frame(self.ud_body(), break_icrc=1 << bit))
        self.judge("wrong-icrc")
        self.send(self.frame(self.ud_body(qkey=QKEY + 1)))
        self.judge("wrong-qkey")
        for pkey in (0, 1, 0x7ffe, 0x8001, 0xfffe):
            self.send(self.frame(self.ud_body(pkey=pkey)))
        self.judge("wrong-pkey")
        for tver in range(1, 16):
            self.send(self.frame(self.ud_body(tver=tver)))
        self.judge("wrong-tver")
        for qpn in (0, 2, self.ud + 1, self.ud ^ 0x800000, 0xfffffe, 0xffffff):
            if qpn not in (self.rc, self.uc):
                self.send(self.frame(self.ud_body(qpn=qpn)))
        self.judge("wrong-qpn")
        for pad in (1, 2, 3):
            self.send(self.frame(self.ud_body(payload=b"", pad=pad)))
        self.judge("pad-beyond-payload")
        for opcode in set(range(256)) - {0x64, 0x65}:
            self.send(self.frame(self.ud_body(opcode=opcode)))
        self.judge("wrong-opcode")

    def truncations(self):
        """Each opcode, cut to each length, with the ICRC of the cut packet and without"""
        for opcode in sorted(roce.OPCODES) + [0x81, 0xff]:
            body = (self.ud_body(opcode=opcode, payload=b"")[:12] + self.rc_body(opcode, b"x" * 8)[12:]
                    if opcode >= 0x60 else self.rc_body(opcode, b"x" * 8))
            whole = 12 + 8 if opcode in (0x64, 0x65) else 0
            for cut in range(len(body)):
                if whole and cut >= whole:
                    break
                self.send(self.frame(body[:cut]) if cut >= 5 else
                          self.frame(bytes(12))[:-(12 - cut)])
                self.send(self.frame(body)[:-(len(body) - cut)])
        self.judge("truncations")

    def connected_cases(self, name, opcodes):
        """Packets to the RC or the UC queue pair, with any opcode, then with those of its service"""
        qpn = self.uc if opcodes is roce.UC else self.rc
        for opcode in range(256):
            body = self.rc_body(opcode, b"x" * 8)
            self.send(self.frame(body[:5] + qpn.to_bytes(3, "big") + body[8:]))
        self.judge(f"{name}-every-opcode")
        for psn in (0, 0xfff, 0x1001, 0x1002, 0x801000, 0xffffff, 0x800fff):
            for opcode in opcodes:
                self.send(self.frame(self.rc_body(opcode, b"x" * 8, psn=psn)))
        self.judge(f"{name}-bad-psn")
        for opcode in [op for op in opcodes if op in roce.RETH or op in (0x13, 0x14)]:
            for va in (self.va - 1, self.va + 8191, 0, 2**64 - 4, 2**63, self.va + 4):
                for length in (0, 1, 8, 4096, 2**31, 2**32 - 1):
                    for rkey in (self.rkey, self.rkey ^ 1, 0, 0xffffffff):
                        self.send(self.frame(self.rc_body(opcode, b"x" * 8, va=va, length=length,
                                                          rkey=rkey, ackreq=1)))
        self.judge(f"{name}-bad-reth")
        for opcode in opcodes:
            for pad in range(4):
                for size in (0, 4, 252, 256, 260, 1024, 1028, 1400):
                    self.send(self.frame(self.rc_body(opcode, b"y" * size, pad=pad)))
        self.judge(f"{name}-bad-length")

    def forget(self):
        """Discard what has arrived until now"""
        self.sniffer.setblocking(False)
        try:
            while self.sniffer.recv(65536):
                pass
        except BlockingIOError:
            pass

    def answer(self, opcode, psn):
        """Return: syndrome and PSN of the RC queue pair's next ACK or NAK"""
        self.forget()
        self.send(self.frame(self.rc_body(opcode, b"x" * 8, psn=psn)))
        self.sniffer.settimeout(20)
        while True:
            try:
                packet = roce.Packet(self.sniffer.recv(65536))
            except socket.timeout:
                return None, None
            except (struct.error, IndexError, ValueError):
                continue	# not RoCE
            if packet.src == self.args.dst and getattr(packet, "opcode", None) == 0x11:
                return packet.bth[12], packet.psn

    def stranger(self, body):
        """Packets from another address than the peer's"""
        src, self.args.src = self.args.src, self.args.src + "9"
        self.send(self.frame(body))
        self.args.src = src

    def reserved_cases(self):
        """A reserved opcode puts the RC queue pair into ERR only if it comes from the peer, in order."""
        wrong = []
        for opcode in RESERVED:
            before = self.deaths()
            self.stranger(self.rc_body(opcode, b"x" * 8))
            early, now = self.answer(opcode, 0x1001), self.answer(opcode, 0x1000)
            deadline = time.monotonic() + 20
            while self.deaths() == before and time.monotonic() < deadline:
                time.sleep(0.01)
            if (early, now, self.deaths()) != ((PSN_ERROR, 0x1000), (INVALID_REQUEST, 0x1000), before + 1):
                wrong.append(f"{opcode:#x}: {early} {now}, {self.deaths() - before} deaths")
        print(f"fail rc-reserved-opcode {'; '.join(wrong)}" if wrong else "ok rc-reserved-opcode", flush=True)
        self.failed += bool(wrong)

    def noise(self):
        for _ in range(self.args.noise):
            body = bytearray(self.rc_body(self.random.choice(sorted(roce.OPCODES)), b"z" * 16))
            if self.random.random() < 0.5:
                body = bytearray(self.ud_body(qkey=QKEY ^ 0xffff, payload=b"z" * 16))
            for _ in range(self.random.randint(1, 4)):
                body[self.random.choice([0, 1, 2, 3] + list(range(8, len(body))))] ^= \
                    1 << self.random.randrange(8)
            self.send(self.frame(bytes(body)))
        for _ in range(self.args.noise):
            frame = bytearray(self.frame(self.ud_body()))
            frame[self.random.randrange(14, len(frame))] ^= 1 << self.random.randrange(8)
            # If the ICRC doesn't cover a change, the packet is still good: leave it out
            if not self.masked(frame):
                self.send(bytes(frame))
        self.judge("noise")

    def masked(self, frame):
        """May a receiver still accept the frame?"""
        try:
            packet = roce.Packet(bytes(frame))
        except (struct.error, IndexError):
            return False
        return "ICRC" not in packet.errors

    def run(self):
        self.ud_cases()
        self.reserved_cases()
        self.truncations()
        self.connected_cases("rc", roce.RC)
        self.connected_cases("uc", roce.UC)
        self.noise()
        self.target.stdin.close()
        if self.target.wait():
            print("fail target-memory memory beside the MR was written")
            self.failed += 1
        else:
            print("ok target-memory")
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True, help="command that runs wire_target")
    parser.add_argument("--netdev", required=True)
    parser.add_argument("--src-mac", required=True)
    parser.add_argument("--dst-mac", required=True)
    parser.add_argument("--src", required=True, help="address; a GID as IPv6 text with --v1")
    parser.add_argument("--dst", required=True)
    parser.add_argument("--v1", action="store_true", help="RoCE v1")
    parser.add_argument("--noise", type=int, default=3000, help="random packets (3000)")
    parser.add_argument("--seed", type=int, default=1)
    raise SystemExit(Attack(parser.parse_args()).run())


main()
