// SPDX-License-Identifier: GPL-2.0
/*
 * Gaps: what came too early is kept (inq.c) until what is missing has come.
 *
 * The specification lets a responder drop what is out of sequence (section
 * 9.7.4.1.1), and what it asks for again is sent again with all that followed.
 * Here it is held instead, so that an acknowledgment passes the gap as soon as
 * it is filled, and the sender needn't go through it all. The same is done for
 * responses.
 *
 * A packet that is missing may be lost or only late. Whether it is asked for
 * again at once depends on how that turned out before: if what was asked for
 * comes twice, it had been late, and patience doubles.
 *
 * Context: recv_task, which owns what is held.
 */
#include <rxe/transport.h>
#include <compat/timer.h>

static enum hrtimer_restart gap_timer_fired(struct hrtimer *timer)
{
	struct rxe_qp *qp = container_of(timer, struct rxe_qp, gap_timer);

	rxe_task_schedule(&qp->recv_task);
	return HRTIMER_NORESTART;
}

/**
 * rxe_gap_timer_init - set up a QP's timer for gaps
 * @qp: the QP
 */
void rxe_gap_timer_init(struct rxe_qp *qp)
{
	rxe_hrtimer_setup(&qp->gap_timer, gap_timer_fired, CLOCK_MONOTONIC,
			  HRTIMER_MODE_ABS_SOFT);
}

/**
 * rxe_gap_reset - nothing is missing, and nothing is known
 * @gap: the gap
 */
void rxe_gap_reset(struct rxe_gap *gap)
{
	*gap = (struct rxe_gap){ .patience = rxe_knob(reorder_ns) };
}

/* If what was asked for the last time hasn't come twice, it had been lost */
static void note_asked(struct rxe_gap *gap)
{
	if (gap->asked && gap->asked_psn != gap->psn)
		gap->patience = max_t(u64, gap->patience / 2, rxe_knob(reorder_ns));
	gap->asked = true;
	gap->asked_psn = gap->psn;
}

/* Run the receive task then, or earlier */
static void wake_at(struct rxe_qp *qp, ktime_t at)
{
	if (!hrtimer_is_queued(&qp->gap_timer) ||
	    ktime_before(at, hrtimer_get_expires(&qp->gap_timer)))
		hrtimer_start(&qp->gap_timer, at, HRTIMER_MODE_ABS_SOFT);
}

/**
 * rxe_gap_lost - should a packet be asked for again?
 * @qp: the QP
 * @gap: how patient to be
 * @missing: something behind it came
 * @psn: the packet that is expected
 *
 * If it may be late only, the receive task runs again when it is too late.
 *
 * Return: true if the caller is to ask for it.
 */
bool rxe_gap_lost(struct rxe_qp *qp, struct rxe_gap *gap, bool missing,
		  u32 psn)
{
	ktime_t now, until;

	if (!missing) {
		gap->since = 0;
		return false;
	}
	now = ktime_get();
	if (!gap->since || gap->psn != psn) {
		gap->psn = psn;
		gap->since = now;
	}
	until = ktime_add_ns(gap->since, gap->patience);
	if (!ktime_before(now, until)) {
		note_asked(gap);
		return true;
	}
	wake_at(qp, until);
	return false;
}

/**
 * rxe_gap_watch - see to it that what waits for a gap, or behind a READ that is
 *	stuck, doesn't wait for ever
 * @qp: the QP
 */
void rxe_gap_watch(struct rxe_qp *qp)
{
	wake_at(qp, ktime_add_ms(ktime_get(), rxe_knob(inq_age_ms)));
}

/**
 * rxe_gap_late - a packet came that had come before
 * @gap: the gap
 * @psn: the packet
 */
void rxe_gap_late(struct rxe_gap *gap, u32 psn)
{
	if (!gap->asked || gap->asked_psn != psn)
		return;
	gap->asked = false;
	gap->patience = clamp_t(u64, 2 * gap->patience, rxe_knob(reorder_ns),
				rxe_knob(reorder_max_ns));
}
