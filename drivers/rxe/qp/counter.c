// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of queue pairs: `rdma statistic qp` binds a QP to a counter of its own, or to a
 * counter that QPs of one type or process share. The QP then counts there, and no longer in the
 * port's counters. The RDMA core adds both when it shows the port.
 *
 * Context: process. The RDMA core holds the lock of the counter, except in
 * rxe_counter_dealloc(). Older cores may still read a counter then.
 */
#include <qp/qp.h>
#include <rxe/transport.h>
#include <stats/counters.h>

/**
 * struct counter_set - the driver's part of a struct rdma_counter
 * @stats: the counters
 */
struct counter_set {
	struct rxe_stats __percpu *stats;
};

/* The counter's number is its index in rxe->counters; 0 before the first QP is bound */
static struct counter_set *find_set(const struct rdma_counter *counter)
{
	struct rxe_dev *rxe = to_rxe_dev(counter->device);

	return counter->id ? xa_load(&rxe->counters, counter->id) : NULL;
}

static void free_set(struct counter_set *set)
{
	free_percpu(set->stats);
	kfree(set);
}

static struct counter_set *add_set(struct rdma_counter *counter)
{
	struct rxe_dev *rxe = to_rxe_dev(counter->device);
	struct counter_set *set = kzalloc(sizeof(*set), GFP_KERNEL);

	if (!set)
		return NULL;
	set->stats = alloc_percpu(struct rxe_stats);
	/* Cyclically, since the RDMA core uses a number for some time after it is freed here */
	if (set->stats && xa_alloc_cyclic(&rxe->counters, &counter->id, set, xa_limit_31b,
					  &rxe->next_counter, GFP_KERNEL) >= 0)
		return set;
	counter->id = 0;
	free_set(set);
	return NULL;
}

/**
 * rxe_counter_bind - bind a QP to a counter
 * @counter: the counter; has no number before its first QP
 * @ibqp: the QP; its member counter is set, which the RDMA core reads
 *
 * Return: 0 or -ENOMEM.
 */
int rxe_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	struct counter_set *set = find_set(counter);

	if (!set)
		set = add_set(counter);
	if (!set)
		return -ENOMEM;
	/* After the zeroes in it */
	smp_store_release(&to_rxe_qp(ibqp)->stats, set->stats);
	ibqp->counter = counter;
	return 0;
}

/**
 * rxe_counter_unbind - undo rxe_counter_bind(): the QP counts for its port again
 * @ibqp: the QP
 *
 * Return: 0
 */
int rxe_counter_unbind(struct ib_qp *ibqp)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);

	WRITE_ONCE(qp->stats, qp->rxe->stats);
	ibqp->counter = NULL;
	return 0;
}

/**
 * rxe_counter_dealloc - free a counter after its last QP was unbound
 * @counter: the counter, not locked; the RDMA core has read it before
 *
 * Return: 0. No QP counts into the counter any more.
 */
int rxe_counter_dealloc(struct rdma_counter *counter)
{
	struct rxe_dev *rxe = to_rxe_dev(counter->device);
	struct counter_set *set;

	mutex_lock(&counter->lock);	/* rxe_counter_update() */
	set = counter->id ? xa_erase(&rxe->counters, counter->id) : NULL;
	mutex_unlock(&counter->lock);
	if (!set)
		return 0;
	synchronize_rcu();	/* tasks that read qp->stats before it was unbound */
	free_set(set);
	return 0;
}

/**
 * rxe_counter_alloc_stats - describe the counters of a QP
 * @counter: the counter
 *
 * Return: as rxe_alloc_hw_port_stats()
 */
struct rdma_hw_stats *rxe_counter_alloc_stats(struct rdma_counter *counter)
{
	return rxe_alloc_hw_port_stats(counter->device, counter->port);
}

/**
 * rxe_counter_update - read the counters of a QP
 * @counter: the counter; its stats are written
 *
 * Return: 0
 */
int rxe_counter_update(struct rdma_counter *counter)
{
	struct counter_set *set = find_set(counter);

	if (set)
		rxe_stats_fill(set->stats, counter->stats->value);
	return 0;
}
