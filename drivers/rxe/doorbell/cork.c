// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: in which context, and when, the work requests of a process are sent.
 *
 * Theory. A process that waits for an answer needs its message to leave at once. A process
 * that posts small messages in a row doesn't wait. Each message costs a train, an ACK and a
 * wake-up of the peer. Sent together, many messages cost one of each. Small messages of a row
 * therefore wait for one another. Numbers are knobs of rxe/knobs.h:
 *
 *   - Default: a message leaves at once, in the context of the poster. This is fastest for a
 *     single message.
 *   - A doorbell within cork_gap_ns of the last doorbell continues a row if the process doesn't
 *     wait for an answer: it hasn't polled completions, or polls them one by one and has more
 *     of them. A request of the peer, or a polled receive, ends the row.
 *   - After cork_row doorbells of a row, messages of at most cork_bytes wait. They leave
 *     when there are cork_msgs, or when cork_ns have passed. A worker sends them.
 *   - If cork_stream messages leave at once, they are a stream, which is likely to continue.
 *     The next row needs one doorbell less.
 *   - If cork_most messages wait, the worker is too slow, and the poster sends them itself,
 *     unless the worker is sending at this very moment.
 *   - A slow poster isn't corked: after cork_vain waits in a row that gathered less than
 *     cork_few messages, the next cork_skip messages don't wait.
 *   - Datagrams and paths without trains aren't corked, since waiting would save nothing.
 *
 * Large messages: a worker sends a large message if the process doesn't wait for it, that is,
 * if the next completion belongs to another QP. It runs on an idle CPU if there is one. A thread
 * with many QPs thus uses more than its own CPU.
 *
 * If a worker for each CPU is queued or runs already, messages don't wait for one: posters send in
 * their own context, at their own expense, and timers use the tasklet. Thus no backlog of one
 * process delays others. Workers begin with a high priority, so that a message isn't late. A work
 * that RXE_TASK_TURNS don't finish goes on with the normal priority: a process can post for ever.
 *
 * Context: process, bottom halves on, unless noted. Doorbells of one QP may race:
 * at worst the guess is wrong, and a message leaves early or cork_ns late.
 */
#include <linux/sched/clock.h>
#include <rxe/transport.h>
#include <compat/timer.h>

static struct workqueue_struct *rxe_cork_wq;
static struct workqueue_struct *rxe_cork_long_wq;	/* for works that take long */

/* Works that are queued, and those that run. A work may be both */
static atomic_t num_works = ATOMIC_INIT(0);

/**
 * rxe_cork_start - create the workers, at module load
 *
 * Return: 0, or -ENOMEM.
 */
int __init rxe_cork_start(void)
{
	rxe_cork_wq = alloc_workqueue("rdma_rxe", WQ_UNBOUND | WQ_HIGHPRI |
				      WQ_SYSFS, num_possible_cpus());
	if (!rxe_cork_wq)
		return -ENOMEM;
	rxe_cork_long_wq = alloc_workqueue("rdma_rxe_long", WQ_UNBOUND | WQ_SYSFS,
					   num_possible_cpus());
	if (rxe_cork_long_wq)
		return 0;
	destroy_workqueue(rxe_cork_wq);
	return -ENOMEM;
}

/**
 * rxe_cork_stop - undo rxe_cork_start(), at module unload; no QP is left
 */
void rxe_cork_stop(void)
{
	destroy_workqueue(rxe_cork_wq);
	destroy_workqueue(rxe_cork_long_wq);
}

/* In ERR, the task that completes the send queue flushes the posted work requests */
static struct rxe_task *get_sq_task(struct rxe_qp *qp)
{
	return rxe_sq_is_in_flush(qp) ? &qp->recv_task : &qp->send_task;
}

/**
 * rxe_sq_kick - send what was posted, or flush it
 * @qp: the QP
 *
 * Context: any. Works in the caller's context if bottom halves may run there, else in
 * the tasklet.
 */
void rxe_sq_kick(struct rxe_qp *qp)
{
	rxe_task_kick(get_sq_task(qp));
}

/**
 * rxe_cork_fits - does a process post without waiting for an answer?
 * @cork: the QP's cork
 * @polled: changes when the process polls send completions
 * @more: the next completion is of this QP: the process hasn't polled them all
 * @asked: changes when a request comes in, and when the process polls receives
 * @now: the time of the doorbell
 *
 * Return: true from the third doorbell in a row on; after a stream, from the second.
 * False for a while after corks have gathered few messages.
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
 * rxe_cork_late - the timer of a cork has fired: learn whether waiting was worth it
 * @cork: the QP's cork
 * @gathered: messages that waited
 *
 * If the process posts slowly, a timer for each message costs more than it saves.
 */
