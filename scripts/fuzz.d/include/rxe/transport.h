/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In the place of the driver's own: of a QP, ring/wqe.c and wr.c need no more than this.
 */
#ifndef RXE_TRANSPORT_H
#define RXE_TRANSPORT_H

#include <rxe/dev.h>
#include <rxe/ring.h>
#include <rxe/service.h>
#include <rxe/wire.h>
#include <rxe/wr.h>

struct ib_pd;

struct rxe_dev {
	u32 active_mtu;
};

struct rxe_qp {
	struct {
		struct ib_pd	*pd;
	} ibqp;
	const struct rxe_service *service;
	struct rxe_dev		*rxe;
	struct ib_qp_cap	cap;
	bool			is_user;
};

struct rxe_ah_ref *rxe_ah_get(struct rxe_dev *rxe, u32 num, struct ib_pd *pd);

#endif /* RXE_TRANSPORT_H */
