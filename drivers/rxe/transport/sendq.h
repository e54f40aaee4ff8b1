/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send queue: requester.c and completer.c.
 */
#ifndef RXE_TRANSPORT_SENDQ_H
#define RXE_TRANSPORT_SENDQ_H

#include <linux/spinlock.h>
#include <cc/window.h>
#include <loss/recovery.h>
#include <rxe/wr.h>
#include <transport/gap.h>
#include <transport/out.h>
#include <transport/timer.h>

struct rxe_data;
struct rxe_key;
struct rxe_pkt;
struct rxe_qp;
struct rxe_ring;
struct rxe_seg;
struct sk_buff;

/**
 * enum rxe_rnr - what an RNR NAK lets the requester send
 * @RXE_RNR_READY: everything: none came since the last progress
 * @RXE_RNR_WAIT: nothing, until the RNR timer fires
 * @RXE_RNR_ALONE: the refused work request. A peer like us kept what followed, and
 *	acknowledges that, too; what it didn't keep is sent again after the answer.
 */
enum rxe_rnr {
	RXE_RNR_READY,
	RXE_RNR_WAIT,
	RXE_RNR_ALONE,
};

/**
 * struct rxe_sq - the requester's and the completer's state
 * @lock: protects all below; bottom halves off
 * @ring: the work requests as posted; struct rxe_send_wqe from user space,
 *	struct rxe_swqe from kernel consumers
 * @wqes: copies, one place for each place of @ring
 * @stride: bytes of a place in @wqes
 * @segs: where the data is that is being sent; send_task's alone
 * @source: the key of what was read last, held for the run of send_task only;
 *	likewise
 * @out: requests that are being sent; likewise
 * @tx: what they have in the queues below; likewise
 * @tail: oldest work request that has not completed
 * @cur: work request being sent
 * @head: one after the newest that was imported (free-running, like the two
 *	above)
 * @psn: next PSN to send
 * @una: oldest PSN that is not acknowledged
 * @top: one after the highest PSN ever sent
 * @rd_atomic: READs and atomics from @tail to @cur
 * @rnr_retries: RNR NAKs since the last progress
 * @rnr: enum rxe_rnr
 * @moved: something was acknowledged in this run of recv_task
 * @drained: SQD: the event was raised
 * @stalled: a work request can't be sent; it fails when its turn has come
 * @rec: loss recovery
 * @rtt: round trips
 * @cc: congestion control
 * @gap: what is missing among the responses
 * @target: the key of what responses are written to, held for the run of recv_task
 *	only
 * @missing: packets of the oldest work request that are to be sent again, or
 *	responses that are to be asked for again
 * @missing_psn: the first of them
 * @implied: an ACK came for what is behind a READ or atomic without response
 * @implied_psn: how far it went
 * @anew: what was sent in this run was sent when nothing was in flight
 * @rto: the timer
 * @timed: a packet whose acknowledgment is timed
 */
struct rxe_sq {
	spinlock_t		lock;	/* all below */
	struct rxe_ring		*ring;
	void			*wqes;
	struct rxe_seg		*segs;
	struct rxe_key		*source;
	struct rxe_out		out;
	struct rxe_tx		*tx;
	u32			stride;
	u32			tail;
	u32			cur;
	u32			head;
	u32			psn;
	u32			una;
	u32			top;
	u32			rd_atomic;
	u8			rnr_retries;
	u8			rnr;
	bool			moved;
	bool			drained;
	bool			stalled;
	struct rxe_recovery	rec;
	struct rxe_rtt		rtt;
	struct rxe_cc		cc;
	struct rxe_gap		gap;
	u32			missing;
	u32			missing_psn;
	bool			implied;
	u32			implied_psn;
	struct rxe_key		*target;
	bool			anew;
	struct rxe_rto		rto;
	struct rxe_timed	timed;
};

/* Did the last packet leave without a train, for want of one? The send task knows. */
static inline bool rxe_sq_alone(const struct rxe_sq *sq)
{
	return READ_ONCE(sq->out.train.alone);
}

/* requester.c, ud.c */
bool rxe_requester(struct rxe_qp *qp);
bool rxe_rc_requester(struct rxe_qp *qp);
bool rxe_rc_requester_due(const struct rxe_qp *qp);
bool rxe_sq_import(struct rxe_qp *qp);
void rxe_sq_rewind(struct rxe_qp *qp);
void rxe_sq_catch_up(struct rxe_sq *sq);
struct rxe_flight rxe_sq_flight(const struct rxe_qp *qp);
bool rxe_ud_requester(struct rxe_qp *qp);
bool rxe_ud_requester_due(const struct rxe_qp *qp);
bool rxe_ud_flush(struct rxe_qp *qp);
void rxe_ud_rcv(struct rxe_qp *qp, struct sk_buff *skb,
		const struct rxe_pkt *pkt, struct rxe_data *data);

/* completer.c */
bool rxe_complete_pkt(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		      struct rxe_data *data);
bool rxe_complete_early_ok(struct rxe_qp *qp, const struct rxe_pkt *pkt);
u32 rxe_complete_most(struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_complete_end(struct rxe_qp *qp);
void rxe_sq_retire(struct rxe_qp *qp);
void rxe_sq_finish(struct rxe_qp *qp, struct rxe_swqe *wqe, u8 status);

#endif /* RXE_TRANSPORT_SENDQ_H */
