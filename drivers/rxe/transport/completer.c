// SPDX-License-Identifier: GPL-2.0
/*
 * The completer (section 9.7.5 and 9.7.6): takes in responses, and completes send work
 * requests. recover.c acts on the losses that responses report.
 *
 * Context: recv_task, under sq.lock, which is dropped before anything is sent.
 */
#include <transport/common.h>

static void complete_send(struct rxe_qp *qp, const struct rxe_swqe *wqe,
			  u8 status)
{
	struct ib_wc wc = {
		.wr_id		= wqe->wr_id,
		.status		= status,
		.opcode		= rxe_wr_type(wqe)->wc,
		.qp		= &qp->ibqp,
		.byte_len	= wqe->length,
		.port_num	= 1,
	};

	rxe_cq_post(rxe_scq(qp), &wc, status);
}

static void finish_wqe(struct rxe_qp *qp, struct rxe_swqe *wqe, u8 status)
{
	struct rxe_sq *sq = &qp->sq;

	/* Before the completion: a consumer that sees it may post into this place */
	sq->q.tail++;
	rxe_ring_release(sq->q.ring, sq->q.tail);
	if (wqe->started && rxe_is_rd_atomic(wqe))
		sq->flight.rd_atomic--;
	if (unlikely(sq->memops.executed) && wqe->started && rxe_is_local(wqe))
		sq->memops.executed--;
	if (status || qp->sig_all || (wqe->flags & IB_SEND_SIGNALED))
		complete_send(qp, wqe, status);
	rxe_swqe_put_ah(wqe);
}

/**
 * rxe_sq_finish_memops - complete executed local work requests at the head of the queue
 * @qp: the QP
 *
 * send_task has executed them earlier; they complete in the order of the queue.
 * Context: sq.lock held.
 */
void rxe_sq_finish_memops(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;

	while (sq->memops.executed) {
		wqe = rxe_sendq_get_wqe(&sq->q, sq->q.tail);
		if (!wqe->started || !rxe_is_local(wqe))
			break;
		finish_wqe(qp, wqe, IB_WC_SUCCESS);
	}
}

/**
 * rxe_sq_finish - complete a send work request and free its place
 * @qp: the QP
 * @wqe: the oldest one
 * @status: enum ib_wc_status
 *
 * Context: sq.lock held.
 */
void rxe_sq_finish(struct rxe_qp *qp, struct rxe_swqe *wqe, u8 status)
{
	finish_wqe(qp, wqe, status);
	if (unlikely(qp->sq.memops.executed) && !status)
		rxe_sq_finish_memops(qp);
}

/*
 * Don't send again what has been acknowledged by now. Exception: an acknowledgment ends a
 * probe for READ responses, since the peer is serving the first READ request.
 */
static void skip_missing(struct rxe_sq *sq)
{
	s32 came = rxe_psn_diff(sq->flight.una, sq->resend.psn);

	if (came <= 0)
		return;
	if (sq->resend.probe) {
		rxe_resend_reset(&sq->resend);
		return;
	}
	sq->resend.npkts -= min_t(u32, sq->resend.npkts, came);
	sq->resend.psn = sq->flight.una;
}

/* A response acknowledged something. rxe_wait_settle() restarts the timer later */
static void note_progress(struct rxe_qp *qp, u32 acked)
{
	struct rxe_sq *sq = &qp->sq;
	u32 window;

	rxe_recovery_note_progress(&sq->rec, sq->flight.una);
	sq->rnr.retries = 0;
	sq->rnr.state = RXE_RNR_READY;
	if (sq->resend.npkts)
		skip_missing(sq);
	if (sq->rec.in_doubt)
		rxe_recover_doubt(sq);
	window = sq->cc.window;
	rxe_rtt_ack(sq, acked, qp->mtu);
	if (rxe_psn_diff(sq->flight.una, sq->flight.psn) > 0) {
		rxe_sq_catch_up(sq);
		sq->flight.overfull = true;	/* the loss may have cut the window */
	}
	if (unlikely(sq->cc.window < window))
		sq->flight.overfull = true;
	if ((s32)(sq->q.cur - sq->q.tail) < 0)
		sq->q.cur = sq->q.tail;
	sq->rto.moved = true;
}

