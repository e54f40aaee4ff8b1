// SPDX-License-Identifier: GPL-2.0
/*
 * Reset of a QP (section 10.3.1.1): each part resets its own state.
 */
#include <rxe/transport.h>
#include <qp/qp.h>

/**
 * rxe_qp_drop_posted - drop sends that were posted in a state that refuses them
 * @qp: the QP, in RESET, INIT or RTR
 *
 * Context: process; rxe_qp_slow.mutex.
 */
void rxe_qp_drop_posted(struct rxe_qp *qp)
{
	spin_lock_bh(&qp->sq.lock);
	rxe_sendq_drop_posted(&qp->sq.q, qp->is_user);
	spin_unlock_bh(&qp->sq.lock);
}

static void reset_sq(struct rxe_qp *qp)
{
	const struct rxe_cc_ops *cc = rxe_cc_rows[READ_ONCE(qp->rxe->tune.cc)];
	struct rxe_sq *sq = &qp->sq;

	rxe_rto_reset(sq);
	rxe_sender_reset(&sq->sender);
	spin_lock_bh(&sq->lock);
	rxe_sendq_reset(&sq->q, qp->is_user);
	rxe_flight_reset(&sq->flight, sq->flight.psn);
	rxe_reading_reset(&sq->reading);
	rxe_resend_reset(&sq->resend);
	rxe_memops_reset(&sq->memops, &qp->ibqp);
	rxe_rnr_reset(&sq->rnr);
	rxe_stop_reset(&sq->stop);
	rxe_recovery_reset(&sq->rec, sq->flight.psn);
	rxe_rtt_reset(&sq->rtt);
	rxe_cc_reset(&sq->cc, cc);
	rxe_gap_reset(&sq->gap);
	rxe_timed_reset(&sq->timed);
	spin_unlock_bh(&sq->lock);
}

static void reset_rq(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;

	rxe_recv_reset(&rq->recv, &qp->ibqp);
	rxe_expect_reset(&rq->expect);
	rxe_write_reset(&rq->write);
	rxe_read_reset(&rq->read);
	rxe_persist_reset(&qp->slow->persist);
	rxe_replay_reset(&rq->replay);
	rxe_reply_reset(&rq->reply);
	rxe_ack_reset(&rq->ack);
	rxe_gap_reset(&rq->gap);
	rxe_np_reset(&qp->slow->np);
	rxe_ended_reset(&qp->slow->ended);
}

/**
 * rxe_qp_reset - forget everything that was queued or in flight [10.3.1.1]
 * @qp: the QP, both tasks paused
 *
 * Context: process.
 */
void rxe_qp_reset(struct rxe_qp *qp)
{
	rxe_gap_timer_reset(qp);
	rxe_pace_reset(qp);
	rxe_flush_reset(qp);
	rxe_cork_reset(qp);
	rxe_inq_reset(qp->rxe, &qp->requests);
	rxe_inq_reset(qp->rxe, &qp->responses);
	reset_sq(qp);
	reset_rq(qp);
	qp->comm_est = false;
	qp->last_wqe = false;
}
