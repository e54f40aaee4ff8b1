// SPDX-License-Identifier: GPL-2.0
/*
 * Limits the bytes that the senders by a netdev and with one priority have in the queues of the
 * stack and the netdev.
 *
 * Theory. A queue longer than what keeps the netdev busy only makes packets late, until
 * a queueing discipline drops them. The bytes of all these senders together are therefore
 * limited. The limit follows the rate at which the queue drains, as TCP's small queues do:
 *
 *   limit = rate * (2 * own + txq_ns)
 *
 * where "rate" is the bytes per time that left while senders waited, and "own" the time that an
 * skb takes through an empty queue. Normally own is near zero. It is larger for a netdev that
 * completes late, or a queueing discipline that delays (netem). The limit changes by a factor
 * of two at most per txq_period_ns.
 *
 * Each sender also has a limit of its own: txq_sender_skbs. A queueing discipline that
 * separates flows limits each flow by packets (fq: 100). The requests and the READ responses
 * of a QP are two senders, but one flow. A sender that has reached its limit waits until half of
 * its skbs have left. Until then it gets no turn, and no other sender waits for it.
 *
 * One packet may always be queued. Senders that must wait get their turn in order of
 * arrival, when half of the limits is free. In its turn, a sender sends as much as its task
 * sends in one run. Many senders thus share a slow netdev evenly.
 *
 * The limit is per netdev of a source GID: that of the device, or one on top of it, such as a
 * VLAN. A stuck netdev thus stops only its own senders. The limit is also per priority
 * (rxe_path.priority). A queueing discipline or the netdev may give each priority its own queue
 * and rate (prio, ets, mqprio), and PFC may pause one of them. The others then go on. A path
 * refers to its queues. A connected QP takes them over from its path, and a UD QP from that of
 * the next datagram.
 *
 * If nothing leaves for txq_stuck_ns, each waiting sender may send once, txq_force of them per
 * millisecond. If the queue stays stuck, the retransmission timer of these packets ends in an
 * error.
 *
 * While no sender waits, only two counters are updated, without a lock.
 *
 * Context: any, since skbs are freed anywhere.
 */
#include <linux/hashtable.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <compat/timer.h>
#include <rxe/memory.h>
#include "txq.h"

static const struct rxe_net_ops *rxe_net_ops;
static DEFINE_HASHTABLE(txqs, ilog2(RXE_TXQ_LISTS));
static DEFINE_SPINLOCK(txqs_lock);	/* txqs; innermost, interrupts off */

/**
 * rxe_tx_set_ops - set the function to call when a sender may continue
 * @ops: functions of the transport that net/ calls
 */
void rxe_tx_set_ops(const struct rxe_net_ops *ops)
{
	rxe_net_ops = ops;
}

/*
 * Let up to *@left senders of a list send once. If the first sender was moved in this round, the
 * round is complete, whether or not all have sent: some have nothing to send any more, or wait
 * for a page. Return: true if the round is complete in this list.
 */
static bool txq_force_list(struct rxe_txq *q, struct list_head *list, u32 *left)
{
	struct rxe_tx *tx;

	while (!list_empty(list)) {
		tx = list_first_entry(list, struct rxe_tx, wait);
		if (tx->round == q->round)
			break;
		if (!*left)
			return false;
		--*left;
		tx->round = q->round;
		list_move_tail(&tx->wait, list);
		WRITE_ONCE(tx->forced, true);
		rxe_net_ops->sent(tx->owner);
	}
	return true;
}

/*
 * Let some waiting senders send once. There may be a great many, so each call moves the next few
 * to the end of their list.
 *
 * Context: lock held. Return: true if some are left in this round.
 */
static bool txq_force_waiters(struct rxe_txq *q)
{
	u32 left = rxe_knob(txq_force);

	if (!txq_force_list(q, &q->waiting, &left) || !txq_force_list(q, &q->held, &left))
		return true;
	q->round++;
	return false;
}

