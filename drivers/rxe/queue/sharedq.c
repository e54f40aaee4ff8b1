// SPDX-License-Identifier: GPL-2.0
/*
 * The shared receive queue (section 10.2.9): taking, the limit, changing the size.
 *
 * Several QPs take work requests, one at a time, in the order in which they were posted.
 * Unlike a QP's own queue, this needs a lock.
 *
 * Context: take: the receive task of any of the QPs; the others: process.
 */
#include <linux/sched.h>
#include <linux/string.h>
#include <rxe/ring.h>
#include <rxe/work.h>
#include <queue/sharedq.h>

/* Context: shared->q.lock held */
static void check_limit(struct rxe_sharedq *shared)
{
	if (!shared->limit || rxe_ring_count_pending(shared->q.ring) >= shared->limit)
		return;
	shared->limit = 0;
	queue_work(rxe_wq, &shared->low);
}

/*
 * Find the oldest work request. While work requests are moved, they are read from the old
 * ring. Place n of the new ring is the n-th behind the old ring's head.
 */
static const void *peek_oldest(const struct rxe_sharedq *shared)
{
	const struct rxe_ring *ring = shared->q.ring, *old = shared->old;
	const void *elem = rxe_ring_get_head(ring);

	if (elem && old && ring->index < shared->moving)
		return rxe_ring_peek(old, ring->index);
	return elem;
}

/**
 * rxe_sharedq_take - take the oldest work request out of the queue [10.2.9]
 * @shared: the queue
 * @wqe: out: the work request. A corrupt one has room for 0 bytes: only the QP that takes it
 *	gets an error
 *
 * Return: false if none is posted.
 */
bool rxe_sharedq_take(struct rxe_sharedq *shared, struct rxe_rwqe *wqe)
{
	struct rxe_recvq *q = &shared->q;
	unsigned long flags;
	const void *elem;

	spin_lock_irqsave(&q->lock, flags);
	elem = peek_oldest(shared);
	if (elem) {
		rxe_import_recv(q->max_sge, elem, wqe);
		if (shared->old)
			rxe_ring_advance(q->ring);	/* freed by move_end() */
		else
			rxe_ring_pop(q->ring);
		check_limit(shared);
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return elem;
}

/**
 * rxe_sharedq_arm - set the limit
 * @shared: the queue
 * @limit: rxe_sharedq.low is scheduled once when fewer than @limit work requests are left;
 *	0: never
 *
 * If fewer are left already, rxe_sharedq.low is scheduled at once.
 *
 * Context: process.
 *
 * Return: 0, or -EINVAL if @limit is more than the queue holds.
 */
int rxe_sharedq_arm(struct rxe_sharedq *shared, u32 limit)
{
	struct rxe_recvq *q = &shared->q;
	int err = 0;

	spin_lock_irq(&q->lock);
	if (limit > rxe_ring_get_capacity(q->ring)) {
		err = -EINVAL;
	} else {
		shared->limit = limit;
		check_limit(shared);
	}
	spin_unlock_irq(&q->lock);
	return err;
}

/*
 * Direct posters to @new, behind places for the work requests that are posted already.
 * Return: their number, or -EINVAL if they don't fit. A limit that is set is at most this number.
 */
static int move_begin(struct rxe_sharedq *shared, struct rxe_ring *new)
{
	struct rxe_recvq *q = &shared->q;
	u32 room = rxe_ring_get_capacity(new), num;
	bool fits;

	spin_lock_irq(&q->lock);
	num = rxe_ring_count_pending(q->ring);	/* read once: a process may change it */
	fits = num <= room;
	if (fits) {
		new->buf->producer_index = num;
		shared->moving = num;
		shared->old = q->ring;
		q->ring = new;
	}
	spin_unlock_irq(&q->lock);
	return fits ? num : -EINVAL;
}

/* Take only from the new ring; release the places of work requests taken during the move */
static void move_end(struct rxe_sharedq *shared)
{
	struct rxe_recvq *q = &shared->q;

	spin_lock_irq(&q->lock);
	shared->old = NULL;
	rxe_ring_release(q->ring, q->ring->index);
	spin_unlock_irq(&q->lock);
}

/**
 * rxe_sharedq_move - change rings while work requests are posted and taken
 * @shared: the queue
 * @new: an empty ring with elements of the same size
 *
 * The work requests are copied without the lock, since that may take long. No poster writes to
 * their places in @new meanwhile: the places are released at the end. A process must keep its
 * lock on the queue until it has mapped the new ring. If it doesn't, work requests that it posts
 * to the old ring are lost.
 *
 * Context: process; one at a time.
 *
 * Return: the old ring, which isn't used any more; ERR_PTR(-EINVAL) if @new is too
 * small, in which case nothing has changed.
 */
struct rxe_ring *rxe_sharedq_move(struct rxe_sharedq *shared, struct rxe_ring *new)
{
	struct rxe_ring *old = shared->q.ring;
	int num = move_begin(shared, new), i;

	if (num < 0)
		return ERR_PTR(num);
	for (i = 0; i < num; i++) {
		memcpy(rxe_ring_get_elem(new, i), rxe_ring_peek(old, i), 1 << new->shift);
		cond_resched();
	}
	move_end(shared);
	return old;
}
