// SPDX-License-Identifier: GPL-2.0
/*
 * What was sent and has no acknowledgment: going back, and going on where we were
 * (section 9.7.5.1.2).
 *
 * Context: sq.lock held unless noted.
 */
#include <rxe/transport.h>

/**
 * rxe_sq_note_resent - what has no acknowledgment leaves again
 * @qp: the QP
 * @end: one after the last PSN that does
 *
 * Context: sq.lock held.
 */
void rxe_sq_note_resent(struct rxe_qp *qp, u32 end)
{
	struct rxe_sq *sq = &qp->sq;
	bool timed = sq->timed.start && sq->timed.una == sq->flight.una;

	rxe_count(qp->rxe, COMP_RETRY);
	rxe_recovery_resent(&sq->rec, sq->flight.una, end,
			    timed ? sq->timed.start : sq->rec.since, ktime_get());
	sq->timed.start = 0;
	rxe_rtt_start(sq, sq->flight.una);
}

/**
 * rxe_sq_rewind - go back and send again (go-back-N) [9.7.5.1.2]
 * @qp: the QP
 *
 * From the oldest PSN that isn't acknowledged. Context: sq.lock held; the caller
 * runs the send task.
 */
void rxe_sq_rewind(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	rxe_sq_note_resent(qp, sq->flight.psn);
	sq->resend.npkts = 0;
	sq->flight.psn = sq->flight.una;
	sq->q.cur = sq->q.tail;
	sq->rto.deadline = 0;	/* armed anew with the first packet */
	sq->stalled = false;	/* found again when its turn comes */
}

/**
 * rxe_sq_catch_up - go on where we were before we went back
 * @sq: the send queue
 *
 * More was acknowledged than has been sent again: the peer keeps what follows a
 * loss, and says what else is missing. Context: sq.lock held.
 */
void rxe_sq_catch_up(struct rxe_sq *sq)
{
	const struct rxe_swqe *wqe;

	sq->rec.go_back = 0;
	sq->rec.resent_end = sq->flight.psn;
	sq->flight.psn = sq->flight.top;
	for (sq->q.cur = sq->q.tail; sq->q.cur != sq->q.head; sq->q.cur++) {
		wqe = rxe_swqe(sq, sq->q.cur);
		if (!wqe->started || rxe_psn_diff(sq->flight.top, wqe->last_psn) <= 0)
			break;
	}
}

/**
 * rxe_sq_loss_facts - what is in flight, for loss recovery
 * @qp: the QP
 *
 * One loss takes a train away, or a packet where those don't share one. Context:
 * sq.lock held; something is in flight.
 *
 * Return: all but what is missing.
 */
struct rxe_loss_facts rxe_sq_loss_facts(const struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = rxe_swqe(sq, sq->q.tail);
	u32 queued = rxe_tx_skbs(sq->sender.tx);

	return (struct rxe_loss_facts) {
		.una		= sq->flight.una,
		.rest		= rxe_unanswered(&sq->flight, wqe),
		.burst		= rxe_sq_alone(sq) ? 1 : rxe_train_most(qp),
		.rd_atomic	= rxe_is_rd_atomic(wqe),
		.queued		= queued,
		.drained	= READ_ONCE(sq->sender.tx->sent) - queued,
	};
}

/**
 * rxe_sq_set_psn - nothing was sent, and the first PSN will be this
 * @sq: the send queue
 * @psn: the PSN
 *
 * Context: process, both tasks paused.
 */
void rxe_sq_set_psn(struct rxe_sq *sq, u32 psn)
{
	sq->flight = (struct rxe_flight){ .psn = psn, .una = psn, .top = psn };
	rxe_recovery_reset(&sq->rec, psn);
}
