/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trains that came too early (early.c). If the same PSN comes twice, early.c decides which packet
 * to trust.
 */
#ifndef RXE_QUEUE_EARLY_H
#define RXE_QUEUE_EARLY_H

#include <linux/rbtree.h>
#include <linux/skbuff.h>
#include <rxe/stats.h>

struct rxe_dev;

/**
 * struct rxe_early - packets of one kind that came too early; owned by recv_task
 * @held: the trains (skb->rbnode), sorted by PSN, without overlap
 * @bytes: memory of @held
 * @expires: jiffies before which none of @held is too old
 * @vouched: the first train of @held, and those that continue it, are genuine
 * @skipped: an early packet came and wasn't kept
 * @skipped_psn: PSN of the first such packet
 */
struct rxe_early {
	struct rb_root_cached	held;
	u32			bytes;
	unsigned long		expires;
	bool			vouched;
	bool			skipped;
	u32			skipped_psn;
};

/* No packet came too early */
static inline void rxe_early_init(struct rxe_early *early)
{
	*early = (struct rxe_early){ .held = RB_ROOT_CACHED };
}

/* Is a train held? */
static inline bool rxe_early_holds(const struct rxe_early *early)
{
	return !RB_EMPTY_ROOT(&early->held.rb_root);
}

/* The first held train, or NULL */
static inline struct sk_buff *rxe_early_peek(const struct rxe_early *early)
{
	return rb_to_skb(rb_first_cached(&early->held));
}

/* Did a packet come too early? */
static inline bool rxe_early_came(const struct rxe_early *early)
{
	return rxe_early_holds(early) || early->skipped;
}

void rxe_early_reset(struct rxe_dev *rxe, struct rxe_early *early);
void rxe_early_drop(struct rxe_dev *rxe, struct rxe_early *early, enum rxe_drop why);
void rxe_early_hold(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *skb,
		    u32 expected);
void rxe_early_unhold(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *skb);
void rxe_early_skip(struct rxe_early *early, u32 psn);
void rxe_early_passed(struct rxe_dev *rxe, struct rxe_early *early, struct sk_buff *skb,
		      u32 expected);
struct sk_buff *rxe_early_due(struct rxe_early *early, u32 expected);
u32 rxe_early_count_missing(const struct rxe_early *early, u32 expected);
void rxe_early_expire(struct rxe_dev *rxe, struct rxe_early *early);

/* Count the missing packets before the first early one; 0 if none came early */
static inline u32 rxe_early_missing(const struct rxe_early *early, u32 expected)
{
	return rxe_early_came(early) ? rxe_early_count_missing(early, expected) : 0;
}

#endif /* RXE_QUEUE_EARLY_H */
