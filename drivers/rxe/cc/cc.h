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
 * @mtu: bytes of a full packet
 * @limited: the allowance kept packets back
 * @lossy: packets were lost recently
 */
struct rxe_cc_sample {
	u32	delivered;
	u64	rtt;
	u64	rtt_min;
	u64	rtt_var;
	u32	mtu;
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
 * @cnp: a congestion notification came; NULL: they are ignored. @now: the time, ns
 * @sent: @bytes were sent at a limited rate; NULL: not wanted. @now: likewise
 * @ecn: packets leave ECN-capable, so that switches mark them
 *
 * They are called once for a round trip, a loss or a paced train. What is asked per packet,
 * the allowance, is a member of struct rxe_cc.
 */
struct rxe_cc_ops {
	const char	*name;
	void		(*init)(struct rxe_cc *cc);
	void		(*acked)(struct rxe_cc *cc, const struct rxe_cc_sample *sample,
				 u32 una);
	void		(*lost)(struct rxe_cc *cc, u32 una, u32 top);
	void		(*timeout)(struct rxe_cc *cc, u32 top);
	void		(*undo)(struct rxe_cc *cc);
	void		(*cnp)(struct rxe_cc *cc, u64 now);
	void		(*sent)(struct rxe_cc *cc, u32 bytes, u64 now);
	bool		ecn;
};

/**
 * struct rxe_dcqcn - the state of a reaction point (dcqcn.c), while the rate is limited
 * @target: rate to return to, bytes/s
 * @alpha: estimate of the congestion, in units of 2^-20
 * @byte_stage: increases by the byte counter since the last cut
 * @time_stage: increases by the timer since then
 * @bytes: sent since the last increase by the byte counter
 * @time_from: when the timer last fired, or the rate was cut, ns
 * @alpha_from: when @alpha last decayed, or the rate was cut, ns
 * @cut_at: when the rate was cut last, ns
 */
struct rxe_dcqcn {
	u64	target;
	u32	alpha;
	u32	byte_stage;
	u32	time_stage;
	u64	bytes;
	u64	time_from;
	u64	alpha_from;
	u64	cut_at;
};

/**
 * struct rxe_swift - the state of swift.c
 * @cwnd: packets in flight, in units of 2^-16
 * @before: @cwnd before the last loss
 * @rtt: the last round trip, ns
 * @mtu: bytes of a full packet
 */
struct rxe_swift {
	u64	cwnd;
	u64	before;
	u64	rtt;
	u32	mtu;
};

/**
 * struct rxe_cc - congestion control of a QP
 * @ops: the algorithm
 * @window: allowance: packets that may be in flight, 1 to window_max
 * @rate: allowance: bytes/s; 0: as fast as the window lets. Read locklessly
 * @next: when the next packet may leave at @rate, ns
 * @seen: bytes/s of the last round trip
 * @seen_rtt: how long it took, ns
 * @queued: the last round trip had a queue in it
 * @before: @window before the last loss
 * @enough: limit up to which @window may double after a loss
 * @recover: PSN behind the packets that were in flight at the last loss
 * @cut: @window was reduced for that loss, and @recover isn't acknowledged yet
 * @restart: that loss was a timeout
 * @dcqcn: state of that algorithm
 * @swift: state of that algorithm
 */
struct rxe_cc {
	const struct rxe_cc_ops	*ops;
	u32	window;
	u64	rate;
	u64	next;
	u64	seen;
	u64	seen_rtt;
	bool	queued;
	u32	before;
	u32	enough;
	u32	recover;
	bool	cut;
	bool	restart;
	union {
		struct rxe_dcqcn	dcqcn;
		struct rxe_swift	swift;
	};
};

/* The algorithms, each in the file of its name */
extern const struct rxe_cc_ops rxe_cc_window, rxe_cc_dcqcn, rxe_cc_swift;

/* rows.c; the first is the default */
extern const struct rxe_cc_ops *const rxe_cc_rows[];
int rxe_cc_find(const char *name);

/* window.c, for algorithms that limit the rate beside it */
void rxe_window_init(struct rxe_cc *cc);
void rxe_window_acked(struct rxe_cc *cc, const struct rxe_cc_sample *s, u32 una);
void rxe_window_lost(struct rxe_cc *cc, u32 una, u32 top);
void rxe_window_timeout(struct rxe_cc *cc, u32 top);
void rxe_window_undo(struct rxe_cc *cc);

/* pacer.c */
u32 rxe_pacer_room(const struct rxe_cc *cc, u64 now);
void rxe_pacer_sent(struct rxe_cc *cc, u32 bytes, u64 now);

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
