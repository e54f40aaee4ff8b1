// SPDX-License-Identifier: GPL-2.0
/*
 * The window: the limit on packets in flight per QP.
 *
 * Theory. Without a queue, a path holds bandwidth times delay. More packets in flight wait
 * in a queue, which delays all packets and finally drops some. The window therefore grows
 * while there is no queue, and otherwise follows delay and loss:
 *
 *   calm   = 2 * (rtt_min + rtt_var) + window_queue_ns
 *				the longest round trip without a significant queue
 *   grow     if rtt <= calm, and the window kept packets back: window = 2 * delivered.
 *            After a recent loss, this holds up to half of the window before the loss.
 *            Above that, and as the smallest step, window += delivered / 4 + 1.
 *   shrink   if rtt > calm, and the window kept packets back or the path is lossy:
 *            window = delivered * calm / rtt. It is at least window / 2. The lower bound
 *            is window_lossy on a lossy path, so that READs aren't requested in small
 *            pieces. Elsewhere it is window_calm, so that an acknowledgment covers
 *            enough packets to be worth its cost. Only loss goes below these bounds.
 *   loss     with a queue: window /= 2. Without a queue, the path itself loses packets:
 *            window -= window / 8. At a loss rate p, the window settles near 1 / p packets.
 *            There is one cut for all packets that were in flight.
 *   timeout  window = 1; it may grow again at once.
 *
 * Packets in the host's own queues don't count as in flight (net/txq.c).
 *
 * Context: as struct rxe_cc_ops.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <cc/cc.h>
#include <rxe/knobs.h>

/**
 * rxe_window_init - rxe_cc_ops.init
 * @cc: congestion control
 */
void rxe_window_init(struct rxe_cc *cc)
{
	cc->window = rxe_knob(window_first);
	cc->queued = true;
}

static void grow_window(struct rxe_cc *cc, const struct rxe_cc_sample *s)
{
	u32 window = 2 * s->delivered;

	if (s->lossy)
		window = max(min(window, cc->enough),
			     cc->window + s->delivered / 4 + 1);
	cc->window = clamp(window, cc->window, (u32)rxe_knob(window_max));
}

static void shrink_window(struct rxe_cc *cc, const struct rxe_cc_sample *s,
			  u64 calm)
{
	u32 least = s->lossy ? rxe_knob(window_lossy) : rxe_knob(window_calm);
	u64 window = div64_u64(s->delivered * calm, s->rtt);

	least = max(least, cc->window / 2);
	if (least < cc->window)
		cc->window = clamp(window, (u64)least, (u64)cc->window);
}

/**
 * rxe_window_acked - rxe_cc_ops.acked
 * @cc: congestion control
 * @s: measurements of the round trip
 * @una: oldest PSN that isn't acknowledged
 */
void rxe_window_acked(struct rxe_cc *cc, const struct rxe_cc_sample *s, u32 una)
{
	u64 calm = 2 * (s->rtt_min + s->rtt_var) + rxe_knob(window_queue_ns);

	cc->queued = s->rtt > calm;
	if (!rxe_cc_is_in_recovery(cc, una))
		cc->cut = false;
	else if (!cc->restart)
		return;
	if (cc->queued && (s->limited || s->lossy))
		shrink_window(cc, s, calm);
	else if (!cc->queued && s->limited)
		grow_window(cc, s);
}

static void cut_window(struct rxe_cc *cc, u32 top, u32 window)
{
	cc->restart = false;
	cc->before = cc->window;
	cc->enough = cc->window / 2;
	cc->window = max(window, 1U);
	cc->recover = top;
	cc->cut = true;
}

/**
 * rxe_window_lost - rxe_cc_ops.lost
 * @cc: congestion control
 * @una: oldest PSN that isn't acknowledged
 * @top: one after the highest PSN that was picked to be sent
 */
void rxe_window_lost(struct rxe_cc *cc, u32 una, u32 top)
{
	if (!rxe_cc_is_in_recovery(cc, una))
		cut_window(cc, top, cc->queued ? cc->window / 2 : cc->window * 7 / 8);
}

/**
 * rxe_window_timeout - rxe_cc_ops.timeout
 * @cc: congestion control
 * @top: one after the highest PSN that was picked to be sent
 */
void rxe_window_timeout(struct rxe_cc *cc, u32 top)
{
	u32 before = cc->cut ? cc->before : 0, enough = cc->cut ? cc->enough : 0;

	cut_window(cc, top, 1);
	/* After several timeouts, keep the values from before the first one (RFC 5681, 3.1) */
	cc->before = max(cc->before, before);
	cc->enough = max(cc->enough, enough);
	cc->restart = true;
}

/**
 * rxe_window_undo - rxe_cc_ops.undo: restore the window
 * @cc: congestion control
 */
void rxe_window_undo(struct rxe_cc *cc)
{
	if (cc->cut)
		cc->window = max(cc->window, cc->before);
	cc->cut = false;
}

const struct rxe_cc_ops rxe_cc_window = {
	.name		= "window",
	.init		= rxe_window_init,
	.acked		= rxe_window_acked,
	.lost		= rxe_window_lost,
	.timeout	= rxe_window_timeout,
	.undo		= rxe_window_undo,
};
