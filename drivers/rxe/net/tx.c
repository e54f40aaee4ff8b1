// SPDX-License-Identifier: GPL-2.0
/*
 * Limits the bytes that the senders by a netdev have in the queues of the stack and the netdev.
 *
 * Theory. A queue longer than what keeps the netdev busy only makes packets late, until
 * a queueing discipline drops them. The bytes of all senders by a netdev together are therefore
 * limited. The limit follows the rate at which the netdev drains the queue, as TCP's small
 * queues do:
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
 * VLAN. A stuck netdev thus stops only its own senders. A path refers to its netdev's queues. A
 * connected QP takes them over from its path, and a UD QP from that of the next datagram.
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
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/sock.h>
#include <compat/timer.h>
#include <rxe/memory.h>
#include "internal.h"

/**
 * struct rxe_txq - the queues below a netdev
 * @ref: one for each device, path and sender
 * @ndev: the netdev, only to compare; if its memory is reused, so are its queues
 * @node: in the table by @ndev
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

static const struct rxe_net_ops *rxe_net_ops;
static atomic_t rxe_txs = ATOMIC_INIT(0);	/* senders that exist */
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

/* Skips queues whose last reference is gone. Context: txqs_lock */
static struct rxe_txq *txq_find(const struct net_device *ndev)
{
	struct rxe_txq *q;

	hash_for_each_possible(txqs, q, node, (unsigned long)ndev)
		if (q->ndev == ndev && kref_get_unless_zero(&q->ref))
			return q;
	return NULL;
}

/* Context: txqs_lock */
static struct rxe_txq *txq_create(const struct net_device *ndev)
{
	struct rxe_txq *q = kzalloc(sizeof(*q), GFP_ATOMIC | __GFP_NOWARN);

	if (!q)
		return NULL;
	kref_init(&q->ref);
	q->ndev = ndev;
	q->limit = rxe_knob(txq_first_bytes);
	q->round = 1;
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->waiting);
	INIT_LIST_HEAD(&q->held);
	rxe_hrtimer_setup(&q->timer, txq_check_stuck, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
	hash_add(txqs, &q->node, (unsigned long)ndev);
	return q;
}

/**
 * rxe_txq_find - the accounting of a netdev's queues
 * @ndev: the netdev, which the caller keeps
 *
 * Context: any.
 * Return: the queues, which all senders by the netdev share, with a reference; or NULL.
 */
struct rxe_txq *rxe_txq_find(const struct net_device *ndev)
{
	struct rxe_txq *q;
	unsigned long flags;

	spin_lock_irqsave(&txqs_lock, flags);
	q = txq_find(ndev) ?: txq_create(ndev);
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

static struct rxe_tx *tx_create(struct rxe_txq *q, void *owner, gfp_t gfp)
{
	struct rxe_tx *tx = kzalloc(sizeof(*tx), gfp);

