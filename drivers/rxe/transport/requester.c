// SPDX-License-Identifier: GPL-2.0
/*
 * The requester (section 9.7.2 to 9.7.4): from work requests to trains.
 *
 * The send task picks a run of packets under sq.lock, then builds and sends them without
 * the lock. Building only reads a place in sq.q.wqes, and only this task refills places.
 * PSNs are assigned when packets are picked. A packet that this host drops afterwards is
 * recovered like a packet that is lost on the wire.
 */
#include <transport/common.h>

/*
 * A run of packets of one work request: @npkts from @psn on (READ: expected
 * responses). @index: the work request's place in the send queue. @hint: packets that could
 * leave in one train from here. @ack_req: the last packet asks for an ACK. @again: the packets
 * were sent before, and got lost. @top: flight.top before the pick.
 */
struct pick {
	struct rxe_swqe	*wqe;
	u32		index;
	u32		psn;
	u32		npkts;
	u32		hint;
	bool		ack_req;
	bool		again;
	u32		top;
};

/*
 * One run of the send task. @trains: trains sent at the last look at the lower queues.
 * @pkt: the common headers; the other fields are set for each packet
 */
struct run {
	struct rxe_outlet	outlet;
	u32			trains;
	struct rxe_data		data;	/* position in sq.sender.segs */
	struct rxe_pkt		pkt;
};

static u32 measure_wqe(const struct rxe_swqe *wqe)
{
	if (wqe->flags & IB_SEND_INLINE)
		return sizeof(*wqe) + wqe->length;
	return struct_size(wqe, sge, wqe->num_sge);
}

static void import_posted(struct rxe_qp *qp, const void *elem,
			  struct rxe_swqe *wqe)
{
	const struct rxe_wr_rules *rules = &qp->sq.q.rules;

	rxe_import_send(rules, elem, wqe);
	if (!rules->datagram || wqe->status)
		return;
	wqe->ah = rxe_ah_get(qp->rxe, wqe->ah_num, qp->ibqp.pd);
	if (!wqe->ah)
		wqe->status = IB_WC_LOC_QP_OP_ERR;
}

/**
 * rxe_sq_import - copy the next posted work request
 * @qp: the QP
 *
 * Context: sq.lock held.
 *
 * Return: false if there is none.
 */
bool rxe_sq_import(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	const void *elem;

	if (sq->q.head - sq->q.tail >= rxe_ring_get_capacity(sq->q.ring))
		return false;
	elem = rxe_ring_get_head(sq->q.ring);
	if (!elem)
		return false;
	if (qp->is_user)
		import_posted(qp, elem, rxe_sendq_get_wqe(&sq->q, sq->q.head));
	else
		memcpy(rxe_sendq_get_wqe(&sq->q, sq->q.head), elem, measure_wqe(elem));
	rxe_ring_advance(sq->q.ring);
	sq->q.head++;
	return true;
}

/* Return: number of missing packets that may leave now; 0 or less: none */
static s32 count_missing_pkts(struct rxe_sq *sq, const struct rxe_swqe *wqe)
{
	s32 ahead = rxe_psn_diff(sq->resend.psn, sq->flight.una);
	s32 npkts = min_t(s32, sq->resend.npkts, rxe_count_unanswered(&sq->flight, wqe) - ahead);

	if (sq->q.tail == sq->q.head || !wqe->started || wqe->status || npkts <= 0) {
		sq->resend.npkts = 0;	/* acknowledged, or will be sent anyway */
		return 0;
	}
	return min(npkts, (s32)sq->cc.window - ahead);
}

/* Return: how many of @most packets may leave now at the rate of congestion control */
static s32 limit_paced_pkts(struct rxe_qp *qp, s32 most)
{
	u32 room = rxe_pace_room(qp, RXE_PACE_SEND);

	return room ? min_t(s32, most, max_t(u32, room >> ilog2(qp->mtu), 1)) : 0;
}

