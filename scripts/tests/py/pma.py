#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: pma.py DEVICE GID_INDEX GID

Sends MADs to the performance management agent of the port with this GID, as a peer does. Compares
the answers with ports/1/counters and hw_counters. Prints "ok|fail CASE [WHY]".
"""
import pathlib
import struct
import sys
import time

from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SendWR, SGE
import pyverbs.enums as e

GSI_QKEY = 0x80010000
MAD, GRH = 256, 40
GET, SET, ANSWER = 1, 2, 0x81
CLASS_PORT_INFO, PORT_COUNTERS, PORT_COUNTERS_EXT = 1, 0x12, 0x1d
BAD_VERSION, BAD_METHOD, BAD_ATTRIBUTE, BAD_VALUE = 0x4, 0x8, 0xc, 0x1c


class Agent:
    """A UD queue pair that sends MADs to the GSI of a port"""

    def __init__(self, ctx, gid_index, gid):
        self.pd, self.cq, self.tid = PD(ctx), CQ(ctx, 10), 1
        self.mr = MR(self.pd, 2 * MAD + GRH, e.IBV_ACCESS_LOCAL_WRITE)
        init = QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.cq, rcq=self.cq,
                          cap=QPCap(max_send_wr=1, max_recv_wr=1))
        attr = QPAttr()
        attr.qkey = GSI_QKEY
        self.qp = QP(self.pd, init, attr)
        route = GlobalRoute(dgid=GID(gid), sgid_index=gid_index)
        self.ah = AH(self.pd, attr=AHAttr(gr=route, is_global=1, port_num=1))

    def wait(self):
        while True:
            num, wcs = self.cq.poll()
            if num:
                assert wcs[0].status == e.IBV_WC_SUCCESS, wcs[0].status
                return wcs[0]

    def ask(self, attribute, method=GET, port=1, version=1):
        """Return: status and data of the answer"""
        self.tid += 1
        mad = struct.pack(">BBBBHHQHHI", 1, 4, version, method, 0, 0, self.tid, attribute, 0, 0)
        mad = mad.ljust(64, b"\0") + bytes([0, port, 0, 0])
        self.mr.write(mad.ljust(MAD, b"\0"), MAD)
        here = SGE(self.mr.buf + MAD, MAD + GRH, self.mr.lkey)
        self.qp.post_recv(RecvWR(num_sge=1, sg=[here]))
        wr = SendWR(num_sge=1, sg=[SGE(self.mr.buf, MAD, self.mr.lkey)])
        wr.set_wr_ud(self.ah, 1, GSI_QKEY)
        self.qp.post_send(wr)
        self.wait(), self.wait()
        answer = self.mr.read(MAD, MAD + GRH)
        _, _, _, method, status, _, tid = struct.unpack(">BBBBHHQ", answer[:16])
        assert (method, tid) == (ANSWER, self.tid), (method, tid)
        return status, answer[64:]


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"{what} is {got}, expected {want}")


def expect_among(what, got, wants):
    if got not in wants:
        raise AssertionError(f"{what} is {got}, expected one of {wants}")


class Cases:
    def __init__(self, dev, agent):
        self.port = pathlib.Path("/sys/class/infiniband", dev, "ports/1")
        self.agent = agent
        self.failed = False

    def count(self, name):
        return int((self.port / name).read_text())

    def class_port_info(self):
        status, data = self.agent.ask(CLASS_PORT_INFO)
        expect("status", status, 0)
        base, version, caps = struct.unpack(">BBH", data[:4])
        expect("versions", (base, version), (1, 1))
        expect("capability mask", caps & 0x300, 0x300)

    def settled(self, what):
        """Return: the counter, once received packets also count as sent, which the sender does last"""
        end = time.monotonic() + 5
        while self.count(f"counters/port_xmit_{what}") != self.count(f"counters/port_rcv_{what}"):
            if time.monotonic() > end:
                raise AssertionError(f"sent and received {what} differ")
        return self.count(f"counters/port_rcv_{what}")

    def short(self):
        before = self.settled("packets")
        status, data = self.agent.ask(PORT_COUNTERS)
        expect("status", status, 0)
        expect("port", data[1], 1)
        sent, rcvd = struct.unpack(">II", data[32:40])
        expect("received packets", rcvd, before + 1)
        # The request may arrive before its sender counts it
        expect_among("sent packets", sent, (before, before + 1))
        expect("packets afterwards", self.settled("packets"), before + 2)

    def extended(self):
        before = self.settled("data")
        status, data = self.agent.ask(PORT_COUNTERS_EXT, port=0xff)
        expect("status", status, 0)
        words = (12 + 8 + MAD + 4) // 4     # BTH, DETH, ICRC
        sent, rcvd = struct.unpack(">QQ", data[8:24])
        expect("received words", rcvd, before + words)
        expect_among("sent words", sent, (before, before + words))
        expect("words afterwards", self.settled("data"), before + 2 * words)
        xmit, rcv, uni_xmit, uni_rcv, multi_xmit, multi_rcv = struct.unpack(">6Q", data[24:72])
        expect("sum of sent packets", uni_xmit + multi_xmit, xmit)
        expect("sum of received packets", uni_rcv + multi_rcv, rcv)

    def sysfs(self):
        for name, counter, unit in (("port_xmit_packets", "sent_pkts", 1),
                                    ("port_rcv_packets", "rcvd_pkts", 1),
                                    ("port_xmit_data", "sent_bytes", 4),
                                    ("port_rcv_data", "rcvd_bytes", 4),
                                    ("link_downed", "link_downed", 1),
                                    ("multicast_xmit_packets", "multicast_xmit_packets", 1),
                                    ("multicast_rcv_packets", "multicast_rcv_packets", 1)):
            want = self.count(f"counters/{name}")
            end = time.monotonic() + 5  # the RDMA core keeps hw_counters for a moment
            while self.count(f"hw_counters/{counter}") // unit != want and time.monotonic() < end:
                pass
            expect(name, want, self.count(f"hw_counters/{counter}") // unit)

    def refused(self):
        expect("another port", self.agent.ask(PORT_COUNTERS, port=2)[0], BAD_VALUE)
        expect("another attribute", self.agent.ask(0x10)[0], BAD_ATTRIBUTE)
        expect("a reset", self.agent.ask(PORT_COUNTERS, method=SET)[0], BAD_METHOD)
        expect("another version", self.agent.ask(PORT_COUNTERS, version=2)[0], BAD_VERSION)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    dev, gid_index, gid = sys.argv[1:]
    with Context(name=dev) as ctx:
        cases = Cases(dev, Agent(ctx, int(gid_index), gid))
        for name in ("class_port_info", "short", "extended", "sysfs", "refused"):
            try:
                getattr(cases, name)()
                print("ok", name, flush=True)
            except AssertionError as why:
                cases.failed = True
                print("fail", name, why, flush=True)
        sys.exit(cases.failed)


if __name__ == "__main__":
    main()
