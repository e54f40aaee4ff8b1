// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving trains: from net/ to the QP's receive task.
 *
 * rxe_demux() finds the QP and queues the train; the task takes it in.
 *
 * Context: bottom halves off. The table of QP numbers is read in RCU.
 */
#include <compat/unaligned.h>
#include <rxe/mcast.h>
#include <rxe/transport.h>

static void drop_train(struct rxe_dev *rxe, struct sk_buff *skb, enum rxe_drop why)
{
	rxe_drop(rxe, why, rxe_rx(skb)->npkts);
	kfree_skb(skb);
}

/*
 * Does the peer send single-packet messages in a row, without a message of this QP in
 * between? This is a guess: several CPUs may be here, without a lock.
 */
static bool waits_in_row(struct rxe_qp *qp, struct rxe_inq *in)
{
	u32 sent = READ_ONCE(qp->sq.q.head);

	if (in->sent != sent) {
		in->sent = sent;
		in->row = min_t(s16, in->row, 0);
	}
	in->waits = in->row >= RXE_RX_ROW;	/* several CPUs may count */
	if (!in->waits)
		in->row++;
	return in->waits;
}

/* If no packet followed the message that waited, the next messages don't wait */
static void note_wait(struct rxe_inq *in)
{
	if (in->waits && skb_queue_len_lockless(&in->queue) == 1)
		in->row = -RXE_RX_VAIN;
	in->waits = false;
}

/*
 * Should a single packet wait? Within a message or a row of messages, the next packet
 * usually comes at once. Both packets are then taken in together.
 */
static bool should_wait(struct rxe_qp *qp, struct rxe_inq *in,
			struct sk_buff *skb, u32 flags, const u8 *bth)
{
	if (rxe_rx(skb)->npkts > 1 ||
	    skb_queue_len_lockless(&in->queue) >= RXE_RX_BATCH)
		return false;
	if (!(flags & RXE_OP_END))
		return (flags & RXE_OP_PAYLOAD) && !(bth[8] & BIT(7));
	if (flags & RXE_OP_ANSWER)
		return READ_ONCE(qp->sq.flight.rd_atomic) > 1;
	return !(flags & RXE_OP_RESPONSE) && waits_in_row(qp, in);
}

static void enqueue_train(struct rxe_qp *qp, struct sk_buff *skb, u32 flags,
			  const u8 *bth)
{
	struct rxe_inq *in = flags & RXE_OP_RESPONSE ? &qp->responses :
						       &qp->requests;
	bool wait = should_wait(qp, in, skb, flags, bth);
	enum rxe_drop why = 0;

	rxe_rx(skb)->response = flags & RXE_OP_RESPONSE;
	rxe_rx(skb)->psn = READ_ONCE(qp->rq.read.sent);
	/* A reset changes the state before it empties the queue */
	spin_lock(&in->queue.lock);
	if (!rxe_qp_can_receive(qp))
		why = RXE_DROP_QP_STATE;
	else if (!rxe_inq_queue(qp->rxe, in, skb))
		why = RXE_DROP_QUEUE;
	spin_unlock(&in->queue.lock);
	if (why) {
		drop_train(qp->rxe, skb, why);
		return;
	}
	if (wait && !rxe_task_is_behind())
		rxe_task_schedule(&qp->recv_task);
	else
		rxe_task_run(&qp->recv_task);
}

/**
 * rxe_sent - rxe_net_ops.sent: run a task again, since the queues of the stack have room
 * @owner: the task that found them full
 *
 * If it has got its turn, the other senders of the queues wait until its run ends.
 *
 * Context: any, with a lock held that keeps the QP.
 */
void rxe_sent(void *owner)
{
	rxe_task_schedule_first(owner);
}

/**
 * rxe_page_came - for rxe_fault_set_wake(): run a task again, since its page fault is done
 * @owner: the task that asked for the page
 *
 * Context: any, with a lock held that keeps the QP.
 */
void rxe_page_came(void *owner)
{
	rxe_task_schedule(owner);
}

