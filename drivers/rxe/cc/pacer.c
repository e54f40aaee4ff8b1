// SPDX-License-Identifier: GPL-2.0
/*
 * The pacer: a rate in bytes per second becomes the times at which trains may leave.
 *
 *   room = rate * pace_ns		bytes of one train, so that a slow flow sends no bursts;
 *					the caller sends at least one packet
 *   next = max(next, now - pace_late_ns) + bytes / rate
 *
 * Timers are late. What a flow couldn't send meanwhile, it may send soon after, but no more
 * than pace_late_ns are worth.
 *
 * Pure; any context.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <cc/cc.h>
#include <rxe/knobs.h>

/**
 * rxe_pacer_room - how much may leave now?
 * @cc: congestion control, its rate is limited
 * @now: the time, ns
 *
 * Return: bytes, or one packet if that is more; 0: wait until @cc->next.
 */
u32 rxe_pacer_room(const struct rxe_cc *cc, u64 now)
{
	u64 room;

	if (now < cc->next)
		return 0;
	room = mul_u64_u64_div_u64(cc->rate, rxe_knob(pace_ns), NSEC_PER_SEC);
	return clamp_t(u64, room, 1, RXE_TRAIN_BYTES);
}

/**
 * rxe_pacer_sent - a train leaves
 * @cc: congestion control, its rate is limited
 * @bytes: of the train
 * @now: the time, ns
 */
void rxe_pacer_sent(struct rxe_cc *cc, u32 bytes, u64 now)
{
	u64 late = rxe_knob(pace_late_ns);
	u64 from = max(cc->next, now > late ? now - late : 0);

	cc->next = from + div64_u64((u64)bytes * NSEC_PER_SEC, cc->rate);
	if (cc->ops->sent)
		cc->ops->sent(cc, bytes, now);
}
