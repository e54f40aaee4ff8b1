// SPDX-License-Identifier: GPL-2.0
/*
 * Senders, and their skbs in the queues of the stack and the netdev. Each skb counts for its
 * sender, and its bytes for the queues, until it is freed or passed on to a receiver (its
 * destructor). Limits and turns are in txq.c.
 *
 * Context: any, since skbs are freed anywhere.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/sock.h>
#include <rxe/memory.h>
#include "txq.h"

static atomic_t rxe_txs = ATOMIC_INIT(0);	/* senders that exist */

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
	while (!wait_var_event_timeout(&rxe_txs, !atomic_read(&rxe_txs), RXE_TX_WARN_SECONDS * HZ))
		pr_warn("rdma_rxe: can't be unloaded before packets have left the queues of netdevs, perhaps in other namespaces (%d senders)\n",
			atomic_read(&rxe_txs));
	synchronize_net();
	synchronize_rcu_tasks();
}

/**
 * rxe_tx_destroy - drop the owner's reference to a sender, and to those that it was before
 * @tx: the sender, or NULL
 *
 * When it returns, rxe_net_ops.sent isn't called any more.
 */
void rxe_tx_destroy(struct rxe_tx *tx)
{
	struct rxe_tx *last;

	for (; tx; tx = last) {
		last = tx->last;
		rxe_tx_leave(tx);
		kref_put(&tx->ref, tx_release);
	}
}

/*
 * Take the former sender to @q out of the list @lastp. Those that have no skbs any more are
 * destroyed on the way, but for the first one, which may soon be needed again.
 */
static struct rxe_tx *tx_take_former(struct rxe_tx **lastp, const struct rxe_txq *q)
{
	struct rxe_tx **link = lastp, *tx;

	while ((tx = *link)) {
		bool found = tx->q == q;

		if (!found && (link == lastp || rxe_tx_count_skbs(tx))) {
			link = &tx->last;
			continue;
		}
		*link = tx->last;
		tx->last = NULL;
		if (found)
			return tx;
		rxe_tx_destroy(tx);
	}
	return NULL;
}

/**
 * rxe_tx_move - let a sender go on in other queues, though its skbs are still in the old ones
 * @txp: its place; replaced
 * @q: the other queues
 *
 * A sender of datagrams may alternate between netdevs or priorities. The old sender is therefore
 * kept for the way back, and keeps its own limit. If memory is short, the sender counts for the
 * old queues as before.
 *
 * Context: the owner's task, or while it is paused.
 */
void rxe_tx_move(struct rxe_tx **txp, struct rxe_txq *q)
{
	struct rxe_tx *old = *txp, *tx;

	rxe_tx_leave(old);	/* or the others would wait for the end of its turn for ever */
	tx = tx_take_former(&old->last, q) ?:
	     tx_create(q, old->owner, GFP_ATOMIC | __GFP_NOWARN);
	if (!tx)
		return;
	tx->last = old;
	tx->sent = old->sent;
	*txp = tx;
}

/* @bytes of a sender don't count as queued any more */
static void tx_subtract(struct rxe_tx *tx, u32 bytes)
{
	struct rxe_txq *q = tx->q;
	u32 rest = atomic_sub_return(bytes, &q->bytes);

	if (READ_ONCE(q->waiters))
		rxe_txq_note_drained(q, tx, bytes, rest);
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

/*
 * The stack may choose the netdev's queue by CPU (XPS), and queues overtake one another. The task
 * of a sender may move to another CPU. Its skbs then go on as if the first CPU sent them, until
 * none of them is left in the queues. TCP has the same rule (skb->ooo_okay).
 */
static void tx_choose_cpu(struct rxe_tx *tx, struct sk_buff *skb)
{
#ifdef CONFIG_XPS
	if (!rxe_tx_count_skbs(tx))
		tx->cpu = raw_smp_processor_id() + 1;
	skb->sender_cpu = tx->cpu;
#endif
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
	tx_choose_cpu(tx, skb);
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
	       (datagram && rxe_tx_has_many(tx, tx_get_park_limit() + 1));
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
