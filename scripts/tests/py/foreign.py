#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Packets to wire_sink that a router, a tunnel or a policy has changed.

Runs in the sender's namespace. Each case sends frames, some of them in one burst, so that GRO on
the way merges them. Then it sends one good datagram, the marker. The receives that have completed
before the marker's must be the expected ones. Each refused packet must be counted once, by the
counter for the reason. Prints "ok CASE" or "fail CASE why".
"""
import argparse
import fcntl
import os
import socket
import struct
import subprocess
import time

import roce

QKEY = 0x11223344
PEER_QPN = 0x654321
MARKER = 0x7f
SPORT = 0xc123


class Sink:
    """wire_sink in another namespace, and its device's counters"""

    def __init__(self, ns, dev, gid, peer):
        self.dev = dev
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", ns, "wire_sink", "-d", dev, "-g", gid, "-p", peer],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        words = (self.process.stdout.readline() + self.process.stdout.readline()).split()
        if len(words) != 5:
            raise RuntimeError("wire_sink doesn't start")
        self.ud, self.rc = [int(words[1]), int(words[2])], int(words[4])
        self.in_machine("echo 0 > lifespan")	# no old values

    def in_machine(self, line):
        """Run a command in the first namespace: the kernel shows counters only there"""
        path = f"/sys/class/infiniband/{self.dev}/ports/1/hw_counters"
        return subprocess.run(["nsenter", "-t", "1", "-m", "-n", "sh", "-c", f"cd {path} && {line}"],
                              check=True, stdout=subprocess.PIPE, text=True).stdout

    def refused(self):
        """Return: the counters of refused packets"""
        lines = self.in_machine("grep -H . rx_drop_* rx_icrc_encapsulated").split()
        return {name: int(value) for name, value in (line.split(":") for line in lines)}

    def completions(self):
        """Return: completions since the last call: (QPN, value) of a success, (QPN, None) of an error"""
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        found = []
        while (words := self.process.stdout.readline().split()) != ["end"]:
            if not words:
                raise RuntimeError("wire_sink died")
            found.append((int(words[1]), int(words[4]) if words[2] == "success" else None))
        return found