/* Pick only the missing packets of the oldest work request, within the window */
static bool pick_missing(struct rxe_qp *qp, struct pick *pick)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe = rxe_sendq_get_wqe(&sq->q, sq->q.tail);
	s32 npkts = count_missing_pkts(sq, wqe);

	if (npkts > 0 && rxe_is_paced(qp) && !rxe_is_rd_atomic(wqe))
		npkts = limit_paced_pkts(qp, npkts);
	if (npkts <= 0)
		return false;
	pick->wqe = wqe;
	pick->index = sq->q.tail;
	pick->psn = sq->resend.psn;
	pick->npkts = npkts;
	pick->hint = rxe_is_rd_atomic(wqe) ? 1 : npkts;
	pick->ack_req = true;
	pick->again = true;
	if (pick->psn == sq->flight.una) {
		rxe_sq_note_resent(qp, rxe_psn_add(sq->flight.una, sq->resend.npkts));
		rxe_sq_leave_again(qp);
	}
	sq->resend.npkts -= npkts;
	sq->resend.psn = rxe_psn_add(pick->psn, npkts);
	rxe_wait(qp);
	return true;
}

/*
 * Check the fence [10.8.3.3], initiator depth [9.7.4.2], and the longest distance of
 * two PSNs.
 */
static bool may_start(const struct rxe_qp *qp, struct rxe_swqe *wqe)
{
	const struct rxe_sq *sq = &qp->sq;
	u32 span = rxe_psn_diff(sq->flight.psn, sq->flight.una) +
		   rxe_count_pkts(wqe->length, qp->mtu);

	if (READ_ONCE(qp->state) == IB_QPS_SQD)
		return false;
	if ((wqe->flags & IB_SEND_FENCE) && sq->flight.rd_atomic)
		return false;
	if (rxe_is_rd_atomic(wqe)) {
		if (!qp->attr.max_rd_atomic)
			wqe->status = IB_WC_LOC_QP_OP_ERR;
		if (sq->flight.rd_atomic >= qp->attr.max_rd_atomic)
			return false;
	}
	return span <= RXE_MAX_PSN_SPAN;
}

static void start_wqe(struct rxe_qp *qp, struct rxe_swqe *wqe)
{
	struct rxe_sq *sq = &qp->sq;
	u32 npkts = rxe_count_pkts(wqe->length, qp->mtu);

	wqe->first_psn = sq->flight.psn;
	wqe->last_psn = rxe_psn_add(sq->flight.psn, npkts - 1);
	wqe->started = true;
	if (rxe_is_rd_atomic(wqe))
		sq->flight.rd_atomic++;
	else
		rxe_count(qp, RDMA_SENDS);
}

static void finish_sent(struct rxe_qp *qp)
{
	struct rxe_swqe *wqe = rxe_sendq_get_wqe(&qp->sq.q, qp->sq.q.tail);

	if (unlikely(wqe->status)) {
		rxe_qp_to_sqe(qp);	/* before the consumer sees the error */
		rxe_count_send_error(qp, wqe->status);
	}
	rxe_sq_finish(qp, wqe, wqe->status);
}

/*
 * Complete what was handed on by an unacknowledged service [9.8.2.1]. Its data was copied.
 * Context: sq.lock held, all picked packets have been emitted.
 */
static __always_inline void retire_sent(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;

	sq->flight.una = sq->flight.psn;
	while (sq->q.tail != sq->q.cur)
		finish_sent(qp);
}

/*
 * A READ's responses count against the window, too. A work request has one READ request in
 * flight at a time, since initiator depth counts requests. A repeated request must lie within
 * the former request: the peer ignores a duplicate that goes beyond [9.7.5.1.4].
 */
static u32 pick_read(const struct rxe_sq *sq, const struct rxe_swqe *wqe,
		     s32 room, s32 left)
{
	if (sq->flight.psn != sq->flight.una)
		return sq->flight.psn == wqe->first_psn && left <= room ? left : 0;
	if (sq->flight.una != sq->flight.top)
		left = min(left, rxe_psn_diff(sq->flight.top, sq->flight.una));
	return min(room, left);
}

/* Packets that fill up the current train: a pick should end with a full train */
static s32 get_train_room(const struct rxe_qp *qp)
{
	u32 pkt = RXE_BTH_BYTES + qp->mtu + RXE_ICRC_BYTES;

	return rxe_train_get_room(&qp->sq.sender.out.train, pkt) ?: rxe_train_get_most(qp);
}

