// SPDX-License-Identifier: GPL-2.0
/*
 * Received trains that wait: in the order in which they came (queue), or for missing
 * packets before them (held).
 *
 * Both have limits in bytes, per QP and per device, and a maximum age. What waits in a queue
 * is soon taken in, with two exceptions. One is behind a packet that waits for a page. The
 * other is behind a READ, whose response may take as long as the network needs. Both then
 * count in full, and small ones get memory of their own.
 *
 * There may be thousands of small held trains. They are in a tree by PSN. All of them are in
 * one window, so that rxe_psn_diff() orders them.
 *
 * An ICRC is no authentication: a packet with a PSN that is yet to come may be forged. So a
 * held packet is executed only in two cases. In both, the peer is known to have sent it
 * already, and isn't sending it now:
 *   - a later packet came after the gap before the held one was closed; or
 *   - the first held packet came once more, in order, and is the same. A sender that is asked
 *     for missing packets adds one packet to them (recover.c). A sender that goes back sends
 *     everything.
 * If neither happens, the packet is requested again. When the same packet comes in
 * order, it is executed, and the held copy is dropped. If the two differ, or if two early
 * packets of one PSN differ, all held packets are dropped.
 *
 * Context: bottom halves off; all but rxe_inq_queue() in recv_task, or while it is
 * paused.
 */
#include <linux/jiffies.h>
#include <queue/inq.h>
#include <rxe/dev.h>
#include <rxe/net.h>
#include <rxe/odp.h>
#include <rxe/psn.h>
#include <rxe/wire.h>
#include <compat/unaligned.h>

enum same {
	NOTHING_SHARED,
	SAME,
	DIFFERENT,
};

static bool charge_bytes(atomic_t *total, u32 bytes, u32 most)
{
	if ((u32)atomic_add_return(bytes, total) <= most)
		return true;
	atomic_sub(bytes, total);
	return false;
}

static bool charge_train(struct rxe_dev *rxe, struct sk_buff *skb, enum rxe_account account)
{
	rxe_rx(skb)->account = account;
	switch (account) {
	case RXE_AS_QUEUED:
		return charge_bytes(&rxe->rx_queued, skb->truesize, rxe_knob(queue_dev_bytes));
	case RXE_AS_HELD:
		return charge_bytes(&rxe->rx_held, skb->truesize, rxe_knob(held_dev_bytes));
	default:
		return true;
	}
}

static void uncharge_train(struct rxe_dev *rxe, struct sk_buff *skb)
{
	if (rxe_rx(skb)->account == RXE_AS_QUEUED)
		atomic_sub(skb->truesize, &rxe->rx_queued);
	else if (rxe_rx(skb)->account == RXE_AS_HELD)
		atomic_sub(skb->truesize, &rxe->rx_held);
}

/**
 * rxe_inq_init - make an empty queue
 * @in: the queue
 */
void rxe_inq_init(struct rxe_inq *in)
{
	skb_queue_head_init(&in->queue);
	in->held = RB_ROOT_CACHED;
}

/**
 * rxe_inq_drop_held - drop all that came too early
 * @rxe: the device
 * @in: the queue
 * @why: the reason
 */
void rxe_inq_drop_held(struct rxe_dev *rxe, struct rxe_inq *in, enum rxe_drop why)
{
	struct sk_buff *skb;

	while ((skb = rxe_inq_peek_held(in))) {
		rxe_drop(rxe, why, rxe_rx_count_left(skb));
		rxe_inq_unhold(rxe, in, skb);
	}
	in->vouched = false;
}

/**
 * rxe_inq_reset - drop everything
 * @rxe: the device
 * @in: the queue of a QP that doesn't receive any more
 *
 * Context: process; recv_task is paused.
 */
void rxe_inq_reset(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff *skb;

	local_bh_disable();
	rxe_inq_drop_held(rxe, in, RXE_DROP_QP_STATE);
	/* Whoever read the state before it changed has queued its train by now */
	spin_lock(&in->queue.lock);
	spin_unlock(&in->queue.lock);
	while ((skb = skb_peek(&in->queue))) {
		rxe_drop(rxe, RXE_DROP_QP_STATE, rxe_rx_count_left(skb));
		rxe_inq_unqueue(rxe, in, skb);
	}
	local_bh_enable();
	in->skipped = false;
	in->sport = 0;
	in->row = 0;
	in->parked = false;
	in->slow = false;
	rxe_fault_reset(&in->fault);
}

