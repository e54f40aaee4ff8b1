// SPDX-License-Identifier: GPL-2.0
/*
 * Events of completion queues (section 11.4.2.2): when and where the consumer's handler is
 * called.
 *
 * An event is due as soon as a completion is written for which the CQ is armed. The handler is
 * called later, without locks, since it may poll, arm and post. It runs on the CPU of the CQ's
 * completion vector.
 *
 * Moderation: the event of an armed CQ is held back until rxe_cq.count completions have come
 * that would raise it, or rxe_cq.period_us have passed since the first of them.
 *
 * Context: any but NMI, unless noted.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/wait_bit.h>
#include <compat/timer.h>
#include <rxe/verbs.h>
#include <verbs/cq.h>

/**
 * rxe_cq_hold_event - does moderation hold back an event?
 * @cq: completion queue, moderated; an armed completion came
 *
 * The first such completion starts the timer.
 *
 * Context: any but NMI; cq->lock held.
 *
 * Return: true if so; if not, the event is due.
 */
bool rxe_cq_hold_event(struct rxe_cq *cq)
{
	if (++cq->held == cq->count)
		return false;
	if (cq->held == 1)
		hrtimer_start(&cq->timer, ns_to_ktime(cq->period_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

static void cq_call_handler(struct rxe_cq *cq)
{
	if (cq->ibcq.comp_handler && !READ_ONCE(cq->closing))
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static void cq_run_tasklet(struct tasklet_struct *t)
{
	struct rxe_cq *cq = container_of(t, struct rxe_cq, tasklet);

	/* Before the handler, so that an event during it schedules the tasklet again */
	atomic_xchg(&cq->kicked, 0);
	wake_up_var(&cq->kicked);
	cq_call_handler(cq);
}

/* Context: hard interrupt, on cq->cpu */
static void cq_schedule_tasklet(void *info)
{
	struct rxe_cq *cq = info;

	tasklet_schedule(&cq->tasklet);
}

/* Return: true if an event was due; the caller must raise it */
static bool cq_take_event(struct rxe_cq *cq)
{
	unsigned long flags;
	bool due;

	spin_lock_irqsave(&cq->lock, flags);
	due = cq->event_due;
	cq->event_due = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	return due;
}

/* Have the handler called in a tasklet on the CPU of the CQ's vector */
static void cq_kick_tasklet(struct rxe_cq *cq, bool here)
{
	if (atomic_xchg(&cq->kicked, 1))
		return;
	if (here || smp_call_function_single_async(cq->cpu, &cq->csd))
		tasklet_schedule(&cq->tasklet);	/* also if that CPU is offline */
}

/**
 * rxe_cq_raise_event - call the completion handler if an event is still due
 * @cq: completion queue
 *
 * The handler of a process's CQ is called directly if this is the right CPU. The handler of a
 * kernel consumer is always called from a tasklet: it may take a lock that the consumer holds
 * while it posts.
 *
 * Context: bottom halves off, no driver lock held.
 */
void rxe_cq_raise_event(struct rxe_cq *cq)
{
	bool here = cq->cpu == raw_smp_processor_id();

	if (!cq_take_event(cq))
		return;
	if (here && cq->is_user)
		cq_call_handler(cq);
	else
		cq_kick_tasklet(cq, here);
}

/* If moderation holds an event back, it is due now */
static void cq_end_hold(struct rxe_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (cq->held)
		rxe_cq_set_due(cq);
}

static enum hrtimer_restart cq_timer_fired(struct hrtimer *timer)
{
	struct rxe_cq *cq = container_of(timer, struct rxe_cq, timer);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq_end_hold(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	rxe_cq_event(cq);
	return HRTIMER_NORESTART;
}

/**
 * rxe_modify_cq - moderate the events of a completion queue
 * @ibcq: completion queue
 * @count: completions after which an event is raised; 0: only the period counts
 * @period: microseconds that an event may be held back; 0: no moderation
 *
 * An event that is held back by the old settings is raised now.
 *
 * Context: process.
 *
 * Return: 0.
 */
int rxe_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);

	spin_lock_irq(&cq->lock);
	cq->count = count;
	cq->period_us = period;
	cq_end_hold(cq);
	spin_unlock_irq(&cq->lock);
	local_bh_disable();
	rxe_cq_event(cq);
	local_bh_enable();
	return 0;
}

/**
 * rxe_cq_events_init - set up the events of a completion queue
 * @cq: completion queue; has its completion vector
 *
 * Context: process.
 */
void rxe_cq_events_init(struct rxe_cq *cq)
{
	cpus_read_lock();	/* or a CPU may go offline between its count and its choice */
	cq->cpu = cpumask_local_spread(cq->ibcq.comp_vector, NUMA_NO_NODE);
	cpus_read_unlock();
	INIT_CSD(&cq->csd, cq_schedule_tasklet, cq);
	tasklet_setup(&cq->tasklet, cq_run_tasklet);
	rxe_hrtimer_setup(&cq->timer, cq_timer_fired, CLOCK_MONOTONIC,
			  HRTIMER_MODE_REL_SOFT);
}

/* Does the RDMA core poll the CQ in cq->ibcq.work, which the handler queues? */
static bool cq_has_work(const struct rxe_cq *cq)
{
	return !cq->is_user && (cq->ibcq.poll_ctx == IB_POLL_WORKQUEUE ||
				cq->ibcq.poll_ctx == IB_POLL_UNBOUND_WORKQUEUE);
}

/* Wait for handlers that were requested, and for one that runs. Context: process */
static void cq_wait_handler(struct rxe_cq *cq)
{
	/* cq_run_tasklet() clears it while the tasklet is marked as running: read in that order */
	wait_var_event(&cq->kicked, !atomic_read_acquire(&cq->kicked));
	tasklet_unlock_wait(&cq->tasklet);
}

/**
 * rxe_cq_settle - wait for a kernel consumer's callback in progress
 * @cq: completion queue; no wait unless the RDMA core polls it in a work
 *
 * On return, the work may have queued itself again, and may call the consumer for further
 * completions. That suffices for MADs: ib_mad takes its port off its list of ports before it
 * destroys the QP, and then posts no more receives.
 *
 * Context: process, not in that work.
 */
void rxe_cq_settle(struct rxe_cq *cq)
{
	if (!cq_has_work(cq))
		return;
	cq_wait_handler(cq);
	flush_work(&cq->ibcq.work);
}

/**
 * rxe_pre_destroy_cq - call the handler of a CQ no more
 * @ibcq: completion queue; no QP uses it any more
 *
 * On return, no handler runs. The RDMA core cancels its work after this, and before
 * rxe_destroy_cq(). Cores without this call cancel it too early: a handler may queue it again.
 *
 * Context: process.
 *
 * Return: 0.
 */
int rxe_pre_destroy_cq(struct ib_cq *ibcq)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);

	WRITE_ONCE(cq->closing, true);
	hrtimer_cancel(&cq->timer);
	cq_wait_handler(cq);
	return 0;
}

/**
 * rxe_cq_events_end - end the events of a completion queue that is destroyed
 * @cq: completion queue; no QP uses it any more
 *
 * On return, no handler of the consumer runs any more, and no work that it queued.
 *
 * Context: process.
 */
void rxe_cq_events_end(struct rxe_cq *cq)
{
	rxe_pre_destroy_cq(&cq->ibcq);	/* older cores don't call it */
	tasklet_kill(&cq->tasklet);
	if (cq_has_work(cq))
		cancel_work_sync(&cq->ibcq.work);
}