/* Most packets of a pick */
static s32 get_pick_most(const struct rxe_qp *qp)
{
	u32 bytes = min_t(u32, RXE_PICK_BYTES, rxe_tx_room(qp->sq.sender.tx));

	return max_t(s32, bytes >> ilog2(qp->mtu), RXE_PICK_PKTS);
}

/*
 * Pick packets of a SEND or WRITE within the window. Pick few at a time, since another
 * thread may wait for this CPU. Exception: up to RXE_PICK_TAIL packets beyond a full train
 * are picked with it.
 */
static void pick_data(struct rxe_qp *qp, struct pick *pick, s32 room, s32 left)
{
	s32 npkts = max(min(room, left), 0), fits;

	pick->hint = npkts;
	if (npkts > RXE_PICK_TAIL) {
		fits = get_train_room(qp);
		if (npkts > fits + RXE_PICK_TAIL)
			npkts = fits;
	}
	if (npkts > RXE_PICK_PKTS)
		npkts = min(npkts, get_pick_most(qp));
	pick->npkts = npkts;
	/* sending may pause at the end of the window, or if other senders wait */
	pick->ack_req = npkts < left &&
			(npkts == room || rxe_tx_shared(qp->sq.sender.tx));
}

/* Packets that may leave by the window; may be negative */
static s32 get_window_room(const struct rxe_sq *sq)
{
	s32 room = sq->cc.window - rxe_psn_diff(sq->flight.psn, sq->flight.una);

	return unlikely(sq->flight.overfull) ? max(room, 1) : room;
}

static void pick_pkts(struct rxe_qp *qp, struct pick *pick)
{
	struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = pick->wqe;
	s32 left = rxe_psn_diff(wqe->last_psn, sq->flight.psn) + 1;
	s32 room = left;

	if (qp->service->acked)
		room = get_window_room(sq);
	sq->timed.limited |= room < left;
	if (rxe_is_paced(qp) && room > 0 && !rxe_is_rd_atomic(wqe))
		room = limit_paced_pkts(qp, room);
	if (rxe_is_rd_atomic(wqe)) {
		pick->npkts = pick_read(sq, wqe, room, left);
		pick->hint = 1;
	} else {
		pick_data(qp, pick, room, left);
	}
	pick->hint += sq->q.head - sq->q.cur - 1 + rxe_ring_count_pending(sq->q.ring);
}

/* Assign PSNs to the picked packets */
static void advance_psn(struct rxe_qp *qp, const struct pick *pick)
{
	struct rxe_sq *sq = &qp->sq;
	const struct rxe_swqe *wqe = pick->wqe;

	sq->rto.anew |= sq->flight.una == sq->flight.top;
	if (unlikely(sq->rec.unsent) && sq->flight.psn == sq->flight.una &&
	    sq->flight.una != sq->flight.top)
		rxe_sq_leave_again(qp);	/* after a rewind */
	sq->flight.overfull = false;
	sq->flight.psn = rxe_psn_add(sq->flight.psn, pick->npkts);
	if (rxe_psn_diff(sq->flight.psn, wqe->last_psn) > 0)
		sq->q.cur++;
	if (rxe_psn_diff(sq->flight.psn, sq->flight.top) > 0) {
		sq->flight.top = sq->flight.psn;
		if (rxe_qp_uses_wire(qp)) {
			rxe_rtt_start(sq, rxe_psn_add(sq->flight.psn, -1),
				      rxe_is_rd_atomic(wqe));
			if (sq->rto.anew)	/* an answer may come before the run ends */
				rxe_recovery_restart(&sq->rec, sq->timed.start);
		}
	}
}

/* Do the packets carry the work request's data? */
static bool has_payload(const struct rxe_swqe *wqe)
{
	u8 kind = rxe_wr_type(wqe)->kind;

	return kind == RXE_WR_DATA || kind == RXE_WR_ATOMIC_WRITE;
}

/*
 * The data of the picked packets is going to be copied. Only for acknowledged services: with
 * others, send_task itself completes work requests, after the copy. Context: sq.lock held
 */
