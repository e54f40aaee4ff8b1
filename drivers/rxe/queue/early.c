// SPDX-License-Identifier: GPL-2.0
/*
 * Received trains that are held, since they came too early: packets before them are missing.
 *
 * Held trains have limits in bytes, per QP and per device, and a maximum age. There may be
 * thousands of small trains, so they are in a tree by PSN. All PSNs are in one window, so that
 * rxe_psn_diff() orders them.
 *
 * An ICRC is no authentication: a packet with a PSN that is yet to come may be forged. A held
 * packet is therefore executed only if the peer is known to have sent it already, and isn't
 * sending it now. There are two such cases:
 *   - The gap before the held packet was closed, and a later packet came after that.
 *   - The first held packet came once more, in order, and is the same. A sender that is asked
 *     for missing packets adds one packet to them (recover.c). A sender that goes back sends
 *     all packets.
 * Otherwise, the packet is requested again. When the same packet comes in order, it is
 * executed, and the held copy is dropped. If a packet differs from the held packet of the same
 * PSN, all held packets are dropped.
 *
 * Context: bottom halves off; in recv_task, or while it is paused.
 */
#include <queue/early.h>
#include <queue/waiting.h>
#include <rxe/psn.h>
#include <rxe/wire.h>
#include <compat/unaligned.h>

enum same {
	NOTHING_SHARED,
	SAME,
	DIFFERENT,
};

/**
 * rxe_early_drop - drop all packets that came too early
 * @rxe: the device
 * @early: the early packets
 * @why: the reason
 */
void rxe_early_drop(struct rxe_dev *rxe, struct rxe_early *early, enum rxe_drop why)
{
	struct sk_buff *skb;

	while ((skb = rxe_early_peek(early))) {
		rxe_drop(rxe, why, rxe_rx_count_left(skb));
		rxe_early_unhold(rxe, early, skb);
	}
	early->vouched = false;
}

/**
 * rxe_early_reset - drop all packets that came too early, and forget that they came
 * @rxe: the device
 * @early: the early packets of a QP that doesn't receive any more
 */
void rxe_early_reset(struct rxe_dev *rxe, struct rxe_early *early)
{
	rxe_early_drop(rxe, early, RXE_DROP_QP_STATE);
	early->skipped = false;
}

/* One after the last PSN of a held train. Its PSNs are in a row */
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

/* Is the packet of @a at @a_off the same as that of @b at @b_off? Their PSNs are equal */
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
static struct sk_buff *find_held_after(const struct rxe_early *early, u32 psn)
{
	struct rb_node *node = early->held.rb_root.rb_node;
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

/* Compare the packet of @skb at @off with the held packet of the same PSN, if any */
static enum same compare_packet(const struct rxe_early *early, struct sk_buff *skb, u32 off,
				u32 psn)
{
	struct sk_buff *held = find_held_after(early, psn);
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

/* Compare a train that came too early with the held trains; count its packets that aren't held */
static enum same compare_early(const struct rxe_early *early, struct sk_buff *skb, u32 *fresh)
{
	const struct rxe_rx *rx = rxe_rx(skb);
	enum same one, result = NOTHING_SHARED;
	u32 off, psn = rx->psn;

	if (!find_held_after(early, psn))
		return NOTHING_SHARED;	/* the usual case: behind all held trains */
	for (off = rx->done; off < rx->end && result != DIFFERENT; off += rx->pkt) {
		one = compare_packet(early, skb, off, psn);
		*fresh += one == NOTHING_SHARED;
		result = max(result, one);
		psn = rxe_psn_add(psn, 1);
	}
	return result;
}

/* Compare the packets of @skb that came in order (before @expected) with the held packets */
static enum same compare_in_order(const struct rxe_early *early, struct sk_buff *skb,
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
			result = max(result, compare_packet(early, skb, off, psn));
	}
	return result;
}

/* Two packets of one PSN differ: one of them is forged. Trust no held packet */
static void drop_distrusted(struct rxe_dev *rxe, struct rxe_early *early)
{
	rxe_count(rxe, HELD_DIFFERS);
	rxe_early_drop(rxe, early, RXE_DROP_EARLY);
}

static bool begins_before(struct rb_node *a, const struct rb_node *b)
{
	return rxe_psn_diff(rxe_rx(rb_to_skb(a))->psn, rxe_rx(rb_to_skb(b))->psn) < 0;
}

/* Return: false if memory is short, or there is no room. @skb is consumed if true */
static bool insert_held(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *skb)
{
	struct sk_buff *held = rxe_waiting_own_memory(skb);
	bool room = held && early->bytes + held->truesize <= rxe_knob(held_qp_bytes) &&
		    rxe_waiting_charge(rxe, held, RXE_AS_HELD);

	if (!room)
		rxe_drop(rxe, held ? RXE_DROP_QUEUE : RXE_DROP_MEMORY, rxe_rx_count_left(skb));
	rxe_waiting_free_twin(skb, held, room);
	if (!room)
		return false;
	if (!rxe_early_holds(early))
		early->expires = jiffies + msecs_to_jiffies(rxe_knob(inq_age_ms));
	rxe_rx(held)->held = true;
	early->bytes += held->truesize;
	rb_add_cached(&held->rbnode, &early->held, begins_before);
	return true;
}

/**
 * rxe_early_hold - keep a train that came too early
 * @rxe: the device
 * @early: the early packets
 * @skb: the train, rxe_rx.psn set, its PSNs in a row; consumed
 * @expected: the expected PSN
 */
void rxe_early_hold(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *skb,
		    u32 expected)
{
	struct sk_buff *first = rxe_early_peek(early);
	u32 fresh = 0;

	early->vouched |= first && rxe_psn_diff(rxe_rx(first)->psn, expected) <= 0;
	switch (compare_early(early, skb, &fresh)) {
	case DIFFERENT:
		drop_distrusted(rxe, early);
		rxe_drop(rxe, RXE_DROP_EARLY, rxe_rx_count_left(skb));
		break;
	case SAME:
		if (fresh)
			rxe_drop(rxe, RXE_DROP_EARLY, fresh);
		rxe_early_skip(early, rxe_psn_add(get_end_psn(skb), -1));
		consume_skb(skb);
		return;
	case NOTHING_SHARED:
		if (insert_held(rxe, early, skb))
			return;
		break;
	}
	rxe_early_skip(early, rxe_rx(skb)->psn);
	kfree_skb(skb);
}

/**
 * rxe_early_unhold - free a held train that is finished
 * @rxe: the device
 * @early: where it is
 * @skb: the train; freed
 */
void rxe_early_unhold(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *skb)
{
	rb_erase_cached(&skb->rbnode, &early->held);
	memset(&skb->rbnode, 0, sizeof(skb->rbnode));	/* a union with skb->dev */
	early->bytes -= skb->truesize;
	rxe_waiting_uncharge(rxe, skb);
	consume_skb(skb);
}

/**
 * rxe_early_skip - note that an early packet came and isn't kept
 * @early: the early packets
 * @psn: PSN of the first such packet, or the expected PSN
 */
void rxe_early_skip(struct rxe_early *early, u32 psn)
{
	if (early->skipped && rxe_psn_diff(early->skipped_psn, psn) <= 0)
		return;
	early->skipped = true;
	early->skipped_psn = psn;
}

/* Drop the packets before @expected from the first train that is held */
static void trim_held(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *first,
		      u32 expected)
{
	struct rxe_rx *rx = rxe_rx(first);

	if (rxe_psn_diff(get_end_psn(first), expected) <= 0) {
		rxe_early_unhold(rxe, early, first);
		return;
	}
	rx->done += rxe_psn_diff(expected, rx->psn) * rx->pkt;
	rx->psn = expected;
	rx->noticed = false;
}

/**
 * rxe_early_passed - drop held packets that have now come in order
 * @rxe: the device
 * @early: the early packets
 * @skb: the train that came in order; rxe_rx.done says how far it was taken in
 * @expected: the expected PSN now
 *
 * If the two copies are the same, the held packets behind them are genuine.
 */
void rxe_early_passed(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *skb,
		      u32 expected)
{
	struct sk_buff *first = rxe_early_peek(early);

	if (!first || rxe_psn_diff(rxe_rx(first)->psn, expected) >= 0)
		return;
	switch (compare_in_order(early, skb, expected)) {
	case DIFFERENT:
		drop_distrusted(rxe, early);
		rxe_early_skip(early, expected);
		return;
	case SAME:
		early->vouched = true;
		break;
	default:
		break;
	}
	for (; first && rxe_psn_diff(rxe_rx(first)->psn, expected) < 0;
	     first = rxe_early_peek(early))
		trim_held(rxe, early, first, expected);
}

/**
 * rxe_early_due - find the held train that may be taken in now
 * @early: the early packets
 * @expected: the expected PSN
 *
 * Return: the train, or NULL.
 */
struct sk_buff *rxe_early_due(struct rxe_early *early, u32 expected)
{
	struct sk_buff *first;

