#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sends raw packets to wire_target, which runs in another namespace or machine.

Each round sends packets that must not be received, and then one good UD packet that must be received.
The good packet shows that the target works, and that nothing else was received. Packets to the RC and
the UC queue pair that must not be executed have a payload of MARK, which must not come to the target's
memory. Afterwards, these queue pairs must execute a good packet. Prints "ok CASE" or "fail CASE why".
"""
import argparse
import itertools
import random
import socket
import struct
import subprocess
import time

import roce

QKEY = 0x11223344
RESERVED = sorted(set(range(0x20)) - set(roce.OPCODES))
PSN_ERROR, INVALID_REQUEST, ACCESS_ERROR = 0x60, 0x61, 0x62
FIRST_PSN = 0x1000  # what the RC and the UC queue pair expect at first
MTU = 1024
SIZES = (0, 4, 252, 256, 260, 1024, 1028, 1400)
MARK, LEGAL = b"w", b"x"  # payloads
FIRSTS, ONLIES = {0x00, 0x06}, {0x04, 0x05, 0x0a, 0x0b, 0x17}
REQUESTS = [op for op in roce.RC if not 0x0d <= op <= 0x12]


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
        self.good, self.marked, self.failed = 0, 0, 0
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

    def ask(self, line="?"):
        """Return: what the target says of its queue pairs, by name"""
        self.target.stdin.write(line + "\n")
        self.target.stdin.flush()
        words = self.target.stdout.readline().split()
        if not words:
            raise SystemExit("the target died")
        return dict(zip(words[::2], map(int, words[1::2])))

    def count(self):
        return self.ask()["received"]

    def deaths(self):
        return self.ask()["deaths"]

    def fresh(self):
        """Have the target bring up the RC and the UC queue pair again. Return: how often it found a mark"""
        return self.ask("fresh")["marked"]

    def tell(self, case, why=""):
        print(f"fail {case} {why}" if why else f"ok {case}", flush=True)
        self.failed += bool(why)

    def wait_until(self, done):
        deadline = time.monotonic() + 20
        while not done() and time.monotonic() < deadline:
            time.sleep(0.01)

    def good_arrives(self):
        """Send one good packet. Return: what is wrong, if it doesn't arrive, or if others do"""
        self.send(self.frame(self.ud_body()))
        self.good += 1
        self.wait_until(lambda: self.count() >= self.good)
        want, self.good = self.good, self.count()
        return "" if self.good == want else f"{self.good} packets received, expected {want}"

    def judge(self, case):
        self.tell(case, self.good_arrives())

    def judge_connected(self, case, *wrong):
        """No packet with a mark may have been executed, and the RC and the UC queue pair must work.

        When the good packet has arrived, those before it have come to their queue pairs. wrong: what
        is wrong already
        """
        wrong = [*wrong, self.good_arrives()]
        self.fresh()
        answer, psn = self.strike(self.rc_body(0x0a, LEGAL * 8))
        if answer is None or answer >> 5 or psn != FIRST_PSN:
            wrong.append(f"the RC queue pair answers {answer} for PSN {psn}")
        self.send(self.frame(self.rc_body(0x24, LEGAL * 8)))
        self.wait_until(lambda: self.ask()["uc"])
        if self.ask()["uc"] != 1:
            wrong.append("the UC queue pair receives nothing")
        marked, self.marked = self.marked, self.fresh()
        if marked != self.marked:
            wrong.append("a packet was executed that must not be")
        self.tell(case, "; ".join(filter(None, wrong)))

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
        self.judge_connected("truncations")

    @staticmethod
    def payload(opcode, size, pad=0):
        """Return: size bytes, which are a mark if a fresh queue pair must not execute the packet"""
        legal = (opcode & 0x1f in FIRSTS and size == MTU and not pad) or (
            opcode & 0x1f in ONLIES and pad <= size <= MTU + pad and not (pad and opcode in roce.RETH))
        return (LEGAL if legal else MARK) * size

    def every_opcode(self, name, qpn, opcodes):
        """Those of other services come first: they have no effect on a fresh queue pair"""
        for opcode in [op for op in range(256) if op not in opcodes] + opcodes:
            body = self.rc_body(opcode, (LEGAL if opcode in opcodes else MARK) * 8)
            self.send(self.frame(body[:5] + qpn.to_bytes(3, "big") + body[8:]))
        self.judge_connected(f"{name}-every-opcode")

    def bad_psn(self, name, opcodes):
        """A message of UC may begin with any PSN"""
        for psn in (0, 0xfff, 0x1001, 0x1002, 0x801000, 0xffffff, 0x800fff):
            for opcode in opcodes:
                payload = self.payload(opcode, 8) if opcodes is roce.UC else MARK * 8
                self.send(self.frame(self.rc_body(opcode, payload, psn=psn)))
        self.judge_connected(f"{name}-bad-psn")

    def strike(self, body):
        """Send a packet to the fresh RC queue pair, which is fresh again afterwards.

        Return: syndrome and PSN of the answer. If no NAK comes, that is the ACK of a duplicate, which
        follows the packet. Its PSN shows whether the packet was executed.
        """
        self.forget()
        self.send(self.frame(body))
        self.send(self.frame(self.rc_body(0x0a, LEGAL * 8, psn=FIRST_PSN - 1, ackreq=1)))
        answer = self.next_answer()
        self.fresh()
        return answer

    def rc_bad_reth(self):
        """Each with one wrong value. The queue pair says what is wrong with it

        FLUSH may name the whole region, and then its address doesn't matter.
        """
        wrong = [(va, 8, self.rkey) for va in (self.va - 1, self.va + 8191, 0, 2**64 - 4, 2**63)]
        wrong += [(self.va, 8, rkey) for rkey in (self.rkey ^ 1, 0, 0xffffffff)]
        why = []
        for opcode in (0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x1c, 0x1d):
            exact = opcode in (0x0a, 0x0b, 0x0c)
            payload = MARK * roce.PAYLOAD.get(opcode, 8)
            for va, length, rkey in wrong[5 if opcode == 0x1c else 0:]:
                got, _ = self.strike(self.rc_body(opcode, payload, va=va, length=length, rkey=rkey))
                if got != ACCESS_ERROR and (exact or got != INVALID_REQUEST):
                    why.append(f"{opcode:#x} at {va:#x}, key {rkey:#x}: {got}")
        for opcode in (0x0a, 0x0b):
            for length in (0, 1, 9, 4096, 2**31, 2**32 - 1):
                got, _ = self.strike(self.rc_body(opcode, MARK * 8, length=length))
                if got not in (ACCESS_ERROR, INVALID_REQUEST):
                    why.append(f"{opcode:#x} of {length} bytes: {got}")
        self.judge_connected("rc-bad-reth", *why)

    def uc_bad_reth(self):
        for opcode in [op for op in roce.UC if op in roce.RETH]:
            for va in (self.va - 1, self.va + 8191, 0, 2**64 - 4, 2**63, self.va + 4):
                for length in (0, 1, 8, 4096, 2**31, 2**32 - 1):
                    for rkey in (self.rkey, self.rkey ^ 1, 0, 0xffffffff):
                        legal = (va, length, rkey) == (self.va + 4, 8, self.rkey)
                        payload = self.payload(opcode, 8) if legal else MARK * 8
                        self.send(self.frame(self.rc_body(opcode, payload, va=va, length=length,
                                                          rkey=rkey)))
        self.judge_connected("uc-bad-reth")

    def rc_bad_length(self):
        """A packet with a mark isn't acknowledged, either"""
        why = []
        for opcode, pad, size in itertools.product(REQUESTS, range(4), SIZES):
            payload = self.payload(opcode, size, pad)
            got, psn = self.strike(self.rc_body(opcode, payload, pad=pad))
            if got is None or (payload[:1] == MARK and got >> 5 == 0 and psn == FIRST_PSN):
                why.append(f"{opcode:#x} of {size} bytes, pad {pad}: {got}")
        self.judge_connected("rc-bad-length", *why)

    def uc_bad_length(self):
        for opcode, pad, size in itertools.product(roce.UC, range(4), SIZES):
            self.send(self.frame(self.rc_body(opcode, self.payload(opcode, size, pad), pad=pad)))
        self.judge_connected("uc-bad-length")

    def forget(self):
        """Discard what has arrived until now"""
        self.sniffer.setblocking(False)
        try:
            while self.sniffer.recv(65536):
                pass
        except BlockingIOError:
            pass

    def next_answer(self):
        """Return: syndrome and PSN of the RC queue pair's next ACK or NAK"""
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

    def answer(self, opcode, psn):
        """Return: what the RC queue pair answers to a packet"""
        self.forget()
        self.send(self.frame(self.rc_body(opcode, b"x" * 8, psn=psn)))
        return self.next_answer()

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
            self.wait_until(lambda: self.deaths() > before)
            if (early, now, self.deaths()) != ((PSN_ERROR, 0x1000), (INVALID_REQUEST, 0x1000), before + 1):
                wrong.append(f"{opcode:#x}: {early} {now}, {self.deaths() - before} deaths")
        self.tell("rc-reserved-opcode", "; ".join(wrong))

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
        for name, qpn, opcodes in ("rc", self.rc, roce.RC), ("uc", self.uc, roce.UC):
            self.every_opcode(name, qpn, opcodes)
            self.bad_psn(name, opcodes)
        self.rc_bad_reth()
        self.uc_bad_reth()
        self.rc_bad_length()
        self.uc_bad_length()
        self.noise()
        self.target.stdin.close()
        self.tell("target-memory", self.target.wait() and "memory beside the MR was written")
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
