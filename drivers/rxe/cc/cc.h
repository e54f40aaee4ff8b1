/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion control: how much a QP may send. An algorithm is a row of functions, which
 * are told what happened and set the allowance. Pure arithmetic; the caller has the lock
 * and passes the time.
 */
#ifndef RXE_CC_CC_H
#define RXE_CC_CC_H

#include <linux/types.h>

struct rxe_cc;

/**
 * struct rxe_cc_sample - a round trip, as seen by the sender
 * @delivered: packets that were acknowledged in it
 * @rtt: how long it took, ns
 * @rtt_min: the shortest recent round trip, ns
 * @rtt_var: variation of the round trips, ns
 * @limited: the allowance kept packets back
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
 * struct rxe_cc_ops - an algorithm
 * @name: as the administrator chooses it
 * @init: a new connection; @cc is 0 but for its ops
 * @acked: a round trip is over. @una: oldest PSN that isn't acknowledged
 * @lost: a packet got lost. @una: likewise; @top: one after the highest PSN ever sent
 * @timeout: no answer for the QP's timeout. @top: likewise
 * @undo: the packet was late, not lost
 *
 * They are called once for a round trip or a loss. What is asked per packet, the
 * allowance, is a member of struct rxe_cc.
 */
struct rxe_cc_ops {
	const char	*name;
	void		(*init)(struct rxe_cc *cc);
	void		(*acked)(struct rxe_cc *cc, const struct rxe_cc_sample *sample,
				 u32 una);
	void		(*lost)(struct rxe_cc *cc, u32 una, u32 top);
	void		(*timeout)(struct rxe_cc *cc, u32 top);
	void		(*undo)(struct rxe_cc *cc);
};

/**
 * struct rxe_cc - congestion control of a QP
 * @ops: the algorithm
 * @window: allowance: packets that may be in flight, 1 to window_max
 * @queued: the last round trip had a queue in it
 * @before: @window before the last loss
 * @enough: limit up to which @window may double after a loss
 * @recover: PSN behind the packets that were in flight at the last loss
 * @cut: @window was reduced for that loss, and @recover isn't acknowledged yet
 * @restart: that loss was a timeout
 */
struct rxe_cc {
	const struct rxe_cc_ops	*ops;
	u32	window;
	bool	queued;
	u32	before;
	u32	enough;
	u32	recover;
	bool	cut;
	bool	restart;
};

/* window.c */
extern const struct rxe_cc_ops rxe_cc_window;

/**
 * rxe_cc_init - a new connection
 * @cc: its congestion control
 * @ops: the algorithm
 */
static inline void rxe_cc_init(struct rxe_cc *cc, const struct rxe_cc_ops *ops)
{
	*cc = (struct rxe_cc){ .ops = ops };
	ops->init(cc);
}

#endif /* RXE_CC_CC_H */
