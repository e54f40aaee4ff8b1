/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion control: how many packets may be in flight per QP. Pure arithmetic; the
 * caller has the lock and reports what happened.
 */
#ifndef RXE_CC_WINDOW_H
#define RXE_CC_WINDOW_H

#include <linux/types.h>

/**
 * struct rxe_cc_sample - a round trip, as seen by the sender
 * @delivered: packets that were acknowledged in it
 * @rtt: how long it took, ns
 * @rtt_min: the shortest recent round trip, ns
 * @rtt_var: variation of the round trips, ns
 * @limited: the window kept packets back
 * @lossy: packets were lost recently
 */
struct rxe_cc_sample {
	u32	delivered;
	u64	rtt;
	u64	rtt_min;
	u64	rtt_var;
	bool	limited;
	bool	lossy;
};

/**
 * struct rxe_cc - congestion control of a QP
 * @window: packets that may be in flight, 1 to window_max
 * @queued: the last round trip had a queue in it
 * @before: @window before the last loss
 * @enough: limit up to which @window may double after a loss
 * @recover: PSN behind the packets that were in flight at the last loss
 * @cut: @window was reduced for that loss, and @recover isn't acknowledged yet
 * @restart: that loss was a timeout
 */
struct rxe_cc {
	u32	window;
	bool	queued;
	u32	before;
	u32	enough;
	u32	recover;
	bool	cut;
	bool	restart;
};

void rxe_cc_init(struct rxe_cc *cc);
void rxe_cc_acked(struct rxe_cc *cc, const struct rxe_cc_sample *sample,
		  u32 una);
void rxe_cc_lost(struct rxe_cc *cc, u32 una, u32 top);
void rxe_cc_timeout(struct rxe_cc *cc, u32 top);
void rxe_cc_undo(struct rxe_cc *cc);

#endif /* RXE_CC_WINDOW_H */
