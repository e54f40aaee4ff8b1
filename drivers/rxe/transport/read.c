// SPDX-License-Identifier: GPL-2.0
/*
 * READ responses (section 9.7.5.1.3): the responder as sender.
 *
 * One READ is served at a time, in trains, within the receive task's budget. Requests
 * behind it wait, since their acknowledgments must not overtake its response. No state is
 * kept for duplicates: a duplicate READ request has all that is needed to serve it again.
 *
 * Context: recv_task, which owns struct rxe_rq; no locks.
 */
#include <transport/common.h>

static bool keep_read_key(struct rxe_qp *qp, u32 rkey, u64 va, u32 len)
{
	if (!len)
		return true;	/* zero bytes need no key [C9-88] */
	return !rxe_key_keep(qp->ibqp.pd, &qp->ibqp, rkey, IB_ACCESS_REMOTE_READ,
			     va, len, &qp->rq.read.key);
}

static void serve_read(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;

	rq->read.active = true;
	rq->read.first = true;
	rq->read.va = pkt->va;
	rq->read.rkey = pkt->rkey;
	rq->read.resid = pkt->dma_len;
	rq->read.psn = pkt->psn;
	/* The memory is read after what earlier requests wrote and read, as with PCIe */
	smp_mb();
}

static bool is_read_request(const struct sk_buff *skb)
{
	u8 bth[RXE_BTH_BYTES];

	return rxe_skb_copy_bth(skb, 0, bth) && (rxe_opcode[bth[0]].flags & RXE_OP_READ_REQ);
}

/*
 * The rate is limited. Has the first READ request come since the response to an earlier READ had
 * left? It waits in the queue, behind the READ in progress.
 */
static void watch_turn(struct rxe_qp *qp)
{
	struct rxe_ended *ended = &qp->slow->ended;
	struct sk_buff *skb = ended->at ? rxe_inq_last(&qp->requests) : NULL;

	if (!skb || rxe_psn_diff(rxe_rx(skb)->psn, ended->psn) < 0 || !is_read_request(skb))
		return;
	rxe_pace_turned(qp, ended->at, false);
	ended->at = 0;
}

/*
 * Is the rate of READ responses limited? Only by an algorithm that also raises the rate as they
 * leave. Others learn from the answers to requests, and the QP may send none.
 */
static bool is_rate_limited(const struct rxe_qp *qp)
{
	return rxe_is_paced(qp) && qp->sq.cc.ops->sent;
}

/* The rate is limited, and a new READ is to be answered. Did it find nothing left to be sent? */
static void begin_limited(struct rxe_qp *qp)
{
	struct rxe_ended *ended = &qp->slow->ended;

	if (ended->at && rxe_psn_diff(qp->rq.read.sent_then, ended->psn) >= 0) {
		rxe_pace_turned(qp, ended->at, true);
		ended->at = 0;
	}
	rxe_pace_asked(qp);
}

/**
 * rxe_read_start - take in a new READ request
 * @qp: the QP
 * @pkt: the request, for RXE_MAX_MSG bytes at most
 *
 * Return: false if the R_Key doesn't allow it.
 */
bool rxe_read_start(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_rq *rq = &qp->rq;
	u32 npkts;

	rxe_count(qp, RX_READ_REQ);
	if (!keep_read_key(qp, pkt->rkey, pkt->va, pkt->dma_len))
		return false;
	if (is_rate_limited(qp))
		begin_limited(qp);
	rxe_send_due_ack(qp);
	npkts = rxe_count_pkts(pkt->dma_len, qp->mtu);
	if (rq->reply.out.firsts.score)
		rxe_firsts_new(&rq->reply.out.firsts, pkt->psn, npkts);
	rxe_expect_advance(&rq->expect, npkts);
	rq->expect.msn = (rq->expect.msn + 1) & RXE_MSN_MASK;
	serve_read(qp, pkt);
	rq->read.again = false;
	return true;
}

/**
 * rxe_read_again - serve a duplicate READ request, or the rest of one
 * @qp: the QP
 * @pkt: the request; its PSN is before the expected one
 *
 * It must lie wholly before the expected PSN [9.7.5.1.4]. A duplicate is never refused: the
 * peer may have the response by now, and have invalidated the key. ack.due stays set, since
 * newer requests still need their acknowledgment.
 *
 * A duplicate that came before the first packet of the first response was sent gets no
 * response of its own. A second response would delay the answers behind it, and so lead to
 * further duplicates.
 */
void rxe_read_again(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	u32 npkts = rxe_count_pkts(pkt->dma_len, qp->mtu);
	u32 before = -rxe_psn_diff(pkt->psn, qp->rq.expect.psn);

	if (rxe_psn_diff(pkt->psn, qp->rq.read.sent_then) >= 0)
		return;
	if (npkts > before || pkt->dma_len > RXE_MAX_MSG ||
	    !keep_read_key(qp, pkt->rkey, pkt->va, pkt->dma_len))
		return;
	rxe_out_again(qp, &qp->rq.reply.out, pkt->psn, npkts);
	serve_read(qp, pkt);
	qp->rq.read.again = true;
}

