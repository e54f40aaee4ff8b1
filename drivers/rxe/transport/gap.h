/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gaps (gap.c): is a missing packet lost, or only late?
 */
#ifndef RXE_TRANSPORT_GAP_H
#define RXE_TRANSPORT_GAP_H

#include <linux/ktime.h>
#include <linux/time64.h>

struct rxe_qp;

/**
 * struct rxe_gap - the missing packet while trains are held, and is it lost or late?
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
	ktime_t	since;
	u64	patience;
	u32	asked_psn;
	bool	asked;
};

bool rxe_gap_lost(struct rxe_qp *qp, struct rxe_gap *gap, bool missing,
		  u32 psn);
void rxe_gap_late(struct rxe_gap *gap, u32 psn);
void rxe_gap_reset(struct rxe_gap *gap);
void rxe_gap_timer_init(struct rxe_qp *qp);
void rxe_gap_watch(struct rxe_qp *qp);

#endif /* RXE_TRANSPORT_GAP_H */
