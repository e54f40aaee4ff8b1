#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: dcqcn_model.py > kunit/cc/dcqcn_vectors.h

A model of DCQCN's reaction point in real numbers, written from the paper (Zhu et al., SIGCOMM 2015,
section 5 and figure 7). Prints two hundred events and the state of the model after each. The unit
test of cc/dcqcn.c plays the same events. Rates are in bytes per second, times in ns.
"""
import sys

MBIT = 1e6 / 8
US = 1000

# Parameters under mlx5's names, with values like the paper's, and with mlx5's own values
PARAMS = {
    "paper": dict(time_reset=1500, byte_reset=150000, threshold=5, ai_rate=5, hai_rate=50,
                  dce_tcp_g=1019, dce_tcp_rtt=55, rate_reduce_monitor_period=50,
                  clamp_tgt_rate=1),
    "mlx5": dict(time_reset=300, byte_reset=32767, threshold=1, ai_rate=5, hai_rate=50,
                 dce_tcp_g=1019, dce_tcp_rtt=1, rate_reduce_monitor_period=4,
                 clamp_tgt_rate=0),
}
LINE = 40000 * MBIT
LEAST = 1 * MBIT


class ReactionPoint:
    """One flow; unlimited until the first CNP"""

    def __init__(self, params, rate):
        self.p, self.first = params, rate
        self.rate = self.target = 0.0
        self.limited = False
        self.alpha = 1023 / 1024
        self.bc = self.t = 0
        self.sent = 0

    def g(self):
        return 1 - self.p["dce_tcp_g"] / 1024

    def cnp(self, now):
        if not self.limited:
            self.limited = True
            self.rate = self.target = self.first
        elif now - self.cut < self.p["rate_reduce_monitor_period"] * US:
            return
        else:
            self.timers(now)
        if self.p["clamp_tgt_rate"] or self.bc or self.t:
            self.target = self.rate
        # The rate decreases by alpha / 2, by a half at most, and not below the least rate
        self.rate = max(self.rate * (1 - min(self.alpha / 2, .5)), LEAST)
        self.alpha = (1 - self.g()) * self.alpha + self.g()
        self.bc = self.t = self.sent = 0
        self.cut = now
        self.next_t = now + self.p["time_reset"] * US
        self.next_alpha = now + self.p["dce_tcp_rtt"] * US

    def timers(self, now):
        while min(self.next_t, self.next_alpha) <= now:
            if self.next_alpha <= self.next_t:
                self.alpha *= 1 - self.g()
                self.next_alpha += self.p["dce_tcp_rtt"] * US
            else:
                self.t += 1
                self.increase()
                self.next_t += self.p["time_reset"] * US

    def increase(self):
        f = self.p["threshold"]
        if max(self.bc, self.t) < f:
            pass                                        # fast recovery
        elif min(self.bc, self.t) <= f:
            self.target += self.p["ai_rate"] * MBIT     # additive
        else:
            self.target += self.p["hai_rate"] * MBIT * (min(self.bc, self.t) - f + 1)
        self.target = min(self.target, LINE)
        self.rate = (self.rate + self.target) / 2

    def send(self, count, now):
        self.timers(now)
        self.sent += count
        while self.sent >= self.p["byte_reset"]:
            self.sent -= self.p["byte_reset"]
            self.bc += 1
            self.increase()


def numbers(seed):
    while True:     # Knuth's MMIX generator, so that no library's change matters
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        yield seed >> 33


def play(name, rate, steps):
    """Bursts of CNPs, with quiet times in between"""
    rp, rnd, now, rows = ReactionPoint(PARAMS[name], rate), numbers(len(name)), 10 ** 9, []
    busy = 4
    for i in range(steps):
        if i == 0 or (busy and next(rnd) % 3 == 0):
            op, count = "CNP", 0
            rp.cnp(now)
            busy -= 1 if busy else 0
        else:
            op, count = "SENT", next(rnd) % 65536 + 1
            rp.send(count, now)
            busy = 4 if not busy and next(rnd) % 24 == 0 else busy
        rows.append("\t{ %s, %d, %d, %d, %d, %d, %d, %d },"
                    % (op, now, count, rp.rate, rp.target, rp.alpha * 2 ** 20, rp.bc, rp.t))
        # A step has no more of mlx5's microsecond periods than the driver makes up for
        now += min(int((count or 1000) * 1e9 / rp.rate), 200 * US) + next(rnd) % 40000
    return rows


def main():
    print("/* SPDX-License-Identifier: GPL-2.0 */")
    print("/* Made by scripts/tests/py/dcqcn_model.py: what a reaction point does, step by step */")
    for name, rate in (("paper", 1000 * MBIT), ("mlx5", 10000 * MBIT)):
        print("\nstatic const struct step %s_steps[] = {" % name)
        print("\n".join(play(name, rate, 100)))
        print("};")


if __name__ == "__main__":
    sys.exit(main())