static void begin_reading(struct rxe_reading *reading, const struct pick *pick)
{
	const struct rxe_swqe *wqe = pick->wqe;

	reading->busy = has_payload(wqe);
	reading->last = wqe->last_psn;
}

/* The data is copied */
static void stop_reading(struct rxe_reading *reading)
{
	/* After the copy. Pairs with rxe_sq_is_read() */
	smp_store_release(&reading->busy, false);
}

/* Return: true if recv_task waits for the end of the copy. Context: sq.lock held */
static bool end_reading(struct rxe_reading *reading)
{
	bool awaited = reading->awaited;

	rxe_reading_reset(reading);
	return awaited;
}

/* Start the timer, unless a peer on this device has answered everything already */
static void end_run(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	bool awaited;

	spin_lock(&sq->lock);
	awaited = end_reading(&sq->reading);
	if (!qp->service->acked)
		retire_sent(qp);
	if (sq->flight.una != sq->flight.top && !sq->rto.deadline) {
		if (sq->rto.anew)
			rxe_wait_anew(qp);
		else
			rxe_wait(qp);
	}
	sq->rto.anew = false;
	spin_unlock(&sq->lock);
	if (unlikely(awaited))
		rxe_task_schedule(&qp->recv_task);
}

/*
 * The next work request that sends something; NULL if there is none, or it has to wait. Local
 * work requests before it are executed, at most RXE_MEMOPS_MOST in a run: they cost no
 * budget, and a process can refill the ring as fast as they are executed.
 */
static struct rxe_swqe *find_next_wqe(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;

	for (;;) {
		if (sq->q.cur == sq->q.head && !rxe_sq_import(qp))
			return NULL;
		wqe = rxe_sendq_get_wqe(&sq->q, sq->q.cur);
		if (likely(!rxe_is_local(wqe)) || wqe->status)
			return wqe;
		if (!sq->memops.left)
			break;
		sq->memops.left--;
		if (!wqe->started && !rxe_memop(qp, wqe))
			return wqe->status ? wqe : NULL;
		sq->q.cur++;
		rxe_sq_finish_memops(qp);
	}
	rxe_task_schedule(&qp->send_task);
	return NULL;
}

static bool pick_locked(struct rxe_qp *qp, struct pick *pick)
{
	struct rxe_sq *sq = &qp->sq;
	struct rxe_swqe *wqe;

	if (sq->rnr.state == RXE_RNR_WAIT)
		return false;
	if (sq->resend.npkts && pick_missing(qp, pick))
		return true;
	if (sq->stop.stalled || (sq->rnr.state && sq->q.cur != sq->q.tail))
		return false;
	wqe = find_next_wqe(qp);
	if (!wqe)
		return false;
	if (!wqe->status && !wqe->started) {
		if (may_start(qp, wqe))
			start_wqe(qp, wqe);
		else if (!wqe->status)
			return false;
	}
	if (wqe->status) {
		/* In SQD, it waits if it hasn't begun, even if it can't be sent [10.3.1.5] */
		sq->stop.stalled = wqe->started || READ_ONCE(qp->state) != IB_QPS_SQD;
		return false;
	}
	pick->wqe = wqe;
	pick->index = sq->q.cur;
	pick->psn = sq->flight.psn;
	pick->again = false;
	pick->top = sq->flight.top;
	pick_pkts(qp, pick);
	if (!pick->npkts)
		return false;
	advance_psn(qp, pick);
	return true;
}

static bool may_send(const struct rxe_qp *qp)
{
	u8 state = READ_ONCE(qp->state);

	return state == IB_QPS_RTS || state == IB_QPS_SQD;
}

/*
 * The flush may miss a work request that is posted while the QP goes to ERR. Run the receive
 * task again, which flushes.
 */
static void leave_to_flush(struct rxe_qp *qp)
{
	if (rxe_sq_is_in_flush(qp) && rxe_ring_count_pending(qp->sq.q.ring))
		rxe_task_schedule(&qp->recv_task);
}