static u32 get_train_age(struct sk_buff *skb)
{
	return (u16)(jiffies - rxe_rx(skb)->since);
}

static bool is_older(struct sk_buff *skb, u32 ms)
{
	return get_train_age(skb) > msecs_to_jiffies(ms);
}

static bool is_old(struct sk_buff *skb)
{
	return is_older(skb, rxe_knob(inq_age_ms));
}

/* A linear copy with the same headroom. skb_copy() refuses trains whose packets are a frag_list */
static struct sk_buff *copy_train(struct sk_buff *skb)
{
	int head = skb_headroom(skb);
	struct sk_buff *copy = alloc_skb(head + skb->len, GFP_ATOMIC | __GFP_NOWARN);

	if (!copy)
		return NULL;
	skb_reserve(copy, head);
	skb_put(copy, skb->len);
	if (skb_copy_bits(skb, -head, copy->head, head + skb->len)) {
		kfree_skb(copy);
		return NULL;
	}
	skb_copy_header(copy, skb);
	skb_gso_reset(copy);
	return copy;
}

/*
 * Memory of its own for a small train that may wait for long. Small packets are parts of a
 * block or a page. One of them keeps all of it from being used again, but counts as itself
 * only.
 *
 * Return: the train or a copy, in which case the train isn't needed any more; NULL if memory
 * is short.
 */
static struct sk_buff *give_own_memory(struct sk_buff *skb)
{
	if (skb->len > RXE_INQ_COPY ||
	    !(skb->head_frag || skb_shinfo(skb)->nr_frags || skb_has_frag_list(skb)))
		return skb;
	return copy_train(skb);
}

/* Of a train and its copy, if it has one: free the one that isn't needed */
static void free_twin(struct sk_buff *skb, struct sk_buff *kept, bool used)
{
	if (kept == skb)
		return;
	if (used)
		consume_skb(skb);
	else
		kfree_skb(kept);
}

/* May a train that is queued now wait for long? */
static bool waits_long(const struct rxe_inq *in)
{
	return READ_ONCE(in->parked) || READ_ONCE(in->slow);
}

static bool has_room(struct rxe_dev *rxe, struct rxe_inq *in,
		     struct sk_buff *skb)
{
	u32 bytes = in->bytes + skb->truesize;
	enum rxe_account account = RXE_FREE;

	if (skb_queue_len(&in->queue) >= RXE_QUEUE_TRAINS ||
	    bytes > rxe_knob(queue_qp_bytes))
		return false;
	if (unlikely(READ_ONCE(in->slow)))
		account = RXE_AS_HELD;
	else if (bytes > rxe_knob(queue_free_bytes) || READ_ONCE(in->parked))
		account = RXE_AS_QUEUED;
	return charge_train(rxe, skb, account);
}

