// SPDX-License-Identifier: GPL-2.0
/*
 * What was received and waits: in the order in which it came (queue), or until
 * what is missing before it has come (held).
 *
 * Both have limits in bytes, for each QP and each device, and an age.
 *
 * An ICRC is no authentication, and a packet with a PSN that is yet to come may be
 * anybody's. So what is held is executed only when it is known that the peer has
 * sent it already, and doesn't send it now:
 *   - a packet from behind it came after the gap before it was closed; or
 *   - the first packet of it came once more, in order, and is the same. A sender
 *     that is asked for what is missing adds one packet to that (completer.c);
 *     one that goes back sends everything.
 * If neither happens it is asked for again. When a packet comes in order, that one
 * is executed and the one that is held is dropped. If the two differ, or two that
 * are held, nothing that is held is believed.
 *
 * Context: bottom halves off; all but rxe_inq_queue() in recv_task, or while it
 * stands still.
 */
#include <linux/jiffies.h>
#include <rxe/transport.h>

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

/**
 * rxe_inq_init - make an empty queue
 * @in: the queue
 */
void rxe_inq_init(struct rxe_inq *in)
{
	skb_queue_head_init(&in->queue);
	__skb_queue_head_init(&in->held);
}

/**
 * rxe_inq_drop_held - drop all that came too early
 * @rxe: the device
 * @in: the queue
 */
void rxe_inq_drop_held(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff *skb;

	while ((skb = skb_peek(&in->held)))
		rxe_inq_unhold(rxe, in, skb);
	in->vouched = false;
}

/**
 * rxe_inq_reset - forget all
 * @rxe: the device
 * @in: of a QP that doesn't receive any more
 */
void rxe_inq_reset(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff *skb;

	local_bh_disable();
	rxe_inq_drop_held(rxe, in);
	while ((skb = skb_peek(&in->queue)))
		rxe_inq_unqueue(rxe, in, skb);
	local_bh_enable();
	in->skipped = false;
	in->sport = 0;
	in->row = 0;
}

static u32 train_age(struct sk_buff *skb)
{
	return (u16)(jiffies - rxe_rx(skb)->since);
}

static bool is_old(struct sk_buff *skb)
{
	return train_age(skb) > msecs_to_jiffies(rxe_knob(inq_age_ms));
}

static bool has_room(struct rxe_dev *rxe, struct rxe_inq *in,
		     struct sk_buff *skb)
{
	u32 bytes = in->bytes + skb->truesize;

	if (skb_queue_len(&in->queue) >= RXE_QUEUE_TRAINS ||
	    bytes > rxe_knob(queue_qp_bytes))
		return false;
	rxe_rx(skb)->charged = bytes > rxe_knob(queue_free_bytes);
	return !rxe_rx(skb)->charged ||
	       charge_bytes(&rxe->rx_queued, skb->truesize, rxe_knob(queue_dev_bytes));
}

/**
 * rxe_inq_queue - queue a train that came in
 * @rxe: the device
 * @in: where it belongs
 * @skb: the train; done, end, held and since are set here
 *
 * Context: in->queue.lock held.
 *
 * Return: false if there is no room.
 */
bool rxe_inq_queue(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb)
{
	struct rxe_rx *rx = rxe_rx(skb);

	if (!has_room(rxe, in, skb))
		return false;
	rx->done = 0;
	rx->end = skb->len;
	rx->held = false;
	rx->since = jiffies;
	in->bytes += skb->truesize;
	__skb_queue_tail(&in->queue, skb);
	return true;
}

static void unlink_queued(struct rxe_dev *rxe, struct rxe_inq *in,
			  struct sk_buff *skb)
{
	spin_lock(&in->queue.lock);
	__skb_unlink(skb, &in->queue);
	in->bytes -= skb->truesize;
	spin_unlock(&in->queue.lock);
	if (rxe_rx(skb)->charged)
		atomic_sub(skb->truesize, &rxe->rx_queued);
}

/**
 * rxe_inq_unqueue - a train is done with
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
 * rxe_inq_rest - look at the rest of a train by itself
 * @rxe: the device
 * @in: where the train is queued
 * @skb: the train
 * @off: where the rest begins
 *
 * If memory is short, or there is too much in the queue, it is lost.
 */
void rxe_inq_rest(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 off)
{
	struct sk_buff *rest = skb_clone(skb, GFP_ATOMIC);
	bool room;

	if (!rest)
		return;
	rxe_rx(rest)->done = off;
	rxe_rx(rest)->end = skb->len;
	spin_lock(&in->queue.lock);
	room = has_room(rxe, in, rest);
	if (room) {
		in->bytes += rest->truesize;
		__skb_queue_after(&in->queue, skb, rest);
	}
	spin_unlock(&in->queue.lock);
	if (!room)
		kfree_skb(rest);
}

