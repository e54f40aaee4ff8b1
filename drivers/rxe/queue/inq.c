// SPDX-License-Identifier: GPL-2.0
/*
 * Received trains that wait, in the order in which they came. early.c has the trains that wait
 * for missing packets before them.
 *
 * Trains have limits in bytes, per QP and per device. A queued train is soon taken in, with two
 * exceptions: behind a packet that waits for a page, and behind a READ, whose response may take
 * as long as the network needs. In both cases, queued trains have a maximum age. Behind a page, and
 * behind a READ that takes long, they count in full, and small ones get memory of their own.
 *
 * Context: bottom halves off; all but rxe_inq_queue() in recv_task, or while it is
 * paused.
 */
#include <queue/inq.h>
#include <queue/waiting.h>

/**
 * rxe_inq_init - make an empty queue
 * @in: the queue
 */
void rxe_inq_init(struct rxe_inq *in)
{
	skb_queue_head_init(&in->queue);
	rxe_early_init(&in->early);
}

/**
 * rxe_inq_reset - drop all trains
 * @rxe: the device
 * @in: the queue of a QP that doesn't receive any more
 *
 * Context: process; recv_task is paused.
 */
void rxe_inq_reset(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff *skb;

	local_bh_disable();
	rxe_early_reset(rxe, &in->early);
	/* A CPU that read the state before it changed has queued its train after this */
	spin_lock(&in->queue.lock);
	spin_unlock(&in->queue.lock);
	while ((skb = skb_peek(&in->queue))) {
		rxe_drop(rxe, RXE_DROP_QP_STATE, rxe_rx_count_left(skb));
		rxe_inq_unqueue(rxe, in, skb);
	}
	local_bh_enable();
	in->sport = 0;
	in->row = 0;
	in->parked = false;
	in->waiting = false;
	in->slow = false;
	rxe_pager_reset(&in->pager);
}

/* May a train that is queued now wait for long? */
static bool waits_long(const struct rxe_inq *in)
{
	return READ_ONCE(in->parked) || READ_ONCE(in->slow);
}

/* Does the queue exceed the part that doesn't count against the device's limit? */
static bool exceeds_free_part(struct rxe_dev *rxe, u32 bytes)
{
	return bytes > rxe_knob(queue_free_bytes) ||
	       (u64)bytes * atomic_read(&rxe->num_qp) > rxe_knob(queue_free_dev_bytes);
}

static bool has_room(struct rxe_dev *rxe, struct rxe_inq *in,
		     struct sk_buff *skb)
{
	bool parked = READ_ONCE(in->parked), waits = parked || READ_ONCE(in->waiting);
	u32 bytes = in->bytes + skb->truesize;
	enum rxe_account account = RXE_FREE;

	if (skb_queue_len(&in->queue) >= RXE_QUEUE_TRAINS ||
	    bytes > rxe_knob(queue_qp_bytes))
		return false;
	if (unlikely(READ_ONCE(in->slow)))
		account = RXE_AS_HELD;
	else if (parked || ((waits || in->bytes) && exceeds_free_part(rxe, bytes)))
		account = !waits ? RXE_AS_QUEUED : in->bytes ? RXE_AS_WAITING : RXE_AS_FIRST;
	return rxe_waiting_charge(rxe, skb, account);
}

/* Context: in->queue.lock held. Return: false if there is no room; else @skb is consumed */
static bool put_train(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb)
{
	struct sk_buff *kept = skb;
	bool room;

	/* A frag_list remains: its packets have IP headers of their own, and aren't verified yet */
	if (unlikely(waits_long(in)) && !skb_has_frag_list(skb))
		kept = rxe_waiting_own_memory(skb);
	room = kept && has_room(rxe, in, kept);
	rxe_waiting_free_twin(skb, kept, room);
	if (room) {
		in->bytes += kept->truesize;
		smp_wmb();	/* pairs with rxe_inq_first() */
		__skb_queue_tail(&in->queue, kept);
	}
	return room;
}

/**
 * rxe_inq_queue - queue a train that came in
 * @rxe: the device
 * @in: the QP's requests or responses
 * @skb: the train; consumed if there is room; done, end, held, noticed and since are set here
 *
 * Context: in->queue.lock held.
 *
 * Return: false if there is no room, or memory is short.
 */
bool rxe_inq_queue(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb)
{
	struct rxe_rx *rx = rxe_rx(skb);

	rx->done = 0;
	rx->end = skb->len;
	rx->held = false;
	rx->noticed = false;
	rx->since = jiffies;
	return put_train(rxe, in, skb);
}