/* Verified once for all members of the group */
static bool is_group_icrc_ok(struct sk_buff *skb, const u8 *bth)
{
	struct rxe_l3_icrc l3_icrc = {};
	u32 state;

	if (rxe_rx(skb)->trusted)
		return true;
	state = rxe_rx_icrc_start(&l3_icrc, skb, 0, skb->len);
	state = rxe_icrc_bth(state, bth[4]);
	return rxe_skb_icrc(skb, 0, skb->len, &state) && rxe_icrc_good(state);
}

/* Each member's QP gets an skb of its own; the bytes are shared. The last QP gets @skb. */
static void deliver_to_members(struct rxe_dev *rxe, struct rxe_mcast_grp *grp,
			       struct sk_buff *skb, u32 flags, const u8 *bth)
{
	struct rxe_mcast_member *member;
	struct rxe_qp *last = NULL, *qp;
	struct sk_buff *copy;

	list_for_each_entry_rcu(member, &grp->members, list) {
		qp = rxe_qp_get_bh(rxe, member->qpn);
		if (qp && last) {
			copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
			if (copy)
				enqueue_train(last, copy, flags, bth);
			else
				rxe_drop(rxe, RXE_DROP_MEMORY, 1);
			rxe_qp_put(last);
		}
		last = qp ?: last;
	}
	if (last) {
		enqueue_train(last, skb, flags, bth);
		rxe_qp_put(last);
	} else {
		drop_train(rxe, skb, RXE_DROP_NO_QP);
	}
}

/* The group of a datagram; a sender on this device has looked it up already. Context: RCU */
static struct rxe_mcast_grp *find_group(struct rxe_dev *rxe, struct sk_buff *skb)
{
	union ib_gid mgid;

	if (rxe_rx(skb)->same_dev)
		return rxe_rx(skb)->grp;
	rxe_rx_dgid(skb, &mgid);
	return rxe_mcast_find(rxe, &mgid);
}

/*
 * A datagram for a multicast group goes to QP number 0xffffff [9.6.1.2], and to each
 * member [10.5.2].
 */
static void rcv_group(struct rxe_dev *rxe, struct sk_buff *skb, u32 flags,
		      const u8 *bth)
{
	struct rxe_mcast_grp *grp;

	rcu_read_lock();
	grp = find_group(rxe, skb);
	if (!grp || get_unaligned_be24(bth + 5) != IB_MULTICAST_QPN) {
		drop_train(rxe, skb, RXE_DROP_ADDR);
	} else if (!is_group_icrc_ok(skb, bth)) {
		drop_train(rxe, skb, RXE_DROP_ICRC);
	} else {
		rxe_rx(skb)->trusted = true;
		deliver_to_members(rxe, grp, skb, flags, bth);
	}
	rcu_read_unlock();
}

/**
 * rxe_demux - take a train from net/
 * @rxe: the device it came in on
 * @skb: the train, see struct rxe_rx; consumed
 *
 * Context: bottom halves off.
 */
void rxe_demux(struct rxe_dev *rxe, struct sk_buff *skb)
{
	u8 bth[RXE_BTH_BYTES];
	struct rxe_qp *qp;
	u32 flags;

	if (!rxe_skb_copy_bth(skb, 0, bth) || !rxe_opcode[bth[0]].flags) {
		drop_train(rxe, skb, RXE_DROP_MALFORMED);
		return;
	}
	flags = rxe_opcode[bth[0]].flags;
	if (unlikely(rxe_rx(skb)->mcast)) {
		rcv_group(rxe, skb, flags, bth);
		return;
	}
	qp = rxe_qp_get_bh(rxe, bth[5] << 16 | bth[6] << 8 | bth[7]);
	if (!qp) {
		drop_train(rxe, skb, RXE_DROP_NO_QP);
		return;
	}
	enqueue_train(qp, skb, flags, bth);
	rxe_qp_put(qp);
}

/* The PSN that continues the packets taken in so far */
static u32 get_expected_psn(const struct rxe_qp *qp, const struct rxe_inq *in)
{
	return in == &qp->requests ? qp->rq.expect.psn : qp->sq.flight.una;
}

/* A held train that is due now, or else the next in the queue */
static struct sk_buff *get_next_train(struct rxe_qp *qp, struct rxe_inq *in)
{
	struct sk_buff *due = NULL;

