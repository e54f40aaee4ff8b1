/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requester and the completer: requester.c, completer.c and recover.c.
 */
#ifndef RXE_TRANSPORT_REQUESTER_H
#define RXE_TRANSPORT_REQUESTER_H

#include <linux/spinlock.h>
#include <cc/cc.h>
#include <loss/gap.h>
#include <loss/recovery.h>
#include <queue/sendq.h>
#include <transport/flight.h>
#include <transport/flush.h>
#include <transport/memop.h>
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
 * struct rxe_reading - the work request whose data send_task copies without sq.lock;
 *	acknowledged services only
 * @busy: data is being copied; set under sq.lock, cleared without it
 * @last: the work request's last PSN
 * @awaited: recv_task waits until the data is copied
 *
 * Until the data is copied, the work request must not complete: its consumer may then free the
 * memory, and no key protects memory that is named by the local_dma_lkey. A response to an
 * earlier copy of the packets, a forged response, or an error could complete it.
 */
struct rxe_reading {
	bool			busy;
	u32			last;
	bool			awaited;
};

/**
 * struct rxe_sender - state of sending; only send_task uses it, no lock
 * @segs: memory of the data
 * @source: where the data is read; a key is held only for the run of send_task. While the
 *	pager is busy, nothing is sent
 * @out: the outgoing requests
 * @tx: accounting of their skbs in the lower queues
 */
struct rxe_sender {
	struct rxe_seg		*segs;
	struct rxe_source	source;
	struct rxe_out		out;
	struct rxe_tx		*tx;
};

/**
 * struct rxe_sq - the requester's and the completer's state
 * @lock: protects all but @sender, @target and the end of @reading.busy; bottom halves off
 * @q: the work requests
 * @sender: state of sending
 * @flight: packets in flight
 * @reading: the work request whose data is being copied
 * @resend: packets to be sent again
 * @memops: local work requests
 * @rnr: RNR NAKs
 * @stop: why the queue has stopped
 * @rec: loss recovery
 * @rtt: round trips
 * @cc: congestion control
 * @gap: the missing packet among the responses
 * @target: the key used last to write responses, held only for the run of recv_task, which
 *	uses it without the lock
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
	struct rxe_memops	memops;
	struct rxe_rnr		rnr;
	struct rxe_stop		stop;
	struct rxe_recovery	rec;
	struct rxe_rtt		rtt;
	struct rxe_cc		cc;
	struct rxe_gap		gap;
	struct rxe_key		*target;
	struct rxe_rto		rto;
	struct rxe_timed	timed;
};

/* The oldest work request that isn't complete; NULL if none was started */
static inline struct rxe_swqe *rxe_sq_get_oldest(const struct rxe_sq *sq)
{
	struct rxe_swqe *wqe = rxe_sendq_get_wqe(&sq->q, sq->q.tail);

	return sq->q.tail != sq->q.head && wqe->started ? wqe : NULL;
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

/* Did the path take only single packets when the last packet was sent? */
static inline bool rxe_sq_is_alone(const struct rxe_sq *sq)
{
	return READ_ONCE(sq->sender.out.train.alone);
}

/* requester.c, uc.c, ud.c */
bool rxe_requester(struct rxe_qp *qp);
bool rxe_rc_requester(struct rxe_qp *qp);
bool rxe_rc_requester_due(const struct rxe_qp *qp);
bool rxe_sq_import(struct rxe_qp *qp);
void rxe_sender_reset(struct rxe_sender *sender);
bool rxe_uc_requester(struct rxe_qp *qp);
bool rxe_ud_qkey_ok(const struct rxe_qp *qp, const struct rxe_pkt *pkt);
bool rxe_ud_requester(struct rxe_qp *qp);
bool rxe_ud_requester_due(const struct rxe_qp *qp);
void rxe_ud_rcv(struct rxe_qp *qp, struct sk_buff *skb,
		const struct rxe_pkt *pkt, struct rxe_data *data);

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

/* recover.c */
void rxe_sq_fail(struct rxe_qp *qp, u8 status);
void rxe_recover_doubt(struct rxe_sq *sq);
void rxe_recover_doubled(struct rxe_sq *sq, u32 psn, bool exact);
void rxe_recover_continued(struct rxe_sq *sq, u32 psn);
void rxe_recover_loss(struct rxe_qp *qp, enum rxe_loss_hint hint, u32 missing);
void rxe_timeout(struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_REQUESTER_H */