/* The packet behind the last of a train that is held, whose PSNs are in a row */
static u32 end_psn(struct sk_buff *skb)
{
	const struct rxe_rx *rx = rxe_rx(skb);

	return rxe_psn_add(rx->psn, DIV_ROUND_UP(rx->end - rx->done, rx->pkt));
}

/* Are @len bytes of two trains the same? */
static bool same_bytes(const struct sk_buff *a, u32 a_off,
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
 * Where what must be the same begins when a packet is sent again, and how long it
 * is. The IP header's ID, and with it the ICRC, isn't; a READ request or its
 * response may begin or end elsewhere.
 */
static u32 shared_part(u8 opcode, u32 len, u32 *off)
{
	u32 flags = rxe_opcode[opcode].flags;

	*off = flags & RXE_OP_RESPONSE ? rxe_opcode[opcode].hdr_len :
					 RXE_BTH_BYTES;
	if (flags & RXE_OP_READ_REQ)
		return sizeof(u64) + sizeof(u32);	/* address and R_Key */
	return len - min(len, *off + RXE_ICRC_BYTES);
}

/* Is the packet of @a at @a_off the one of @b at @b_off, of the same PSN? */
static bool same_packet(struct sk_buff *a, u32 a_off, struct sk_buff *b,
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
	a_len = shared_part(a_op, a_len, &a_skip);
	b_len = shared_part(b_op, b_len, &b_skip);
	return a_len == b_len &&
	       same_bytes(a, a_off + a_skip, b, b_off + b_skip, a_len);
}

/* Compare packets of @skb up to @end with those of the same PSN that are held */
static enum same compare_trains(struct sk_buff *skb, u32 end, struct sk_buff *held)
{
	struct rxe_rx *rx = rxe_rx(held);
	enum same result = NOTHING_SHARED;
	u32 off, first = rx->psn;
	u8 bth[RXE_BTH_BYTES];
	s32 n, num = rxe_psn_diff(end_psn(held), first);

	for (off = 0; off < end; off += rxe_rx(skb)->pkt) {
		if (skb_copy_bits(skb, off, bth, sizeof(bth)))
			break;
		n = rxe_psn_diff(get_unaligned_be32(bth + 8) & RXE_PSN_MASK,
				 first);
		if (n < 0 || n >= num)
			continue;
		if (!same_packet(skb, off, held, rx->done + n * rx->pkt))
			return DIFFERENT;
		result = SAME;
	}
	return result;
}

static void distrust(struct rxe_dev *rxe, struct rxe_inq *in)
{
	rxe_count(rxe, HELD_DIFFERS);
	rxe_inq_drop_held(rxe, in);
}

/*
 * Return: whether @skb is already held, at least in part; @before: the train that
 * it goes behind
 */
static enum same find_place(struct rxe_inq *in, struct sk_buff *skb,
			    struct sk_buff **before)
{
	u32 end = end_psn(skb), psn = rxe_rx(skb)->psn;
	enum same result = NOTHING_SHARED, one;
	struct sk_buff *held;

	skb_queue_reverse_walk(&in->held, held) {
		if (rxe_psn_diff(end_psn(held), psn) <= 0)
			break;
		if (rxe_psn_diff(rxe_rx(held)->psn, end) >= 0)
			continue;
		one = compare_trains(skb, rxe_rx(skb)->end, held);
		if (one == DIFFERENT)
			return one;
		result = max(result, one);
	}
	*before = held;		/* the list's head if all are later */
	return result;
}

static void insert_held(struct rxe_inq *in, struct sk_buff *before,
			struct sk_buff *skb)
{
	if (skb_queue_empty(&in->held))
		in->expires = jiffies + msecs_to_jiffies(rxe_knob(inq_age_ms));
	rxe_rx(skb)->held = true;
	in->held_bytes += skb->truesize;
	__skb_queue_after(&in->held, before, skb);
}

/**
 * rxe_inq_hold - keep a train that came too early
 * @rxe: the device
 * @in: where it is queued
 * @skb: the train, rxe_rx.psn set, its PSNs in a row; consumed
 * @expected: the packet that is expected
 */
void rxe_inq_hold(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 expected)
{
	struct sk_buff *first = skb_peek(&in->held), *before;

	unlink_queued(rxe, in, skb);
	in->vouched |= first && rxe_psn_diff(rxe_rx(first)->psn, expected) <= 0;
	switch (find_place(in, skb, &before)) {
	case DIFFERENT:
		distrust(rxe, in);
		break;
	case SAME:
		rxe_inq_skip(in, rxe_psn_add(end_psn(skb), -1));
		consume_skb(skb);
		return;
	default:
		if (in->held_bytes + skb->truesize > rxe_knob(held_qp_bytes) ||
		    !charge_bytes(&rxe->rx_held, skb->truesize, rxe_knob(held_dev_bytes))) {
			rxe_drop(rxe, RXE_DROP_QUEUE, rxe_rx(skb)->npkts);
			break;
		}
		insert_held(in, before, skb);
		return;
	}
	rxe_inq_skip(in, rxe_rx(skb)->psn);
	kfree_skb(skb);
}

/**
 * rxe_inq_unhold - a train that was held is done with
 * @rxe: the device
 * @in: where it is
 * @skb: the train; freed
 */
void rxe_inq_unhold(struct rxe_dev *rxe, struct rxe_inq *in,
		    struct sk_buff *skb)
{
	__skb_unlink(skb, &in->held);
	in->held_bytes -= skb->truesize;
	atomic_sub(skb->truesize, &rxe->rx_held);
	consume_skb(skb);
}

/**
 * rxe_inq_skip - something came too early and isn't kept
 * @in: the queue
 * @psn: the first packet of it, or the one that is expected
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

	if (rxe_psn_diff(end_psn(first), expected) <= 0) {
		rxe_inq_unhold(rxe, in, first);
		return;
	}
	rx->done += rxe_psn_diff(expected, rx->psn) * rx->pkt;
	rx->psn = expected;
}

/**
 * rxe_inq_passed - a train was taken in: is part of it held, too?
 * @rxe: the device
 * @in: the queue
 * @skb: the train, which came in order; rxe_rx.done says how far
 * @expected: the packet that is expected now
 */
void rxe_inq_passed(struct rxe_dev *rxe, struct rxe_inq *in,
		    struct sk_buff *skb, u32 expected)
{
	struct sk_buff *first;

	while ((first = skb_peek(&in->held)) &&
	       rxe_psn_diff(rxe_rx(first)->psn, expected) < 0) {
		switch (compare_trains(skb, rxe_rx(skb)->done, first)) {
		case DIFFERENT:
			distrust(rxe, in);
			rxe_inq_skip(in, expected);
			return;
		case SAME:
			in->vouched = true;
			break;
		default:
			break;
		}
		trim_held(rxe, in, first, expected);
	}
}

/**
 * rxe_inq_due - the train that was held and may be taken in now
 * @in: the queue
 * @expected: the packet that is expected
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
	first = skb_peek(&in->held);
	if (first && rxe_psn_diff(rxe_rx(first)->psn, expected) <= 0)
		return first;
	in->vouched = false;
	return NULL;
}

/**
 * rxe_inq_missing - how much is missing before what came too early?
 * @in: what came in
 * @expected: the packet that is expected
 *
 * Return: packets; 0 if nothing is held, or what is held is about to be taken in.
 */
u32 rxe_inq_missing(const struct rxe_inq *in, u32 expected)
{
	struct sk_buff *first = skb_peek(&in->held);
	s32 npkts = S32_MAX, skipped = -1;

	if (in->vouched)
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
	rxe_drop(rxe, RXE_DROP_AGE, rxe_rx(skb)->npkts);
	if (rxe_rx(skb)->held) {
		rxe_inq_skip(in, rxe_rx(skb)->psn);
		rxe_inq_unhold(rxe, in, skb);
	} else {
		rxe_inq_unqueue(rxe, in, skb);
	}
}

/**
 * rxe_inq_expire_queue - drop what has waited for too long to be taken in
 * @rxe: the device
 * @in: the queue, which waits for something
 */
void rxe_inq_expire_queue(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff *skb;

	while ((skb = skb_peek(&in->queue)) && is_old(skb))
		drop_old(rxe, in, skb);
}

/**
 * rxe_inq_expire - drop what has been held for too long
 * @rxe: the device
 * @in: the queue
 */
void rxe_inq_expire(struct rxe_dev *rxe, struct rxe_inq *in)
{
	struct sk_buff *skb, *next;

	u32 age = 0;

	if (skb_queue_empty(&in->held) || time_before(jiffies, in->expires))
		return;
	skb_queue_walk_safe(&in->held, skb, next) {
		if (is_old(skb))
			drop_old(rxe, in, skb);
		else
			age = max(age, train_age(skb));
	}
	in->expires = jiffies + msecs_to_jiffies(rxe_knob(inq_age_ms)) - age + 1;
}