	if (rxe_early_came(&in->early))
		due = rxe_early_due(&in->early, get_expected_psn(qp, in));
	return due ?: rxe_inq_first(in);
}

/* Free a held train, whatever the result */
static void finish_held(struct rxe_qp *qp, struct rxe_inq *in,
			struct sk_buff *skb)
{
	/* acknowledge it, even if it doesn't ask for an ACK */
	qp->rq.ack.due |= in == &qp->requests;
	rxe_early_unhold(qp->rxe, &in->early, skb);
}

/* Note that packets of the train came in order */
static void note_in_order(struct rxe_qp *qp, struct rxe_inq *in, struct sk_buff *skb,
			  u32 expected)
{
	in->sport = rxe_rx_sport(skb);
	if (rxe_early_holds(&in->early))
		rxe_early_passed(qp->rxe, &in->early, skb, expected);
}

/* Free a queued train that is used up, or hold it if it came too early */
static void finish_queued(struct rxe_qp *qp, struct rxe_inq *in,
			  struct sk_buff *skb, enum rxe_fate fate)
{
	if (fate == RXE_TOO_EARLY) {
		rxe_inq_hold(qp->rxe, in, skb, get_expected_psn(qp, in));
		return;
	}
	if (fate == RXE_REFUSED)
		rxe_early_skip(&in->early, get_expected_psn(qp, in));
	rxe_inq_unqueue(qp->rxe, in, skb);
}

/* Does the next packet still wait? Only the wait for a page can outlast a run */
static bool is_still_parked(struct rxe_inq *in)
{
	in->parked = in->parked && rxe_pager_is_busy(&in->pager);
	return in->parked;
}

/*
 * Only this task removes trains, so the first train stays until it is used up.
 * Requests wait behind a READ that is being served.
 */
static bool receive_queue(struct rxe_qp *qp, struct rxe_inq *in, u32 *budget)
{
	struct sk_buff *skb;
	enum rxe_fate fate;
	u32 expected;

	while (*budget) {
		if (in == &qp->requests && qp->rq.read.active)
			return true;
		if (unlikely(in->parked) && is_still_parked(in))
			return false;
		skb = get_next_train(qp, in);
		if (!skb)
			return false;
		rxe_task_spend(budget, rxe_rx(skb)->end - rxe_rx(skb)->done);
		expected = get_expected_psn(qp, in);
		fate = rxe_take_train(qp, in, skb);
		if (!rxe_rx(skb)->held && expected != get_expected_psn(qp, in))
			note_in_order(qp, in, skb, get_expected_psn(qp, in));
		if (fate == RXE_GOES_ON) {
			if (rxe_rx(skb)->held)
				rxe_rx(skb)->psn = get_expected_psn(qp, in);
			return !in->parked;
		}
		if (rxe_rx(skb)->held)
			finish_held(qp, in, skb);
		else
			finish_queued(qp, in, skb, fate);
	}
	return get_next_train(qp, in);
}

/* Finish a READ response in progress before the requests behind it */
static bool receive_requests(struct rxe_qp *qp)
{
	u32 budget = RXE_TASK_BUDGET;
	bool more = true;

	if (qp->rq.read.active && !rxe_qp_can_receive(qp))
		rxe_read_stop(&qp->rq.read);	/* the QP is silent in ERR [10.3.1] */
	if (unlikely(qp->requests.parked) && is_still_parked(&qp->requests))
		return false;
	while (more && budget) {
		if (qp->rq.read.active && rxe_read_continue(qp, &budget))
			return !qp->rq.read.blocked && !qp->requests.parked;
		more = receive_queue(qp, &qp->requests, &budget) ||
		       qp->rq.read.active;
	}
	return more;
}

/*
 * With RC, a response may allow the next requests, so the send task runs here. Sends of
 * other services don't depend on received packets, and get a run of their own. Otherwise,
 * group members on this device that answer one another would nest runs without end.
 */
static void continue_sending(struct rxe_qp *qp)
{
	if (qp->service->acked)
		rxe_task_run(&qp->send_task);
	else
		rxe_task_schedule(&qp->send_task);
}

