// SPDX-License-Identifier: GPL-2.0
/*
 * The responder (section 9.7.4 and 9.7.5): the peer's requests.
 *
 * A packet passes the checks in the specification's order: sequence, opcode,
 * resources, R_Key, length. Then it is executed, completed, acknowledged. One ACK is
 * sent for all requests of a task run. A NAK, a READ response or an atomic ACK also
 * acknowledges all earlier requests, and replaces the ACK.
 *
 * Context: recv_task, which owns struct rxe_rq; no locks.
 */
#include <transport/common.h>

/* What to do after a request */
enum verdict {
	DONE,			/* executed; acknowledge */
	SILENT,			/* no answer, or it was sent already */
};

/**
 * rxe_rq_next - take a receive work request, unless one is in use
 * @qp: the QP
 *
 * Return: false if none is posted. A corrupt work request counts as posted, with room for
 * 0 bytes.
 */
bool rxe_rq_next(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;

	if (rq->recv.wqe.valid)
		return true;
	if (rq->recv.shared)
		return rxe_sharedq_take(rq->recv.shared, &rq->recv.wqe);
	return rxe_recvq_take(&rq->recv.q, &rq->recv.wqe);
}

/**
 * rxe_recv_reset - drop the receive work requests of a QP, but not those of an SRQ
 * @recv: the receive work requests; recv_task is paused
 * @qp: the QP
 *
 * Context: process.
 */
void rxe_recv_reset(struct rxe_recv *recv, const struct ib_qp *qp)
{
	local_bh_disable();
	rxe_key_restore(qp, &recv->ending);
	local_bh_enable();
	if (!recv->shared)
		rxe_recvq_reset(&recv->q);
	recv->wqe.valid = false;
}

/**
 * rxe_recv_done - complete the receive work request in use
 * @qp: the QP
 * @wc: the completion; wr_id, qp and port are filled in here
 * @solicited: the sender asked for an event
 */
void rxe_recv_done(struct rxe_qp *qp, struct ib_wc *wc, bool solicited)
{
	struct rxe_rq *rq = &qp->rq;

	wc->wr_id = rq->recv.wqe.wr_id;
	wc->qp = &qp->ibqp;
	wc->port_num = 1;
	rq->recv.wqe.valid = false;
	rxe_cq_post(rxe_rcq(qp), wc, solicited);
	rxe_count(qp, RDMA_RECVS);
}

/**
 * rxe_recv_fail - complete the receive work request in use, if any, with an error
 * @qp: the QP
 * @wc: the completion, as for rxe_recv_done()
 */
void rxe_recv_fail(struct rxe_qp *qp, struct ib_wc *wc)
{
	if (!qp->rq.recv.wqe.valid)
		return;
	rxe_count_recv_error(qp, wc->status);
	rxe_recv_done(qp, wc, true);
}

/**
 * rxe_rc_refuse - refuse a request for good; the QP goes to ERR. rxe_service.refuse for RC
 * @qp: the QP
 * @nak: AETH syndrome for the peer
 * @wc_status: completes the receive work request in use, if any; 0: leave it to
 *	the flush
 * @event: event to raise if @wc_status is 0
 *
 * [9.9.3] [10.10.2].
 */
void rxe_rc_refuse(struct rxe_qp *qp, u8 nak, u8 wc_status,
		   enum ib_event_type event)
{
	struct ib_wc wc = { .status = wc_status, .opcode = IB_WC_RECV };
	bool changed;

	if (nak == RXE_NAK_REM_ACCESS)
		rxe_count(qp, REFUSED_ACCESS);
	rxe_send_nak(qp, nak);
	changed = rxe_qp_to_err(qp);	/* before the consumer sees the error */
	if (wc_status)
		rxe_recv_fail(qp, &wc);
	if (changed && !wc_status)
		rxe_qp_event(qp, event);
}

static enum verdict refuse_op(struct rxe_qp *qp)
{
	qp->service->refuse(qp, RXE_NAK_INV_REQ, 0, IB_EVENT_QP_REQ_ERR);
	return SILENT;
}

static enum verdict refuse_access(struct rxe_qp *qp)
{
	qp->service->refuse(qp, RXE_NAK_REM_ACCESS, 0, IB_EVENT_QP_ACCESS_ERR);
	return SILENT;
}

