/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer on the same device (local.c).
 */
#ifndef RXE_TRANSPORT_LOCAL_H
#define RXE_TRANSPORT_LOCAL_H

#include <linux/sizes.h>
#include <linux/types.h>

struct rxe_data;
struct rxe_outlet;
struct rxe_pkt;
struct rxe_qp;

void rxe_local_back_end(struct rxe_qp *qp);
bool rxe_local_send(struct rxe_outlet *outlet, struct rxe_pkt *pkt,
		    struct rxe_data *data);

#endif /* RXE_TRANSPORT_LOCAL_H */