static enum hrtimer_restart txq_check_stuck(struct hrtimer *timer)
{
	struct rxe_txq *q = container_of(timer, struct rxe_txq, timer);
	enum hrtimer_restart restart = HRTIMER_NORESTART;
	ktime_t now = ktime_get(), due;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (hrtimer_is_queued(timer)) {
		;	/* armed again while we waited for the lock */
	} else if (!list_empty(&q->waiting) || !list_empty(&q->held)) {
		due = ktime_add_ns(q->drained, rxe_knob(txq_stuck_ns));
		if (!ktime_before(now, due))
			due = ktime_add_ns(now, txq_force_waiters(q) ? NSEC_PER_MSEC :
								       rxe_knob(txq_stuck_ns));
		hrtimer_set_expires(timer, due);
		restart = HRTIMER_RESTART;
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return restart;
}

static unsigned long txq_get_key(const struct net_device *ndev, u8 priority)
{
	return (unsigned long)ndev + priority;
}

/* Skips queues whose last reference is gone. Context: txqs_lock */
static struct rxe_txq *txq_find(const struct net_device *ndev, u8 priority)
{
	struct rxe_txq *q;

	hash_for_each_possible(txqs, q, node, txq_get_key(ndev, priority))
		if (q->ndev == ndev && q->priority == priority && kref_get_unless_zero(&q->ref))
			return q;
	return NULL;
}

/* Context: txqs_lock */
static struct rxe_txq *txq_create(const struct net_device *ndev, u8 priority)
{
	struct rxe_txq *q = kzalloc(sizeof(*q), GFP_ATOMIC | __GFP_NOWARN);

	if (!q)
		return NULL;
	kref_init(&q->ref);
	q->ndev = ndev;
	q->priority = priority;
	q->limit = rxe_knob(txq_first_bytes);
	q->round = 1;
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->waiting);
	INIT_LIST_HEAD(&q->held);
	rxe_hrtimer_setup(&q->timer, txq_check_stuck, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
	hash_add(txqs, &q->node, txq_get_key(ndev, priority));
	return q;
}

/**
 * rxe_txq_find - the accounting of a netdev's queues for one priority
 * @ndev: the netdev, only to compare
 * @priority: the priority
 *
 * Context: any.
 * Return: the queues, which all senders by the netdev with the priority share, with a reference;
 * NULL if memory is short.
 */
struct rxe_txq *rxe_txq_find(const struct net_device *ndev, u8 priority)
{
	struct rxe_txq *q;
	unsigned long flags;

	spin_lock_irqsave(&txqs_lock, flags);
	q = txq_find(ndev, priority) ?: txq_create(ndev, priority);
	spin_unlock_irqrestore(&txqs_lock, flags);
	return q;
}

/**
 * rxe_txq_get - take a reference
 * @q: the queues, which the caller keeps
 *
 * Return: @q
 */
struct rxe_txq *rxe_txq_get(struct rxe_txq *q)
{
	kref_get(&q->ref);
	return q;
}

static void txq_release(struct kref *ref)
{
	struct rxe_txq *q = container_of(ref, struct rxe_txq, ref);
	unsigned long flags;

	spin_lock_irqsave(&txqs_lock, flags);
	hash_del(&q->node);
	spin_unlock_irqrestore(&txqs_lock, flags);
	hrtimer_cancel(&q->timer);
	kfree(q);
}

/**
 * rxe_txq_put - drop a reference
 * @q: from rxe_txq_find() or rxe_txq_get(), or NULL
 */
void rxe_txq_put(struct rxe_txq *q)
{
	if (q)
		kref_put(&q->ref, txq_release);
}

static bool txq_is_full(const struct rxe_txq *q)
{
	return atomic_read(&q->bytes) >= READ_ONCE(q->limit);
}

/* Has the sender less than half of its own limit free? */
static bool tx_must_be_held(const struct rxe_tx *tx)
{
	return rxe_tx_has_many(tx, rxe_knob(txq_sender_skbs) / 2 + 1);
}

/* Put a sender to the end of the list that it belongs to. Context: lock held */
static void txq_queue(struct rxe_txq *q, struct rxe_tx *tx)
{
	WRITE_ONCE(tx->held, tx_must_be_held(tx));
	list_move_tail(&tx->wait, tx->held ? &q->held : &q->waiting);
}

/*
 * Does a sender want to send that may? Only then do the bytes that leave show what the netdev can
 * do. Context: lock held
 */
static bool txq_has_line(const struct rxe_txq *q)
{
	return q->turn || !list_empty(&q->waiting);
}

/* Begin a period when a line begins. Context: lock held */
static void txq_begin_line(struct rxe_txq *q)
{
	if (txq_has_line(q))
		return;
	q->since = ktime_get_coarse();
	q->left = 0;
}

/* A held sender with enough room by now waits for a turn. Context: lock held */
static void txq_release_held(struct rxe_txq *q, struct rxe_tx *tx)
{
	if (!tx->held || tx_must_be_held(tx))
		return;
	txq_begin_line(q);
	txq_queue(q, tx);
}

static void txq_count_waiters(struct rxe_txq *q, int change)
{
	WRITE_ONCE(q->waiters, q->waiters + change);
}

/* The sender waits no more. Return: false if it didn't wait. Context: lock held */
static bool txq_unqueue(struct rxe_tx *tx)
{
	bool waits = !list_empty(&tx->wait);

	list_del_init(&tx->wait);
	WRITE_ONCE(tx->held, false);
	return waits;
}

/*
 * Find the first sender in line. Parked packets are in no queue, so there may be a great many
 * senders with too many skbs. They are therefore in a list of their own. Exception: senders that
 * were forced to send while they were in line. Each is skipped once.
 */
static struct rxe_tx *txq_find_next(struct rxe_txq *q)
{
	struct rxe_tx *tx;

