// SPDX-License-Identifier: GPL-2.0
/*
 * Unreliable connections (section 9.8.2): SEND and RDMA WRITE without acknowledgments.
 *
 * Requester: the packets are those of RC, and requester.c builds them. A work request
 * completes when its last packet has been handed on. Nothing limits what is in flight,
 * except for the queues below (net/txq.c).
 *
 * Responder: a message is executed packet by packet, as with RC, and by the same functions
 * (responder.c). If a packet is missing, the message is lost. It doesn't complete, though part
 * of its data may have been written. Its receive work request is kept for the next message. A
 * completion thus says that all bytes have come.
 *
 * Context: send_task; recv_task, which owns struct rxe_rq.
 */
#include <transport/common.h>

/* The oldest work request can't be sent: it fails, and with it the send queue */
static void fail_stalled(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;

	rxe_qp_to_sqe(qp);	/* before the consumer sees the error */
	spin_lock(&sq->lock);
	wqe = rxe_sendq_get_wqe(&sq->q, sq->q.tail);
	if (sq->q.tail != sq->q.head && wqe->status) {
		rxe_count_send_error(qp, wqe->status);
		rxe_sq_finish(qp, wqe, wqe->status);
		sq->q.cur = sq->q.tail;
	}
	sq->stop.stalled = false;
	spin_unlock(&sq->lock);
}

/**
 * rxe_uc_requester - a run of the send task for UC, rxe_service.send
 * @qp: the QP
 *
 * Return: true if there is more to do.
 */
bool rxe_uc_requester(struct rxe_qp *qp)
{
	u8 state = READ_ONCE(qp->state);
	bool more;

	if (state == IB_QPS_ERR || state == IB_QPS_SQE)
		return rxe_sq_flush(qp);
	more = rxe_rc_requester(qp);
	if (READ_ONCE(qp->sq.stop.stalled)) {
		fail_stalled(qp);
		return true;
	}
	rxe_sq_check_drained(qp);
	return more;
}

/**
 * rxe_uc_refuse - refuse a request that can't be executed; rxe_service.refuse for UC
 * @qp: the QP
 * @nak: AETH syndrome that RC would send
 * @wc_status: status of the receive work request in use
 * @event: not raised
 *
 * The message is dropped silently. Exception: if the receive work request is wrong or too
 * small, it completes with the error, and the QP goes to ERR [9.9.3].
 */
void rxe_uc_refuse(struct rxe_qp *qp, u8 nak, u8 wc_status, enum ib_event_type event)
{
	struct ib_wc wc = { .status = wc_status, .opcode = IB_WC_RECV };

	if (nak == RXE_NAK_REM_ACCESS)
		rxe_count(qp, REFUSED_ACCESS);
	if (!wc_status || nak == RXE_NAK_REM_ACCESS) {
		rxe_drop(qp->rxe, RXE_DROP_REFUSED, 1);
		return;
	}
	rxe_qp_to_err(qp);	/* before the consumer sees the error */
	rxe_recv_fail(qp, &wc);
}

/*
 * Does the packet continue a message or begin one? Any PSN may begin a message
 * [9.8.2.2]. Other packets before the expected PSN are late or duplicates: they change
 * nothing.
 */
static bool uc_check_sequence(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	s32 diff = rxe_psn_diff(pkt->psn, rq->expect.psn);
	bool start = pkt->flags & RXE_OP_START;

	if (diff)
		rxe_count(qp, OUT_OF_SEQ_REQ);
	if (diff < 0 && !start)
		return false;
	rq->expect.psn = rxe_psn_add(pkt->psn, pkt->more + 1);
	if (diff || start)
		rq->expect.op_flags = 0;	/* the message before is lost, if it hasn't ended */
	return start || rq->expect.op_flags;
}

/* The message of @pkt is over. rxe_uc_refuse() has counted the first packet of a run of MIDDLEs */
static void end_refused(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	qp->rq.expect.op_flags = 0;
	if (READ_ONCE(qp->state) != IB_QPS_ERR)
		rxe_drop(qp->rxe, RXE_DROP_REFUSED, pkt->more);
}

/**
 * rxe_uc_respond - take in one request
 * @qp: the QP
 * @pkt: its headers
 * @data: its payload
 */
void rxe_uc_respond(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		    struct rxe_data *data)
{
	struct rxe_rq *rq = &qp->rq;

	rxe_respond_established(qp);
	if (!uc_check_sequence(qp, pkt))
		rxe_drop(qp->rxe, RXE_DROP_REST, pkt->more + 1);
	else if (rxe_respond_execute(qp, pkt, data))
		rq->expect.op_flags = pkt->flags & RXE_OP_END ?
			       0 : pkt->flags & RXE_OP_MESSAGE;
	else if (unlikely(qp->requests.parked))
		rq->expect.psn = pkt->psn;	/* in sequence when it is executed anew */
	else
		end_refused(qp, pkt);
}
