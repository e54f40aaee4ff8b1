/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trains that a QP has received and not yet taken in (inq.c). They have limits and ages.
 */
#ifndef RXE_QUEUE_INQ_H
#define RXE_QUEUE_INQ_H

#include <linux/skbuff.h>
#include <queue/early.h>
#include <rxe/odp.h>

struct rxe_dev;
struct rxe_qp;

/*
 * The limits per QP and per device are the knobs queue_* and held_*, in bytes of memory
 * (skb->truesize). Up to queue_free_bytes of a queue don't count against the device's limit,
 * since a queue is normally emptied soon. With many QPs, this free part is an equal share of
 * queue_free_dev_bytes. Exception: behind a parked packet, a queue has no free part. The first
 * train of a queue that waits for nothing is free in any case, since it is taken in soon. A queue
 * that waits gets its first train until three quarters of queue_dev_bytes are in use, and more
 * until one half is. When a queue begins to wait, all that it has is counted anew.
 * Behind a READ whose response takes longer than inq_age_ms, trains count as if they were held.
 * They are dropped after queue_age_ms. A held train is dropped after inq_age_ms.
 */

/**
 * struct rxe_inq - packets of one kind that came in, requests or responses
 * @queue: trains in the order in which they came; @bytes is under its lock
 * @bytes: memory of @queue
 * @early: trains that came too early. Only recv_task uses it and all members below, except for
 *	@sent, @row and @waits
 * @sent: value of sq.q.head when the last single-packet message came
 * @row: single-packet messages since @sent changed, up to RXE_RX_ROW; if negative, so many of
 *	the next messages don't wait
 * @sport: UDP source port of the last train that came in order; 0 for none
 * @waits: the last message waits for the next ones
 * @parked: the next packet, or the READ in progress, waits: for a page, for another run, or for
 *	send_task, which copies the data of the work request that a response would complete
 * @waiting: the queue waits for a page, or behind a READ in progress
 * @slow: it has waited behind a READ for long
 * @pager: of the page that @parked waits for
 */
struct rxe_inq {
	struct sk_buff_head	queue;
	u32			bytes;
	u32			sent;
	struct rxe_early	early;
	s16			row;
	__be16			sport;
	bool			waits;
	bool			parked;
	bool			waiting;
	bool			slow;
	struct rxe_pager	pager;
};

/*
 * The first queued train, or NULL, without the lock: only recv_task removes trains. What it reads
 * of the train depends on the address, so put_train() only has to order its stores.
 */
static inline struct sk_buff *rxe_inq_first(const struct rxe_inq *in)
{
	struct sk_buff *skb = READ_ONCE(in->queue.next);

	return skb == (const struct sk_buff *)&in->queue ? NULL : skb;
}

/* The last queued train, or NULL; likewise */
static inline struct sk_buff *rxe_inq_last(const struct rxe_inq *in)
{
	struct sk_buff *skb = READ_ONCE(in->queue.prev);

	return skb == (const struct sk_buff *)&in->queue ? NULL : skb;
}

void rxe_inq_init(struct rxe_inq *in);
void rxe_inq_reset(struct rxe_dev *rxe, struct rxe_inq *in);
bool rxe_inq_queue(struct rxe_dev *rxe, struct rxe_inq *in,
		   struct sk_buff *skb);
void rxe_inq_unqueue(struct rxe_dev *rxe, struct rxe_inq *in,
		     struct sk_buff *skb);
void rxe_inq_rest(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 off);
void rxe_inq_hold(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 expected);
void rxe_inq_expire_queue(struct rxe_dev *rxe, struct rxe_inq *in, u32 ms);
void rxe_inq_note_waiting(struct rxe_dev *rxe, struct rxe_inq *in, bool waiting);
void rxe_inq_slow_down(struct rxe_dev *rxe, struct rxe_inq *in);

#endif /* RXE_QUEUE_INQ_H */
