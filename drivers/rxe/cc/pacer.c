// SPDX-License-Identifier: GPL-2.0
/*
 * The pacer: turns a rate in bytes per second into the times at which trains may leave.
 *
 * Theory. A train takes the time bytes / rate. The next train leaves when this time has passed.
 * A slow flow should not send bursts: a train has at most the bytes that the rate allows in
 * pace_ns. Exception: the caller may always send one packet.
 *
 *   room = rate * pace_ns
 *   next = max(next, now - pace_late_ns) + bytes / rate
 *
 * Timers fire late. A flow may send what it couldn't send in the meantime, but no more than the
 * rate allows in pace_late_ns.
 *
 * Context: as struct rxe_cc_ops.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <cc/cc.h>
#include <rxe/knobs.h>

/**
 * rxe_pacer_room - how many bytes may leave now?
 * @cc: congestion control whose rate is limited
 * @now: the time, ns
 *
 * Return: 1 to RXE_TRAIN_BYTES; a single packet may be larger. 0: nothing until @cc->next.
 */
u32 rxe_pacer_room(const struct rxe_cc *cc, u64 now)
{
	u64 room;

	if (now < cc->next)
		return 0;
	room = mul_u64_u64_div_u64(cc->rate, rxe_knob(pace_ns), NSEC_PER_SEC);
	return clamp(room, 1ULL, (u64)RXE_TRAIN_BYTES);
}

/**
 * rxe_pacer_sent - account for a train that leaves
 * @cc: congestion control whose rate is limited
 * @bytes: bytes of the train
 * @now: the time, ns
 */
void rxe_pacer_sent(struct rxe_cc *cc, u32 bytes, u64 now)
{
	u64 late = rxe_knob(pace_late_ns);
	u64 from = max(cc->next, now > late ? now - late : 0);

	/* First, since the rate may have risen, or its limit may have ended, during a pause */
	if (cc->ops->sent)
		cc->ops->sent(cc, bytes, now);
	if (cc->rate)
		cc->next = from + div64_u64((u64)bytes * NSEC_PER_SEC, cc->rate);
}
