/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A received train that waits: its age, the limit that it counts against, and memory of its own
 * (waiting.c).
 */
#ifndef RXE_QUEUE_WAITING_H
#define RXE_QUEUE_WAITING_H

#include <linux/jiffies.h>
#include <linux/skbuff.h>
#include <rxe/dev.h>
#include <rxe/net.h>

/* Limits of the device against which a waiting train counts */
enum rxe_account {
	RXE_FREE,
	RXE_AS_QUEUED,	/* queue_dev_bytes */
	RXE_AS_FIRST,	/* three quarters of queue_dev_bytes, with what is queued */
	RXE_AS_WAITING,	/* half of queue_dev_bytes, with what is queued */
	RXE_AS_HELD,	/* held_dev_bytes */
};

struct sk_buff *rxe_waiting_own_memory(struct sk_buff *skb);

/*
 * rxe_waiting_own_memory() returned @kept for the train @skb. If that is a copy, free one of the
 * two: @skb if @kept is used, else @kept.
 */
static inline void rxe_waiting_free_twin(struct sk_buff *skb, struct sk_buff *kept, bool used)
{
	if (kept == skb)
		return;
	if (used)
		consume_skb(skb);
	else
		kfree_skb(kept);
}

/* Return: false if the limit is reached */
static inline bool rxe_waiting_charge_bytes(atomic_t *total, u32 bytes, u32 most)
{
	if ((u32)atomic_add_return(bytes, total) <= most)
		return true;
	atomic_sub(bytes, total);
	return false;
}

/* Count a train against the limit of @account. Return: false if the limit is reached */
static inline bool rxe_waiting_charge(struct rxe_dev *rxe, struct sk_buff *skb,
				      enum rxe_account account)
{
	rxe_rx(skb)->account = account;
	switch (account) {
	case RXE_AS_QUEUED:
		return rxe_waiting_charge_bytes(&rxe->rx_queued, skb->truesize,
						rxe_knob(queue_dev_bytes));
	case RXE_AS_FIRST:
		return rxe_waiting_charge_bytes(&rxe->rx_queued, skb->truesize,
						rxe_knob(queue_dev_bytes) / 4 * 3);
	case RXE_AS_WAITING:
		return rxe_waiting_charge_bytes(&rxe->rx_queued, skb->truesize,
						rxe_knob(queue_dev_bytes) / 2);
	case RXE_AS_HELD:
		return rxe_waiting_charge_bytes(&rxe->rx_held, skb->truesize,
						rxe_knob(held_dev_bytes));
	case RXE_FREE:
		return true;
	}
	return false;
}

/* The train waits no more: it no longer counts against a limit */
static inline void rxe_waiting_uncharge(struct rxe_dev *rxe, struct sk_buff *skb)
{
	if (likely(rxe_rx(skb)->account == RXE_FREE))
		return;
	atomic_sub(skb->truesize,
		   rxe_rx(skb)->account == RXE_AS_HELD ? &rxe->rx_held : &rxe->rx_queued);
}

/* How long the train has waited, in jiffies */
static inline u32 rxe_waiting_age(struct sk_buff *skb)
{
	return (u16)(jiffies - rxe_rx(skb)->since);
}

static inline bool rxe_waiting_is_older(struct sk_buff *skb, u32 ms)
{
	return rxe_waiting_age(skb) > msecs_to_jiffies(ms);
}

static inline bool rxe_waiting_is_old(struct sk_buff *skb)
{
	return rxe_waiting_is_older(skb, rxe_knob(inq_age_ms));
}

#endif /* RXE_QUEUE_WAITING_H */
