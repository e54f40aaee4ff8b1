// SPDX-License-Identifier: GPL-2.0
/*
 * Gaps: what came too early is kept until what is missing has come.
 *
 * The specification lets a responder drop what is out of sequence (section
 * 9.7.4.1.1), and what it asks for again is sent again with all that followed.
 * Here it is held instead, so that an acknowledgment passes the gap as soon as
 * it is filled, and the sender needn't go through it all. The same is done for
 * responses.
 *
 * A packet that is missing may be lost or only late. Whether it is asked for
 * again at once depends on how that turned out before: if what was asked for
 * comes twice, it had been late, and patience doubles.
 *
 * Context: recv_task, which owns what is held.
 */
#include <rxe/transport.h>

/**
 * rxe_inq_init - make an empty queue
 * @in: the queue
 */
void rxe_inq_init(struct rxe_inq *in)
{
	skb_queue_head_init(&in->queue);
	skb_queue_head_init(&in->held);
}

/**
 * rxe_inq_purge - drop all that waits
 * @in: the queue
 */
void rxe_inq_purge(struct rxe_inq *in)
{
	skb_queue_purge(&in->queue);
	skb_queue_purge(&in->held);
}

/**
 * rxe_inq_hold - keep a train that came too early
 * @in: where it belongs
 * @skb: the train, rxe_rx.psn set; consumed
 */
void rxe_inq_hold(struct rxe_inq *in, struct sk_buff *skb)
{
	struct sk_buff *before;

	if (skb_queue_len(&in->held) >= RXE_RX_QUEUE_MAX) {
		kfree_skb(skb);
		return;
	}
	skb_queue_reverse_walk(&in->held, before) {
		if (rxe_psn_diff(rxe_rx(before)->psn, rxe_rx(skb)->psn) <= 0)
			break;
	}
	/* behind @before, which is the list's head if all are later */
	__skb_queue_after(&in->held, before, skb);
}

/**
 * rxe_inq_gap - is a packet missing, and should it be asked for again?
 * @in: what came in
 * @gap: how patient to be
 * @psn: the packet that is expected
 */
bool rxe_inq_gap(const struct rxe_inq *in, const struct rxe_gap *gap, u32 psn)
{
	struct sk_buff *first = skb_peek(&in->held);

	return first && skb_queue_len(&in->held) >= gap->patience &&
	       rxe_psn_diff(rxe_rx(first)->psn, psn) > 0;
}

/**
 * rxe_gap_ask - a missing packet is asked for again
 * @gap: the gap
 * @psn: the packet
 *
 * If what was asked for the last time hasn't come twice, it had been lost.
 */
void rxe_gap_ask(struct rxe_gap *gap, u32 psn)
{
	if (gap->asked && gap->psn != psn && gap->patience > 1)
		gap->patience /= 2;
	gap->asked = true;
	gap->psn = psn;
}

/**
 * rxe_gap_late - a packet came that had come before
 * @gap: the gap
 * @psn: the packet
 */
void rxe_gap_late(struct rxe_gap *gap, u32 psn)
{
	if (!gap->asked || gap->psn != psn)
		return;
	gap->asked = false;
	if (gap->patience < RXE_REORDER_MAX)
		gap->patience *= 2;
}
