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
 * Context: process; qp->mutex.
 */
void rxe_qp_drop_posted(struct rxe_qp *qp)
{
	spin_lock_bh(&qp->sq.lock);
	rxe_sendq_drop_posted(&qp->sq.q, qp->is_user);
	spin_unlock_bh(&qp->sq.lock);
}

/**
 * rxe_qp_reset - forget everything that was queued or in flight
 * @qp: the QP, both tasks paused
 *
 * Context: process.
 */
void rxe_qp_reset(struct rxe_qp *qp)
{
	hrtimer_cancel(&qp->sq.rto.timer);
	hrtimer_cancel(&qp->gap_timer);
	rxe_pace_reset(qp);
	rxe_flush_stop(qp);
	rxe_tx_leave(qp->sq.sender.tx);
	rxe_tx_leave(qp->rq.reply.tx);
	rxe_cork_reset(qp);
	rxe_inq_reset(qp->rxe, &qp->requests);
	rxe_inq_reset(qp->rxe, &qp->responses);
	rxe_fault_reset(&qp->sq.sender.fault);
	rxe_fault_reset(&qp->requests.fault);
	rxe_fault_reset(&qp->responses.fault);
	spin_lock_bh(&qp->sq.lock);
	rxe_key_restore(&qp->ibqp, &qp->sq.memops.ending);
	rxe_key_restore(&qp->ibqp, &qp->rq.recv.ending);
	rxe_requester_reset(&qp->sq, rxe_cc_rows[READ_ONCE(qp->rxe->tune.cc)],
			    qp->is_user);
	spin_unlock_bh(&qp->sq.lock);
	rxe_responder_reset(&qp->rq);
	qp->comm_est = false;
	qp->last_wqe = false;
}
