/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion control: how much a QP may send. An algorithm is a table of functions. The
 * transport calls them for each event, and they set the allowance: a window, and perhaps
 * a rate. They are pure arithmetic. The caller holds sq.lock and passes the time.
 */
#ifndef RXE_CC_CC_H
#define RXE_CC_CC_H

#include <linux/types.h>
#include <rxe/psn.h>

struct rxe_cc;

/**
 * struct rxe_cc_sample - one measured round trip
 * @delivered: packets that were acknowledged in it
 * @rtt: its duration, ns, not 0
 * @rtt_min: the shortest recent round trip, ns
 * @rtt_var: variation of the round trips, ns
 * @at: when it ended, ns
 * @mtu: payload bytes of a full packet
 * @limited: the window kept packets back
 * @fetch: the round trip of a READ or an atomic: @rtt includes the transfer of the peer's data,
 *	which @delivered counts
 * @lossy: packets were lost recently
 */
struct rxe_cc_sample {
	u32	delivered;
	u64	rtt;
	u64	rtt_min;
	u64	rtt_var;
	u64	at;
	u32	mtu;
	bool	limited;
	bool	fetch;
	bool	lossy;
};

/**
 * struct rxe_cc_ops - an algorithm
 * @name: its name in the file congestion_control of sysfs
 * @init: a connection starts; all of @cc but its ops is 0
 * @acked: a round trip was measured. @una: oldest PSN that isn't acknowledged
 * @lost: a packet was lost. @una: oldest PSN that isn't acknowledged; @top: one after
 *	the highest PSN that was picked to be sent
 * @timeout: the retransmission timer expired. @top: as for @lost
 * @undo: the packet that was reported as lost was only late
 * @cnp: a CNP came; NULL: CNPs are ignored. @now: the time, ns
 * @sent: @bytes are sent at a limited rate; NULL: not called. @now: the time, ns
 * @asked: a READ begins to be answered at a limited rate; NULL: not called. @now: the time, ns
 * @turned: a READ request came at @now. Since @from, when the response to an earlier READ had left
 *	at a limited rate, it is the first; NULL: not called. @idle: nothing was left to be sent
 * @marked: READ responses were marked, and a CNP is sent; NULL: not called. @una, @top: as for
 *	@lost. @now: the time, ns
 * @ecn: packets leave ECN-capable, so that switches can mark them
 *
 * Each function is called once per round trip, loss, CNP, paced train or READ. The allowance is
 * read per packet, without a call: it is in struct rxe_cc.
 *
 * Context: sq.lock held, bottom halves off.
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
	void		(*asked)(struct rxe_cc *cc, u64 now);
	void		(*turned)(struct rxe_cc *cc, u64 from, u64 now, bool idle);
	void		(*marked)(struct rxe_cc *cc, u32 una, u32 top, u64 now);
	bool		ecn;
};

/**
 * struct rxe_dcqcn - state of dcqcn.c; valid while the rate is limited
 * @target: rate to return to, bytes/s
 * @alpha: estimate of the congestion, in units of 2^-20
 * @byte_stage: increases by the byte counter since the last cut
 * @time_stage: increases by the timer since the last cut
 * @assumed: the first cut was of an assumed rate, and none was measured since
 * @bytes: sent since the last increase by the byte counter
 * @time_from: when the timer last fired, or the rate was cut, ns
 * @alpha_from: when @alpha last decayed, or the rate was cut, ns
 * @cut_at: when the rate was cut last, ns
 * @told_at: when the last CNP came, ns
 * @since: when the rate was limited, ns
 * @asked_at: @assumed: when a READ came after that, ns; 0: none did
 * @asked_bytes: @assumed: sent since @asked_at
 */
struct rxe_dcqcn {
	u64	target;
	u32	alpha;
	u32	byte_stage;
	u32	time_stage;
	bool	assumed;
	u64	bytes;
	u64	time_from;
	u64	alpha_from;
	u64	cut_at;
	u64	told_at;
	u64	since;
	u64	asked_at;
	u64	asked_bytes;
};

/**
 * struct rxe_swift - state of swift.c
 * @cwnd: packets that may be in flight, in units of 2^-16
 * @before: @cwnd before the last loss
 * @rtt: the last round trip, ns; 0: none was measured
 * @mtu: payload bytes of a full packet
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
 * @before: @window before the last loss
 * @rate: allowance: bytes/s; 0: only the window limits. May be read without the lock
 * @next: time at which the next packet may leave at @rate, ns
 * @seen: throughput of the last round trip that the window limited, or of a better later round
 *	trip, bytes/s; 0: none yet
 * @seen_rtt: duration of the last round trip, ns
 * @seen_at: when the last round trip ended, ns
 * @enough: limit up to which @window may double after a loss
 * @recover: first PSN that wasn't in flight yet at the last loss
 * @queued: the last round trip was long enough for a queue on the path
 * @cut: @window was reduced for the last loss, and @recover isn't acknowledged yet
 * @restart: the last loss was a timeout
 * @turned: READs of the peer measured @seen_rtt
 * @marked_at: when READ responses were marked last, ns; 0: never
 * @dcqcn: state of dcqcn.c
 * @swift: state of swift.c
 *
 * Protected by sq.lock.
 */
struct rxe_cc {
	const struct rxe_cc_ops	*ops;
	u32	window;
	u32	before;
	u64	rate;
	u64	next;
	u64	seen;
	u64	seen_rtt;
	u64	seen_at;
	u32	enough;
	u32	recover;
	bool	queued;
	bool	cut;
	bool	restart;
	bool	turned;
	u64	marked_at;
	union {
		struct rxe_dcqcn	dcqcn;
		struct rxe_swift	swift;
	};
};

/* The algorithms; rxe_cc_NAME is in NAME.c */
extern const struct rxe_cc_ops rxe_cc_window, rxe_cc_dcqcn, rxe_cc_swift;

/* rows.c: all algorithms, then NULL; the first is the default */
extern const struct rxe_cc_ops *const rxe_cc_rows[];
int rxe_cc_find(const char *name);

/* window.c; also for algorithms that limit the rate in addition to the window */
void rxe_window_init(struct rxe_cc *cc);
void rxe_window_acked(struct rxe_cc *cc, const struct rxe_cc_sample *s, u32 una);
void rxe_window_lost(struct rxe_cc *cc, u32 una, u32 top);
void rxe_window_timeout(struct rxe_cc *cc, u32 top);
void rxe_window_undo(struct rxe_cc *cc);

/* pacer.c */
u32 rxe_pacer_room(const struct rxe_cc *cc, u64 now);
void rxe_pacer_sent(struct rxe_cc *cc, u32 bytes, u64 now);

/**
 * rxe_cc_reset - set up congestion control for a new connection
 * @cc: congestion control
 * @ops: the algorithm
 */
static inline void rxe_cc_reset(struct rxe_cc *cc, const struct rxe_cc_ops *ops)
{
	*cc = (struct rxe_cc){ .ops = ops };
	ops->init(cc);
}

/**
 * rxe_cc_is_in_recovery - are packets of the last loss still unacknowledged?
 * @cc: congestion control
 * @una: oldest PSN that isn't acknowledged
 *
 * Return: true if @una was in flight at the loss for which the window was reduced.
 */
static inline bool rxe_cc_is_in_recovery(const struct rxe_cc *cc, u32 una)
{
	return cc->cut && rxe_psn_diff(una, cc->recover) < 0;
}

#endif /* RXE_CC_CC_H */
