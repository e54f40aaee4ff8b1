// SPDX-License-Identifier: GPL-2.0
/*
 * Round trips, smoothed as TCP does (RFC 6298), with the shortest and the longest recent
 * one. The shortest is that of the path without queues. The longest shows how long a
 * stall, here or at the peer, may take.
 *
 * Pure; any context.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <loss/rtt.h>
#include <rxe/knobs.h>

static void smooth_rtt(struct rxe_rtt *rtt, s64 ns)
{
	s64 err = ns - (s64)rtt->smooth;

	if (!rtt->smooth) {
		rtt->smooth = ns;
		rtt->var = ns / 2;
		return;
	}
	rtt->var += ((err < 0 ? -err : err) - (s64)rtt->var) / 4;
	rtt->smooth += err / 8;
}

static bool is_forgotten(u64 at, u64 now)
{
	return now > at + rxe_knob(loss_memory_ns);
}

/* The longest round trip since @max_at, if it is recent */
static u64 get_next_longest(const struct rxe_rtt *rtt, u64 now)
{
	return is_forgotten(rtt->max_at + rxe_knob(loss_memory_ns), now) ? 0 : rtt->next;
}

/**
 * rxe_rtt_add - add a measured round trip
 * @rtt: round trips of the path
 * @ns: duration, at least 1
 * @now: the time
 */
void rxe_rtt_add(struct rxe_rtt *rtt, u64 ns, u64 now)
{
	smooth_rtt(rtt, ns);
	if (!rtt->min || ns <= rtt->min || is_forgotten(rtt->min_at, now)) {
		rtt->min = ns;
		rtt->min_at = now;
	}
	rxe_rtt_stall(rtt, ns, now);
}

/**
 * rxe_rtt_stall - note that an answer was late, and wasn't lost
 * @rtt: round trips of the path
 * @ns: duration, a lower bound of a round trip
 * @now: the time
 */
void rxe_rtt_stall(struct rxe_rtt *rtt, u64 ns, u64 now)
{
	rtt->next = max(get_next_longest(rtt, now), ns);
	if (ns >= rtt->max || is_forgotten(rtt->max_at, now)) {
		rtt->max = rtt->next;
		rtt->max_at = now;
		rtt->next = 0;
	}
}

/**
 * rxe_rtt_longest - the longest recent round trip
 * @rtt: round trips of the path
 * @now: the time
 *
 * Return: nanoseconds; 0: none is recent.
 */
u64 rxe_rtt_longest(const struct rxe_rtt *rtt, u64 now)
{
	return is_forgotten(rtt->max_at, now) ? get_next_longest(rtt, now) : rtt->max;
}

/**
 * rxe_rtt_most - the longest likely time to an answer, as RTO of RFC 6298
 * @rtt: round trips of the path
 *
 * A virtual machine may have been stopped for hours during a round trip.
 *
 * Return: nanoseconds, up to rto_max_ns; a guess while nothing was measured.
 */
u64 rxe_rtt_most(const struct rxe_rtt *rtt)
{
	u64 most = rtt->smooth ? rtt->smooth + 4 * rtt->var : rxe_knob(rtt_guess_ns);

	return min(most, rxe_knob(rto_max_ns));
}
