/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In the place of the driver's own: of a QP, ring/wqe.c needs no more than this.
 */
#ifndef RXE_TRANSPORT_H
#define RXE_TRANSPORT_H

#include <rxe/dev.h>
#include <rxe/ring.h>
#include <rxe/wire.h>
#include <rxe/wr.h>

struct ib_pd;

struct rxe_dev {
	u32 active_mtu;
};

struct rxe_qp {
	struct {
		u32		qp_type;
		struct ib_pd	*pd;
	} ibqp;
	struct rxe_dev		*rxe;
	struct ib_qp_cap	cap;
};

static inline bool rxe_is_rc(const struct rxe_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_RC;
}

struct rxe_ah_ref *rxe_ah_get(struct rxe_dev *rxe, u32 num, struct ib_pd *pd);

#endif /* RXE_TRANSPORT_H */
