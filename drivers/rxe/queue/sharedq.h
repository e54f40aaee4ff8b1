/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A receive queue that several QPs take from (sharedq.c). It doesn't know these QPs.
 */
#ifndef RXE_QUEUE_SHAREDQ_H
#define RXE_QUEUE_SHAREDQ_H

#include <linux/workqueue.h>
#include <queue/recvq.h>

/**
 * struct rxe_sharedq - a shared receive queue
 * @q: the queue; its lock protects all of this
 * @limit: @low is scheduled when fewer than @limit work requests are left; 0: disarmed
 * @low: the owner's work; it raises the limit event
 * @old: during a resize, the ring from which work requests are moved; else NULL
 * @moving: number of work requests that come from @old
 */
struct rxe_sharedq {
	struct rxe_recvq	q;
	u32			limit;
	struct work_struct	low;
	const struct rxe_ring	*old;
	u32			moving;
};

bool rxe_sharedq_take(struct rxe_sharedq *shared, struct rxe_rwqe *wqe);
int rxe_sharedq_arm(struct rxe_sharedq *shared, u32 limit);
struct rxe_ring *rxe_sharedq_move(struct rxe_sharedq *shared, struct rxe_ring *new);

#endif /* RXE_QUEUE_SHAREDQ_H */
