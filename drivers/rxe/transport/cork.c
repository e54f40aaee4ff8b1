// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: where and when what a process has posted is sent.
 *
 * Where the poster stands, and at once: nothing is faster for one message. But a
 * process that has completions of other QPs to look at doesn't wait for this one.
 * If the message is a large one it goes on, while a worker sends, on a CPU that is
 * idle if there is one. So many QPs of one thread use more CPUs than its own.
 *
 * Corks: small messages that a process posts one after the other leave together.
 * A process that rings again and again, and meanwhile looks for no completion,
 * doesn't wait for the first of them, nor does one that takes up completions one by
 * one, and has more of them; one train, one ACK and one wake-up do for many. So from
 * the third such doorbell on (the second, if it went on and on before it polled),
 * what is posted waits until there is enough of it or a short time is over. Then a
 * worker sends it, too.
 *
 * Who waits for an answer is never corked: it polls all that there is, or the peer's
 * next request has come, before it rings again. Nor are datagrams, and what goes
 * where trains don't: waiting would save nothing; nor, but for a try now and then,
 * is who posts so slowly that few would gather.
 *
 * Context: process, bottom halves on, unless noted. Doorbells of one QP may race:
 * at worst the guess is wrong, and a message leaves early or cork_ns late.
 */
#include <linux/sched/clock.h>
#include <rxe/transport.h>
#include <compat/timer.h>

static struct workqueue_struct *rxe_cork_wq;

/**
 * rxe_cork_start - the module is loaded
 *
 * Return: 0, or -ENOMEM.
 */
int __init rxe_cork_start(void)
{
	rxe_cork_wq = alloc_workqueue("rdma_rxe", WQ_UNBOUND | WQ_HIGHPRI |
				      WQ_SYSFS, num_possible_cpus());
	return rxe_cork_wq ? 0 : -ENOMEM;
}

/**
 * rxe_cork_stop - the module is unloaded; no QP is left
 */
void rxe_cork_stop(void)
{
	destroy_workqueue(rxe_cork_wq);
}

/* In ERR what is posted is flushed by the task that completes the send queue */
static struct rxe_task *sq_task(struct rxe_qp *qp)
{
	bool flush = qp->service->acked && READ_ONCE(qp->state) == IB_QPS_ERR;

	return flush ? &qp->recv_task : &qp->send_task;
}

/**
 * rxe_sq_kick - send what was posted, or flush it
 * @qp: the QP
 *
 * Context: any. The work is done here if bottom halves may run here, else in the
 * tasklet.
 */
void rxe_sq_kick(struct rxe_qp *qp)
{
	rxe_task_kick(sq_task(qp));
}

/**
 * rxe_cork_fits - does a process post without waiting for anything?
 * @cork: of its QP
 * @polled: changes when it polls completions of what it sent
 * @more: the next that it will poll is one, too: it isn't done with those
 * @asked: changes when a request comes in, and when it polls for those
 * @now: the time of its doorbell
 *
 * Return: true from its third doorbell on; from its second, in a stream. False now
 * and then, if corks gather few.
 */
bool rxe_cork_fits(struct rxe_cork *cork, u32 polled, bool more, u32 asked,
		   ktime_t now)
{
	bool soon = ktime_before(now, ktime_add_ns(cork->last, rxe_knob(cork_gap_ns)));
	bool looked = polled != cork->polled && !more;

	if (looked || asked != cork->asked || !soon)
		cork->row = soon && cork->stream;
	cork->last = now;
	cork->polled = polled;
	cork->asked = asked;
	if (cork->row < rxe_knob(cork_row)) {
		cork->row++;
		return false;
	}
	if (cork->vain <= rxe_knob(cork_vain))
		return true;
	cork->vain--;
	return false;
}

/**
 * rxe_cork_late - what waited has waited long enough: was it worth a timer?
 * @cork: of its QP
 * @gathered: messages that waited
 *
 * If it posts slowly, a timer for each message costs more than it saves.
 */
void rxe_cork_late(struct rxe_cork *cork, u32 gathered)
{
	if (gathered >= rxe_knob(cork_few))
		cork->vain = 0;
	else if (cork->vain < rxe_knob(cork_vain))
		cork->vain++;
	else
		cork->vain = rxe_knob(cork_vain) + rxe_knob(cork_skip);
}

/*
 * Does the poster wait for nothing, and would what it posts share trains? What
 * can't leave now (window, initiator depth) leaves with an answer anyway.
 */
static bool corked(struct rxe_qp *qp, u32 pending)
{
	const struct rxe_sq *sq = &qp->sq;
	u32 head = READ_ONCE(sq->q.head);
	u32 asked = 0, polled, next;

	if (qp->service->datagram || !READ_ONCE(qp->rxe->tune.cork) ||
	    rxe_sq_alone(sq))
		return false;
	next = rxe_cq_next(rxe_scq(qp), &polled);
	if (rxe_rcq(qp) != rxe_scq(qp))
		rxe_cq_next(rxe_rcq(qp), &asked);
	asked += READ_ONCE(qp->rq.epsn);
	return rxe_cork_fits(&qp->cork, polled, next == rxe_qp_num(qp), asked,
			     ns_to_ktime(local_clock())) &&
	       READ_ONCE(sq->q.cur) == head &&
	       READ_ONCE(rxe_swqe(sq, head - 1)->length) <= rxe_knob(cork_bytes) &&
	       pending < rxe_knob(cork_most);
}