	if (early->skipped && rxe_psn_diff(early->skipped_psn, expected) < 0)
		early->skipped = false;
	if (!early->vouched)
		return NULL;
	first = rxe_early_peek(early);
	if (first && rxe_psn_diff(rxe_rx(first)->psn, expected) <= 0)
		return first;
	early->vouched = false;
	return NULL;
}

/**
 * rxe_early_count_missing - count the missing packets before the first early one
 * @early: the early packets; there may be some
 * @expected: the expected PSN
 *
 * Return: packets; 0 if none came early, or the held packets are about to be taken in.
 */
u32 rxe_early_count_missing(const struct rxe_early *early, u32 expected)
{
	struct sk_buff *first = rxe_early_peek(early);
	s32 npkts = S32_MAX, skipped = -1;

	if (early->vouched && first)
		return 0;
	if (first)
		npkts = rxe_psn_diff(rxe_rx(first)->psn, expected);
	if (early->skipped)
		skipped = rxe_psn_diff(early->skipped_psn, expected);
	if (skipped >= 0)
		npkts = min(npkts, skipped);
	return npkts == S32_MAX ? 0 : max(npkts, 1);
}

static void drop_old_held(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *skb)
{
	rxe_drop(rxe, RXE_DROP_AGE, rxe_rx_count_left(skb));
	rxe_early_skip(early, rxe_rx(skb)->psn);
	rxe_early_unhold(rxe, early, skb);
}

/**
 * rxe_early_expire - drop trains that have been held for too long
 * @rxe: the device
 * @early: the early packets
 *
 * The peer decides how many trains are held, and in a steady stream, some train is too old at
 * any time. All held trains are therefore checked at most RXE_INQ_CHECKS times in inq_age_ms.
 * A train may be dropped later by one such interval.
 */
void rxe_early_expire(struct rxe_dev *rxe, struct rxe_early *early)
{
	unsigned long most = msecs_to_jiffies(rxe_knob(inq_age_ms));
	struct sk_buff *skb, *next;
	u32 age = 0;

	if (!rxe_early_holds(early) || time_before(jiffies, early->expires))
		return;
	for (skb = rxe_early_peek(early); skb; skb = next) {
		next = skb_rb_next(skb);
		if (rxe_waiting_is_old(skb))
			drop_old_held(rxe, early, skb);
		else
			age = max(age, rxe_waiting_age(skb));
	}
	early->expires = jiffies + max(most - age + 1, most / RXE_INQ_CHECKS);
}
