#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Two ranks of MPI, and what one gets of the other: messages of many sizes there and back,
many at once, puts and gets in a window, a sum.  Rank 0 prints the results."""
import random
import sys

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, PEER = WORLD.rank, 1 - WORLD.rank
SIZES = (0, 1, 100, 4096, 20000, 300000, 1 << 20)


def pattern(size, seed):
    return random.Random(seed).randbytes(size)


def there_and_back():
    for size in SIZES:
        got = bytearray(size)
        if RANK == 0:
            WORLD.Send([pattern(size, size), MPI.BYTE], PEER)
            WORLD.Recv([got, MPI.BYTE], PEER)
            if got != pattern(size, size):
                return f"{size} bytes came back changed"
        else:
            WORLD.Recv([got, MPI.BYTE], PEER)
            WORLD.Send([got, MPI.BYTE], PEER)
    return ""


def many_at_once():
    """Received in another order than they are sent"""
    count, size = 40, 9000
    got = [bytearray(size) for _ in range(count)]
    receives = [WORLD.Irecv([got[i], MPI.BYTE], PEER, tag=i) for i in reversed(range(count))]
    sends = [WORLD.Isend([pattern(size, 2 * i + RANK), MPI.BYTE], PEER, tag=i) for i in range(count)]
    MPI.Request.Waitall(receives + sends)
    bad = [i for i in range(count) if got[i] != pattern(size, 2 * i + PEER)]
    return f"messages {bad} differ" if bad else ""


def window():
    size = 50000
    mine = bytearray(2 * size + 8)
    mine[:size] = pattern(size, RANK)
    win = MPI.Win.Create(mine, 1, comm=WORLD)
    got, one = bytearray(size), (1).to_bytes(8, "little")
    win.Fence()
    win.Get([got, MPI.BYTE], PEER, target=(0, size))
    win.Put([pattern(size, 10 + RANK), MPI.BYTE], PEER, target=(size, size))
    win.Accumulate([one, MPI.INT64_T], 0, target=(2 * size, 1, MPI.INT64_T), op=MPI.SUM)
    win.Fence()
    why = ""
    if got != pattern(size, PEER):
        why = "what was got differs"
    elif mine[size:2 * size] != pattern(size, 10 + PEER):
        why = "what was put differs"
    elif RANK == 0 and int.from_bytes(mine[2 * size:], "little") != 2:
        why = "the sum in the window is wrong"
    win.Free()
    return why


def total():
    return "" if WORLD.allreduce(RANK + 1) == 3 else "the sum of all ranks is wrong"


def main():
    if WORLD.size != 2:
        sys.exit("needs two ranks")
    for case in (there_and_back, many_at_once, window, total):
        why = [why for why in WORLD.allgather(case()) if why]
        if RANK == 0:
            name = case.__name__.replace("_", "-")
            print(f"fail {name} {why[0]}" if why else f"ok {name}", flush=True)


main()
