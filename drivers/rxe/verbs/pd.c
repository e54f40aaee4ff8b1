// SPDX-License-Identifier: GPL-2.0
/*
 * Protection domains. A PD has no data: MRs, AHs and QPs compare its address.
 *
 * Context: process.
 */
#include <rxe/verbs.h>

/**
 * rxe_alloc_pd - make a protection domain
 * @ibpd: memory from the RDMA core
 * @udata: of the process; NULL for a kernel consumer
 *
 * Return: 0; -ENOMEM if there are RXE_MAX_PD already.
 */
int rxe_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibpd->device);

	return rxe_limit_get(&rxe->num_pd, RXE_MAX_PD, udata) ? 0 : -ENOMEM;
}

/**
 * rxe_dealloc_pd - free a protection domain
 * @ibpd: the RDMA core made sure that nothing uses it
 * @udata: of the process; NULL for a kernel consumer
 *
 * Return: 0.
 */
int rxe_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	atomic_dec(&to_rxe_dev(ibpd->device)->num_pd);
	return 0;
}
