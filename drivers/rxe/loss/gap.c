// SPDX-License-Identifier: GPL-2.0
/*
 * Gaps: a packet is missing while later ones have come. Is it lost, or only late?
 *
 * Packets that came first on one CPU may be handed on later than those of another. So a
 * missing packet is not requested again at once, but after a time called patience, which
 * is learned:
 *   - a packet that was requested again comes twice: it had only been late, and
 *     patience doubles;
 *   - the next packet is requested, and the one before has come once: it had been lost,
 *     and patience halves.
 *
 * No lock, QP or clock: the caller owns the gap and tells the time.
 */
#include <linux/minmax.h>
#include <rxe/knobs.h>
#include <loss/gap.h>

/**
 * rxe_gap_reset - nothing is missing, and nothing is learned yet
 * @gap: the gap
 */
void rxe_gap_reset(struct rxe_gap *gap)
{
	*gap = (struct rxe_gap){ .patience = rxe_knob(reorder_ns) };
}

/**
 * rxe_gap_until - when does the missing packet count as lost?
 * @gap: the gap
 * @psn: PSN of the missing packet
 * @now: the time
 *
 * Return: the time at which patience is over; @now or earlier: it is lost.
 */
u64 rxe_gap_until(struct rxe_gap *gap, u32 psn, u64 now)
{
	if (!gap->since || gap->psn != psn) {
		gap->psn = psn;
		gap->since = now;
	}
	return gap->since + gap->patience;
}

/**
 * rxe_gap_asked - note that the missing packet is requested again
 * @gap: the gap
 *
 * If the packet requested before hasn't come twice, it had been lost.
 */
void rxe_gap_asked(struct rxe_gap *gap)
{
	if (gap->asked && gap->asked_psn != gap->psn)
		gap->patience = max(gap->patience / 2, rxe_knob(reorder_ns));
	gap->asked = true;
	gap->asked_psn = gap->psn;
}

/**
 * rxe_gap_late - note that a packet came for the second time
 * @gap: the gap
 * @psn: its PSN
 */
void rxe_gap_late(struct rxe_gap *gap, u32 psn)
{
	if (!gap->asked || gap->asked_psn != psn)
		return;
	gap->asked = false;
	gap->patience = clamp(2 * gap->patience, rxe_knob(reorder_ns),
			      rxe_knob(reorder_max_ns));
}
