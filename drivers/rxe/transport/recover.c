// SPDX-License-Identifier: GPL-2.0
/*
 * Loss recovery of the requester: does what loss/recovery.c decides.
 *
 * The completer and the timer give hints that a packet was lost. The verdict says what to send
 * again, and shrinks the allowance of congestion control. If nothing was lost after all, the
 * allowance is restored.
 *
 * Context: recv_task, sq.lock held.
 */
#include <transport/allowance.h>
#include <transport/common.h>

/**
 * rxe_sq_fail - fail the oldest work request and the QP [10.10.2.3]
 * @qp: the QP
 * @status: enum ib_wc_status
 *
 * The flush at the end of this run completes the work request. The QP is thus in ERR before
 * the consumer sees the error.
 */
void rxe_sq_fail(struct rxe_qp *qp, u8 status)
{
	struct rxe_sq *sq = &qp->sq;

	if (sq->q.tail == sq->q.head)
		return;
	sq->rto.moved = false;
	rxe_rto_cancel(&sq->rto);
	if (rxe_qp_to_err(qp))
		sq->stop.failed = status;
}

static void undo_cut(struct rxe_sq *sq)
{
	struct rxe_allowance was = rxe_allowance_get(sq);

	sq->cc.ops->undo(&sq->cc);
	rxe_allowance_trace(sq, was);
}

/* Nothing was lost, so nothing more is sent again */
static void undo_resending(struct rxe_sq *sq)
{
	rxe_resend_reset(&sq->resend);
	undo_cut(sq);
}

/**
 * rxe_recover_doubt - an acknowledgment came while a retransmission is in doubt
 * @sq: the send queue
 *
 * If the retransmission proves unnecessary, its effect on the window is undone.
 */
void rxe_recover_doubt(struct rxe_sq *sq)
{
	ktime_t now = ktime_get();

	if (rxe_recovery_too_soon(&sq->rec, &sq->rtt, sq->flight.una, now))
		sq->timed.start = 0;	/* the second transmission was timed, not the first */
	if (rxe_recovery_answered(&sq->rec, &sq->rtt, sq->flight.una, now))
		undo_resending(sq);
}

/**
 * rxe_recover_doubled - a second answer came while a retransmission is in doubt
 * @sq: the send queue
 * @psn: PSN of the answer
 * @exact: it answers one packet, not all before it
 *
 * If the retransmission proves unnecessary, its effect on the window is undone.
 */
void rxe_recover_doubled(struct rxe_sq *sq, u32 psn, bool exact)
{
	if (rxe_recovery_doubled(&sq->rec, &sq->rtt, psn, exact, ktime_get()))
		undo_cut(sq);
}

/**
 * rxe_recover_continued - a READ response that isn't a first packet came while a retransmission
 *	is in doubt
 * @sq: the send queue
 * @psn: PSN of the response
 *
 * If the retransmission proves unnecessary, its effect on the window is undone.
 */
void rxe_recover_continued(struct rxe_sq *sq, u32 psn)
{
	if (rxe_recovery_continued(&sq->rec, &sq->rtt, psn, ktime_get()))
		undo_resending(sq);
}

/* The peer doesn't answer: log the likely reason, and fail the work request */
static void fail_retries(struct rxe_qp *qp)
{
	char why[96];

	rxe_count(qp, RETRY_EXCEEDED);
	rxe_unreach_why(qp->rxe, &qp->path, why, sizeof(why));
	ibdev_warn_ratelimited(&qp->rxe->ibdev,
			       "QP %u: retries to %pI6c exceeded: %s\n",
			       rxe_qp_num(qp), &qp->path.dgid, why);
	rxe_sq_fail(qp, IB_WC_RETRY_EXC_ERR);
}

/*
 * Tell congestion control about a loss. Exception: a peer on the same device. It loses nothing
 * when it is slow, and no round trip is measured that would let the window grow again.
 */
static void shrink_allowance(struct rxe_sq *sq, const struct rxe_loss_verdict *verdict)
{
	struct rxe_allowance was = rxe_allowance_get(sq);

	if (verdict->timeout)
		sq->cc.ops->timeout(&sq->cc, sq->flight.top);
	else if (verdict->act != RXE_LOSS_WAIT)
		sq->cc.ops->lost(&sq->cc, sq->flight.una, sq->flight.top);
	rxe_allowance_trace(sq, was);
}