/* With immediate data, the receive work request completes with the error [11.6.2] */
static enum verdict refuse_write(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	u8 status = pkt->flags & RXE_OP_IMMDT ? IB_WC_LOC_ACCESS_ERR : 0;

	qp->service->refuse(qp, RXE_NAK_REM_ACCESS, status, IB_EVENT_QP_ACCESS_ERR);
	return SILENT;
}

/* The packet has less data than its headers say */
static enum verdict refuse_data(struct rxe_qp *qp)
{
	qp->service->refuse(qp, RXE_NAK_REM_OP, 0, IB_EVENT_QP_FATAL);
	return SILENT;
}

/* No receive work request is posted: send an RNR NAK [9.7.5.2.8]; UC drops the request */
static enum verdict answer_not_ready(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;

	rxe_count(qp, OUT_OF_BUFFER);
	if (!qp->service->acked) {
		rxe_drop(qp->rxe, RXE_DROP_NO_RECV, 1);
		return SILENT;
	}
	rxe_count(qp, SENT_RNR);
	rxe_send_nak(qp, RXE_AETH_RNR_NAK | (qp->attr.min_rnr_timer &
					     RXE_AETH_VALUE_MASK));
	rq->ack.nak_sent = true;	/* later packets are out of sequence: no more NAKs */
	rq->ack.early_psn = rq->expect.psn;
	return SILENT;
}

/* A page isn't present: the request is executed again later. No state may have changed */
static enum verdict wait_for_page(struct rxe_qp *qp)
{
	qp->requests.parked = true;
	return SILENT;
}

/* Execute the rest of the request in another run */
static enum verdict continue_later(struct rxe_qp *qp)
{
	qp->requests.parked = true;
	rxe_task_schedule(&qp->recv_task);
	return SILENT;
}

/* Does an opcode with @flags continue the message of the last packet? [9.7.4.1.2] */
static bool continues_message(const struct rxe_rq *rq, u32 flags)
{
	if (flags & RXE_OP_START)
		return !rq->expect.op_flags;
	return rq->expect.op_flags && (flags & rq->expect.op_flags);
}

/* May the peer send such requests? The kinds of FLUSH are checked later */
static bool is_op_enabled(const struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	if ((pkt->flags & RXE_OP_RD_ATOMIC) && !qp->attr.max_dest_rd_atomic)
		return false;
	return !(rxe_opcode[pkt->opcode].access & ~qp->attr.qp_access_flags);
}

/* FIRST and MIDDLE are full, LAST isn't empty, nothing is too long [9.7.4.1.6] */
static bool is_length_ok(const struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	if (!(pkt->flags & RXE_OP_PAYLOAD))
		return true;
	if (!(pkt->flags & RXE_OP_END))
		return pkt->payload_len == qp->mtu;
	if (!(pkt->flags & RXE_OP_START) && !pkt->payload_len)
		return false;
	return pkt->payload_len <= qp->mtu;
}

static void finish_send(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct ib_wc wc = {
		.opcode = IB_WC_RECV,
		.byte_len = qp->rq.recv.off,
	};

	if (pkt->flags & RXE_OP_IMMDT) {
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	} else if (pkt->flags & RXE_OP_IETH) {
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = pkt->rkey;
	}
	rxe_recv_done(qp, &wc, pkt->solicited);
}

/*
 * The data is in its place: invalidate the key, then complete [9.4.1.1]. If a task on another
 * CPU uses the memory, the request is executed again when that task's run has ended. The key
 * is invalid already, so that run is the last.
 */
static enum verdict send_invalidate(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	int err;

	rxe_key_drop(&qp->rq.write.key);
	rxe_key_drop(&qp->rq.read.key);
	rxe_key_drop(&qp->sq.target);
	err = rxe_key_invalidate(&qp->ibqp, true, pkt->rkey);
	qp->rq.recv.ending = err == -EAGAIN ? pkt->rkey : 0;
	qp->rq.recv.ending_len = pkt->payload_len;
	if (err == -EAGAIN)
		return continue_later(qp);
	if (!err)
		return DONE;
	qp->service->refuse(qp, RXE_NAK_REM_ACCESS, IB_WC_LOC_ACCESS_ERR, 0);
	return SILENT;
}