static u8 get_response_opcode(bool first, bool last)
{
	if (first)
		return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY :
			      IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST;
	return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST :
		      IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

static void set_next_pkt(const struct rxe_qp *qp, struct rxe_pkt *pkt)
{
	const struct rxe_rq *rq = &qp->rq;
	bool last = rq->read.resid <= qp->mtu;

	pkt->opcode = get_response_opcode(rq->read.first, last);
	pkt->payload_len = min(rq->read.resid, qp->mtu);
	pkt->pad = rxe_pad(pkt->payload_len);
	pkt->psn = rq->read.psn;
}

/* Move on behind a packet that is about to be sent */
static void advance_response(struct rxe_rq *rq, const struct rxe_pkt *pkt)
{
	rq->read.first = false;
	rq->read.va += pkt->payload_len;
	rq->read.resid -= pkt->payload_len;
	rq->read.psn = rxe_psn_add(rq->read.psn, 1);
	if (!rq->read.resid)
		rq->read.active = false;
}

/*
 * Trains to send before the queues below are checked again: one. If the path takes only single
 * packets, as many as these queues and the budget have room for.
 */
static u32 get_run_length(const struct rxe_qp *qp, u32 budget)
{
	const struct rxe_rq *rq = &qp->rq;
	u32 npkts;

	if (!rxe_qp_uses_wire(qp) || !rq->reply.out.train.alone)
		return 1;
	npkts = min(budget, rxe_tx_room(rq->reply.tx)) >> ilog2(qp->mtu);
	return clamp(npkts, 1U, max(rxe_tx_share(rq->reply.tx), 1U));
}

/* @bytes of the response leave at a limited rate */
static void charge_response(struct rxe_qp *qp, u32 bytes)
{
	struct rxe_ended *ended = &qp->slow->ended;
	const struct rxe_read_resp *read = &qp->rq.read;

	rxe_pace_charge(qp, bytes);
	if (read->active || read->again)
		return;
	ended->psn = read->psn;
	ended->at = ktime_get_ns();
}

/*
 * Send @trains trains, or until @room bytes have left or the response is complete. The
 * response to the next READ may follow in the same train.
 */
static void send_responses(struct rxe_qp *qp, struct rxe_outlet *outlet,
			   struct rxe_data *data, u32 trains, u32 room)
{
	struct rxe_rq *rq = &qp->rq;
	u32 hint = max(rxe_count_pkts(rq->read.resid, qp->mtu), rq->reply.batch);
	u32 begin = rq->read.resid, stop = begin - min(begin, room);
	struct rxe_pkt pkt __uninitialized;

	outlet->spent = 0;
	rxe_pkt_init_response(qp, &pkt);
	do {
		set_next_pkt(qp, &pkt);
		advance_response(rq, &pkt);
		rxe_outlet_send(outlet, &pkt, data, hint);
		trains -= rxe_outlet_is_full(outlet) || rxe_outlet_is_short(outlet);
	} while (rq->read.active && trains && rq->read.resid > stop);
	if (is_rate_limited(qp))
		charge_response(qp, begin - rq->read.resid);
}

/*
 * Can the next bytes be read? @room: in: bytes that may leave; out: limited to the bytes
 * that were checked. Return: 0; -EAGAIN with requests.parked set; -EFAULT.
 */
static int check_read_data(struct rxe_qp *qp, u32 *room)
{
	struct rxe_rq *rq = &qp->rq;
	u32 len;
	int err;

	if (!rq->read.resid)
		return 0;
	len = rxe_key_step(rq->read.key, rq->read.resid);
	err = rxe_key_prepare(rq->read.key, false, rq->read.va, len, rq->read.resid,
			      &qp->requests.pager);
	qp->requests.parked = err == -EAGAIN;
	*room = min(*room, len);
	return err;
}

/*
 * During the response, the key became invalid, or the process lost the memory. A duplicate
 * is dropped; a new request is refused.
 */
static void fail_read(struct rxe_qp *qp)
{
	rxe_read_stop(&qp->rq.read);
	if (qp->rq.read.again)
		return;
	rxe_count(qp, REFUSED_ACCESS);
	rxe_send_ack(qp, RXE_NAK_REM_ACCESS, qp->rq.read.psn);
	if (rxe_qp_to_err(qp))
		rxe_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
}

/* Return: bytes that may leave now; if 0, the task runs again when some may */
static u32 get_read_room(struct rxe_qp *qp)
{
	u32 room = is_rate_limited(qp) ? rxe_pace_ask(qp, RXE_PACE_RECV) : U32_MAX;

	qp->rq.read.blocked = !room || (rxe_qp_uses_wire(qp) && rxe_tx_full(qp->rq.reply.tx));
	return qp->rq.read.blocked ? 0 : room;
}

/**
 * rxe_read_continue - send more of the READ response
 * @qp: the QP; a response is in progress
 * @budget: of the run
 *
 * Return: true if it isn't finished.
 */
bool rxe_read_continue(struct rxe_qp *qp, u32 *budget)
{
	struct rxe_rq *rq = &qp->rq;
	struct rxe_seg seg = { .va = rq->read.va, .len = rq->read.resid };
	struct rxe_data data = { .seg = &seg };
	struct rxe_outlet outlet __uninitialized;
	u32 room;
	int err;

	/* A run ends with the release of the key: later runs look it up again */
	if (!rq->read.key &&
	    !keep_read_key(qp, rq->read.rkey, seg.va, seg.len)) {
		fail_read(qp);
		return false;
	}
	seg.key = rq->read.key;
	if (is_rate_limited(qp))
		watch_turn(qp);
	rxe_outlet_responses(&outlet, qp, rq->reply.tx);
	while (rq->read.active && *budget && (room = get_read_room(qp))) {
		err = check_read_data(qp, &room);
		if (err == -EAGAIN)
			break;
		if (err) {
			fail_read(qp);
			break;
		}
		send_responses(qp, &outlet, &data,
			       get_run_length(qp, min(*budget, room)), room);
		rxe_task_spend(budget, outlet.spent);
	}
	if (!rq->read.again)
		WRITE_ONCE(rq->read.sent, rq->read.psn);	/* for rxe_rx.psn of later trains */
	return rq->read.active;
}