/* First, and with a barrier: who rings from here on arms it again */
static void unarm(struct rxe_qp *qp)
{
	atomic_xchg(&qp->cork.armed, 0);
}

static void cork_work(struct work_struct *work)
{
	struct rxe_qp *qp = container_of(work, struct rxe_qp, cork.work);

	unarm(qp);
	if (rxe_task_work(sq_task(qp)))
		queue_work(rxe_cork_wq, work);
	else
		WRITE_ONCE(qp->cork.working, false);
}

static void have_worker_send(struct rxe_qp *qp)
{
	WRITE_ONCE(qp->cork.working, true);
	queue_work(rxe_cork_wq, &qp->cork.work);
}

/* From what waits: is this a stream? */
static void learn(struct rxe_qp *qp)
{
	u32 pending = rxe_ring_pending(qp->sq.q.ring);

	WRITE_ONCE(qp->cork.stream, pending >= rxe_knob(cork_stream));
}

/* What waits leaves now. The timer goes first: who rings meanwhile finds it armed */
static void drop_timer(struct rxe_qp *qp)
{
	if (!atomic_read(&qp->cork.armed))
		return;
	learn(qp);
	hrtimer_try_to_cancel(&qp->cork.timer);
	unarm(qp);
}

/* The poster goes on meanwhile, if there is a CPU for both */
static void uncork(struct rxe_qp *qp)
{
	learn(qp);
	if (num_online_cpus() > 1) {
		have_worker_send(qp);
	} else {
		unarm(qp);
		rxe_sq_kick(qp);
	}
}

/* Is what the poster will find next another QP's? */
static bool other_waits(const struct rxe_qp *qp)
{
	u32 polled, next = rxe_cq_next(rxe_scq(qp), &polled);

	return next && next != rxe_qp_num(qp);
}

/*
 * May a worker send a large message? What one has begun it goes on with: packets
 * that come from two CPUs change places.
 */
static bool for_worker(struct rxe_qp *qp)
{
	const struct rxe_sq *sq = &qp->sq;
	u32 least = qp->path.same_dev ? rxe_knob(worker_local_bytes) : rxe_knob(worker_bytes);
	u32 head = READ_ONCE(sq->q.head);

	if (qp->service->datagram || num_online_cpus() == 1 ||
	    !READ_ONCE(qp->rxe->tune.cork))
		return false;
	return READ_ONCE(qp->cork.working) ||
	       (READ_ONCE(rxe_swqe(sq, head - 1)->length) >= least &&
		other_waits(qp));
}

/* Where the poster stands, unless it takes long */
static void send_here(struct rxe_qp *qp)
{
	struct rxe_task *task = sq_task(qp);

	if (rxe_task_work(task))
		rxe_task_schedule(task);
}

static enum hrtimer_restart cork_timer(struct hrtimer *timer)
{
	struct rxe_qp *qp = container_of(timer, struct rxe_qp, cork.timer);
	u32 pending = rxe_ring_pending(qp->sq.q.ring);

	/* A worker takes what it finds, before it could be many */
	if (pending && !READ_ONCE(qp->cork.working))
		rxe_cork_late(&qp->cork, pending);
	uncork(qp);
	return HRTIMER_NORESTART;
}

/**
 * rxe_doorbell - a process has posted sends
 * @qp: the QP
 *
 * Context: process, may sleep.
 */
void rxe_doorbell(struct rxe_qp *qp)
{
	struct rxe_cork *cork = &qp->cork;
	u32 pending = rxe_ring_pending(qp->sq.q.ring);

	/* Another's, or a timer's, has sent it */
	if (!pending)
		return;
	if (!corked(qp, pending)) {
		drop_timer(qp);
		if (for_worker(qp))
			have_worker_send(qp);
		else
			send_here(qp);
		return;
	}
	if (pending >= rxe_knob(cork_msgs)) {
		uncork(qp);
		return;
	}
	/* If it was armed, it finds what was posted before this barrier */
	if (!atomic_xchg(&cork->armed, 1))
		hrtimer_start(&cork->timer, ns_to_ktime(rxe_knob(cork_ns)),
			      HRTIMER_MODE_REL_SOFT);
}

/**
 * rxe_cork_init - set up a QP's cork
 * @qp: the QP
 */
void rxe_cork_init(struct rxe_qp *qp)
{
	INIT_WORK(&qp->cork.work, cork_work);
	rxe_hrtimer_setup(&qp->cork.timer, cork_timer, CLOCK_MONOTONIC,
			  HRTIMER_MODE_REL_SOFT);
}

/**
 * rxe_cork_reset - what was posted is forgotten
 * @qp: the QP, both tasks paused
 */
void rxe_cork_reset(struct rxe_qp *qp)
{
	hrtimer_cancel(&qp->cork.timer);
	cancel_work_sync(&qp->cork.work);
	qp->cork.working = false;
	atomic_set(&qp->cork.armed, 0);
}