/* Context: in->queue.lock held. Return: false if there is no room; else @skb is consumed */
static bool put_train(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb)
{
	struct sk_buff *kept = skb;
	bool room;

	/* A frag_list remains: its packets have IP headers of their own, and aren't verified yet */
	if (unlikely(waits_long(in)) && !skb_has_frag_list(skb))
		kept = give_own_memory(skb);
	room = kept && has_room(rxe, in, kept);
	free_twin(skb, kept, room);
	if (room) {
		in->bytes += kept->truesize;
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
	uncharge_train(rxe, skb);
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

/* One after the last PSN of a held train, whose PSNs are in a row */
static u32 get_end_psn(struct sk_buff *skb)
{
	const struct rxe_rx *rx = rxe_rx(skb);

	return rxe_psn_add(rx->psn, DIV_ROUND_UP(rx->end - rx->done, rx->pkt));
}

/* Are @len bytes of two trains the same? */
static bool have_same_bytes(const struct sk_buff *a, u32 a_off,
			    const struct sk_buff *b, u32 b_off, u32 len)
{
	u8 a_buf[RXE_COMPARE_BYTES], b_buf[RXE_COMPARE_BYTES];
	u32 n;

	for (; len; len -= n, a_off += n, b_off += n) {
		n = min_t(u32, len, RXE_COMPARE_BYTES);
		if (skb_copy_bits(a, a_off, a_buf, n) ||
		    skb_copy_bits(b, b_off, b_buf, n) || memcmp(a_buf, b_buf, n))
			return false;
	}
	return true;
}

/*
 * The part of a packet that a retransmission must repeat: its offset and length. The
 * IP header's ID may change, and with it the ICRC. A READ request or its response may
 * begin or end elsewhere.
 */
static u32 find_shared_part(u8 opcode, u32 len, u32 *off)
{
	u32 flags = rxe_opcode[opcode].flags;

	*off = flags & RXE_OP_RESPONSE ? rxe_opcode[opcode].hdr_len :
					 RXE_BTH_BYTES;
	if (flags & RXE_OP_READ_REQ)
		return sizeof(u64) + sizeof(u32);	/* address and R_Key */
	return len - min(len, *off + RXE_ICRC_BYTES);
}

/* Are the packets of @a at @a_off and of @b at @b_off the same? Their PSNs are equal */
static bool is_same_packet(struct sk_buff *a, u32 a_off, struct sk_buff *b,
			   u32 b_off)
{
	u32 a_len = min(rxe_rx(a)->pkt, a->len - a_off), a_skip;
	u32 b_len = min(rxe_rx(b)->pkt, b->len - b_off), b_skip;
	u8 a_op, b_op;

	if (skb_copy_bits(a, a_off, &a_op, 1) ||
	    skb_copy_bits(b, b_off, &b_op, 1))
		return false;
	if (a_op != b_op && !(rxe_opcode[a_op].flags & RXE_OP_READ_RESP))
		return false;
	a_len = find_shared_part(a_op, a_len, &a_skip);
	b_len = find_shared_part(b_op, b_len, &b_skip);
	return a_len == b_len &&
	       have_same_bytes(a, a_off + a_skip, b, b_off + b_skip, a_len);
}

/*
 * The first held train that ends after @psn, or NULL. A linear search would be slow: the peer
 * decides how many trains are held, and in which order they come.
 */
static struct sk_buff *find_held_after(const struct rxe_inq *in, u32 psn)
{
	struct rb_node *node = in->held.rb_root.rb_node;
	struct sk_buff *held, *found = NULL;

	while (node) {
		held = rb_to_skb(node);
		if (rxe_psn_diff(get_end_psn(held), psn) > 0) {
			found = held;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

/* Compare the packet of @skb at @off with the held one of the same PSN, if any */
static enum same compare_packet(const struct rxe_inq *in, struct sk_buff *skb, u32 off,
				u32 psn)
{
	struct sk_buff *held = find_held_after(in, psn);
	const struct rxe_rx *rx;
	s32 n;

	if (!held)
		return NOTHING_SHARED;
	rx = rxe_rx(held);
	n = rxe_psn_diff(psn, rx->psn);
	if (n < 0)
		return NOTHING_SHARED;
	return is_same_packet(skb, off, held, rx->done + n * rx->pkt) ? SAME : DIFFERENT;
}

/* Compare a train that came too early with the held ones; count its packets that aren't held */
static enum same compare_early(const struct rxe_inq *in, struct sk_buff *skb, u32 *fresh)
{
	const struct rxe_rx *rx = rxe_rx(skb);
	enum same one, result = NOTHING_SHARED;
	u32 off, psn = rx->psn;

	if (!find_held_after(in, psn))
		return NOTHING_SHARED;	/* the usual case: behind all held trains */
	for (off = rx->done; off < rx->end && result != DIFFERENT; off += rx->pkt) {
		one = compare_packet(in, skb, off, psn);
		*fresh += one == NOTHING_SHARED;
		result = max(result, one);
		psn = rxe_psn_add(psn, 1);
	}
	return result;
}

/* Compare the packets of @skb that came in order, those before @expected, with the held ones */
static enum same compare_in_order(const struct rxe_inq *in, struct sk_buff *skb,
				  u32 expected)
{
	const struct rxe_rx *rx = rxe_rx(skb);
	enum same result = NOTHING_SHARED;
	u8 bth[RXE_BTH_BYTES];
	u32 off, psn;

	for (off = 0; off < rx->done && result != DIFFERENT; off += rx->pkt) {
		if (skb_copy_bits(skb, off, bth, sizeof(bth)))
			break;
		psn = get_unaligned_be32(bth + 8) & RXE_PSN_MASK;
		if (rxe_psn_diff(psn, expected) < 0)
			result = max(result, compare_packet(in, skb, off, psn));
	}
	return result;
}

/* Two packets of one PSN differ, so one of them is forged: trust no held packet */
static void drop_distrusted(struct rxe_dev *rxe, struct rxe_inq *in)
{
	rxe_count(rxe, HELD_DIFFERS);
	rxe_inq_drop_held(rxe, in, RXE_DROP_EARLY);
}

static bool begins_before(struct rb_node *a, const struct rb_node *b)
{
	return rxe_psn_diff(rxe_rx(rb_to_skb(a))->psn, rxe_rx(rb_to_skb(b))->psn) < 0;
}

/* Return: false if memory is short, or there is no room. @skb is consumed if true */
static bool insert_held(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb)
{
	struct sk_buff *held = give_own_memory(skb);
	bool room = held && in->held_bytes + held->truesize <= rxe_knob(held_qp_bytes) &&
		    charge_train(rxe, held, RXE_AS_HELD);

	if (!room)
		rxe_drop(rxe, held ? RXE_DROP_QUEUE : RXE_DROP_MEMORY, rxe_rx_count_left(skb));
	free_twin(skb, held, room);
	if (!room)
		return false;
	if (!rxe_inq_holds(in))
		in->expires = jiffies + msecs_to_jiffies(rxe_knob(inq_age_ms));
	rxe_rx(held)->held = true;
	in->held_bytes += held->truesize;
	rb_add_cached(&held->rbnode, &in->held, begins_before);
	return true;
}

/**
 * rxe_inq_hold - keep a train that came too early
 * @rxe: the device
 * @in: where it is queued
 * @skb: the train, rxe_rx.psn set, its PSNs in a row; consumed
 * @expected: the expected PSN
 */
void rxe_inq_hold(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 expected)
{
	struct sk_buff *first = rxe_inq_peek_held(in);
	u32 fresh = 0;

	unlink_queued(rxe, in, skb);
	in->vouched |= first && rxe_psn_diff(rxe_rx(first)->psn, expected) <= 0;
	switch (compare_early(in, skb, &fresh)) {
	case DIFFERENT:
		drop_distrusted(rxe, in);
		rxe_drop(rxe, RXE_DROP_EARLY, rxe_rx_count_left(skb));
		break;
	case SAME:
		if (fresh)
			rxe_drop(rxe, RXE_DROP_EARLY, fresh);
		rxe_inq_skip(in, rxe_psn_add(get_end_psn(skb), -1));
		consume_skb(skb);
		return;
	default:
		if (insert_held(rxe, in, skb))
			return;
		break;
	}
	rxe_inq_skip(in, rxe_rx(skb)->psn);
	kfree_skb(skb);
}

/**
 * rxe_inq_unhold - free a held train that is finished
 * @rxe: the device
 * @in: where it is
 * @skb: the train; freed
 */
void rxe_inq_unhold(struct rxe_dev *rxe, struct rxe_inq *in,
		    struct sk_buff *skb)
{
	rb_erase_cached(&skb->rbnode, &in->held);
	memset(&skb->rbnode, 0, sizeof(skb->rbnode));	/* a union with skb->dev */
	in->held_bytes -= skb->truesize;
	uncharge_train(rxe, skb);
	consume_skb(skb);
}

/**
 * rxe_inq_skip - note that an early packet came and isn't kept
 * @in: the queue
 * @psn: PSN of the first such packet, or the expected PSN
 */
void rxe_inq_skip(struct rxe_inq *in, u32 psn)
{
	if (in->skipped && rxe_psn_diff(in->skipped_psn, psn) <= 0)
		return;
	in->skipped = true;
	in->skipped_psn = psn;
}

/* Drop the packets before @expected from the first train that is held */
static void trim_held(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *first,
		      u32 expected)
{
	struct rxe_rx *rx = rxe_rx(first);

	if (rxe_psn_diff(get_end_psn(first), expected) <= 0) {
		rxe_inq_unhold(rxe, in, first);
		return;
	}
	rx->done += rxe_psn_diff(expected, rx->psn) * rx->pkt;
	rx->psn = expected;
	rx->noticed = false;
}

/**
 * rxe_inq_passed - drop held packets that have now come in order
 * @rxe: the device
 * @in: the queue
 * @skb: the train that came in order; rxe_rx.done says how far it was taken in
 * @expected: the expected PSN now
 *
 * If they are the same, the held packets behind them are genuine.
 */
void rxe_inq_passed(struct rxe_dev *rxe, struct rxe_inq *in,
		    struct sk_buff *skb, u32 expected)
{
	struct sk_buff *first = rxe_inq_peek_held(in);

	if (!first || rxe_psn_diff(rxe_rx(first)->psn, expected) >= 0)
		return;
	switch (compare_in_order(in, skb, expected)) {
	case DIFFERENT:
		drop_distrusted(rxe, in);
		rxe_inq_skip(in, expected);
		return;
	case SAME:
		in->vouched = true;
		break;
	default:
		break;
	}
	for (; first && rxe_psn_diff(rxe_rx(first)->psn, expected) < 0;
	     first = rxe_inq_peek_held(in))
		trim_held(rxe, in, first, expected);
}

/**
 * rxe_inq_due - find the held train that may be taken in now
 * @in: the queue
 * @expected: the expected PSN
 *
 * Return: the train, or NULL.
 */
struct sk_buff *rxe_inq_due(struct rxe_inq *in, u32 expected)
{
	struct sk_buff *first;

	if (in->skipped && rxe_psn_diff(in->skipped_psn, expected) < 0)
		in->skipped = false;
	if (!in->vouched)
		return NULL;
	first = rxe_inq_peek_held(in);
	if (first && rxe_psn_diff(rxe_rx(first)->psn, expected) <= 0)
		return first;
	in->vouched = false;
	return NULL;
}

/**
 * rxe_inq_missing - count the missing packets before the first early one
 * @in: the queue
 * @expected: the expected PSN
 *
 * Return: packets; 0 if none came early, or the held ones are about to be taken in.
 */
u32 rxe_inq_missing(const struct rxe_inq *in, u32 expected)
{
	struct sk_buff *first = rxe_inq_peek_held(in);
	s32 npkts = S32_MAX, skipped = -1;

	if (in->vouched && first)
		return 0;
	if (first)
		npkts = rxe_psn_diff(rxe_rx(first)->psn, expected);
	if (in->skipped)
		skipped = rxe_psn_diff(in->skipped_psn, expected);
	if (skipped >= 0)
		npkts = min(npkts, skipped);
	return npkts == S32_MAX ? 0 : max(npkts, 1);
}

static void drop_old(struct rxe_dev *rxe, struct rxe_inq *in,
		     struct sk_buff *skb)
{
	rxe_drop(rxe, RXE_DROP_AGE, rxe_rx_count_left(skb));
	if (rxe_rx(skb)->held) {
		rxe_inq_skip(in, rxe_rx(skb)->psn);
		rxe_inq_unhold(rxe, in, skb);
	} else {
		rxe_inq_unqueue(rxe, in, skb);
	}
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

	while ((skb = skb_peek(&in->queue)) && is_older(skb, ms))
		drop_old(rxe, in, skb);
}

/**
 * rxe_inq_slow_down - the queue waits behind a READ, perhaps for long
 * @rxe: the device
 * @in: the queue
 *
 * After inq_age_ms, all trains in it count against the limit of the device's early packets. So
 * do those that come from now on. Those that don't fit are dropped.
 */
void rxe_inq_slow_down(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff *skb = skb_peek(&in->queue);
	struct sk_buff_head old;

	if (in->slow || !skb || !is_old(skb))
		return;
	__skb_queue_head_init(&old);
	spin_lock(&in->queue.lock);
	WRITE_ONCE(in->slow, true);
	skb_queue_splice_init(&in->queue, &old);
	in->bytes = 0;
	while ((skb = __skb_dequeue(&old))) {
		uncharge_train(rxe, skb);
		if (put_train(rxe, in, skb))
			continue;
		rxe_drop(rxe, RXE_DROP_QUEUE, rxe_rx_count_left(skb));
		kfree_skb(skb);
	}
	spin_unlock(&in->queue.lock);
}

/**
 * rxe_inq_expire - drop trains that have been held for too long
 * @rxe: the device
 * @in: the queue
 *
 * The peer decides how many trains are held, and with a steady stream, one is due at any
 * time. So all held trains are checked at most RXE_INQ_CHECKS times in inq_age_ms, and a train
 * may be dropped that much later.
 */
void rxe_inq_expire(struct rxe_dev *rxe, struct rxe_inq *in)
{
	unsigned long most = msecs_to_jiffies(rxe_knob(inq_age_ms));
	struct sk_buff *skb, *next;
	u32 age = 0;

	if (!rxe_inq_holds(in) || time_before(jiffies, in->expires))
		return;
	for (skb = rxe_inq_peek_held(in); skb; skb = next) {
		next = skb_rb_next(skb);
		if (is_old(skb))
			drop_old(rxe, in, skb);
		else
			age = max(age, get_train_age(skb));
	}
	in->expires = jiffies + max(most - age + 1, most / RXE_INQ_CHECKS);
}