/*
 * A SEND was executed up to the invalidation of its key. If @pkt is the same SEND, its data is in
 * its place, and isn't written again: the receive work request may name the memory of that key,
 * which is invalid now. If another request has come in its place, the key becomes valid again.
 * Since each request is asked here, the PSN needn't be compared.
 */
static void resume_invalidate(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_recv *recv = &qp->rq.recv;

	if (!(pkt->flags & RXE_OP_IETH) || pkt->rkey != recv->ending ||
	    pkt->payload_len != recv->ending_len)
		rxe_key_restore(&qp->ibqp, &recv->ending);
}

/* Bytes that still fit into the receive work request in use */
static u32 get_recv_room(const struct rxe_rq *rq)
{
	u64 most = min_t(u64, rq->recv.wqe.length, RXE_MAX_MSG);

	return most > rq->recv.off ? most - rq->recv.off : 0;
}

static enum verdict execute_send(struct rxe_qp *qp, const struct rxe_pkt *pkt,
				 struct rxe_data *data)
{
	struct rxe_rq *rq = &qp->rq;
	struct rxe_list list = {
		rq->recv.wqe.sge, 0, qp->is_user, rq->recv.pd, &rq->write.key, &qp->requests.pager
	};
	u32 len = rxe_pkt_get_data_len(pkt);
	int err = 0;

	if (!rxe_rq_next(qp))
		return answer_not_ready(qp);
	list.num_sge = rq->recv.wqe.num_sge;
	if (pkt->flags & RXE_OP_START)
		rq->recv.off = 0;
	if (len > get_recv_room(rq)) {
		qp->service->refuse(qp, RXE_NAK_INV_REQ, IB_WC_LOC_LEN_ERR, 0);
		return SILENT;
	}
	if (likely(!rq->recv.ending))
		err = rxe_scatter(&list, rq->recv.off, data, len);
	if (err == -EAGAIN)
		return wait_for_page(qp);
	if (err) {
		qp->service->refuse(qp, RXE_NAK_REM_OP, IB_WC_LOC_PROT_ERR, 0);
		return SILENT;
	}
	if ((pkt->flags & RXE_OP_IETH) && send_invalidate(qp, pkt) != DONE)
		return SILENT;
	rq->recv.off += len;
	if (pkt->flags & RXE_OP_END)
		finish_send(qp, pkt);
	return DONE;
}

/* Check the R_Key for the rest of this message, once per run */
static bool keep_write_key(struct rxe_qp *qp, bool start)
{
	struct rxe_rq *rq = &qp->rq;

	if (!rq->write.resid || (rq->write.key && !start))
		return true;	/* zero bytes need no key [C9-88] */
	return !rxe_key_keep(qp->ibqp.pd, &qp->ibqp, rq->write.rkey,
			     IB_ACCESS_REMOTE_WRITE, rq->write.va, rq->write.resid, &rq->write.key);
}

/* Complete the receive work request in use */
static void finish_write_imm(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct ib_wc wc = {
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = qp->rq.write.length,
		.wc_flags = IB_WC_WITH_IMM,
		.ex.imm_data = pkt->imm,
	};

	rxe_recv_done(qp, &wc, pkt->solicited);
}

static void start_write(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;

	rq->write.va = pkt->va;
	rq->write.rkey = pkt->rkey;
	rq->write.resid = pkt->dma_len;
	rq->write.length = pkt->dma_len;
}

static enum verdict execute_write(struct rxe_qp *qp, const struct rxe_pkt *pkt,
				  struct rxe_data *data)
{
	struct rxe_rq *rq = &qp->rq;
	bool start = pkt->flags & RXE_OP_START;
	bool end = pkt->flags & RXE_OP_END;
	u32 len = rxe_pkt_get_data_len(pkt);
	int err = 0;

	if ((pkt->flags & RXE_OP_IMMDT) && !rxe_rq_next(qp))
		return answer_not_ready(qp);
	if (start)
		start_write(qp, pkt);
	if (rq->write.length > RXE_MAX_MSG)
		return refuse_op(qp);
	if (end ? len != rq->write.resid : len >= rq->write.resid)
		return refuse_op(qp);
	if (!keep_write_key(qp, start))
		return refuse_write(qp, pkt);
	if (len)
		err = rxe_key_prepare(rq->write.key, true, rq->write.va, len, rq->write.resid,
				      &qp->requests.pager);
	if (err)
		return err == -EAGAIN ? wait_for_page(qp) : refuse_write(qp, pkt);
	if (start)
		rxe_count(qp, RX_WRITE_REQ);
	/*
	 * A program may poll memory, such as a flag behind its data. It sees WRITEs in their order,
	 * and the packets of each, as with an adapter on PCIe.
	 */
	smp_wmb();
	if (len && !rxe_data_write(data, len, rq->write.key, rq->write.va))
		return refuse_data(qp);
	rq->write.va += len;
	rq->write.resid -= len;
	if (pkt->flags & RXE_OP_IMMDT)
		finish_write_imm(qp, pkt);
	return DONE;
}