/* Count the verdict of loss recovery, by the hint */
static void count_loss(struct rxe_qp *qp, enum rxe_loss_hint hint,
		       const struct rxe_loss_verdict *verdict)
{
	if (verdict->timeout)
		rxe_count(qp, ACK_TIMEOUT);
	if (verdict->act == RXE_LOSS_WAIT)
		return;
	if (hint == RXE_LOSS_SILENCE) {
		if (!verdict->timeout)
			rxe_count(qp, PROBE);
		return;
	}
	rxe_count(qp, RCVD_SEQ_ERR);
	if (hint == RXE_LOSS_GAP)
		rxe_count(qp, IMPLIED_NAK);
	else if (verdict->act != RXE_LOSS_FAIL)
		rxe_count(qp, NAK_SEQ);
}

/* Ask loss recovery about a hint, and carry out its verdict */
static void act_on_hint(struct rxe_qp *qp, enum rxe_loss_hint hint, u32 missing)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_retry_limit limit = rxe_qp_retry_limit(qp);
	struct rxe_loss_facts facts = rxe_sq_loss_facts(qp);
	struct rxe_loss_verdict verdict;

	facts.missing = missing;
	if (hint == RXE_LOSS_SILENCE && facts.queued)
		facts.unresolved = !rxe_path_is_resolved(&qp->path);
	verdict = rxe_recovery_event(&sq->rec, &sq->rtt, &limit, &facts, hint,
				     ktime_get());
	count_loss(qp, hint, &verdict);
	if (rxe_qp_uses_wire(qp))
		shrink_allowance(sq, &verdict);
	if (!facts.rd_atomic && verdict.act != RXE_LOSS_WAIT)
		rxe_out_again(qp, &sq->sender.out, sq->flight.una,
			      min_t(u32, rxe_psn_diff(sq->flight.psn, sq->flight.una),
				    sq->cc.window));
	switch (verdict.act) {
	case RXE_LOSS_RESEND:
		sq->resend.npkts = min(verdict.npkts + 1, facts.rest); /* see early.c */
		sq->resend.psn = sq->flight.una;
		sq->resend.probe = facts.rd_atomic && hint == RXE_LOSS_SILENCE;
		break;
	case RXE_LOSS_REWIND:
		rxe_sq_rewind(qp);
		break;
	case RXE_LOSS_FAIL:
		fail_retries(qp);
		break;
	case RXE_LOSS_WAIT:
		if (hint == RXE_LOSS_SILENCE)
			rxe_wait(qp);
		break;
	}
}

/**
 * rxe_recover_loss - a NAK or a gap in the responses says that a packet was lost
 * @qp: the QP
 * @hint: which of the two
 * @missing: missing responses, if their number is known; else 0
 */
void rxe_recover_loss(struct rxe_qp *qp, enum rxe_loss_hint hint, u32 missing)
{
	rxe_wait_settle(qp);
	if (qp->sq.rnr.state != RXE_RNR_WAIT)
		act_on_hint(qp, hint, missing);
}

/**
 * rxe_timeout - the timer fired: continue after an RNR NAK, or send again
 * @qp: the QP
 *
 * retry_cnt always means a finite number of retries. Only rnr_retry 7 means
 * unlimited retries [9.7.6.1.3]. Context: recv_task, sq.lock not held.
 */
void rxe_timeout(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	spin_lock(&sq->lock);
	rxe_wait_settle(qp);
	if (!sq->rto.fired)
		goto out;
	sq->rto.fired = false;
	if (sq->rnr.state == RXE_RNR_WAIT) {
		sq->rnr.state = RXE_RNR_ALONE;
		rxe_recovery_restart(&sq->rec, ktime_get());
	} else if (sq->flight.una != sq->flight.top && rxe_sq_get_oldest(sq)) {
		act_on_hint(qp, RXE_LOSS_SILENCE, 0);
	}
out:
	spin_unlock(&sq->lock);
}