static bool pick_run(struct rxe_qp *qp, struct pick *pick)
{
	struct rxe_sq *sq = &qp->sq;
	bool allowed, ok, must_fail;

	spin_lock(&sq->lock);
	if (!qp->service->acked)
		retire_sent(qp);
	allowed = may_send(qp);
	ok = allowed && pick_locked(qp, pick);
	if (ok && qp->service->acked)
		begin_reading(&sq->reading, pick);
	must_fail = unlikely(sq->stop.stalled) && sq->q.cur == sq->q.tail && rxe_sq_must_fail(qp);
	spin_unlock(&sq->lock);
	if (!allowed)
		leave_to_flush(qp);
	if (must_fail)	/* now, not after an ACK */
		rxe_task_schedule(&qp->recv_task);
	return ok;
}

/* FIRST, MIDDLE, LAST or ONLY */
static u8 get_data_opcode(const struct rxe_swqe *wqe, bool first, bool last)
{
	const struct rxe_wr_type *type = rxe_wr_type(wqe);

	if (!last)
		return type->first + !first;
	return first ? type->only : type->last;
}

/* Set the fields common to all packets of a SEND or WRITE */
static void init_data_pkt(const struct rxe_swqe *wqe, struct rxe_pkt *pkt)
{
	pkt->va = wqe->raddr;
	pkt->rkey = wqe->rkey;
	pkt->dma_len = wqe->length;
	pkt->imm = wqe->imm;
}

/* Set the fields of packet @n of the run */
static void set_data_pkt(const struct rxe_qp *qp, const struct pick *pick, u32 n,
			 struct rxe_pkt *pkt)
{
	const struct rxe_swqe *wqe = pick->wqe;
	u32 psn = rxe_psn_add(pick->psn, n);
	u32 off = rxe_psn_diff(psn, wqe->first_psn) * qp->mtu;
	bool last = psn == wqe->last_psn;

	pkt->psn = psn;
	pkt->opcode = qp->service->opcode + get_data_opcode(wqe, psn == wqe->first_psn, last);
	pkt->payload_len = min(qp->mtu, wqe->length - off);
	pkt->solicited = last && (wqe->flags & IB_SEND_SOLICITED);
	pkt->ack_req = qp->service->acked &&
		       (last || (pick->ack_req && n == pick->npkts - 1));
	pkt->pad = rxe_pad(pkt->payload_len);
}

/* A READ request, perhaps only for missing responses; an atomic, ATOMIC WRITE or FLUSH */
static void set_rd_atomic_pkt(const struct rxe_qp *qp, const struct pick *pick,
			      struct rxe_pkt *pkt)
{
	const struct rxe_swqe *wqe = pick->wqe;
	u32 off = rxe_psn_diff(pick->psn, wqe->first_psn) * qp->mtu;

	pkt->psn = pick->psn;
	pkt->payload_len = 0;
	pkt->pad = 0;
	pkt->solicited = false;
	pkt->ack_req = true;
	pkt->va = wqe->raddr + off;
	pkt->rkey = wqe->rkey;
	pkt->dma_len = min(wqe->length - off, pick->npkts * qp->mtu);
	pkt->opcode = qp->service->opcode + rxe_wr_type(wqe)->only;
	if (rxe_wr_type(wqe)->kind != RXE_WR_READ)
		rxe_single_request(wqe, pkt);
}

/* The data can't be read: the work request fails */
static void fail_pick(struct rxe_qp *qp, const struct pick *pick)
{
	spin_lock(&qp->sq.lock);
	pick->wqe->status = IB_WC_LOC_PROT_ERR;
	qp->sq.stop.stalled = true;
	spin_unlock(&qp->sq.lock);
	rxe_task_schedule(&qp->recv_task);
}

/* Missing packets weren't resent: undo the pick, unless recv_task has decided anew meanwhile */
static void undo_missing_pick(struct rxe_sq *sq, const struct pick *pick)
{
	if (sq->resend.psn != rxe_psn_add(pick->psn, pick->npkts) ||
	    rxe_psn_diff(sq->flight.una, pick->psn) > 0)
		return;
	sq->resend.psn = pick->psn;
	sq->resend.npkts += pick->npkts;
}

