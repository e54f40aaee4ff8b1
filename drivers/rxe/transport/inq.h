/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a QP has received and not yet taken in: limits, ages, and whom to believe
 * when the same packet comes twice (inq.c).
 */
#ifndef RXE_TRANSPORT_INQ_H
#define RXE_TRANSPORT_INQ_H

#include <linux/skbuff.h>
#include <linux/sizes.h>

struct rxe_dev;
struct rxe_qp;

/*
 * What waits has limits per QP and per device, in bytes of memory (skb->truesize): the
 * knobs queue_* and held_*. A queue is mostly being worked off: up to queue_free_bytes of
 * it don't count against the device's limit. What is held may wait for long; after
 * inq_age_ms it is dropped.
 */

/**
 * struct rxe_inq - packets of one kind that came in, requests or responses
 * @queue: trains in the order in which they came; @bytes is under its lock
 * @bytes: memory of @queue
 * @held: trains that came too early, by PSN, none overlaps another; recv_task's
 *	alone, as is all below but @sent, @row and @waits
 * @held_bytes: memory of @held
 * @expires: jiffies before which none of @held is too old
 * @vouched: the train that is due of @held is genuine, and those behind it
 * @skipped: something that came too early wasn't kept
 * @skipped_psn: the first packet of that
 * @sport: UDP source port of the last train that came in order; 0 for none
 * @sent: work requests that had been sent when the last one came
 * @row: messages of one packet that came since, up to RXE_RX_ROW
 * @waits: the last one waits for the next ones
 */
struct rxe_inq {
	struct sk_buff_head	queue;
	u32			bytes;
	struct sk_buff_head	held;
	u32			held_bytes;
	unsigned long		expires;
	bool			vouched;
	bool			skipped;
	u32			skipped_psn;
	__be16			sport;
	u32			sent;
	s32			row;
	bool			waits;
};

/* Was something of it ahead of what is expected? */
static inline bool rxe_inq_waits(const struct rxe_inq *in)
{
	return !skb_queue_empty(&in->held) || in->skipped;
}

void rxe_inq_init(struct rxe_inq *in);
void rxe_inq_reset(struct rxe_dev *rxe, struct rxe_inq *in);
void rxe_inq_drop_held(struct rxe_dev *rxe, struct rxe_inq *in);
bool rxe_inq_queue(struct rxe_dev *rxe, struct rxe_inq *in,
		   struct sk_buff *skb);
void rxe_inq_unqueue(struct rxe_dev *rxe, struct rxe_inq *in,
		     struct sk_buff *skb);
void rxe_inq_rest(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 off);
void rxe_inq_hold(struct rxe_dev *rxe, struct rxe_inq *in, struct sk_buff *skb,
		  u32 expected);
void rxe_inq_unhold(struct rxe_dev *rxe, struct rxe_inq *in,
		    struct sk_buff *skb);
void rxe_inq_skip(struct rxe_inq *in, u32 psn);
void rxe_inq_passed(struct rxe_dev *rxe, struct rxe_inq *in,
		    struct sk_buff *skb, u32 expected);
struct sk_buff *rxe_inq_due(struct rxe_inq *in, u32 expected);
u32 rxe_inq_missing(const struct rxe_inq *in, u32 expected);
void rxe_inq_expire_queue(struct rxe_dev *rxe, struct rxe_inq *in);
void rxe_inq_expire(struct rxe_dev *rxe, struct rxe_inq *in);

#endif /* RXE_TRANSPORT_INQ_H */
