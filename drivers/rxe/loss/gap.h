/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gaps (gap.c): is a missing packet lost, or only late?
 */
#ifndef RXE_LOSS_GAP_H
#define RXE_LOSS_GAP_H

#include <linux/types.h>

/**
 * struct rxe_gap - the missing packet while later ones wait
 * @psn: the missing packet
 * @since: when it was first found missing; 0: nothing is missing
 * @patience: ns to wait before it counts as lost, from reorder_ns to reorder_max_ns:
 *	packets are reordered where one CPU hands them to another. Grows when a packet
 *	requested again had only been late
 * @asked_psn: the packet requested again last
 * @asked: @asked_psn is valid, and that packet hasn't come twice since
 */
struct rxe_gap {
	u32	psn;
	u64	since;
	u64	patience;
	u32	asked_psn;
	bool	asked;
};

/* Nothing is missing, or patience begins anew */
static inline void rxe_gap_end(struct rxe_gap *gap)
{
	gap->since = 0;
}

void rxe_gap_reset(struct rxe_gap *gap);
u64 rxe_gap_until(struct rxe_gap *gap, u32 psn, u64 now);
void rxe_gap_asked(struct rxe_gap *gap);
void rxe_gap_late(struct rxe_gap *gap, u32 psn);

#endif /* RXE_LOSS_GAP_H */
