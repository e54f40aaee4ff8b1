#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: pmem.py DAX_FILE DEVICE GID_INDEX DEVICE2 GID_INDEX2 [CASE...]

DEVICE flushes persistent memory that DEVICE2, which may be the same, has registered.  Traces the
kernel's function that writes caches back: it must write back the bytes of the FLUSH.
Prints a line for each case: "ok NAME" or "fail NAME WHY".
"""
import ctypes
import errno
import mmap
import os
import re
import sys
from pathlib import Path

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr, QPCap, QPEx, QPInitAttrEx
from pyverbs.wr import SGE

TRACE = Path("/sys/kernel/tracing")
SIZE = 8 << 20      # of the persistent region; a FLUSH of it takes several runs
STEP = 1 << 20      # constant PERSIST_STEP of the driver
ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_FLUSH_GLOBAL)
PERSISTENT = e.IBV_ACCESS_FLUSH_PERSISTENT
PSN = 7
BATCHES, DEPTH = 16, 8      # flush_all_kinds(): WRITEs with a FLUSH each
WRITE = 3000                # bytes of each: three packets


class WriteBacks:
    """Lengths of what the kernel writes back while the block runs"""

    def __enter__(self):
        (TRACE / "events/kprobes/pmem/enable").write_text("1")
        (TRACE / "trace").write_text("")
        self.lengths = []
        return self.lengths

    def __exit__(self, *_):
        (TRACE / "events/kprobes/pmem/enable").write_text("0")
        self.lengths += [int(n) for n in re.findall(r"pmem: .* len=(\d+)",
                                                    (TRACE / "trace").read_text())]


class Side:
    """An end: device, protection domain, queue pair and its completion queue"""

    def __init__(self, device, gid_index):
        self.ctx, self.gid_index = Context(name=device), gid_index
        self.pd, self.cq = PD(self.ctx), CQ(self.ctx, 2 * DEPTH)
        cap = QPCap(max_send_wr=2 * DEPTH, max_recv_wr=1)
        ops = e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_FLUSH
        self.qp = QPEx(self.ctx, QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                                              cap=cap, pd=self.pd, send_ops_flags=ops,
                                              sq_sig_all=1, comp_mask=e.IBV_QP_INIT_ATTR_PD |
                                              e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))

    def connect(self, peer):
        gid = peer.ctx.query_gid(1, peer.gid_index)
        gr = GlobalRoute(dgid=gid, sgid_index=self.gid_index)
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = ACCESS | PERSISTENT
        attr.dest_qp_num = peer.qp.qp_num
        attr.path_mtu = e.IBV_MTU_1024
        attr.rq_psn = attr.sq_psn = PSN
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 16, 7, 7
        attr.ah_attr = AHAttr(gr=gr, is_global=1, port_num=1)
        self.qp.to_rts(attr)

    def completes(self):
        """Return: status of the next completion"""
        while True:
            count, wcs = self.cq.poll(1)
            if count:
                return wcs[0].status

    def post_write(self, local, remote, offset, length, start=0):
        self.qp.wr_start()
        self.qp.wr_rdma_write(remote.rkey, remote.buf + offset)
        self.qp.wr_set_sge(SGE(local.buf + start, length, local.lkey))
        self.qp.wr_complete()

    def post_flush(self, remote, offset, length, kind, level):
        self.qp.wr_start()
        self.qp.wr_flush(remote.rkey, remote.buf + offset, length, kind, level)
        self.qp.wr_complete()

    def write(self, *args):
        self.post_write(*args)
        return self.completes()

    def flush(self, *args):
        self.post_flush(*args)
        return self.completes()

    def close(self):
        for o in (self.qp, self.cq, self.pd, self.ctx):
            o.close()


class Case:
    """Both ends, connected, and the mapped file"""

    def __init__(self, dax, *places):
        self.file = os.open(dax, os.O_RDWR)
        self.map = mmap.mmap(self.file, SIZE)
        self.addr = address(self.map)
        self.a, self.b = (Side(places[i], int(places[i + 1])) for i in (0, 2))
        self.a.connect(self.b)
        self.b.connect(self.a)

    def source(self, length):
        return MR(self.a.pd, length, ACCESS)

    def region(self, access=ACCESS | PERSISTENT):
        return MR(self.b.pd, SIZE, access, address=self.addr)

    def close(self):
        self.a.close()
        self.b.close()
        os.close(self.file)


def address(buf):
    return ctypes.addressof(ctypes.c_char.from_buffer(buf))


def expect(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: {got}, expected {wanted}")


def refused(code, *args, **kwargs):
    try:
        MR(*args, **kwargs).close()
    except PyverbsRDMAError as err:
        expect("errno", err.error_code, code)
    else:
        raise AssertionError("the region was registered")


def ram_refused(c):
    refused(errno.EINVAL, c.b.pd, 4096, ACCESS | PERSISTENT)


def on_demand_refused(c):
    refused(errno.EOPNOTSUPP, c.b.pd, SIZE, ACCESS | PERSISTENT | e.IBV_ACCESS_ON_DEMAND,
            address=c.addr)


def flush_range(c):
    """A FLUSH writes back exactly the range, after the WRITEs before it"""
    source, mr = c.source(8192), c.region()
    c.map[3999:9001] = bytes(5002)
    source.write(b"p" * 8192, 8192)
    with WriteBacks() as lengths:
        expect("write", c.a.write(source, mr, 4000, 5000), 0)
        expect("flush", c.a.flush(mr, 4000, 5000, e.IBV_FLUSH_PERSISTENT, e.IBV_FLUSH_RANGE), 0)
    expect("written back", sum(lengths), 5000)
    expect("data", c.map[3999:9001], b"\0" + b"p" * 5000 + b"\0")


def flush_region(c):
    """A FLUSH of all of the region writes it back in steps"""
    mr = c.region()
    with WriteBacks() as lengths:
        expect("flush", c.a.flush(mr, 0, 0, e.IBV_FLUSH_PERSISTENT | e.IBV_FLUSH_GLOBAL,
                                  e.IBV_FLUSH_MR), 0)
    expect("written back", sum(lengths), SIZE)
    if max(lengths) > STEP:
        raise AssertionError(f"{max(lengths)} bytes at once")


def flush_global(c):
    """Nothing is written back"""
    mr = c.region()
    with WriteBacks() as lengths:
        expect("flush", c.a.flush(mr, 0, SIZE, e.IBV_FLUSH_GLOBAL, e.IBV_FLUSH_RANGE), 0)
    expect("written back", lengths, [])


def no_right(c):
    mr = c.region(ACCESS)
    with WriteBacks() as lengths:
        expect("flush", c.a.flush(mr, 0, 64, e.IBV_FLUSH_PERSISTENT, e.IBV_FLUSH_RANGE),
               e.IBV_WC_REM_ACCESS_ERR)
    expect("written back", lengths, [])


def beyond(c):
    mr = c.region()
    expect("flush", c.a.flush(mr, SIZE - 64, 65, e.IBV_FLUSH_PERSISTENT, e.IBV_FLUSH_RANGE),
           e.IBV_WC_REM_ACCESS_ERR)


def all_kinds():
    """Yield (kind, level): each kind of FLUSH, of a range and now and then of all the region"""
    kinds = (e.IBV_FLUSH_PERSISTENT, e.IBV_FLUSH_GLOBAL,
             e.IBV_FLUSH_PERSISTENT | e.IBV_FLUSH_GLOBAL)
    for n in range(BATCHES * DEPTH):
        yield kinds[n % 3], e.IBV_FLUSH_MR if n % 7 == 0 else e.IBV_FLUSH_RANGE


def post_batch(c, source, mr, batch, kinds):
    """Post WRITEs with a FLUSH each.  Return: the bytes that must be written back"""
    persist = 0
    for i in range(DEPTH):
        kind, level = next(kinds)
        offset = (batch * DEPTH + i) * WRITE
        c.a.post_write(source, mr, offset, WRITE, i * WRITE)
        c.a.post_flush(mr, offset, WRITE, kind, level)
        if kind & e.IBV_FLUSH_PERSISTENT:
            persist += SIZE if level == e.IBV_FLUSH_MR else WRITE
    return persist


def flush_all_kinds(c):
    """Several at a time.  Each is executed once, even if it is sent again because a packet got lost"""
    source, mr, kinds, asked = c.source(DEPTH * WRITE), c.region(), all_kinds(), 0
    with WriteBacks() as lengths:
        for batch in range(BATCHES):
            data, start = os.urandom(DEPTH * WRITE), batch * DEPTH * WRITE
            source.write(data, len(data))
            asked += post_batch(c, source, mr, batch, kinds)
            for _ in range(2 * DEPTH):
                expect("completion", c.a.completes(), 0)
            expect("data is right", c.map[start:start + len(data)] == data, True)
    expect("written back", sum(lengths), asked)


CASES = (ram_refused, on_demand_refused, flush_range, flush_region, flush_global, no_right,
         beyond, flush_all_kinds)


def run_case(case, name, places):
    """Return: true if it failed"""
    c = Case(*places)
    why = None
    try:
        case(c)
    except (AssertionError, PyverbsRDMAError) as err:
        why = err
    print(f"fail {name} {why}" if why else f"ok {name}", flush=True)
    c.close()
    return why is not None


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    failed = 0
    (TRACE / "kprobe_events").write_text("p:pmem arch_wb_cache_pmem len=%si:u64\n")
    for case in CASES:
        name = case.__name__.replace("_", "-")
        if name in (sys.argv[6:] or [name]):
            failed |= run_case(case, name, sys.argv[1:6])
    (TRACE / "kprobe_events").write_text("")
    sys.exit(failed)


if __name__ == "__main__":
    main()
