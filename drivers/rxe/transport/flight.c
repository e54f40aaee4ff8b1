// SPDX-License-Identifier: GPL-2.0
/*
 * Packets in flight (section 9.7.5.1.2). The requester goes back to the oldest of them to
 * send again, and may return to its former position.
 *
 * Context: sq.lock held unless noted.
 */
#include <transport/common.h>

/**
 * rxe_sq_note_resent - note that unacknowledged packets are sent again
 * @qp: the QP
 * @end: one after the last PSN that is sent again
 *
 * Context: sq.lock held.
 */
void rxe_sq_note_resent(struct rxe_qp *qp, u32 end)
{
	struct rxe_sq *sq = &qp->sq;
	bool timed = sq->timed.start && sq->timed.una == sq->flight.una;

	rxe_count(qp, COMP_RETRY);
	rxe_recovery_resent(&sq->rec, sq->flight.una, end,
			    timed ? sq->timed.start : sq->rec.since, ktime_get());
}

/**
 * rxe_sq_leave_again - note that the first packet to be sent again leaves
 * @qp: the QP
 *
 * Its answer is timed. Exception: a READ or atomic that is sent again because of silence. The
 * peer may serve other requests first, and the answer to the first copy may still come.
 *
 * Context: sq.lock held.
 */
void rxe_sq_leave_again(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	bool fetch = rxe_is_rd_atomic(rxe_sendq_get_wqe(&sq->q, sq->q.tail));

	rxe_recovery_leaves(&sq->rec, ktime_get());
	sq->timed.start = 0;
	if (!fetch || sq->rec.told)
		rxe_rtt_start(sq, sq->flight.una, fetch);
}

/**
 * rxe_sq_rewind - send all unacknowledged packets again (go-back-N) [9.7.5.1.2]
 * @qp: the QP
 *
 * Sending restarts at the oldest PSN that isn't acknowledged. Context: sq.lock held;
 * the caller runs the send task.
 */
void rxe_sq_rewind(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	rxe_sq_note_resent(qp, sq->flight.psn);
	rxe_resend_reset(&sq->resend);
	sq->flight.psn = sq->flight.una;
	sq->flight.nak = 0;	/* what it refers to is sent again, too */
	sq->q.cur = sq->q.tail;
	sq->rto.deadline = 0;	/* armed again with the first packet */
	sq->stop.stalled = false;	/* set again when that work request is reached */
}

/**
 * rxe_sq_catch_up - return to the position before rxe_sq_rewind()
 * @sq: the send queue
 *
 * The peer has acknowledged packets that weren't sent again. It thus holds packets that
 * follow a loss, and will report what else is missing. Context: sq.lock held.
 */
void rxe_sq_catch_up(struct rxe_sq *sq)
{
	const struct rxe_swqe *wqe;

	rxe_recovery_catch_up(&sq->rec, sq->flight.psn);
	sq->flight.psn = sq->flight.top;
	for (sq->q.cur = sq->q.tail; sq->q.cur != sq->q.head; sq->q.cur++) {
		wqe = rxe_sendq_get_wqe(&sq->q, sq->q.cur);
		if (!wqe->started || rxe_psn_diff(sq->flight.top, wqe->last_psn) <= 0)
			break;
	}
}

/**
 * rxe_sq_loss_facts - describe what is in flight, for loss recovery
 * @qp: the QP
 *
 * One loss may take a whole train, or one packet where there are no trains. Context:
 * sq.lock held; something is in flight.
 *
 * Return: the facts; the caller sets .missing and .unresolved.
 */
struct rxe_loss_facts rxe_sq_loss_facts(const struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = rxe_sendq_get_wqe(&sq->q, sq->q.tail);
	u32 queued = rxe_tx_count_skbs(sq->sender.tx);

	return (struct rxe_loss_facts) {
		.una		= sq->flight.una,
		.rest		= rxe_count_unanswered(&sq->flight, wqe),
		.burst		= rxe_sq_is_alone(sq) ? 1 : rxe_train_get_most(qp),
		.rd_atomic	= rxe_is_rd_atomic(wqe),
		.queued		= queued,
		.drained	= READ_ONCE(sq->sender.tx->sent) - queued,
	};
}

/**
 * rxe_sq_set_psn - set the first PSN; nothing is in flight
 * @sq: the send queue
 * @psn: the PSN
 *
 * Context: process, both tasks paused.
 */
void rxe_sq_set_psn(struct rxe_sq *sq, u32 psn)
{
	rxe_flight_reset(&sq->flight, psn);
	rxe_recovery_reset(&sq->rec, psn);
}
