// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts: one for each time that a process opens the device. What it
 * makes hangs on the RDMA core's ib_ucontext; here it is only counted.
 *
 * Context: process.
 */
#include <rxe/verbs.h>

/**
 * rxe_alloc_ucontext - a process opens the device
 * @ibuc: memory from the RDMA core
 * @udata: of the process; the ABI has nothing in it
 *
 * Return: 0; -ENOMEM if there are RXE_MAX_UCONTEXT.
 */
int rxe_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibuc->device);

	return rxe_limit_get(&rxe->num_ucontext, RXE_MAX_UCONTEXT) ?
		0 : -ENOMEM;
}

/**
 * rxe_dealloc_ucontext - a process closes the device
 * @ibuc: what it made is gone
 */
void rxe_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	atomic_dec(&to_rxe_dev(ibuc->device)->num_ucontext);
}

/**
 * rxe_disassociate_ucontext - the device goes while a process has it open
 * @ibuc: the RDMA core destroys what it made
 *
 * Nothing to do: the process keeps the pages of rings that it has mapped, and
 * nobody else looks at them.
 */
void rxe_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}
