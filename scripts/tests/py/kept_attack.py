#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sends early packets to rc_kept, which runs in another namespace.

Plays the peer of each connection, and a forger. The forger knows everything except when the peer
sends. Prints "ok CASE" or "fail CASE why".
"""
import argparse
import os
import socket
import struct
import subprocess
import time

import roce

QKEY, PSN, PORT, UD = 0x11223344, 0x1000, 0xc123, 16
GENUINE, FORGED = 0x40, 0xee
AGE = 0.5
# A namespace's /sys has no debugfs, and no devices' switches
KNOBS = "/proc/1/root/sys/kernel/debug/rdma_rxe/knobs"
SWITCHES = "/proc/1/root/sys/class/infiniband"
GIVEN_BACK_SECONDS = 20 * AGE
FLOOD_SECONDS = 4 * AGE	# in a longer flood, packets are dropped by their age before the limit is reached


def wait_for(done):
    """Return: true as soon as done() is true; false if it isn't within GIVEN_BACK_SECONDS"""
    end = time.monotonic() + GIVEN_BACK_SECONDS
    while not (result := done()) and time.monotonic() < end:
        time.sleep(AGE / 10)
    return result


def age_is(seconds):
    """Set for how long early packets are held"""
    with open(KNOBS, "w", encoding="ascii") as f:
        f.write(f"inq_age_ms {int(seconds * 1000)}\n")


def knob(name):
    with open(KNOBS, encoding="ascii") as f:
        return next(int(words[1]) for words in map(str.split, f) if words[:1] == [name])