/* New packets weren't sent: undo the pick, unless recv_task has rewound meanwhile */
static void undo_new_pick(struct rxe_sq *sq, const struct pick *pick)
{
	sq->flight.top = rxe_psn_max(pick->top, sq->flight.una);
	if (rxe_psn_diff(sq->flight.psn, pick->psn) <= 0)
		return;
	sq->flight.psn = rxe_psn_max(pick->psn, sq->flight.una);
	sq->q.cur = pick->index;
	sq->timed.start = 0;
	sq->flight.overfull = true;	/* the pick may have cleared it */
}

/* A page of the data isn't present. The task runs again when a worker has faulted it in */
static void undo_pick(struct rxe_qp *qp, const struct pick *pick)
{
	spin_lock(&qp->sq.lock);
	if (pick->again)
		undo_missing_pick(&qp->sq, pick);
	else
		undo_new_pick(&qp->sq, pick);
	spin_unlock(&qp->sq.lock);
}

/* The data can't be read: not yet (-EAGAIN), or never. Return: false if this run should end */
static bool handle_unreadable(struct rxe_qp *qp, const struct pick *pick, int err)
{
	if (err == -EAGAIN) {
		undo_pick(qp, pick);
		return false;
	}
	fail_pick(qp, pick);
	return true;
}

/* Part of a SEND or WRITE. Return: false if this run should end */
static bool emit_data(struct rxe_qp *qp, struct run *run,
		      const struct pick *pick)
{
	const struct rxe_swqe *wqe = pick->wqe;
	u32 off = rxe_psn_diff(pick->psn, wqe->first_psn) * qp->mtu;
	u32 len = min(pick->npkts * qp->mtu, wqe->length - off);
	int num = rxe_map(&qp->sq.sender.source, wqe, off, len, qp->sq.sender.segs);
	u32 n;

	if (num < 0)
		return handle_unreadable(qp, pick, num);
	if (rxe_is_paced(qp))
		rxe_pace_charge(qp, max(len, pick->npkts * RXE_PKT_COST));
	run->data = (struct rxe_data){ .seg = qp->sq.sender.segs };
	init_data_pkt(wqe, &run->pkt);
	for (n = 0; n < pick->npkts; n++) {
		set_data_pkt(qp, pick, n, &run->pkt);
		rxe_outlet_send(&run->outlet, &run->pkt, &run->data,
				pick->hint - n);
	}
	stop_reading(&qp->sq.reading);
	rxe_unmap(wqe, qp->sq.sender.segs, num);
	return true;
}

/* Return: false if this run should end */
static bool emit_atomic_write(struct rxe_qp *qp, struct run *run,
			      const struct pick *pick)
{
	u32 len = pick->wqe->length;
	int num = rxe_map(&qp->sq.sender.source, pick->wqe, 0, len, qp->sq.sender.segs);
	bool go_on;

	if (num < 0)
		return handle_unreadable(qp, pick, num);
	run->data = (struct rxe_data){ .seg = qp->sq.sender.segs };
	run->pkt.payload_len = len;
	if (rxe_outlet_answers(&run->outlet))
		stop_reading(&qp->sq.reading);
	go_on = rxe_outlet_send(&run->outlet, &run->pkt, &run->data, pick->hint);
	stop_reading(&qp->sq.reading);
	rxe_unmap(pick->wqe, qp->sq.sender.segs, num);
	return go_on;
}

/* Return: false if this run should end */
static bool emit_pick(struct rxe_qp *qp, struct run *run, const struct pick *pick)
{
	if (!rxe_is_rd_atomic(pick->wqe))
		return emit_data(qp, run, pick);
	set_rd_atomic_pkt(qp, pick, &run->pkt);
	if (has_payload(pick->wqe))
		return emit_atomic_write(qp, run, pick);
	return rxe_outlet_send(&run->outlet, &run->pkt, &run->data, pick->hint);
}

/* A process yields on need_resched(). A softirq doesn't: ksoftirqd would have to continue */
static bool has_budget_left(const struct rxe_qp *qp, const struct run *run)
{
	const struct rxe_out *out = &qp->sq.sender.out;
	u32 trains = out->trains + !!out->train.npkts;

	return max_t(u32, run->outlet.spent, trains * RXE_TRAIN_COST) <
	       RXE_TASK_BUDGET && !(in_task() && need_resched());
}