/*
 * Everything up to @psn is acknowledged. If that includes a READ or atomic without
 * response, the response is lost or late [9.7.5.1.3]. Later work requests can't
 * complete before that response comes.
 */
static void complete_acked(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;
	u32 una = sq->flight.una;

	if (sq->flight.implied && rxe_psn_diff(sq->flight.implied_psn, psn) >= 0)
		psn = sq->flight.implied_psn;
	else
		sq->flight.nak = 0;
	sq->flight.implied = false;
	while (rxe_psn_diff(psn, sq->flight.una) >= 0) {
		wqe = rxe_sq_get_oldest(sq);
		if (!wqe || wqe->status)
			break;
		if (rxe_is_rd_atomic(wqe)) {
			sq->flight.implied = true;
			sq->flight.implied_psn = psn;
			break;
		}
		if (rxe_psn_diff(psn, wqe->last_psn) < 0) {
			sq->flight.una = rxe_psn_add(psn, 1);
			break;
		}
		sq->flight.una = rxe_psn_add(wqe->last_psn, 1);
		rxe_sq_finish(qp, wqe, IB_WC_SUCCESS);
	}
	if (sq->flight.una != una)
		note_progress(qp, rxe_psn_add(sq->flight.una, -1));
}

/* The peer has no receive work request: wait for the time in its RNR NAK [9.7.5.2.8] */
static void take_rnr_nak(struct rxe_qp *qp, u8 syndrome)
{
	struct rxe_sq *sq = &qp->sq;

	/* An RNR NAK during the wait answers another copy of the same packet */
	if (sq->rnr.state == RXE_RNR_WAIT)
		return;
	rxe_wait_settle(qp);
	rxe_rto_cancel(&sq->rto);	/* it may have fired: the peer has answered */
	rxe_recovery_note_alive(&sq->rec);
	if (qp->attr.rnr_retry != 7 && sq->rnr.retries++ >= qp->attr.rnr_retry) {
		rxe_count(qp, RNR_EXCEEDED);
		rxe_sq_fail(qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	rxe_count(qp, RNR_RETRY);
	rxe_sq_rewind(qp);
	sq->timed.start = 0;
	sq->rnr.state = RXE_RNR_WAIT;
	rxe_timer_arm(qp, rxe_rnr_ns(syndrome));
}

/* A NAK for the oldest packet */
static void act_on_nak(struct rxe_qp *qp, u8 syndrome)
{
	if ((syndrome & RXE_AETH_TYPE_MASK) == RXE_AETH_RNR_NAK) {
		take_rnr_nak(qp, syndrome);
		return;
	}
	switch (syndrome) {
	case RXE_NAK_PSN_SEQ:
		rxe_recover_loss(qp, RXE_LOSS_NAK, 0);
		break;
	case RXE_NAK_INV_REQ:
		rxe_sq_fail(qp, IB_WC_REM_INV_REQ_ERR);
		break;
	case RXE_NAK_REM_ACCESS:
		rxe_sq_fail(qp, IB_WC_REM_ACCESS_ERR);
		break;
	case RXE_NAK_REM_OP:
		rxe_sq_fail(qp, IB_WC_REM_OP_ERR);
		break;
	default:
		rxe_drop(qp->rxe, RXE_DROP_MALFORMED, 1);
	}
}

/*
 * The responses that were missing before a NAK have come. The peer sends each NAK once only, and
 * may be silent after it [C9-112].
 */
static void take_kept_nak(struct rxe_qp *qp)
{
	u8 syndrome = qp->sq.flight.nak;

	qp->sq.flight.nak = 0;
	if (rxe_sq_get_oldest(&qp->sq) &&
	    rxe_psn_diff(qp->sq.flight.una, qp->sq.flight.implied_psn) == 1)
		act_on_nak(qp, syndrome);
}

/* Response data for @wqe, the oldest work request, has been placed */
static void finish_response(struct rxe_qp *qp, struct rxe_swqe *wqe, u32 psn)
{
	qp->sq.flight.una = rxe_psn_add(psn, 1);
	if (psn == wqe->last_psn)
		rxe_sq_finish(qp, wqe, IB_WC_SUCCESS);
	note_progress(qp, psn);
	if (qp->sq.flight.implied)
		complete_acked(qp, qp->sq.flight.implied_psn);
	if (unlikely(qp->sq.flight.nak) && !qp->sq.flight.implied)
		take_kept_nak(qp);
}

/*
 * The work request that a READ response or an atomic ACK answers; NULL unless
 * everything before it is acknowledged
 */
static struct rxe_swqe *find_answered_wqe(struct rxe_qp *qp, u32 psn)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;

	complete_acked(qp, rxe_psn_add(psn, -1));
	wqe = rxe_sq_get_oldest(sq);
	if (!wqe || wqe->status || sq->flight.una != psn)
		return NULL;
	return wqe;
}

/* Drop a response that the oldest work request can't have. An early response is handled before */
static void drop_unasked(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	if (qp->sq.flight.una == pkt->psn)
		rxe_drop(qp->rxe, RXE_DROP_PSN, pkt->more + 1);
}

/* The answer to a FLUSH or ATOMIC WRITE */
static void take_empty_response(struct rxe_qp *qp, struct rxe_swqe *wqe,
				const struct rxe_pkt *pkt)
{
	if (rxe_pkt_get_data_len(pkt))
		rxe_sq_fail(qp, IB_WC_BAD_RESP_ERR);
	else
		finish_response(qp, wqe, pkt->psn);
}

static struct rxe_list make_response_list(struct rxe_qp *qp, const struct rxe_swqe *wqe)
{
	return (struct rxe_list) {
		.sge		= wqe->sge,
		.num_sge	= wqe->num_sge,
		.is_user	= qp->is_user,
		.pd		= qp->ibqp.pd,
		.key		= &qp->sq.target,
		.pager		= &qp->responses.pager,
	};
}

/* The data of a response can't be placed: not yet if @err is -EAGAIN, else never */
static void refuse_placement(struct rxe_qp *qp, int err)
{
	if (err == -EAGAIN)
		qp->responses.parked = true;
	else
		rxe_sq_fail(qp, IB_WC_LOC_PROT_ERR);
}

/* Does the peer answer with a response without data? */
static bool is_placement(const struct rxe_swqe *wqe)
{
	u8 kind = rxe_wr_type(wqe)->kind;

	return kind == RXE_WR_FLUSH || kind == RXE_WR_ATOMIC_WRITE;
}

static void take_read_response(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			       struct rxe_data *data)
{
	struct rxe_swqe *wqe = find_answered_wqe(qp, pkt->psn);
	struct rxe_list list __uninitialized;
	u32 done, want;
	int err;

	if (wqe && is_placement(wqe)) {
		take_empty_response(qp, wqe, pkt);
		return;
	}
	if (!wqe || rxe_wr_type(wqe)->kind != RXE_WR_READ) {
		drop_unasked(qp, pkt);
		return;
	}
	done = rxe_psn_diff(pkt->psn, wqe->first_psn) * qp->mtu;
	want = min(qp->mtu * (pkt->more + 1), wqe->length - done);
	if (rxe_pkt_get_data_len(pkt) != want) {
		rxe_sq_fail(qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	list = make_response_list(qp, wqe);
	err = rxe_scatter(&list, done, data, want);
	if (err) {
		refuse_placement(qp, err);
		return;
	}
	if (unlikely(qp->sq.rec.in_doubt) && !(pkt->flags & RXE_OP_START))
		rxe_recover_continued(&qp->sq, pkt->psn);
	finish_response(qp, wqe, rxe_psn_add(pkt->psn, pkt->more));
}

static void take_atomic_response(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_swqe *wqe = find_answered_wqe(qp, pkt->psn);
	struct rxe_data data = { .at = &pkt->atomic_orig, .run = sizeof(pkt->atomic_orig) };
	struct rxe_list list __uninitialized;
	int err;

	if (!wqe || rxe_wr_type(wqe)->kind != RXE_WR_ATOMIC) {
		drop_unasked(qp, pkt);
		return;
	}
	list = make_response_list(qp, wqe);
	err = rxe_scatter(&list, 0, &data, data.run);
	if (err) {
		refuse_placement(qp, err);
		return;
	}
	finish_response(qp, wqe, pkt->psn);
}

/*
 * A NAK acknowledges everything before its PSN. If that includes a READ or atomic without
 * response, the NAK is kept until the response has come.
 */
static void take_nak(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_flight *flight = &qp->sq.flight;
	u32 before = rxe_psn_add(pkt->psn, -1);

	if ((pkt->syndrome & RXE_AETH_TYPE_MASK) == RXE_AETH_RNR_NAK)
		rxe_count(qp, RCVD_RNR);
	complete_acked(qp, before);
	if (flight->una != pkt->psn) {
		if (flight->implied && flight->implied_psn == before)
			flight->nak = pkt->syndrome;
		else
			rxe_drop(qp->rxe, RXE_DROP_EARLY, 1);
	} else if (rxe_sq_get_oldest(&qp->sq)) {
		act_on_nak(qp, pkt->syndrome);
	} else {
		drop_unasked(qp, pkt);
	}
}

static void take_ack(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	if ((pkt->syndrome & RXE_AETH_TYPE_MASK) == RXE_AETH_ACK)
		complete_acked(qp, pkt->psn);
	else
		take_nak(qp, pkt);
}

/**
 * rxe_complete_early_ok - may a response that came too early be kept?
 * @qp: the QP
 * @pkt: the response
 *
 * Context: recv_task.
 *
 * Return: true if its PSN was asked for and its length is right.
 */
bool rxe_complete_early_ok(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_sq *sq = &qp->sq;
	bool asked;

	if (!(pkt->flags & RXE_OP_ANSWER) ||
	    pkt->payload_len > qp->mtu ||
	    (!(pkt->flags & RXE_OP_END) && pkt->payload_len != qp->mtu))
		return false;
	spin_lock(&sq->lock);
	asked = rxe_psn_diff(pkt->psn, sq->flight.una) > 0 &&
		rxe_psn_diff(pkt->psn, sq->flight.top) < 0;
	spin_unlock(&sq->lock);
	return asked;
}

/**
 * rxe_complete_most - how many MIDDLE packets of a READ response can be taken in
 *	together
 * @qp: the QP
 * @pkt: the first of them
 *
 * Context: recv_task.
 *
 * Return: packets, @pkt included, that were asked for and come before the last.
 */
u32 rxe_complete_most(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe;
	s32 most = 1;

	spin_lock(&sq->lock);
	wqe = rxe_sq_get_oldest(sq);
	if (wqe && rxe_wr_type(wqe)->kind == RXE_WR_READ &&
	    sq->flight.una == pkt->psn)
		most = min(rxe_psn_diff(wqe->last_psn, pkt->psn),
			   rxe_psn_diff(sq->flight.top, pkt->psn));
	spin_unlock(&sq->lock);
	return max(most, 1);
}

/* Return: true if the response came too early: an earlier one is missing */
static bool take_response(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			  struct rxe_data *data)
{
	if (pkt->flags & RXE_OP_READ_RESP)
		take_read_response(qp, pkt, data);
	else if (pkt->flags & RXE_OP_ATOMIC_ACK)
		take_atomic_response(qp, pkt);
	else if (pkt->flags & RXE_OP_AETH)
		take_ack(qp, pkt);
	else
		rxe_drop(qp->rxe, RXE_DROP_MALFORMED, 1);
	return (pkt->flags & RXE_OP_ANSWER) &&
	       rxe_psn_diff(pkt->psn, qp->sq.flight.una) > 0;
}

/*
 * A response to a request that is acknowledged already. If it has data, the peer is still
 * serving requests that were sent again. The missing answers are behind this one, so a running
 * timeout begins anew.
 */
static void take_old_response(struct rxe_sq *sq, const struct rxe_pkt *pkt)
{
	bool exact = pkt->flags & RXE_OP_ANSWER;

	rxe_gap_late(&sq->gap, pkt->psn);
	if (exact && sq->rnr.state != RXE_RNR_WAIT && (sq->rto.deadline || sq->rto.fired))
		sq->rto.moved = true;
	if (sq->rec.in_doubt)
		rxe_recover_doubled(sq, pkt->psn, exact);
}

/* Would a response complete a work request whose data send_task still reads? */
static bool must_await_sender(const struct rxe_sq *sq, const struct rxe_pkt *pkt)
{
	u32 psn = rxe_psn_add(pkt->psn, pkt->more);

	if (likely(!rxe_sq_is_read(sq)))
		return false;
	if (sq->flight.implied)
		psn = rxe_psn_max(psn, sq->flight.implied_psn);
	return rxe_psn_diff(psn, sq->reading.last) >= 0;
}

/* A response to an unacknowledged request */
static bool take_new_response(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			      struct rxe_data *data)
{
	if (unlikely(must_await_sender(&qp->sq, pkt))) {
		qp->sq.reading.awaited = true;
		qp->responses.parked = true;
		return false;
	}
	return take_response(qp, pkt, data);
}

/**
 * rxe_complete_pkt - take in one response
 * @qp: the QP
 * @pkt: its headers
 * @data: its payload
 *
 * Context: recv_task.
 *
 * Return: true if it came too early; the caller may keep it.
 */
bool rxe_complete_pkt(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		      struct rxe_data *data)
{
	struct rxe_sq *sq = &qp->sq;
	bool early = false;

	spin_lock(&sq->lock);
	if (rxe_psn_diff(pkt->psn, sq->flight.una) < 0)
		take_old_response(sq, pkt);
	else if (rxe_psn_diff(pkt->psn, sq->flight.top) < 0)
		early = take_new_response(qp, pkt, data);
	else
		rxe_drop(qp->rxe, RXE_DROP_PSN, 1);
	if (early)
		rxe_recovery_note_heard(&sq->rec, pkt->psn);
	spin_unlock(&sq->lock);
	return early;
}

/* Number of responses missing before the first early one */
static u32 count_missing_responses(const struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;
	u32 npkts = rxe_early_missing(&qp->responses.early, sq->flight.una);

	if (qp->responses.parked)
		return 0;	/* the next response is here, but waits */
	if (!npkts && sq->flight.implied)
		npkts = rxe_psn_diff(sq->flight.implied_psn, sq->flight.una) + 1;
	return npkts;
}

/**
 * rxe_complete_end - end a run of the receive task: timer, missing responses
 * @qp: the QP
 *
 * A response to a later request shows that the peer has the earlier requests. Only the
 * missing responses are then requested again.
 *
 * Context: recv_task.
 */
void rxe_complete_end(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	u32 npkts = 0;

	rxe_key_drop(&sq->target);
	if (unlikely(READ_ONCE(qp->pace.waits)) && !READ_ONCE(sq->cc.rate))
		rxe_pace_release(qp);
	if (!sq->rto.moved && !sq->flight.implied && !rxe_early_came(&qp->responses.early))
		return;
	spin_lock(&sq->lock);
	rxe_wait_settle(qp);
	if (sq->flight.una != sq->flight.top && rxe_sq_get_oldest(sq))
		npkts = count_missing_responses(qp);
	if (rxe_gap_lost(qp, &sq->gap, npkts, sq->flight.una))
		rxe_recover_loss(qp, RXE_LOSS_GAP, npkts);
	spin_unlock(&sq->lock);
}

/**
 * rxe_sq_must_fail - must the oldest work request fail, since it can't be sent?
 * @qp: the QP
 *
 * In SQD, a work request that hasn't begun waits, even if it can't be sent [10.3.1.5].
 *
 * Context: sq.lock held.
 *
 * Return: true if so; rxe_sq_retire() then fails it.
 */
bool rxe_sq_must_fail(const struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = rxe_sendq_get_wqe(&sq->q, sq->q.tail);

	return sq->stop.stalled && sq->q.tail != sq->q.head && wqe->status &&
	       (wqe->started || READ_ONCE(qp->state) != IB_QPS_SQD);
}

/**
 * rxe_sq_retire - fail the oldest work request if it can't be sent
 * @qp: the QP
 *
 * Context: recv_task.
 */
void rxe_sq_retire(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	spin_lock(&sq->lock);
	if (rxe_sq_must_fail(qp))
		rxe_sq_fail(qp, rxe_sendq_get_wqe(&sq->q, sq->q.tail)->status);
	spin_unlock(&sq->lock);
}
