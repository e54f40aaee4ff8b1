// SPDX-License-Identifier: GPL-2.0
/*
 * Gaps: packets that came too early are kept (queue/early.c) until the missing ones come.
 *
 * Theory. The specification lets a responder drop packets out of sequence. The sender then
 * sends everything from the gap on again. This driver holds early packets instead. When the
 * gap is filled, one acknowledgment covers the held packets, too, so they needn't be sent
 * again. Responses that came too early are held likewise. loss/gap.c decides when to request
 * the missing packet.
 *
 * Context: recv_task, which owns the held packets.
 */
#include <rxe/transport.h>
#include <compat/timer.h>

static enum hrtimer_restart gap_timer_fired(struct hrtimer *timer)
{
	struct rxe_qp *qp = container_of(timer, struct rxe_qp_slow, gap_timer)->qp;

	rxe_task_schedule(&qp->recv_task);
	return HRTIMER_NORESTART;
}

/**
 * rxe_gap_timer_init - set up a QP's timer for gaps
 * @qp: the QP
 */
void rxe_gap_timer_init(struct rxe_qp *qp)
{
	rxe_hrtimer_setup(&qp->slow->gap_timer, gap_timer_fired, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
}

/**
 * rxe_gap_timer_reset - stop a QP's timer for gaps
 * @qp: the QP, both tasks paused
 *
 * Context: process.
 */
void rxe_gap_timer_reset(struct rxe_qp *qp)
{
	hrtimer_cancel(&qp->slow->gap_timer);
}

/* Run the receive task at @at, or earlier */
static void arm_gap_timer(struct rxe_qp *qp, ktime_t at)
{
	struct hrtimer *timer = &qp->slow->gap_timer;

	if (!hrtimer_is_queued(timer) || ktime_before(at, hrtimer_get_expires(timer)))
		hrtimer_start(timer, at, HRTIMER_MODE_ABS_SOFT);
}

/**
 * rxe_gap_is_lost - should the expected packet be requested again, since a later one came?
 * @qp: the QP
 * @gap: the gap
 * @psn: the expected PSN
 *
 * A packet out of sequence isn't executed, and the expected packet is requested [9.7.4.1.1].
 * While the expected packet may only be late, a timer runs the receive task when patience ends.
 *
 * Return: true if the caller should request it.
 */
bool rxe_gap_is_lost(struct rxe_qp *qp, struct rxe_gap *gap, u32 psn)
{
	ktime_t now = ktime_get(), until = rxe_gap_until(gap, psn, now);

	if (ktime_before(now, until)) {
		arm_gap_timer(qp, until);
		return false;
	}
	rxe_gap_asked(gap);
	return true;
}

/**
 * rxe_gap_watch - run the receive task in time to drop packets that wait too long
 * @qp: the QP
 *
 * They wait for a missing packet, or behind a READ that is stuck. Ages are in jiffies. A packet
 * is too old after more than inq_age_ms: add a jiffy for that, and another for rounding.
 */
void rxe_gap_watch(struct rxe_qp *qp)
{
	u64 ns = rxe_knob(inq_age_ms) * NSEC_PER_MSEC + 2 * TICK_NSEC;

	arm_gap_timer(qp, ktime_add_ns(ktime_get(), ns));
}
