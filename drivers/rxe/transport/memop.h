/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Local work requests (memop.c).
 */
#ifndef RXE_TRANSPORT_MEMOP_H
#define RXE_TRANSPORT_MEMOP_H

#include <linux/types.h>

struct ib_qp;
struct rxe_qp;
struct rxe_swqe;

/**
 * struct rxe_memops - local work requests of a send queue; under sq.lock
 * @executed: number of those that were executed and haven't completed
 * @left: number of those that this run may still execute; only send_task uses it
 * @ending: the key that the next local work request is invalidating, or 0
 */
struct rxe_memops {
	u16	executed;
	u16	left;
	u32	ending;
};

void rxe_memops_reset(struct rxe_memops *memops, const struct ib_qp *qp);
bool rxe_memop(struct rxe_qp *qp, struct rxe_swqe *wqe);

#endif /* RXE_TRANSPORT_MEMOP_H */