/* Atomics, FLUSH and ATOMIC WRITE */
static enum verdict execute_single(struct rxe_qp *qp, const struct rxe_pkt *pkt,
				   struct rxe_data *data)
{
	u8 nak = rxe_single_execute(qp, pkt, data);

	if (likely(!nak))
		return SILENT;
	switch (nak) {
	case RXE_WAITS:
		return wait_for_page(qp);
	case RXE_UNFINISHED:
		return continue_later(qp);
	case RXE_NAK_REM_ACCESS:
		return refuse_access(qp);
	case RXE_NAK_REM_OP:
		return refuse_data(qp);
	default:
		return refuse_op(qp);
	}
}

/*
 * Checked in the order of the specification: the opcode's place in the message, then the opcode
 * itself. A reserved opcode is an invalid request [9.7.5.2.4].
 */
static enum verdict execute_request(struct rxe_qp *qp, const struct rxe_pkt *pkt,
				    struct rxe_data *data)
{
	if (unlikely(qp->rq.recv.ending))
		resume_invalidate(qp, pkt);
	if (!continues_message(&qp->rq, pkt->flags) || !is_length_ok(qp, pkt) ||
	    !is_op_enabled(qp, pkt))
		return refuse_op(qp);
	if (pkt->flags & RXE_OP_SINGLE)
		return execute_single(qp, pkt, data);
	if (pkt->flags & RXE_OP_SEND)
		return execute_send(qp, pkt, data);
	if (pkt->flags & RXE_OP_WRITE)
		return execute_write(qp, pkt, data);
	if (!(pkt->flags & RXE_OP_READ_REQ) || pkt->dma_len > RXE_MAX_MSG)
		return refuse_op(qp);
	return rxe_read_start(qp, pkt) ? SILENT : refuse_access(qp);
}

/**
 * rxe_respond_execute - execute a SEND or WRITE of a service without acknowledgments
 * @qp: the QP
 * @pkt: its headers
 * @data: its payload
 *
 * The caller has checked the PSN, and advances the expected PSN.
 *
 * Return: true if it was executed. False if it was dropped, or if it waits for a page, in
 * which case requests.parked is set.
 */
bool rxe_respond_execute(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			 struct rxe_data *data)
{
	return execute_request(qp, pkt, data) == DONE;
}

/* A duplicate is answered again, but not executed again [9.7.5.1.4] */
static void answer_duplicate(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	rxe_count(qp, DUP_REQ);
	rxe_gap_late(&qp->rq.gap, pkt->psn);
	if (pkt->flags & RXE_OP_READ_REQ) {
		if (is_op_enabled(qp, pkt))
			rxe_read_again(qp, pkt);
	} else if (pkt->flags & RXE_OP_SINGLE) {
		rxe_single_again(qp, pkt);
	} else if (pkt->flags & RXE_OP_MESSAGE) {
		qp->rq.ack.due = true;
	}
}

/*
 * Early packets usually come with rising PSNs. If one doesn't, the sender may have gone back,
 * and the first packet that it sent again may be lost, too: another NAK may be sent. Exception:
 * a packet behind the first held packet may only be late, so patience begins anew.
 */
static void note_out_of_sequence(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct sk_buff *first = rxe_early_peek(&qp->requests.early);
	struct rxe_rq *rq = &qp->rq;

	if (rq->ack.nak_sent && rxe_psn_diff(pkt->psn, rq->ack.early_psn) <= 0) {
		rq->ack.nak_sent = false;
		if (first && rxe_psn_diff(pkt->psn, rxe_rx(first)->psn) > 0)
			rxe_gap_end(&rq->gap);
	}
	rq->ack.early_psn = pkt->psn;
}