void rxe_cork_late(struct rxe_cork *cork, u32 gathered)
{
	if (gathered >= rxe_knob(cork_few))
		cork->vain = 0;
	else if (++cork->vain >= rxe_knob(cork_vain))
		cork->vain = rxe_knob(cork_vain) + rxe_knob(cork_skip);
}

/*
 * Should the message wait for more? Messages that can't leave now (window, initiator
 * depth) need no cork: they leave with the next answer.
 */
static bool should_cork(struct rxe_qp *qp, u32 pending)
{
	const struct rxe_sq *sq = &qp->sq;
	u32 head = READ_ONCE(sq->q.head);
	u32 asked = 0, polled, next;

	if (qp->service->datagram || !READ_ONCE(qp->rxe->tune.cork) ||
	    rxe_sq_is_alone(sq))
		return false;
	next = rxe_cq_next(rxe_scq(qp), &polled);
	if (rxe_rcq(qp) != rxe_scq(qp))
		rxe_cq_next(rxe_rcq(qp), &asked);
	asked += READ_ONCE(qp->rq.expect.psn);
	return rxe_cork_fits(&qp->cork, polled, next == rxe_qp_num(qp), asked,
			     ns_to_ktime(local_clock())) &&
	       READ_ONCE(sq->q.cur) == head &&
	       READ_ONCE(rxe_sendq_get_wqe(&sq->q, head - 1)->length) <= rxe_knob(cork_bytes) &&
	       pending < rxe_knob(cork_most);
}

/* Called before sending. The barrier makes later doorbells arm the timer again */
static void disarm_cork(struct rxe_qp *qp)
{
	atomic_xchg(&qp->cork.armed, 0);
}

/* Counted before the work may run: send_by_worker() decrements */
static void queue_worker(struct workqueue_struct *wq, struct work_struct *work)
{
	atomic_inc(&num_works);
	if (!queue_work(wq, work))
		atomic_dec(&num_works);
}

/* Two works, since cancel_work_sync() finds a work only in its last workqueue */
static void send_by_worker(struct rxe_qp *qp)
{
	disarm_cork(qp);
	if (rxe_task_work(get_sq_task(qp)))
		queue_worker(rxe_cork_long_wq, &qp->slow->long_work);
	else
		WRITE_ONCE(qp->cork.working, false);
	atomic_dec(&num_works);
}

static void run_cork_work(struct work_struct *work)
{
	send_by_worker(container_of(work, struct rxe_qp_slow, cork_work)->qp);
}

static void run_long_work(struct work_struct *work)
{
	send_by_worker(container_of(work, struct rxe_qp_slow, long_work)->qp);
}

static void have_worker_send(struct rxe_qp *qp)
{
	WRITE_ONCE(qp->cork.working, true);
	queue_worker(rxe_cork_wq, &qp->slow->cork_work);
}

/**
 * rxe_cork_has_worker - may a worker send, or must the poster or the tasklet?
 * @works: works that are queued or run, of all QPs
 * @cpus: CPUs that are online
 *
 * Return: true if a worker may.
 */
bool rxe_cork_has_worker(u32 works, u32 cpus)
{
	return cpus > 1 && works < cpus;
}

static bool has_worker(void)
{
	return rxe_cork_has_worker(atomic_read(&num_works), num_online_cpus());
}

/* Note whether so many messages leave now that they are a stream */
static void note_stream(struct rxe_qp *qp)
{
	u32 pending = rxe_ring_count_pending(qp->sq.q.ring);

	WRITE_ONCE(qp->cork.stream, pending >= rxe_knob(cork_stream));
}

/* Cancel the timer before disarm_cork(): a doorbell in between still finds it armed */
static void drop_timer(struct rxe_qp *qp)
{
	if (!atomic_read(&qp->cork.armed))
		return;
	note_stream(qp);
	hrtimer_try_to_cancel(&qp->slow->cork_timer);
	disarm_cork(qp);
}

/* Does the next completion that the poster will find belong to another QP? */
static bool is_other_next(const struct rxe_qp *qp)
{
	u32 polled, next = rxe_cq_next(rxe_scq(qp), &polled);

	return next && next != rxe_qp_num(qp);
}