static void unlink_queued(struct rxe_dev *rxe, struct rxe_inq *in,
			  struct sk_buff *skb)
{
	spin_lock(&in->queue.lock);
	__skb_unlink(skb, &in->queue);
	in->bytes -= skb->truesize;
	spin_unlock(&in->queue.lock);
	rxe_waiting_uncharge(rxe, skb);
}

/**
 * rxe_inq_unqueue - free a queued train that is finished
 * @rxe: the device
 * @in: where it is queued
 * @skb: the train; freed
 */
void rxe_inq_unqueue(struct rxe_dev *rxe, struct rxe_inq *in,
		     struct sk_buff *skb)
{
	unlink_queued(rxe, in, skb);
	consume_skb(skb);
}

/**
 * rxe_inq_rest - queue the rest of a train as a train of its own
 * @rxe: the device
 * @in: where the train is queued
 * @skb: the train
 * @off: where the rest begins
 *
 * If memory is short, or the queue is full, the rest is dropped and counted.
 */
void rxe_inq_rest(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 off)
{
	struct sk_buff *rest = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	bool room;

	if (!rest) {
		rxe_drop(rxe, RXE_DROP_MEMORY, DIV_ROUND_UP(skb->len - off, rxe_rx(skb)->pkt));
		return;
	}
	rxe_rx(rest)->noticed = false;
	rxe_rx(rest)->done = off;
	rxe_rx(rest)->end = skb->len;
	spin_lock(&in->queue.lock);
	room = has_room(rxe, in, rest);
	if (room) {
		in->bytes += rest->truesize;
		__skb_queue_after(&in->queue, skb, rest);
	}
	spin_unlock(&in->queue.lock);
	if (!room) {
		rxe_drop(rxe, RXE_DROP_QUEUE, rxe_rx_count_left(rest));
		kfree_skb(rest);
	}
}

/**
 * rxe_inq_hold - keep a queued train that came too early
 * @rxe: the device
 * @in: where it is queued
 * @skb: the train, rxe_rx.psn set, its PSNs in a row; consumed
 * @expected: the expected PSN
 */
void rxe_inq_hold(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 expected)
{
	unlink_queued(rxe, in, skb);
	rxe_early_hold(rxe, &in->early, skb, expected);
}

/**
 * rxe_inq_expire_queue - drop queued trains that have waited for too long
 * @rxe: the device
 * @in: the queue, which is blocked
 * @ms: how long that is
 */
void rxe_inq_expire_queue(struct rxe_dev *rxe, struct rxe_inq *in, u32 ms)
{
	struct sk_buff *skb;

	while ((skb = rxe_inq_first(in)) && rxe_waiting_is_older(skb, ms)) {
		rxe_drop(rxe, RXE_DROP_AGE, rxe_rx_count_left(skb));
		rxe_inq_unqueue(rxe, in, skb);
	}
}

/* Count all trains in the queue anew. Those that don't fit are dropped */
static void recount(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff_head old;
	struct sk_buff *skb;

	lockdep_assert_held(&in->queue.lock);
	__skb_queue_head_init(&old);
	skb_queue_splice_init(&in->queue, &old);
	in->bytes = 0;
	while ((skb = __skb_dequeue(&old))) {
		rxe_waiting_uncharge(rxe, skb);
		if (put_train(rxe, in, skb))
			continue;
		rxe_drop(rxe, RXE_DROP_QUEUE, rxe_rx_count_left(skb));
		kfree_skb(skb);
	}
}

/**
 * rxe_inq_note_waiting - note whether the queue waits for a page, or behind a READ
 * @rxe: the device
 * @in: the queue; between two runs
 * @waiting: it waits
 *
 * When it begins to wait, its trains count anew: so far they were about to be taken in.
 */
void rxe_inq_note_waiting(struct rxe_dev *rxe, struct rxe_inq *in, bool waiting)
{
	spin_lock(&in->queue.lock);
	WRITE_ONCE(in->waiting, waiting);
	if (waiting)
		recount(rxe, in);
	spin_unlock(&in->queue.lock);
}

/**
 * rxe_inq_slow_down - the queue waits behind a READ, perhaps for long
 * @rxe: the device
 * @in: the queue
 *
 * After inq_age_ms, all trains in it count against the limit of the device's early packets, as
 * do all that come later. Trains that don't fit are dropped.
 */
void rxe_inq_slow_down(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff *skb = rxe_inq_first(in);

	if (in->slow || !skb || !rxe_waiting_is_old(skb))
		return;
	spin_lock(&in->queue.lock);
	WRITE_ONCE(in->slow, true);
	recount(rxe, in);
	spin_unlock(&in->queue.lock);
}
