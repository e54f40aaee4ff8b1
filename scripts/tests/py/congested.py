#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: congested.py FILE RATE [--show]

Judges a run of congested.sh through a bottleneck of RATE Mb/s.  Prints

	QUEUE STEADY DROPS MARKS USED JAIN

QUEUE is the longest queue in KB.  A steady time begins 2 s after a flow has begun or ended, and ends
when the next flow begins or ends.  STEADY is the longest queue in steady times, in KB.  USED is the
part of the rate that was used, in per cent.  JAIN is the lowest value of Jain's index of the flows'
bytes.  --show prints the run over time instead."""

import sys

SETTLE = 2000       # ms after a flow's start or end


class Run:
    """The events of a run; times are in ms since the start"""

    def __init__(self, lines):
        self.queue, self.flows, self.spans, self.counters = [], {}, {}, {}
        start = 0
        for line in lines:
            word, *rest = line.split()
            if word == "start":
                start, self.ms = int(rest[0]), int(rest[1])
            elif word == "queue":
                at, *values = map(int, rest)
                self.queue.append((at - start, *values))
            elif word == "flow" and rest[3] == "at":
                n, begin, end = map(int, rest[:3])
                self.spans[n] = begin, end
                self.flows.setdefault(n, []).append((int(rest[4]) - start, int(rest[5])))
            elif word == "counter":
                device, name, value = rest
                self.counters[name] = self.counters.get(name, 0) + int(value)

    def moved(self, n, begin, end):
        """Return: bytes that a flow has moved between two times, interpolated"""
        return self._until(n, end) - self._until(n, begin)

    def _until(self, n, at):
        points = self.flows[n]
        for (t0, b0), (t1, b1) in zip(points, points[1:]):
            if t0 <= at <= t1:
                return b0 + (b1 - b0) * (at - t0) / max(t1 - t0, 1)
        return points[-1][1] if at > points[-1][0] else points[0][1]

    def used(self, begin, end, rate):
        """Return: the used part of the rate (Mb/s) between two times, in per cent"""
        inside = [q for q in self.queue if begin <= q[0] <= end]
        return (inside[-1][3] - inside[0][3]) * 8 / 1e3 / (inside[-1][0] - inside[0][0]) / rate * 100

    def grown(self, column):
        return self.queue[-1][column] - self.queue[0][column]

    def steady(self):
        """Yield (begin, end, flows) of each steady time"""
        changes = sorted({t for span in self.spans.values() for t in span} | {self.ms})
        for begin, end in zip(changes, changes[1:]):
            active = [n for n, (a, b) in self.spans.items() if a <= begin and b >= end]
            if end - begin > SETTLE and active:
                yield begin + SETTLE, end - 50, active


def jain(values):
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / squares / len(values) if squares else 0


def judge(run, rate):
    """Return: (QUEUE, STEADY, DROPS, MARKS, USED, JAIN)"""
    queue, used, time, jains = [0], 0, 0, [1]
    for begin, end, active in run.steady():
        queue += [q[1] / 1e3 for q in run.queue if begin <= q[0] <= end]
        used += run.used(begin, end, rate) * (end - begin)
        time += end - begin
        jains.append(jain([run.moved(n, begin, end) for n in active]))
    return max(q[1] for q in run.queue) / 1e3, max(queue), run.grown(4), run.grown(5), used / max(time, 1), min(jains)


def show(run, rate, step=500):
    for begin in range(0, run.ms, step):
        end = begin + step
        queue = [q[1] / 1e3 for q in run.queue if begin <= q[0] < end]
        marks = [q[5] for q in run.queue if begin <= q[0] <= end]
        flows = " ".join(f"{run.moved(n, begin, end) * 8 / 1e3 / step:6.1f}" for n in sorted(run.flows))
        print(f"# {begin:6} used {run.used(begin, end, rate):5.1f} queue {sum(queue) / len(queue):7.1f} "
              f"({min(queue):.0f}-{max(queue):.0f}) marks {marks[-1] - marks[0]:5} Mb/s {flows}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        run = Run(file)
    rate = float(sys.argv[2])
    if "--show" in sys.argv:
        show(run, rate)
    else:
        print("%.1f %.1f %d %d %.1f %.3f" % judge(run, rate))


if __name__ == "__main__":
    main()