/**
 * rxe_cork_needs_worker - should a worker send, if there is one?
 * @cork: the QP's cork
 * @pending: messages that wait
 * @large: the last of them is large
 * @other: the next completion belongs to another QP
 *
 * A worker continues what one is sending already: packets sent by two CPUs may be reordered.
 * Exception: it is too slow for many small messages. A worker also begins with a large
 * message, if the process polls other QPs first.
 *
 * Return: true if so.
 */
bool rxe_cork_needs_worker(const struct rxe_cork *cork, u32 pending, bool large, bool other)
{
	if (READ_ONCE(cork->working))
		return large || pending < rxe_knob(cork_most);
	return large && other;
}

static bool needs_worker(struct rxe_qp *qp, u32 pending)
{
	const struct rxe_sq *sq = &qp->sq;
	u32 least = qp->path.same_dev ? rxe_knob(worker_local_bytes) : rxe_knob(worker_bytes);
	u32 head = READ_ONCE(sq->q.head);
	bool large;

	if (qp->service->datagram || !READ_ONCE(qp->rxe->tune.cork))
		return false;
	large = READ_ONCE(rxe_sendq_get_wqe(&sq->q, head - 1)->length) >= least;
	return rxe_cork_needs_worker(&qp->cork, pending, large, large && is_other_next(qp)) &&
	       has_worker();
}

/* Send in the poster's context; if that takes too long, the tasklet continues */
static void send_here(struct rxe_qp *qp)
{
	struct rxe_task *task = get_sq_task(qp);

	if (rxe_task_work(task))
		rxe_task_schedule(task);
}

/* Have a worker send the waiting messages. Return: false if none can: the caller sends them */
static bool hand_to_worker(struct rxe_qp *qp)
{
	note_stream(qp);
	if (!has_worker()) {
		disarm_cork(qp);
		return false;
	}
	have_worker_send(qp);
	return true;
}

/* There are cork_msgs: send them */
static void send_corked(struct rxe_qp *qp)
{
	if (!hand_to_worker(qp))
		send_here(qp);
}

static enum hrtimer_restart cork_timer_fired(struct hrtimer *timer)
{
	struct rxe_qp *qp = container_of(timer, struct rxe_qp_slow, cork_timer)->qp;
	u32 pending = rxe_ring_count_pending(qp->sq.q.ring);

	/* Learn nothing while a worker runs: it takes messages before many can gather */
	if (pending && !READ_ONCE(qp->cork.working))
		rxe_cork_late(&qp->cork, pending);
	if (!hand_to_worker(qp))
		rxe_task_schedule(get_sq_task(qp));
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
	u32 pending = rxe_ring_count_pending(qp->sq.q.ring);

	/* Another doorbell or the timer has sent the message already */
	if (!pending)
		return;
	if (!should_cork(qp, pending)) {
		drop_timer(qp);
		if (needs_worker(qp, pending))
			have_worker_send(qp);
		else
			send_here(qp);
		return;
	}
	if (pending >= rxe_knob(cork_msgs)) {
		send_corked(qp);
		return;
	}
	/* A timer that is armed already sees messages that were posted before this barrier */
	if (!atomic_xchg(&qp->cork.armed, 1))
		hrtimer_start(&qp->slow->cork_timer, ns_to_ktime(rxe_knob(cork_ns)),
			      HRTIMER_MODE_REL_SOFT);
}

/**
 * rxe_cork_init - set up a QP's cork
 * @qp: the QP
 */
void rxe_cork_init(struct rxe_qp *qp)
{
	INIT_WORK(&qp->slow->cork_work, run_cork_work);
	INIT_WORK(&qp->slow->long_work, run_long_work);
	rxe_hrtimer_setup(&qp->slow->cork_timer, cork_timer_fired, CLOCK_MONOTONIC,
			  HRTIMER_MODE_REL_SOFT);
}

/**
 * rxe_cork_reset - stop the timer and the worker
 * @qp: the QP, both tasks paused
 */
void rxe_cork_reset(struct rxe_qp *qp)
{
	hrtimer_cancel(&qp->slow->cork_timer);
	if (cancel_work_sync(&qp->slow->cork_work))	/* first, since it queues the other one */
		atomic_dec(&num_works);
	if (cancel_work_sync(&qp->slow->long_work))
		atomic_dec(&num_works);
	qp->cork.working = false;
	atomic_set(&qp->cork.armed, 0);
}
