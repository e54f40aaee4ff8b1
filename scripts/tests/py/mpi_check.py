#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: mpi_check.py

Two ranks of MPI compare what they receive from each other.  Rank 0 prints a line per case."""
import random
import sys

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, PEER = WORLD.rank, 1 - WORLD.rank


def pattern(size, seed):
    return random.Random(seed).randbytes(size)


def there_and_back():
    """Rank 1 sends back what it receives."""
    for size in (0, 1, 100, 4096, 20000, 300000, 1 << 20):
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
    """Messages are received in another order than they are sent."""
    count, size = 40, 9000
    got = [bytearray(size) for _ in range(count)]
    receives = [WORLD.Irecv([got[i], MPI.BYTE], PEER, tag=i) for i in reversed(range(count))]
    sends = [WORLD.Isend([pattern(size, 2 * i + RANK), MPI.BYTE], PEER, tag=i) for i in range(count)]
    MPI.Request.Waitall(receives + sends)
    bad = [i for i in range(count) if got[i] != pattern(size, 2 * i + PEER)]
    return f"messages {bad} differ" if bad else ""


def total():
    return "" if WORLD.allreduce(RANK + 1) == 3 else "the sum of all ranks is wrong"


def main():
    if WORLD.size != 2:
        sys.exit(__doc__)
    for case in (there_and_back, many_at_once, total):
        why = [why for why in WORLD.allgather(case()) if why]
        if RANK == 0:
            name = case.__name__.replace("_", "-")
            print(f"fail {name} {why[0]}" if why else f"ok {name}", flush=True)


main()