class Kept:
    def __init__(self, args):
        self.args = args
        self.target = subprocess.Popen(args.target, shell=True, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.qpn = [int(w) for w in self.target.stdout.readline().split()]
        if len(self.qpn) != UD + 1:
            raise SystemExit("the target doesn't start")
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind((args.netdev, 0))
        self.src, self.dst = roce.mac(args.src_mac), roce.mac(args.dst_mac)
        self.failed = False
        self.spare = self.may_keep()

    def verdict(self, case, good, why):
        print(f"ok {case}" if good else f"fail {case} {why}", flush=True)
        self.failed |= not good

    def counter(self, name):
        """Read a counter by netlink: sysfs shows counters in the first namespace only"""
        words = subprocess.run(["rdma", "statistic", "show", "link", self.args.dev + "/1"],
                               capture_output=True, text=True, check=True).stdout.split()
        return int(words[words.index(name) + 1])

    def ask(self, line):
        self.target.stdin.write(line + "\n")
        self.target.stdin.flush()
        return self.target.stdout.readline().split()

    def body(self, qp, n, data):
        return roce.bth(0x04, self.qpn[qp], PSN + n & 0xffffff, ackreq=1) + data

    def send(self, qp, n, byte=None, port=PORT, size=8):
        byte = GENUINE + n & 0xff if byte is None else byte
        frame = roce.frame_v2(self.src, self.dst, self.args.src, self.args.dst,
                              self.body(qp, n, bytes([byte]) * size), sport=port)
        self.socket.send(frame)

    def forge(self, qp, n, **kw):
        self.send(qp, n, byte=FORGED, **kw)

    def send_unprivileged(self, qp, n, port, size=8):
        """Send a forged packet as an ordinary user's UDP datagram. Return: false if refused."""
        body = self.body(qp, n, bytes([FORGED]) * size)
        length = 8 + len(body) + 4
        addresses = socket.inet_aton(self.args.src) + socket.inet_aton(self.args.dst)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0) + addresses
        udp = struct.pack(">HHHH", port, roce.UDP_ROCE2, length, 0)
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                sock.bind((self.args.src, port))
                sock.sendto(body + roce.icrc(ip, udp + body), (self.args.dst, roce.UDP_ROCE2))
                status = 0
            finally:
                os._exit(status)
        return os.waitpid(pid, 0)[1] == 0

    def expect(self, case, qp, num):
        """num genuine messages arrive, and no other"""
        want = [f"0:{GENUINE + n:02x}" for n in range(num)]
        for _ in range(100):
            got = self.ask(f"messages {qp}")
            if len(got) > num:
                break
            time.sleep(0.02)
        self.verdict(case, got[:-1] == want, f"received {' '.join(got)}, not {' '.join(want)}")

    def fresh(self, qp=0):
        self.ask(f"reset {qp}")

    def one_ahead(self):
        """A forged packet arrives before the genuine one is sent"""
        for port, differs in ((PORT, 1), (PORT + 1, 0)):
            name = "right" if differs else "wrong"
            before, aged = self.counter("rx_held_differs"), self.counter("rx_drop_age")
            self.fresh()
            for n in range(3):
                self.send(0, n)
            self.forge(0, 8, port=port)
            for n in range(3, 8):
                self.send(0, n)
            self.expect(f"forged-{name}-port-waits", 0, 8)
            for n in range(8, 12):
                self.send(0, n)
            self.expect(f"forged-{name}-port", 0, 12)
            now = self.counter("rx_held_differs")
            # If the machine stood still for long, the forged packet was dropped by its age
            aged = self.counter("rx_drop_age") - aged
            self.verdict(f"forged-{name}-port-counted", now - before + aged == differs,
                         f"rx_held_differs went from {before} to {now}, should by {differs}; {aged} too old")

    def guard(self, on):
        with open(f"{SWITCHES}/{self.args.sender}/guard_port", "w", encoding="ascii") as f:
            f.write(str(on))

    def unprivileged(self):
        """The sender's host refuses the packets of a user. Without this guard, they aren't executed"""
        for guard, word in ((1, "guarded"), (0, "unguarded")):
            self.guard(guard)
            for port in (PORT, PORT + 1):
                name = f"{word}-unprivileged-{port - PORT}"
                self.fresh()
                self.send(0, 0)
                sent = self.send_unprivileged(0, 5, port)
                self.verdict(name + ("-refused" if guard else "-sent"), sent != guard,
                             "it was sent" if sent else "it was refused")
                for n in range(1, 10):
                    self.send(0, n)
                self.expect(name, 0, 10)
        self.guard(1)

    def held(self):
        """Genuine early packets are executed, once later packets show that they are the peer's"""
        age_is(10)	# a stall of the machine must not drop them
        self.fresh()
        for n in (0, 2, 3, 1):
            self.send(0, n)
        self.expect("early-not-vouched-for", 0, 2)
        self.send(0, 4)
        self.expect("early-vouched-for-by-later", 0, 5)
        for n in (6, 7, 8, 5, 6):
            self.send(0, n)
        self.expect("early-vouched-for-by-same", 0, 9)
        age_is(AGE)

    def old(self):
        """
        Packets that were held before a reset are dropped. Afterwards, a later packet comes before the
        genuine one: by the rule that held() tests, it would vouch for the forged one
        """
        age_is(10)
        self.fresh()
        early, dropped = self.counter("out_of_seq_request"), self.counter("rx_drop_qp_state")
        self.send(0, 0)
        self.forge(0, 2)
        self.verdict("reset-held", wait_for(lambda: self.counter("out_of_seq_request") > early),
                     "the early packet didn't come")
        self.fresh()
        dropped = self.counter("rx_drop_qp_state") - dropped
        self.verdict("reset-drops", dropped == 1, f"{dropped} packets were dropped")
        for n in (0, 1, 3, 4, 2, 5):
            self.send(0, n)
        self.expect("reset-forgets", 0, 6)
        age_is(AGE)

    @staticmethod
    def meminfo(name):
        """Return: MiB"""
        with open("/proc/meminfo", encoding="ascii") as f:
            words = dict(line.split(":") for line in f)
        return int(words[name].split()[0]) // 1024

    def free(self):
        return self.meminfo("MemAvailable")

    def may_keep(self):
        """Return: MiB that the kernel may keep: its caches, and KASAN's quarantine of freed memory"""
        with open("/proc/kallsyms", encoding="ascii") as f:
            kasan = any(" kasan_report\n" in line for line in f)
        return 8 + (self.meminfo("MemTotal") // 32 if kasan else 0)

    def flood(self, case, send, spare):
        """
        Four connections get a thousand packets each, while an earlier one is missing. In the end, at
        most spare MiB may be in use
        """
        for qp in range(4):
            self.fresh(qp)
            self.send(qp, 0)
        before, early = self.free(), self.counter("out_of_seq_request")
        start = time.monotonic()
        for n in range(2, 1026):
            for qp in range(4):
                send(qp, n)
        self.took = time.monotonic() - start
        used = before - self.free()
        early = self.counter("out_of_seq_request") - early
        self.verdict(f"{case}-memory", used < 24, f"{used} MiB are held")
        self.verdict(f"{case}-counted-once", early <= 4096, f"{early} for 4096 packets")
        wait_for(lambda: before - self.free() < spare)
        used = before - self.free()
        self.verdict(f"{case}-given-back", used < spare, f"{used} MiB are still held")

    def device_limit(self):
        """
        All connections together get so many early packets that only the device's limit keeps them from
        32 MiB or more: 2 MiB of data each, half of what a connection may have
        """
        age_is(10)
        for qp in range(UD):
            self.fresh(qp)
            self.send(qp, 0)
        names = ("out_of_seq_request", "rx_drop_queue_full", "rx_drop_memory", "rx_drop_age")
        before, free = [self.counter(name) for name in names], self.free()
        for n in range(2, 2 + 512):
            for qp in range(UD):
                self.send(qp, n, size=4096)
        used = free - self.free()
        came, *dropped = [self.counter(name) - was for name, was in zip(names, before)]
        held = (came - sum(dropped)) * 4096
        self.verdict("device-limit", 0 < held <= knob("held_dev_bytes") and came > UD * 256,
                     f"{came} packets came, {sum(dropped)} were dropped: {held} bytes of data are held")
        most = sum(knob(name) for name in ("held_dev_bytes", "queue_dev_bytes", "queue_free_dev_bytes"))
        self.verdict("device-limit-memory", used < most // 2**20 + self.spare, f"{used} MiB are used")
        for qp in range(UD):
            self.fresh(qp)
        age_is(AGE)

    def floods(self):
        dropped = self.counter("rx_drop_queue_full")
        aged = self.counter("rx_drop_age")
        self.flood("flood", lambda qp, n: self.send(qp, n, size=4096), self.spare)
        dropped = self.counter("rx_drop_queue_full") - dropped
        if not dropped and self.took > FLOOD_SECONDS:
            print(f"skip flood-limit 16 MiB took {self.took:.1f} s: they were old before they were too many")
        else:
            self.verdict("flood-limit", dropped > 0, f"nothing was dropped of 16 MiB in {self.took:.1f} s")
        self.verdict("flood-age", wait_for(lambda: self.counter("rx_drop_age") > aged), "nothing got too old")
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.IPPROTO_IP, 10, 0)	# IP_MTU_DISCOVER: fragments
        sock.bind((self.args.src, PORT))
        bodies = {}

        def datagram(qp, n):
            head = self.body(qp, n, b"")
            if qp not in bodies:
                bodies[qp] = bytes(60000)
            sock.sendto(head + bodies[qp], (self.args.dst, roce.UDP_ROCE2))

        # 240 MiB, which pass through the stack's caches for fragments
        self.flood("datagrams", datagram, 2 * self.spare)
        for qp in range(4):
            self.send(qp, 1)
            self.expect(f"alive-{qp}", qp, 2)

    def ud_short(self):
        """A receive that is too short completes with an error, and the next one is used"""
        for _ in range(2):
            body = roce.bth(0x64, self.qpn[UD], 1) + struct.pack(">II", QKEY, 0x77) + b"abcd"
            self.socket.send(roce.frame_v2(self.src, self.dst, self.args.src, self.args.dst, body))
        for _ in range(100):
            got = self.ask(f"messages {UD}")
            if len(got) > 2:
                break
            time.sleep(0.02)
        self.verdict("ud-short", got == ["1:00", "0:61", "state:2"], f"received {' '.join(got)}")

    def run(self):
        self.ud_short()
        self.held()
        self.one_ahead()
        self.unprivileged()
        self.old()
        self.device_limit()
        self.floods()
        self.target.stdin.write("quit\n")
        self.target.stdin.close()
        self.failed |= self.target.wait() != 0
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True, help="command that runs rc_kept")
    parser.add_argument("--dev", required=True, help="its device")
    parser.add_argument("--sender", required=True, help="device of the host that the forger is on")
    parser.add_argument("--netdev", required=True)
    parser.add_argument("--src-mac", required=True)
    parser.add_argument("--dst-mac", required=True)
    parser.add_argument("--src", required=True)
    parser.add_argument("--dst", required=True)
    raise SystemExit(Kept(parser.parse_args()).run())


main()