	do {
		tx = list_first_entry_or_null(&q->waiting, struct rxe_tx, wait);
		if (!tx || !tx_must_be_held(tx))
			return tx;
		txq_queue(q, tx);
	} while (true);
}

/* Give the turn to the next sender. Context: lock held */
static void txq_give_turn(struct rxe_txq *q)
{
	struct rxe_tx *tx;

	if (q->turn || txq_is_full(q))
		return;
	tx = txq_find_next(q);
	if (!tx)
		return;
	txq_unqueue(tx);
	WRITE_ONCE(q->turn, true);
	WRITE_ONCE(tx->turn, true);
	rxe_net_ops->sent(tx->owner);
}

/* End the sender's turn, if it has it. Context: lock held */
static void txq_take_turn(struct rxe_txq *q, struct rxe_tx *tx)
{
	if (!tx->turn)
		return;
	WRITE_ONCE(tx->turn, false);
	WRITE_ONCE(q->turn, false);
	txq_count_waiters(q, -1);
}

/**
 * rxe_tx_leave - give up a sender's turn, or its place among the waiting senders
 * @tx: the sender
 */
void rxe_tx_leave(struct rxe_tx *tx)
{
	struct rxe_txq *q = tx->q;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (txq_unqueue(tx))
		txq_count_waiters(q, -1);
	txq_take_turn(q, tx);
	txq_give_turn(q);
	spin_unlock_irqrestore(&q->lock, flags);
}

/* Are so few bytes left that waiting senders may fill the queues again? */
static bool txq_has_drained(const struct rxe_txq *q, u32 bytes)
{
	return bytes <= READ_ONCE(q->limit) / 2;
}

/*
 * Wait behind the other senders. If there is room by now, the first of them gets its turn.
 *
 * Exception: a sender that waits already asks again whenever its task runs, for example for
 * arriving packets. Then no sender gets a turn before the queues have drained. Otherwise each
 * packet that leaves would be replaced at once. Queues that are always full starve some packets
 * if the queueing discipline serves new flows first (fq_codel).
 */
static void txq_add_waiter(struct rxe_txq *q, struct rxe_tx *tx)
{
	unsigned long flags;
	bool waits;

	spin_lock_irqsave(&q->lock, flags);
	txq_begin_line(q);
	WRITE_ONCE(q->timing, true);
	txq_take_turn(q, tx);
	waits = !list_empty(&tx->wait);
	if (!waits) {
		txq_count_waiters(q, 1);
		txq_queue(q, tx);
	}
	if (!hrtimer_is_queued(&q->timer)) {
		WRITE_ONCE(q->drained, ktime_get());
		hrtimer_start(&q->timer,
			      ktime_add_ns(q->drained, rxe_knob(txq_stuck_ns)),
			      HRTIMER_MODE_ABS_SOFT);
	}
	smp_mb();	/* pairs with the one in tx_subtract() */
	txq_release_held(q, tx);
	if (!waits || txq_has_drained(q, atomic_read(&q->bytes)))
		txq_give_turn(q);
	spin_unlock_irqrestore(&q->lock, flags);
}

/**
 * rxe_tx_busy - are the queues full, or do other senders wait for them?
 * @tx: the sender
 *
 * Return: true if rxe_tx_full() must be asked before sending.
 */
bool rxe_tx_busy(const struct rxe_tx *tx)
{
	struct rxe_txq *q = tx->q;

	return txq_is_full(q) || rxe_tx_has_many(tx, rxe_knob(txq_sender_skbs)) ||
	       READ_ONCE(tx->held) || (!list_empty(&q->waiting) && !READ_ONCE(tx->turn));
}

/**
 * rxe_tx_full - must the sender wait?
 * @tx: the sender, which wants to send
 *
 * Return: true if it must; rxe_net_ops.sent will be called.
 */
bool rxe_tx_full(struct rxe_tx *tx)
{
	if (!rxe_tx_busy(tx))
		return false;
	if (READ_ONCE(tx->forced)) {
		WRITE_ONCE(tx->forced, false);
		return false;
	}
	txq_add_waiter(tx->q, tx);
	return true;
}

/**
 * rxe_tx_stuck - does the sender wait for queues that don't drain?
 * @tx: the sender
 * @ns: time after which a queue counts as stuck
 *
 * A sender that waits for its turn among many others isn't stuck.
 *
 * Return: true if it waits and nothing has left for @ns.
 */
bool rxe_tx_stuck(const struct rxe_tx *tx, u64 ns)
{
	ktime_t drained = READ_ONCE(tx->q->drained);

	return !list_empty(&tx->wait) &&
	       ktime_after(ktime_get(), ktime_add_ns(drained, ns));
}

/**
 * rxe_tx_room - how many bytes fit into the queues
 * @tx: the sender
 *
 * Return: bytes, a guess.
 */
u32 rxe_tx_room(const struct rxe_tx *tx)
{
	u32 bytes = atomic_read(&tx->q->bytes), limit = READ_ONCE(tx->q->limit);

	return limit > bytes ? limit - bytes : 0;
}

/**
 * rxe_tx_share - how many more skbs the sender may have in the queues
 * @tx: the sender
 *
 * Return: skbs, a guess; 0 if it must wait.
 */
u32 rxe_tx_share(const struct rxe_tx *tx)
{
	u32 skbs = rxe_tx_count_skbs(tx), most = rxe_knob(txq_sender_skbs);

	return most > skbs ? most - skbs : 0;
}

/**
 * rxe_tx_shared - do senders wait for the queues?
 * @tx: the sender
 *
 * Return: true if any sender waits or has its turn: the turn of @tx may be far off.
 */
bool rxe_tx_shared(const struct rxe_tx *tx)
{
	return READ_ONCE(tx->q->turn) || !list_empty(&tx->q->waiting);
}

/* At the end of a period, set the limit by the rate of the netdev. Context: lock held */
static void txq_adapt_limit(struct rxe_txq *q)
{
	u64 ns = ktime_to_ns(ktime_sub(q->drained, q->since)), limit;

	if (ns < rxe_knob(txq_period_ns))
		return;
	limit = div64_u64(q->left * (2 * q->own.ns + rxe_knob(txq_ns)), ns);
	limit = clamp_t(u64, limit, q->limit / 2, 2ULL * q->limit);
	WRITE_ONCE(q->limit, clamp_t(u64, limit, rxe_knob(txq_min_bytes),
				     rxe_knob(txq_max_bytes)));
	q->since = q->drained;
	q->left = 0;
}

/**
 * rxe_txq_note_drained - bytes left the queues, while senders wait
 * @q: the queues
 * @tx: the sender of the bytes
 * @bytes: their number
 * @rest: bytes that remain
 *
 * Context: any.
 */
void rxe_txq_note_drained(struct rxe_txq *q, struct rxe_tx *tx, u32 bytes, u32 rest)
{
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	WRITE_ONCE(q->drained, ktime_get_coarse());
	if (txq_has_line(q)) {
		q->left += bytes;
		txq_adapt_limit(q);
	}
	if (q->waiters) {
		txq_release_held(q, tx);
		if (txq_has_drained(q, rest))
			txq_give_turn(q);
	}
	spin_unlock_irqrestore(&q->lock, flags);
}
