/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queues below a netdev (txq.c), and the senders to them (tx.c).
 */
#ifndef RXE_NET_TXQ_H
#define RXE_NET_TXQ_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>
#include "internal.h"

/**
 * struct rxe_txq - the queues below a netdev for one priority
 * @ref: one for each device, path and sender
 * @ndev: the netdev, only to compare; if its memory is reused, so are its queues
 * @priority: skb->priority of what is sent to them
 * @node: in the table by @ndev and @priority
 * @bytes: bytes in the queues
 * @limit: bytes that may be there before senders wait; read locklessly
 * @lock: protects all below, and rxe_tx.owner
 * @waiting: senders that wait for a turn, in the order in which they came
 * @held: senders that wait until fewer of their own skbs are queued
 * @waiters: senders that wait or have their turn; read locklessly
 * @turn: one of the senders has its turn (rxe_tx.turn)
 * @round: number of the round in which senders are forced to send, since the queue is stuck
 * @left: bytes that left in this period, while senders were in line
 * @since: when the period began
 * @drained: when an skb last left, updated while senders wait; read locklessly
 * @timing: the next skb that finds the queue empty is to be timed; lockless
 * @timed: the skb that is being timed
 * @timed_at: when it was queued
 * @own: the time that an skb takes through an empty queue
 * @timer: checks whether the queue is stuck, while senders wait
 */
struct rxe_txq {
	struct kref		ref;
	const struct net_device	*ndev;
	u8			priority;
	struct hlist_node	node;
	atomic_t		bytes;
	u32			limit;
	spinlock_t		lock;	/* all below */
	struct list_head	waiting;
	struct list_head	held;
	u32			waiters;
	bool			turn;
	u32			round;
	u64			left;
	ktime_t			since;
	ktime_t			drained;
	bool			timing;
	struct sk_buff		*timed;
	ktime_t			timed_at;
	struct rxe_tx_time	own;
	struct hrtimer		timer;
};

/* Has the sender so many skbs in the queues? */
static inline bool rxe_tx_has_many(const struct rxe_tx *tx, u32 skbs)
{
	return unlikely(rxe_tx_count_skbs(tx) >= skbs);
}

void rxe_txq_note_drained(struct rxe_txq *q, struct rxe_tx *tx, u32 bytes, u32 rest);

#endif /* RXE_NET_TXQ_H */
