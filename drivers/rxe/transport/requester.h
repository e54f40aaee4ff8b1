/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requester and the completer: requester.c and completer.c.
 */
#ifndef RXE_TRANSPORT_REQUESTER_H
#define RXE_TRANSPORT_REQUESTER_H

#include <linux/spinlock.h>
#include <cc/cc.h>
#include <loss/gap.h>
#include <loss/recovery.h>
#include <queue/sendq.h>
#include <rxe/psn.h>
#include <transport/out.h>
#include <transport/timer.h>

struct rxe_data;
struct rxe_key;
struct rxe_pkt;
struct rxe_qp;
struct rxe_seg;
struct sk_buff;
struct rxe_tx;

/**
 * enum rxe_rnr - what the requester may send after an RNR NAK
 * @RXE_RNR_READY: everything: no RNR NAK came since the last progress
 * @RXE_RNR_WAIT: nothing, until the RNR timer fires
 * @RXE_RNR_ALONE: only the refused work request. A peer with this driver has kept what
 *	followed, and acknowledges that, too. The rest is sent again after the answer
 */
enum rxe_rnr {
	RXE_RNR_READY,
	RXE_RNR_WAIT,
	RXE_RNR_ALONE,
};

/**
 * struct rxe_flight - PSNs: what was sent, and what is unacknowledged
 * @psn: next PSN to send
 * @una: oldest PSN that is not acknowledged
 * @top: one after the highest PSN that was picked to be sent
 * @overfull: the window may have shrunk to what is in flight, or below. Perhaps no packet in
 *	flight asks for an acknowledgment, so one more may leave, which does
 * @rd_atomic: READs and atomics that were sent and haven't completed
 * @implied: an ACK came for PSNs behind a READ or atomic that has no response yet
 * @implied_psn: PSN of that ACK
 */
struct rxe_flight {
	u32			psn;
	u32			una;
	u32			top;
	u32			rd_atomic;
	bool			overfull;
	bool			implied;
	u32			implied_psn;
};

/**
 * struct rxe_resend - what is to be sent again before anything else
 * @npkts: packets of the oldest work request, or responses to request again
 * @psn: the first of them
 * @probe: responses that are asked for again only since none came
 */
struct rxe_resend {
	u32			npkts;
	u32			psn;
	bool			probe;
};

/**
 * struct rxe_reading - the work request whose data send_task copies without sq.lock;
 *	acknowledged services only
 * @busy: there is one; set under sq.lock, cleared without it
 * @last: its last PSN
 * @awaited: recv_task waits until the data is copied
 *
 * Until then, the work request must not complete, since its consumer may free the memory. No
 * key protects memory that a kernel consumer names by the local_dma_lkey. A response to an
 * earlier copy of the packets, a forged one, or an error could complete it.
 */
struct rxe_reading {
	bool			busy;
	u32			last;
	bool			awaited;
};

/**
 * struct rxe_sender - state of sending; only send_task uses it, no lock
 * @segs: memory of the data
 * @source: the key used last to read memory, held only for the run of send_task
 * @out: the outgoing requests
 * @tx: accounting of their skbs in the lower queues
 * @fault: fault for pages of the data; while a worker has it, nothing is sent
 */
struct rxe_sender {
	struct rxe_seg		*segs;
	struct rxe_key		*source;
	struct rxe_out		out;
	struct rxe_tx		*tx;
	struct rxe_fault	*fault;
};

/**
 * struct rxe_sq - the requester's and the completer's state
 * @lock: protects all but @sender, @target and the end of @reading.busy; bottom halves off
 * @q: the work requests
 * @sender: state of sending
 * @flight: what was sent
 * @reading: the work request whose data is being copied
 * @resend: what is to be sent again
 * @memops: local work requests that were executed and haven't completed
 * @ending: the key that the next local work request is making invalid, or 0
 * @rnr_retries: RNR NAKs since the last progress
 * @rnr: enum rxe_rnr
 * @moved: something was acknowledged in this run of recv_task, or data came again
 * @drained: SQD: nothing was in flight; the event was raised if it was asked for
 * @stalled: a work request can't be sent; it fails when it is the oldest
 * @failed: enum ib_wc_status of the oldest work request, which ended the QP; the flush
 *	completes it
 * @anew: this run began to send when nothing was in flight
 * @rec: loss recovery
 * @rtt: round trips
 * @cc: congestion control
 * @gap: the missing packet among the responses
 * @target: the key used last to write responses, held only for the run of recv_task
 * @rto: the timer
 * @timed: a packet whose acknowledgment is timed
 */
