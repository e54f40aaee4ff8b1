// SPDX-License-Identifier: GPL-2.0
/*
 * What a sender has in the queues below: counted when an skb is handed to the
 * stack, and when the last queue or driver lets go of it.
 *
 * Context: any, since skbs are freed anywhere.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "internal.h"

static const struct rxe_net_ops *rxe_net_ops;
static atomic_t rxe_txs = ATOMIC_INIT(0);	/* counters that exist */
static atomic_t rxe_tx_skbs = ATOMIC_INIT(0);	/* skbs of all senders */

/**
 * rxe_tx_set_ops - whom to tell that queues are short again
 * @ops: what net/ calls upwards
 */
void rxe_tx_set_ops(const struct rxe_net_ops *ops)
{
	rxe_net_ops = ops;
}

/**
 * rxe_tx_create - begin to count for a sender
 * @owner: argument of rxe_net_ops.sent
 *
 * Return: the counter or NULL.
 */
struct rxe_tx *rxe_tx_create(void *owner)
{
	struct rxe_tx *tx = kzalloc(sizeof(*tx), GFP_KERNEL);

	if (!tx)
		return NULL;
	kref_init(&tx->ref);
	spin_lock_init(&tx->lock);
	tx->owner = owner;
	atomic_inc(&rxe_txs);
	return tx;
}

static void rxe_tx_release(struct kref *ref)
{
	kfree(container_of(ref, struct rxe_tx, ref));
	if (atomic_dec_and_test(&rxe_txs))
		wake_up_var(&rxe_txs);
}

/**
 * rxe_tx_wait - wait until no queue holds an skb that would come back to us
 *
 * Context: process, at module unload.
 */
void rxe_tx_wait(void)
{
	wait_var_event(&rxe_txs, !atomic_read(&rxe_txs));
	synchronize_net();	/* whoever freed the last one has left */
}

/**
 * rxe_tx_destroy - the sender goes
 * @tx: its counter
 *
 * When it returns, rxe_net_ops.sent isn't called any more.
 */
void rxe_tx_destroy(struct rxe_tx *tx)
{
	unsigned long flags;

	spin_lock_irqsave(&tx->lock, flags);
	tx->owner = NULL;
	spin_unlock_irqrestore(&tx->lock, flags);
	kref_put(&tx->ref, rxe_tx_release);
}

/*
 * A sender has its share, and where there are many, each may have but one: the
 * queues below (a CPU's backlog takes 1000) know nothing of senders.
 */
static bool rxe_tx_crowded(const struct rxe_tx *tx, int share)
{
	int skbs = atomic_read(&tx->skbs);

	return skbs >= share ||
	       (skbs && atomic_read(&rxe_tx_skbs) >= RXE_TX_ALL_SKBS);
}

/**
 * rxe_tx_full - should the sender wait?
 * @tx: its counter
 *
 * Return: true if it should; rxe_net_ops.sent will be called.
 */
bool rxe_tx_full(struct rxe_tx *tx)
{
	if (!rxe_tx_crowded(tx, RXE_TX_SKBS))
		return false;
	WRITE_ONCE(tx->waiting, true);
	smp_mb();	/* pairs with the decrement in rxe_tx_free() */
	return rxe_tx_crowded(tx, RXE_TX_SKBS / 2 + 1);
}

static void rxe_tx_wake(struct rxe_tx *tx)
{
	unsigned long flags;

	spin_lock_irqsave(&tx->lock, flags);
	if (tx->owner)
		rxe_net_ops->sent(tx->owner);
	spin_unlock_irqrestore(&tx->lock, flags);
}

/* The last that held the skb has let go of it */
static void rxe_tx_free(struct sk_buff *skb)
{
	struct rxe_tx *tx = skb_shinfo(skb)->destructor_arg;

	atomic_dec(&rxe_tx_skbs);
	if (atomic_dec_return(&tx->skbs) <= RXE_TX_SKBS / 2 &&
	    READ_ONCE(tx->waiting) && xchg(&tx->waiting, false))
		rxe_tx_wake(tx);
	kref_put(&tx->ref, rxe_tx_release);
}

/**
 * rxe_tx_own - count an skb until it is freed or passed on to a receiver
 * @tx: whom it counts for
 * @skb: about to be sent
 */
void rxe_tx_own(struct rxe_tx *tx, struct sk_buff *skb)
{
	kref_get(&tx->ref);
	atomic_inc(&tx->skbs);
	atomic_inc(&rxe_tx_skbs);
	skb_shinfo(skb)->destructor_arg = tx;
	skb->destructor = rxe_tx_free;
}