static void note_executed(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;

	rxe_expect_advance(&rq->expect, pkt->more + 1);
	if (pkt->flags & RXE_OP_END) {
		rq->expect.msn = (rq->expect.msn + 1) & RXE_MSN_MASK;
		rq->expect.op_flags = 0;
	} else {
		rq->expect.op_flags = pkt->flags & RXE_OP_MESSAGE;
	}
	if (pkt->ack_req)
		rq->ack.due = true;
}

/**
 * rxe_respond_established - note that the peer is connected, since a request came
 * @qp: the QP
 */
void rxe_respond_established(struct rxe_qp *qp)
{
	if (qp->comm_est || READ_ONCE(qp->state) != IB_QPS_RTR)
		return;
	qp->comm_est = true;
	rxe_qp_event(qp, IB_EVENT_COMM_EST);
}

/**
 * rxe_respond_early_ok - may a request that came too early be kept?
 * @qp: the QP
 * @pkt: the request
 *
 * Requests beyond window_max aren't kept: no peer has that many packets in flight. A request
 * that would be refused now isn't kept either: it may come again.
 *
 * Return: true if so.
 */
bool rxe_respond_early_ok(const struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	s32 diff = rxe_psn_diff(pkt->psn, qp->rq.expect.psn);

	return diff > 0 && diff <= rxe_knob(window_max) && !(pkt->flags & RXE_OP_RESERVED) &&
	       is_op_enabled(qp, pkt) && is_length_ok(qp, pkt);
}

/**
 * rxe_respond_most - how many MIDDLE packets can be taken in together
 * @qp: the QP
 * @pkt: the first of them
 *
 * Return: packets, @pkt included; none of them can be refused unless @pkt is.
 */
u32 rxe_respond_most(const struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	const struct rxe_rq *rq = &qp->rq;
	u32 room;

	if (pkt->psn != rq->expect.psn)
		return 1;
	if (pkt->flags & RXE_OP_WRITE)
		room = rq->write.resid ? rq->write.resid - 1 : 0;	/* LAST isn't empty */
	else
		room = rq->recv.wqe.valid ? get_recv_room(rq) : 0;
	return max(room >> ilog2(qp->mtu), 1u);
}

/**
 * rxe_respond_pkt - take in one request
 * @qp: the QP
 * @pkt: its headers
 * @data: its payload
 *
 * Requests behind a request that got an RNR NAK [9.7.5.2.8] are kept, too. The peer has to
 * send them again, but existing soft-RoCE modules sometimes don't, and wait for ever.
 *
 * Return: true if it came too early; the caller may keep it.
 */
bool rxe_respond_pkt(struct rxe_qp *qp, const struct rxe_pkt *pkt,
		     struct rxe_data *data)
{
	s32 diff = rxe_psn_diff(pkt->psn, qp->rq.expect.psn);

	if (unlikely(qp->rq.read.active)) {	/* the caller should have waited */
		rxe_drop(qp->rxe, RXE_DROP_QUEUE, pkt->more + 1);
		return false;
	}
	rxe_respond_established(qp);
	if (diff < 0) {
		answer_duplicate(qp, pkt);
	} else if (diff > 0) {
		note_out_of_sequence(qp, pkt);
	} else {
		qp->rq.ack.nak_sent = false;
		if (execute_request(qp, pkt, data) == DONE)
			note_executed(qp, pkt);
	}
	return diff > 0;
}

/**
 * rxe_respond_end - end a run of the receive task: send the ACK or NAK
 * @qp: the QP
 *
 * A NAK for a missing packet acknowledges all before it, and is sent once [C9-112].
 */
void rxe_respond_end(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;
	bool early = !qp->requests.parked && rxe_early_missing(&qp->requests.early, rq->expect.psn);

	rxe_key_drop(&rq->write.key);
	rxe_key_drop(&rq->read.key);
	if (rq->read.active)
		return;
	if (!rxe_qp_can_receive(qp)) {	/* the QP is silent in ERR [10.3.1] */
		rq->ack.due = false;
		return;
	}
	if (!rq->ack.nak_sent && rxe_gap_lost(qp, &rq->gap, early, rq->expect.psn)) {
		rq->ack.nak_sent = true;
		rxe_send_nak(qp, RXE_NAK_PSN_SEQ);
	} else {
		rxe_send_due_ack(qp);
	}
}