	if (!tx)
		return NULL;
	kref_init(&tx->ref);
	tx->q = rxe_txq_get(q);
	tx->owner = owner;
	INIT_LIST_HEAD(&tx->wait);
	atomic_inc(&rxe_txs);
	return tx;
}

/**
 * rxe_tx_create - make a sender
 * @q: the queues that it sends to
 * @owner: argument of rxe_net_ops.sent
 *
 * Return: the sender or NULL.
 */
struct rxe_tx *rxe_tx_create(struct rxe_txq *q, void *owner)
{
	return tx_create(q, owner, RXE_GFP_USER);
}

static void tx_release(struct kref *ref)
{
	struct rxe_tx *tx = container_of(ref, struct rxe_tx, ref);

	rxe_txq_put(tx->q);
	kfree(tx);
	if (atomic_dec_and_test(&rxe_txs))
		wake_up_var(&rxe_txs);
}

/**
 * rxe_tx_wait - wait until no queue holds an skb with a destructor of this module
 *
 * Also waits until tx_free() of the last skb has returned. tx_free() may run in a softirq, or in
 * a process that frees a queue and is preempted at its very end.
 *
 * Context: process, at module unload.
 */
void rxe_tx_wait(void)
{
	wait_var_event(&rxe_txs, !atomic_read(&rxe_txs));
	synchronize_net();
	synchronize_rcu_tasks();
}

static bool txq_is_full(const struct rxe_txq *q)
{
	return atomic_read(&q->bytes) >= READ_ONCE(q->limit);
}

static bool tx_has_many(const struct rxe_tx *tx, u32 skbs)
{
	return unlikely(rxe_tx_count_skbs(tx) >= skbs);
}

/* Has the sender less than half of its own limit free? */
static bool tx_must_be_held(const struct rxe_tx *tx)
{
	return tx_has_many(tx, rxe_knob(txq_sender_skbs) / 2 + 1);
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

/**
 * rxe_tx_destroy - drop the owner's reference to a sender
 * @tx: the sender, or NULL
 *
 * When it returns, rxe_net_ops.sent isn't called any more.
 */
void rxe_tx_destroy(struct rxe_tx *tx)
{
	if (!tx)
		return;
	rxe_tx_destroy(tx->last);
	rxe_tx_leave(tx);
	kref_put(&tx->ref, tx_release);
}

/**
 * rxe_tx_move - let a sender go on in other queues, though its skbs are still in the old ones
 * @txp: its place; replaced
 * @q: the other queues
 *
 * A sender of datagrams may alternate between two netdevs. The old sender is therefore kept for
 * the way back, and keeps its own limit. If memory is short, the sender counts for the old queues
 * as before.
 *
 * Context: the owner's task, or while it is paused.
 */
void rxe_tx_move(struct rxe_tx **txp, struct rxe_txq *q)
{
	struct rxe_tx *old = *txp, *tx = old->last;

	rxe_tx_leave(old);	/* nothing else would end its turn */
	if (!tx || tx->q != q) {
		tx = tx_create(q, old->owner, GFP_ATOMIC | __GFP_NOWARN);
		if (!tx)
			return;
		rxe_tx_destroy(old->last);
	}
	old->last = NULL;
	tx->last = old;
	tx->sent = old->sent;
	*txp = tx;
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

	return txq_is_full(q) || tx_has_many(tx, rxe_knob(txq_sender_skbs)) ||
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

/* @bytes of a sender left the queues and @rest remain, while senders wait */
static noinline void txq_note_drained(struct rxe_txq *q, struct rxe_tx *tx, u32 bytes, u32 rest)
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

/* @bytes of a sender don't count as queued any more */
static void tx_subtract(struct rxe_tx *tx, u32 bytes)
{
	struct rxe_txq *q = tx->q;
	u32 rest = atomic_sub_return(bytes, &q->bytes);

	if (READ_ONCE(q->waiters))
		txq_note_drained(q, tx, bytes, rest);
}

static noinline void txq_start_timing(struct rxe_txq *q, struct sk_buff *skb)
{
	WRITE_ONCE(q->timing, false);
	if (READ_ONCE(q->timed))
		return;
	q->timed_at = ktime_get();
	WRITE_ONCE(q->timed, skb);
}

/**
 * rxe_tx_time_add - add a measurement to the shortest recent time
 * @t: the time
 * @ns: the measurement
 * @now: when it was made
 *
 * A single long measurement may only show that a CPU stood still. At first, and after
 * txq_memory_ns, the time is therefore the shorter one of the last two measurements.
 *
 * Context: any; the caller serializes
 */
void rxe_tx_time_add(struct rxe_tx_time *t, u64 ns, ktime_t now)
{
	bool old = !t->at || ktime_after(now, ktime_add_ns(t->at, rxe_knob(txq_memory_ns)));

	if (t->last && (old || ns <= t->ns)) {
		t->ns = min3(ns, t->last, (u64)NSEC_PER_SEC);
		t->at = now;
	}
	t->last = max(ns, 1ULL);
}

static noinline void txq_end_timing(struct rxe_txq *q)
{
	ktime_t now = ktime_get();
	u64 ns = ktime_to_ns(ktime_sub(now, q->timed_at));
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	rxe_tx_time_add(&q->own, ns, now);
	spin_unlock_irqrestore(&q->lock, flags);
	WRITE_ONCE(q->timed, NULL);
}

/* As skb_set_owner_w(): code that changes the skb's size updates the socket (IPsec) */
static void tx_set_sock(struct sk_buff *skb, struct sock *sk)
{
	refcount_add(skb->truesize, &sk->sk_wmem_alloc);
	skb->sk = sk;
}

/* As sock_wfree(), but no writer waits for room in this socket */
static void tx_drop_sock(struct sk_buff *skb)
{
	struct sock *sk = skb->sk;

	if (likely(!refcount_sub_and_test(skb->truesize, &sk->sk_wmem_alloc)))
		return;
	refcount_set(&sk->sk_wmem_alloc, 1);	/* closed, and this was its last skb */
	sk_free(sk);
}

/* The skb's destructor */
static void tx_free(struct sk_buff *skb)
{
	struct rxe_tx *tx = skb_shinfo(skb)->destructor_arg;
	u32 bytes = skb_shinfo(skb)->tskey;

	if (unlikely(READ_ONCE(tx->q->timed) == skb))
		txq_end_timing(tx->q);
	if (unlikely(!bytes))
		atomic_dec(&tx->parked);
	tx_subtract(tx, bytes);
	if (skb->sk)
		tx_drop_sock(skb);
	kref_put(&tx->ref, tx_release);	/* last: rxe_tx_wait() may go on */
}

/**
 * rxe_tx_own - count an skb until it is freed or passed on to a receiver
 * @tx: the sender that it counts for
 * @sk: the namespace's UDP socket, or NULL
 * @skb: about to be sent
 *
 * The socket is for queueing disciplines that orphan an skb without a socket when they enqueue
 * it (fq). Otherwise, their queues wouldn't be counted. The socket isn't connected, so the
 * skb's hash tells the flows apart.
 *
 * The skb's length may change on its way, so the counted length is kept in tskey. Only
 * timestamps that a process asked for use that field.
 */
void rxe_tx_own(struct rxe_tx *tx, struct sock *sk, struct sk_buff *skb)
{
	u32 bytes = atomic_add_return(skb->len, &tx->q->bytes);

	if (sk)
		tx_set_sock(skb, sk);
	kref_get(&tx->ref);
	tx->sent++;
	if (unlikely(READ_ONCE(tx->q->timing) && bytes == skb->len))
		txq_start_timing(tx->q, skb);
	skb_shinfo(skb)->tskey = skb->len;
	skb_shinfo(skb)->destructor_arg = tx;
	skb->destructor = tx_free;
}

/* The part of a sender's limit that datagrams may take up unparked, and again parked */
static u32 tx_get_park_limit(void)
{
	return rxe_knob(txq_sender_skbs) / 4;
}

/**
 * rxe_tx_is_loaded - could a packet that waits for the address of its next hop delay others?
 * @tx: the sender, which counts the packet already
 * @datagram: the packet is a datagram
 *
 * Return: true if the bytes in the queues are more than half of the smallest limit. For a
 * datagram, also if the sender has more than a few skbs.
 */
bool rxe_tx_is_loaded(const struct rxe_tx *tx, bool datagram)
{
	return atomic_read(&tx->q->bytes) > rxe_knob(txq_min_bytes) / 2 ||
	       (datagram && tx_has_many(tx, tx_get_park_limit() + 1));
}

/**
 * rxe_tx_park - count an skb for its sender only, no longer for the device's queues
 * @skb: after rxe_tx_own(); it is about to wait for the address of its next hop
 * @datagram: it is a datagram
 *
 * The neighbour may be dead. Packets that wait for it for seconds must not stop the senders to
 * all others. The neighbour's own queue has a limit in bytes.
 *
 * A sender of datagrams has other neighbours, too. Less than half of its limit may therefore wait
 * for addresses. Otherwise it would be held until the dead neighbour's packets are dropped.
 * Datagrams are unreliable, so any further one isn't sent.
 *
 * Context: the sender's task.
 * Return: false if the skb must be dropped, not sent.
 */
bool rxe_tx_park(struct sk_buff *skb, bool datagram)
{
	struct rxe_tx *tx = skb_shinfo(skb)->destructor_arg;

	if (datagram && atomic_read(&tx->parked) + 1 >= tx_get_park_limit())
		return false;
	atomic_inc(&tx->parked);
	cmpxchg(&tx->q->timed, skb, NULL);
	tx_subtract(tx, skb_shinfo(skb)->tskey);
	skb_shinfo(skb)->tskey = 0;	/* tx_free() knows by it that the skb was parked */
	return true;
}

/**
 * rxe_tx_cut - count a train until the last of its packets is freed
 * @train: an skb, which is freed next
 * @last: the last of its packets, without owner
 *
 * Queueing disciplines that shape (tbf, cake) segment trains when they enqueue them. This
 * function does what skb_segment() does for skbs of sockets.
 *
 * Context: any.
 */
void rxe_tx_cut(struct sk_buff *train, struct sk_buff *last)
{
	struct rxe_tx *tx;

	if (train->destructor != tx_free)
		return;
	tx = skb_shinfo(train)->destructor_arg;
	skb_shinfo(last)->destructor_arg = tx;
	skb_shinfo(last)->tskey = skb_shinfo(train)->tskey;
	swap(last->truesize, train->truesize);
	swap(last->sk, train->sk);
	swap(last->destructor, train->destructor);
	cmpxchg(&tx->q->timed, train, last);
}
