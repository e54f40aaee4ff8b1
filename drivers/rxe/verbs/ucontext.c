// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts: one for each time that a process opens the device. What it
 * makes hangs on the RDMA core's ib_ucontext; here it is only counted, and keeps
 * the module: the RDMA core does that only for drivers whose device can't go
 * while a process has it open.
 *
 * Context: process.
 */
#include <linux/module.h>
#include <rxe/verbs.h>

/**
 * rxe_alloc_ucontext - a process opens the device
 * @ibuc: memory from the RDMA core
 * @udata: of the process; the ABI has nothing in it
 *
 * Return: 0; -ENOMEM if there are RXE_MAX_UCONTEXT; -ENODEV if the module is
 * being unloaded.
 */
int rxe_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibuc->device);

	if (!rxe_limit_get(&rxe->num_ucontext, RXE_MAX_UCONTEXT))
		return -ENOMEM;
	if (!try_module_get(THIS_MODULE)) {
		atomic_dec(&rxe->num_ucontext);
		return -ENODEV;
	}
	return 0;
}

/**
 * rxe_dealloc_ucontext - a process closes the device
 * @ibuc: what it made is gone
 *
 * The RDMA core calls this under a lock that unregistering the device takes too,
 * so that the module stays until this has returned.
 */
void rxe_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	atomic_dec(&to_rxe_dev(ibuc->device)->num_ucontext);
	module_put(THIS_MODULE);
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