struct rxe_sq {
	spinlock_t		lock;	/* all but sender and target */
	struct rxe_sendq	q;
	struct rxe_sender	sender;
	struct rxe_flight	flight;
	struct rxe_reading	reading;
	struct rxe_resend	resend;
	u32			memops;
	u32			ending;
	u8			rnr_retries;
	u8			rnr;
	u8			failed;
	bool			moved;
	bool			drained;
	bool			stalled;
	bool			anew;
	struct rxe_recovery	rec;
	struct rxe_rtt		rtt;
	struct rxe_cc		cc;
	struct rxe_gap		gap;
	struct rxe_key		*target;
	struct rxe_rto		rto;
	struct rxe_timed	timed;
};

/* Nothing is in flight; @psn is the first PSN */
static inline void rxe_flight_reset(struct rxe_flight *flight, u32 psn)
{
	*flight = (struct rxe_flight){ .psn = psn, .una = psn, .top = psn };
}

/* Nothing is to be sent again */
static inline void rxe_resend_reset(struct rxe_resend *resend)
{
	*resend = (struct rxe_resend){};
}

/* No data is being read */
static inline void rxe_reading_reset(struct rxe_reading *reading)
{
	*reading = (struct rxe_reading){};
}

/* Is data being copied? */
static inline bool rxe_sq_is_read(const struct rxe_sq *sq)
{
	/* Before the memory is given back. Pairs with stop_reading() */
	return smp_load_acquire(&sq->reading.busy);
}

/* Does the path take only single packets, as of the last packet that was sent? */
static inline bool rxe_sq_is_alone(const struct rxe_sq *sq)
{
	return READ_ONCE(sq->sender.out.train.alone);
}

/* Packets of the oldest work request that were sent and aren't acknowledged */
static inline s32 rxe_count_unanswered(const struct rxe_flight *flight,
				       const struct rxe_swqe *wqe)
{
	return min(rxe_psn_diff(flight->psn, flight->una),
		   rxe_psn_diff(wqe->last_psn, flight->una) + 1);
}

/* flight.c */
void rxe_sq_note_resent(struct rxe_qp *qp, u32 end);
void rxe_sq_leave_again(struct rxe_qp *qp);
void rxe_sq_rewind(struct rxe_qp *qp);
void rxe_sq_catch_up(struct rxe_sq *sq);
struct rxe_loss_facts rxe_sq_loss_facts(const struct rxe_qp *qp);
void rxe_sq_set_psn(struct rxe_sq *sq, u32 psn);

/* requester.c, uc.c, ud.c */
bool rxe_requester(struct rxe_qp *qp);
bool rxe_rc_requester(struct rxe_qp *qp);
bool rxe_rc_requester_due(const struct rxe_qp *qp);
bool rxe_sq_import(struct rxe_qp *qp);
void rxe_requester_reset(struct rxe_sq *sq, const struct rxe_cc_ops *cc,
			 bool is_user);
bool rxe_uc_requester(struct rxe_qp *qp);
bool rxe_ud_qkey_ok(const struct rxe_qp *qp, const struct rxe_pkt *pkt);
bool rxe_ud_requester(struct rxe_qp *qp);
bool rxe_ud_requester_due(const struct rxe_qp *qp);
void rxe_ud_rcv(struct rxe_qp *qp, struct sk_buff *skb,
		const struct rxe_pkt *pkt, struct rxe_data *data);

/* memop.c */
bool rxe_memop(struct rxe_qp *qp, struct rxe_swqe *wqe);

/* completer.c */
bool rxe_complete_pkt(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		      struct rxe_data *data);
bool rxe_complete_early_ok(struct rxe_qp *qp, const struct rxe_pkt *pkt);
u32 rxe_complete_most(struct rxe_qp *qp, const struct rxe_pkt *pkt);
void rxe_complete_end(struct rxe_qp *qp);
bool rxe_sq_must_fail(const struct rxe_qp *qp);
void rxe_sq_retire(struct rxe_qp *qp);
void rxe_sq_finish(struct rxe_qp *qp, struct rxe_swqe *wqe, u8 status);
void rxe_sq_finish_memops(struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_REQUESTER_H */