/* Are there work requests, imported or not, of which nothing or only a part was sent? */
static bool has_unsent(const struct rxe_sq *sq)
{
	return READ_ONCE(sq->q.cur) != READ_ONCE(sq->q.head) || rxe_ring_count_pending(sq->q.ring);
}

/**
 * rxe_rc_requester_due - may the send task send something now? rxe_service.due for RC
 * @qp: the QP
 *
 * Return: true if so; a guess, since the state may change at any time.
 */
bool rxe_rc_requester_due(const struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;

	if (READ_ONCE(sq->resend.npkts))
		return true;
	return has_unsent(sq) &&
	       rxe_psn_diff(READ_ONCE(sq->flight.psn), READ_ONCE(sq->flight.una)) <
	       (s32)READ_ONCE(sq->cc.window) &&
	       !(READ_ONCE(qp->pace.waits) & RXE_PACE_SEND);
}

/* Must the QP wait for its turn at the queues below? */
static bool must_await_turn(const struct rxe_qp *qp)
{
	return rxe_qp_uses_wire(qp) && rxe_tx_busy(qp->sq.sender.tx) &&
	       rxe_rc_requester_due(qp) && rxe_tx_full(qp->sq.sender.tx);
}

/* Check the lower queues after each train: it may have filled them */
static bool have_queues_room(const struct rxe_qp *qp, struct run *run)
{
	if (run->trains == qp->sq.sender.out.trains)
		return true;
	run->trains = qp->sq.sender.out.trains;
	return !must_await_turn(qp);
}

/* Is it worth another pick? Any work that comes after this look runs the task again */
static bool has_more_to_pick(const struct rxe_qp *qp)
{
	return READ_ONCE(qp->sq.resend.npkts) || has_unsent(&qp->sq);
}

/* Return: true if the budget was spent, and there may be more to send */
static bool send_run(struct rxe_qp *qp, struct pick *p)
{
	struct run run __uninitialized;
	bool go_on;

	qp->sq.sender.out.trains = 0;
	run.trains = 0;
	rxe_outlet_requests(&run.outlet, qp);
	rxe_pkt_init(qp, &run.pkt);
	do {
		go_on = emit_pick(qp, &run, p) && has_budget_left(qp, &run);
	} while (go_on && have_queues_room(qp, &run) && has_more_to_pick(qp) && pick_run(qp, p));
	rxe_outlet_end(&run.outlet);
	rxe_out_flush(qp, &qp->sq.sender.out);
	end_run(qp);
	return !go_on && !rxe_pager_is_busy(&qp->sq.sender.source.pager) &&
	       has_unsent(&qp->sq);
}

/**
 * rxe_rc_requester - a run of the send task for RC, rxe_service.send
 * @qp: the QP
 *
 * For UC, rxe_uc_requester() calls it in the states in which sends leave.
 *
 * Return: true if the budget was spent.
 */
bool rxe_rc_requester(struct rxe_qp *qp)
{
	struct pick p __uninitialized;
	bool more = false;

	qp->sq.memops.left = RXE_MEMOPS_MOST;
	if (!rxe_pager_is_busy(&qp->sq.sender.source.pager) && !must_await_turn(qp) &&
	    pick_run(qp, &p))
		more = send_run(qp, &p);
	return more;
}

/**
 * rxe_requester - send what may be sent; the send task's function
 * @qp: the QP
 *
 * Return: true if the budget was spent.
 */
bool rxe_requester(struct rxe_qp *qp)
{
	bool more = qp->service->send(qp);

	rxe_tx_end_turn(qp->sq.sender.tx);	/* also after a flush: others wait */
	rxe_key_drop(&qp->sq.sender.source.key);
	rxe_cq_event(rxe_scq(qp));
	return more;
}

/**
 * rxe_sender_reset - forget the sends in progress
 * @sender: the sender; send_task is paused, so no key and no train is held
 *
 * Context: process.
 */
void rxe_sender_reset(struct rxe_sender *sender)
{
	rxe_tx_leave(sender->tx);
	rxe_pager_reset(&sender->source.pager);
	rxe_out_reset(&sender->out);
}