class Foreign:
    def __init__(self, args):
        self.args = args
        self.sink = Sink(args.sink_ns, args.sink_dev, args.sink_gid, "::ffff:" + args.src)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind((args.netdev, 0))
        self.src, self.dst = roce.mac(args.src_mac), roce.mac(args.dst_mac)
        self.ident, self.psn, self.failed = 1, 0x1000, False

    # --- packets

    def ud(self, qp, value, size=256):
        """Return: a datagram with a payload of equal bytes"""
        return roce.bth(0x64, self.sink.ud[qp], 1) + struct.pack(">II", QKEY, 0x77) + bytes([value]) * size

    def rc_send(self, value, size=264, ackreq=0):
        body = roce.bth(0x04, self.sink.rc, self.psn, ackreq=ackreq) + bytes([value]) * size
        self.psn += 1
        return body

    def rc_ack(self, syndrome, psn=0x2000):
        return roce.bth(0x11, self.sink.rc, psn) + struct.pack(">I", syndrome << 24)

    def v2(self, body, sport=SPORT, icrc=None, dst=None, options=b"", sloppy=False, tos=0, flags=0x4000):
        """Return: a RoCE v2 frame with a UDP checksum, without which GRO doesn't merge"""
        length = 8 + len(body) + 4
        ip = struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, tos, 20 + len(options) + length,
                         self.ident & 0xffff, flags, 64, 17, 0, socket.inet_aton(self.args.src),
                         socket.inet_aton(dst or self.args.dst)) + options
        self.ident += 1
        ip = ip[:10] + struct.pack(">H", roce.checksum(ip)) + ip[12:]
        udp = struct.pack(">HHHH", sport, roce.UDP_ROCE2, length, 0)
        if icrc is None:
            icrc = roce.icrc(ip[-20:] if sloppy else ip[:20], udp + body)
        data = body + icrc
        check = roce.checksum(ip[12:20] + struct.pack(">HH", 17, length) + udp + data) or 0xffff
        return self.dst + self.src + b"\x08\x00" + ip + udp[:6] + struct.pack(">H", check) + data

    def v6(self, body, extension=b"", sloppy=False):
        """Return: the same over IPv6, possibly with an extension header"""
        length = 8 + len(body) + 4
        src, dst = (socket.inet_pton(socket.AF_INET6, a) for a in (self.args.src6, self.args.dst6))
        ip = struct.pack(">IHBB", 6 << 28, length + len(extension), 0 if extension else 17, 64) + src + dst
        udp = struct.pack(">HHHH", SPORT, roce.UDP_ROCE2, length, 0)
        seen = (ip + extension)[-40:] if sloppy else ip[:6] + b"\x11" + ip[7:]
        if sloppy:
            data = body + roce.xor(roce.icrc(seen[:6] + b"\x11" + seen[7:], udp + body), 0)
        else:
            data = body + roce.icrc(seen, udp + body)
        check = roce.checksum(src + dst + struct.pack(">II", length, 17) + udp + data) or 0xffff
        return (self.dst + self.src + b"\x86\xdd" + ip + extension + udp[:6] +
                struct.pack(">H", check) + data)

    @staticmethod
    def fragments(frame):
        """Return: an IPv4 frame without "don't fragment" as two fragments"""
        eth, ip, data = frame[:14], frame[14:34], frame[34:]
        frames = []
        for at, part in ((0x2000, data[:128]), (128 // 8, data[128:])):
            head = ip[:2] + struct.pack(">H", 20 + len(part)) + ip[4:6] + struct.pack(">H", at) + ip[8:10]
            check = roce.checksum(head + b"\0\0" + ip[12:])
            frames.append(eth + head + struct.pack(">H", check) + ip[12:] + part)
        return frames

    def fragments6(self, frame):
        """Return: the two fragments of an IPv6 frame"""
        eth, ip, data = frame[:14], frame[14:54], frame[54:]
        self.ident += 1
        return [eth + ip[:4] + struct.pack(">HB", 8 + len(part), 44) + ip[7:] +
                struct.pack(">BBHI", 17, 0, at, self.ident) + part
                for at, part in ((1, data[:128]), (128, data[128:]))]

    def v1(self, body, dst=None, dst_mac=None, vlan=None):
        dst_mac = dst_mac or self.dst
        frame = roce.frame_v1(self.src, dst_mac, "::ffff:" + self.args.src,
                              dst or "::ffff:" + self.args.dst, body)
        return self.tagged(frame, vlan) if vlan else frame

    @staticmethod
    def tagged(frame, vlan):
        return frame[:12] + struct.pack(">HH", 0x8100, vlan) + frame[12:]

    # --- sending

    def tc(self, *words):
        subprocess.run(["tc", "qdisc", words[0], "dev", self.args.netdev, "root", *words[1:]], check=True)

    def burst(self, frames):
        """Send frames together: the qdisc "plug" holds them until the last one is there."""
        self.tc("add", "plug", "limit", "1000000")
        for frame in frames:
            self.socket.send(frame)
        self.tc("change", "plug", "release_indefinite")
        self.tc("del")

    def single(self, frames):
        for frame in frames:
            self.socket.send(frame)

    def segments(self, bodies, icrc=None):
        """Send one train, by UDP_SEGMENT. With "don't fragment", its IDs begin at 0."""
        data = b""
        for n, body in enumerate(bodies):
            self.ident = n
            data += self.v2(body, icrc=icrc)[42:]
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind((self.args.src, SPORT))
        udp.setsockopt(socket.IPPROTO_IP, 10, 2)
        udp.setsockopt(17, 103, len(bodies[0]) + 4)
        udp.sendto(data, (self.args.dst, roce.UDP_ROCE2))

    # --- judging

    def completed(self, least):
        """Send the marker. Return: the completions before it, and late ones that are expected"""
        self.socket.send(self.v2(self.ud(0, MARKER), sport=SPORT + 1))
        marker, found, end = (self.sink.ud[0], MARKER), [], time.monotonic() + 20
        while time.monotonic() < end:
            found += self.sink.completions()
            if marker in found and len(found) > least:
                break
            time.sleep(0.01)
        if marker not in found:
            return None
        found.remove(marker)
        return found

    def refused_since(self, before):
        return {name: value - before[name] for name, value in self.sink.refused().items()
                if value != before[name]}

    def miscounted(self, refused, before):
        """Return: None if the counters are right. They may change later than a completion comes."""
        end = time.monotonic() + 10
        while True:
            counted = self.refused_since(before)
            if refused == counted or isinstance(refused, set) and refused <= set(counted):
                return None
            if time.monotonic() > end:
                return counted

    def judge(self, case, want, refused, before):
        """refused: by how much each counter grows, or a set of counters that grow"""
        found = self.completed(len(want))
        counted = self.miscounted(refused, before)
        if found is None:
            why = "the marker doesn't arrive"
        elif sorted(found, key=str) != sorted(want, key=str):
            why = f"completed: {found}, expected: {want}"
        elif counted is not None:
            why = f"counted: {counted}, expected: {refused}"
        else:
            print(f"ok {case}", flush=True)
            return
        print(f"fail {case} {why}", flush=True)
        self.failed = True

    def expect(self, case, send, frames, want=(), **refused):
        """refused: by how much each counter grows"""
        before = self.sink.refused()
        send(frames)
        self.judge(case, list(want), refused, before)

    # --- cases

    def datagrams(self):
        """A router's GRO merges packets. Each arrives with its data at its queue pair"""
        ud, rc = self.sink.ud, self.sink.rc
        self.expect("one-queue-pair", self.burst, [self.v2(self.ud(0, i)) for i in range(1, 7)],
                    [(ud[0], i) for i in range(1, 7)])
        self.expect("two-queue-pairs", self.burst, [self.v2(self.ud(i % 2, i)) for i in range(1, 7)],
                    [(ud[i % 2], i) for i in range(1, 7)])
        self.expect("last-is-shorter", self.burst,
                    [self.v2(self.ud(0, i, 256 if i < 6 else 100)) for i in range(1, 7)],
                    [(ud[0], i) for i in range(1, 7)])
        self.expect("other-ids", self.burst, self.shuffled([self.v2(self.ud(0, i)) for i in range(1, 7)]),
                    [(ud[0], i) for i in range(1, 7)])
        # Requests and responses of RC, datagrams, an unknown queue pair, an unknown opcode
        bodies = [self.rc_send(1), roce.bth(0x0e, rc, 0x2000) + bytes(264), self.ud(0, 2), self.rc_send(3),
                  roce.bth(0x04, 0xabcdef, 0) + bytes(264), roce.bth(0x3f, rc, 0) + bytes(264),
                  self.rc_send(4), self.ud(1, 5)]
        self.expect("all-kinds", self.burst, [self.v2(b) for b in bodies],
                    [(rc, 1), (ud[0], 2), (rc, 3), (rc, 4), (ud[1], 5)],
                    rx_drop_no_qp=1, rx_drop_malformed=1, rx_drop_psn=1)
        self.expect("connection", self.burst, [self.v2(self.rc_send(i, 256)) for i in range(1, 7)],
                    [(rc, i) for i in range(1, 7)])

    def segmented(self):
        """The same from a process that sends trains"""
        ud, rc = self.sink.ud, self.sink.rc
        self.expect("datagrams", self.segments, [self.ud(i % 2, i) for i in range(1, 7)],
                    [(ud[i % 2], i) for i in range(1, 7)])
        self.expect("connection", self.segments, [self.rc_send(i) for i in range(1, 7)],
                    [(rc, i) for i in range(1, 7)])
        self.expect("all-kinds", self.segments,
                    [self.rc_send(1), roce.bth(0x0e, rc, 0x2000) + bytes(264), self.ud(0, 2), self.rc_send(3),
                     roce.bth(0x04, 0xabcdef, 0) + bytes(264), self.rc_send(4), self.ud(1, 5)],
                    [(rc, 1), (ud[0], 2), (rc, 3), (rc, 4), (ud[1], 5)], rx_drop_no_qp=1, rx_drop_psn=1)
        self.expect("junk", lambda bodies: self.segments(bodies, b"junk"),
                    [self.ud(0, i) for i in range(1, 7)], rx_icrc_encapsulated=6)

    @staticmethod
    def shuffled(frames):
        return frames[::2] + frames[1::2]

    def junk(self):
        """Packets with a wrong ICRC are refused, also if GRO has merged them"""
        self.expect("junk-datagrams", self.burst,
                    [self.v2(self.ud(0, i), icrc=b"junk") for i in range(1, 9)], rx_icrc_encapsulated=8)
        psn = self.psn
        self.expect("junk-connection", self.burst,
                    [self.v2(self.rc_send(i), icrc=b"junk") for i in range(1, 9)], rx_icrc_encapsulated=8)
        self.psn = psn
        self.expect("one-is-junk", self.burst,
                    [self.v2(self.rc_send(i) if i != 3 else self.ud(0, i, 256),
                             icrc=b"junk" if i == 3 else None) for i in range(1, 7)],
                    [(self.sink.rc, i) for i in (1, 2, 4, 5, 6)], rx_icrc_encapsulated=1)

    def policy(self):
        """Packets that the IPsec policy forbids. The marker's source port is exempt"""
        self.expect("clear-text", self.single, [self.v2(self.ud(0, 1)), self.v2(self.rc_send(2))],
                    rx_drop_policy=2)
        self.expect("clear-text-train", self.burst, [self.v2(self.rc_send(i)) for i in range(1, 7)],
                    rx_drop_policy=6)
        self.expect("clear-text-ipv6", self.single, [self.v6(self.ud(0, 1)), self.v6(self.rc_send(2))],
                    rx_drop_policy=2)
        self.expect("clear-text-ipv6-train", self.burst, [self.v6(self.rc_send(i)) for i in range(1, 7)],
                    rx_drop_policy=6)

    def strict(self):
        """Packets with a right ICRC that a receiver must refuse"""
        options, hop_by_hop = b"\x01" * 8, b"\x11\x00\x01\x04\x00\x00\x00\x00"
        for sloppy in (False, True):
            name = "sloppy-" if sloppy else ""
            frames = [self.v2(self.ud(0, i), options=options, sloppy=sloppy) for i in range(1, 5)]
            self.expect(name + "ipv4-options", self.single, frames, rx_drop_malformed=4)
            self.expect(name + "ipv4-options-train", self.burst, frames, rx_drop_malformed=4)
            frames = [self.v6(self.ud(0, i), extension=hop_by_hop, sloppy=sloppy) for i in range(1, 5)]
            self.expect(name + "ipv6-extension", self.single, frames, rx_drop_malformed=4)
            self.expect(name + "ipv6-extension-train", self.burst, frames, rx_drop_malformed=4)
        self.expect("ipv6", self.single, [self.v6(self.ud(0, 1))], [(self.sink.ud[0], 1)])
        self.expect("v1", self.single, [self.v1(self.ud(0, 1))], [(self.sink.ud[0], 1)])
        self.expect("v1-other-gid", self.single, [self.v1(self.ud(0, 1), dst="::ffff:192.0.2.77")],
                    rx_drop_address=1)
        self.expect("v1-gid-of-vlan", self.single, [self.v1(self.ud(0, 1), dst="::ffff:" + self.args.vlan_dst)],
                    rx_drop_address=1)
        for name, mac in (("broadcast", b"\xff" * 6), ("multicast", roce.mac("33:33:00:00:00:01"))):
            self.expect("v1-" + name, self.single, [self.v1(self.ud(0, 1), dst_mac=mac)],
                        rx_drop_address=1)
            frame = self.v2(self.ud(0, 1))
            self.expect("v2-" + name, self.single, [mac + frame[6:]], rx_drop_address=1)
        self.expect("v2-other-address", self.single, [self.v2(self.ud(0, 1), dst=self.args.other_dst)],
                    rx_drop_address=1)
        self.aeths()

    def reassembled(self):
        """Packets that came in fragments are refused, though the ICRC is right. Others are not"""
        ud, rc = self.sink.ud, self.sink.rc
        self.expect("may-fragment", self.single, [self.v2(self.ud(0, i), flags=0) for i in (1, 2)],
                    [(ud[0], 1), (ud[0], 2)])
        frames = [f for i in (3, 4) for f in self.fragments(self.v2(self.ud(0, i), flags=0))]
        self.expect("fragments", self.single, frames, rx_drop_malformed=2)
        psn = self.psn
        self.expect("fragments-connection", self.single,
                    self.fragments(self.v2(self.rc_send(5), flags=0)), rx_drop_malformed=1)
        self.psn = psn
        frames = [f for i in (6, 7) for f in self.fragments6(self.v6(self.ud(0, i)))]
        self.expect("fragments-ipv6", self.single, frames, rx_drop_malformed=2)
        self.expect("whole", self.single, [self.v2(self.rc_send(8)), self.v6(self.ud(0, 9))],
                    [(rc, 8), (ud[0], 9)])

    def elsewhere(self):
        """Packets with the peer's address that come by a netdev without a device"""
        other = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        other.bind((self.args.other_netdev, 0))
        mac = roce.mac(self.args.other_mac)

        def send(frames):
            for frame in frames:
                other.send(mac + frame[6:])
        psn = self.psn
        self.expect("connection", send, [self.v2(self.rc_send(1)), self.v2(self.rc_send(2))],
                    rx_drop_address=2)
        self.psn = psn
        self.expect("datagram", send, [self.v2(self.ud(0, 1))], rx_drop_address=1)
        self.expect("ipv6", send, [self.v6(self.ud(0, 1))], rx_drop_address=1)
        self.own()

    def aeths(self):
        reserved = [t << 5 | 1 for t in (2, 4, 5, 6, 7)] + [0x64, 0x7f]
        self.expect("reserved-aeth", self.single, [self.v2(self.rc_ack(s)) for s in reserved],
                    rx_drop_malformed=len(reserved))

    def vlan(self):
        """The connection's address is that of the real netdev: it refuses packets with a tag"""
        psn = self.psn
        self.expect("v2-other-vlan", self.single, [self.tagged(self.v2(self.rc_send(1)), 5)],
                    rx_drop_address=1)
        self.psn = psn
        self.expect("v2-datagram-other-vlan", self.single, [self.tagged(self.v2(self.ud(0, 1)), 5)],
                    rx_drop_address=1)
        self.own()

    def own(self):
        """Packets for this device, and for no other"""
        self.expect("own-connection", self.single, [self.v2(self.rc_send(2))], [(self.sink.rc, 2)])
        self.expect("own-datagram", self.single, [self.v2(self.ud(0, 3))], [(self.sink.ud[0], 3)])
        self.expect("own-ipv6", self.single, [self.v6(self.ud(0, 4))], [(self.sink.ud[0], 4)])

    def tunnel(self):
        """TCP segments that the GRO of a tun has merged, in a vxlan to port 4791. There is no marker"""
        tun = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH22x", b"tun0", 0x1 | 0x10 | 0x1000))
        subprocess.run("ip link set tun0 up mtu 1400; ip addr add 10.9.0.1/24 dev tun0; "
                       "echo 1000000000 > /sys/class/net/tun0/gro_flush_timeout", shell=True, check=True)
        before, end, seq = self.sink.refused(), time.monotonic() + 60, 1
        while self.refused_since(before).get("rx_drop_malformed", 0) < 5 and time.monotonic() < end:
            for _ in range(200):
                os.write(tun, self.tcp(seq))
                seq += 1000
        self.judge("tcp-in-vxlan", [], {"rx_drop_malformed"}, before)

    def tcp(self, seq):
        tcp = struct.pack(">HHIIBBHHH", 1000, 2000, seq, 1, 0x50, 0x10, 1000, 0, 0)
        src, dst = socket.inet_aton("10.9.0.2"), socket.inet_aton("10.8.0.2")
        data = b"\x64" * 1000
        check = roce.checksum(src + dst + struct.pack(">HH", 6, 20 + len(data)) + tcp + data)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0x4000, 64, 6, 0, src, dst)
        ip = ip[:10] + struct.pack(">H", roce.checksum(ip)) + ip[12:]
        return ip + tcp[:16] + struct.pack(">H", check) + tcp[18:] + data


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("netdev", "src", "dst", "src-mac", "dst-mac", "sink-ns", "sink-dev", "sink-gid"):
        parser.add_argument("--" + name, required=True)
    for name in ("src6", "dst6", "vlan-dst", "other-dst", "other-netdev", "other-mac"):
        parser.add_argument("--" + name)
    parser.add_argument("cases", choices=("datagrams", "segmented", "junk", "policy", "strict", "vlan", "own",
                                          "tunnel", "reassembled", "elsewhere"))
    args = parser.parse_args()
    foreign = Foreign(args)
    getattr(foreign, args.cases)()
    raise SystemExit(foreign.failed)


if __name__ == "__main__":
    main()
