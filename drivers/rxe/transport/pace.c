// SPDX-License-Identifier: GPL-2.0
/*
 * Pacing. Congestion control may limit the rate of a QP (rxe_cc.rate). A task then asks before
 * each train how many bytes may leave. If none, a timer runs the task again when some may.
 * Without a limit, a task only reads rxe_cc.rate. The arithmetic is in cc/pacer.c.
 *
 * Requests and READ responses share the rate. The task that runs first takes all that may leave
 * then. Therefore they take turns in running first.
 *
 * Context: the tasks, bottom halves off. The timer fires in softirq.
 */
#include <compat/timer.h>
#include <transport/allowance.h>
#include <transport/common.h>

static enum hrtimer_restart pace_timer_fired(struct hrtimer *timer)
{
	struct rxe_qp *qp = container_of(timer, struct rxe_qp_slow, pace_timer)->qp;
	bool reads_first;
	u8 waits;

	spin_lock(&qp->sq.lock);
	waits = qp->pace.waits;
	WRITE_ONCE(qp->pace.waits, 0);
	reads_first = qp->pace.reads_first;
	qp->pace.reads_first = !reads_first;
	spin_unlock(&qp->sq.lock);
	if ((waits & RXE_PACE_RECV) && reads_first)
		rxe_task_schedule(&qp->recv_task);
	if (waits & RXE_PACE_SEND)
		rxe_task_schedule(&qp->send_task);
	if ((waits & RXE_PACE_RECV) && !reads_first)
		rxe_task_schedule(&qp->recv_task);
	return HRTIMER_NORESTART;
}

/**
 * rxe_pace_init - set up the pacing timer of a QP
 * @qp: the QP
 */
void rxe_pace_init(struct rxe_qp *qp)
{
	rxe_hrtimer_setup(&qp->slow->pace_timer, pace_timer_fired, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
}

/**
 * rxe_pace_reset - stop the timer, and forget which tasks wait for it
 * @qp: the QP, both tasks paused
 *
 * Context: process.
 */
void rxe_pace_reset(struct rxe_qp *qp)
{
	hrtimer_cancel(&qp->slow->pace_timer);
	qp->pace.waits = 0;
}

/**
 * rxe_pace_release - the rate may no longer be limited: don't wait for the timer
 * @qp: the QP
 *
 * Context: recv_task, or the task that changes the rate; bottom halves off.
 */
void rxe_pace_release(struct rxe_qp *qp)
{
	spin_lock(&qp->sq.lock);
	if (!qp->sq.cc.rate && qp->pace.waits)
		hrtimer_start(&qp->slow->pace_timer, ktime_get(), HRTIMER_MODE_ABS_SOFT);
	spin_unlock(&qp->sq.lock);
}

/**
 * rxe_pace_room - how many bytes may leave now?
 * @qp: the QP
 * @who: the task that asks: RXE_PACE_SEND or RXE_PACE_RECV
 *
 * Context: sq.lock held.
 *
 * Return: bytes; a single packet may be larger. U32_MAX: the rate isn't limited. 0: nothing
 * may leave now; the timer runs the task @who when something may.
 */
u32 rxe_pace_room(struct rxe_qp *qp, u8 who)
{
	struct hrtimer *timer = &qp->slow->pace_timer;
	struct rxe_pace *pace = &qp->pace;
	struct rxe_cc *cc = &qp->sq.cc;
	u32 room;

	if (likely(!cc->rate))
		return U32_MAX;
	room = rxe_pacer_room(cc, ktime_get_ns());
	if (room)
		return room;
	WRITE_ONCE(pace->waits, pace->waits | who);
	if (!hrtimer_is_queued(timer))
		hrtimer_start(timer, ns_to_ktime(cc->next), HRTIMER_MODE_ABS_SOFT);
	return 0;
}

/**
 * rxe_pace_ask - rxe_pace_room() for a caller that doesn't hold sq.lock
 * @qp: the QP
 * @who: the task that asks: RXE_PACE_SEND or RXE_PACE_RECV
 *
 * Only useful if rxe_is_paced(). Context: bottom halves off; takes sq.lock.
 *
 * Return: as rxe_pace_room().
 */
u32 rxe_pace_ask(struct rxe_qp *qp, u8 who)
{
	u32 room;

	spin_lock(&qp->sq.lock);
	room = rxe_pace_room(qp, who);
	spin_unlock(&qp->sq.lock);
	return room;
}

/**
 * rxe_pace_charge - account for bytes that leave
 * @qp: the QP
 * @bytes: payload bytes
 *
 * Only useful if rxe_is_paced(). Context: bottom halves off; takes sq.lock.
 */
void rxe_pace_charge(struct rxe_qp *qp, u32 bytes)
{
	struct rxe_allowance was;

	spin_lock(&qp->sq.lock);
	was = rxe_allowance_get(&qp->sq);
	if (was.rate)
		rxe_pacer_sent(&qp->sq.cc, bytes, ktime_get_ns());
	rxe_allowance_trace(&qp->sq, was);
	spin_unlock(&qp->sq.lock);
}

/**
 * rxe_pace_asked - a READ begins to be answered: tell congestion control, see rxe_cc_ops.asked
 * @qp: the QP
 *
 * Only useful if rxe_is_paced(). Context: bottom halves off; takes sq.lock.
 */
void rxe_pace_asked(struct rxe_qp *qp)
{
	struct rxe_cc *cc = &qp->sq.cc;
	struct rxe_allowance was;

	spin_lock(&qp->sq.lock);
	was = rxe_allowance_get(&qp->sq);
	if (was.rate && cc->ops->asked)
		cc->ops->asked(cc, ktime_get_ns());
	rxe_allowance_trace(&qp->sq, was);
	spin_unlock(&qp->sq.lock);
}

/**
 * rxe_pace_turned - a READ request came: tell congestion control, see rxe_cc_ops.turned
 * @qp: the QP
 * @from: when the response to an earlier READ had left, ns
 * @idle: nothing was left to be sent
 *
 * Only useful if rxe_is_paced(). Context: bottom halves off; takes sq.lock.
 */
void rxe_pace_turned(struct rxe_qp *qp, u64 from, bool idle)
{
	struct rxe_cc *cc = &qp->sq.cc;

	spin_lock(&qp->sq.lock);
	if (cc->rate && cc->ops->turned)
		cc->ops->turned(cc, from, ktime_get_ns(), idle);
	spin_unlock(&qp->sq.lock);
}