/* @behind_read: the queue waits behind a READ in progress */
static void note_waiting(struct rxe_qp *qp, struct rxe_inq *in, bool behind_read)
{
	bool waiting = behind_read || (in->parked && rxe_pager_is_busy(&in->pager));

	if (unlikely(in->waiting != waiting))
		rxe_inq_note_waiting(qp->rxe, in, waiting);
}

/**
 * rxe_recv_end - end a run of the receive task
 * @qp: the QP
 *
 * Return: true if there is more to do.
 */
bool rxe_recv_end(struct rxe_qp *qp)
{
	bool more = false;
	u8 state;

	rxe_complete_end(qp);
	rxe_respond_end(qp);
	if (qp->rq.reply.back)
		rxe_local_back_end(qp);
	rxe_out_flush(qp, &qp->rq.reply.out);
	rxe_tx_end_turn(qp->rq.reply.tx);
	note_waiting(qp, &qp->requests, qp->rq.read.active);
	note_waiting(qp, &qp->responses, false);
	if (rxe_early_holds(&qp->requests.early) || rxe_early_holds(&qp->responses.early) ||
	    qp->rq.read.blocked || qp->requests.parked || qp->responses.parked)
		rxe_gap_watch(qp);
	if (READ_ONCE(qp->sq.stop.stalled) && qp->service->acked)
		rxe_sq_retire(qp);
	state = READ_ONCE(qp->state);
	if (state == IB_QPS_ERR || state == IB_QPS_SQE)
		more = rxe_qp_flush(qp);
	else if (state == IB_QPS_SQD)
		rxe_sq_check_drained(qp);
	rxe_cq_event(rxe_scq(qp));
	if (rxe_rcq(qp) != rxe_scq(qp))
		rxe_cq_event(rxe_rcq(qp));
	if (qp->service->due(qp))
		continue_sending(qp);
	return more;
}

/* Does the READ response in progress wait for a queue that is stuck? */
static bool is_read_stuck(const struct rxe_qp *qp)
{
	return qp->rq.read.active && qp->rq.read.blocked &&
	       rxe_tx_stuck(qp->rq.reply.tx, rxe_knob(inq_age_ms) * NSEC_PER_MSEC);
}

/* Has the next packet waited too long for a page? */
static bool is_page_stuck(const struct rxe_inq *in)
{
	return in->parked && rxe_pager_is_late(&in->pager, rxe_knob(inq_age_ms));
}

/* Requests behind a READ in progress wait for as long as its response takes, within limits */
static void wait_behind_read(struct rxe_qp *qp)
{
	if (qp->rq.read.active) {
		rxe_inq_expire_queue(qp->rxe, &qp->requests, rxe_knob(queue_age_ms));
		rxe_inq_slow_down(qp->rxe, &qp->requests);
	} else if (unlikely(qp->requests.slow)) {
		WRITE_ONCE(qp->requests.slow, false);
	}
}

/* Drop trains that have waited too long behind a READ, for a page, or for missing packets */
static void expire_trains(struct rxe_qp *qp)
{
	u32 ms = rxe_knob(inq_age_ms);

	if (is_read_stuck(qp) || is_page_stuck(&qp->requests))
		rxe_inq_expire_queue(qp->rxe, &qp->requests, ms);
	if (is_page_stuck(&qp->responses))
		rxe_inq_expire_queue(qp->rxe, &qp->responses, ms);
	wait_behind_read(qp);
	if (rxe_early_came(&qp->requests.early))
		rxe_early_expire(qp->rxe, &qp->requests.early);
	if (rxe_early_came(&qp->responses.early))
		rxe_early_expire(qp->rxe, &qp->responses.early);
}

/**
 * rxe_recv_run - the receive task's function
 * @qp: the QP
 *
 * Return: true if the budget was spent.
 */
bool rxe_recv_run(struct rxe_qp *qp)
{
	u32 budget = RXE_TASK_BUDGET;
	bool more;

	expire_trains(qp);
	note_wait(&qp->requests);
	more = receive_queue(qp, &qp->responses, &budget);
	/* after the responses: a response that waited in the queue isn't late */
	if (!more && READ_ONCE(qp->sq.rto.fired) && !qp->responses.parked)
		rxe_timeout(qp);
	more |= receive_requests(qp);
	more |= rxe_recv_end(qp);
	return more;
}
