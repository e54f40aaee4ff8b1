// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of received trains that wait for long.
 *
 * Context: bottom halves off.
 */
#include <queue/waiting.h>

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

/**
 * rxe_waiting_own_memory - give a small train that may wait for long memory of its own
 * @skb: the train
 *
 * A small packet is part of a block or a page. It keeps all of that memory in use, but only its
 * own size counts. The larger the pages, the larger the trains for which this matters.
 *
 * Return: the train; or a copy, and the train isn't needed any more; NULL if memory is short.
 */
struct sk_buff *rxe_waiting_own_memory(struct sk_buff *skb)
{
	if (skb->len > RXE_INQ_COPY ||
	    !(skb->head_frag || skb_shinfo(skb)->nr_frags || skb_has_frag_list(skb)))
		return skb;
	return copy_train(skb);
}
