#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: many_qps.py DEVICE COUNT: make so many queue pairs and regions, and exit"""
import sys

from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr
import pyverbs.enums as e

with Context(name=sys.argv[1]) as ctx, PD(ctx) as pd, CQ(ctx, 10) as cq:
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap())
    objects = []
    for i in range(int(sys.argv[2])):
        objects += [QP(pd, init), MR(pd, 64, e.IBV_ACCESS_LOCAL_WRITE)]
    for o in objects:
        o.close()
