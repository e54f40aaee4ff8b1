// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts: one for each time that a process opens the device. The RDMA core's
 * ib_ucontext owns the objects that the process makes. The driver only counts contexts, and
 * each holds a reference to the module. The RDMA core doesn't take one for drivers whose
 * device may be removed while a process has it open.
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
 * Return: 0; -ENOMEM if there are RXE_MAX_UCONTEXT already; -ENODEV if the module
 * is being unloaded.
 */
int rxe_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibuc->device);

	if (!rxe_limit_get(&rxe->num_ucontext, RXE_MAX_UCONTEXT, true))
		return -ENOMEM;
	if (!try_module_get(THIS_MODULE)) {
		atomic_dec(&rxe->num_ucontext);
		return -ENODEV;
	}
	return 0;
}

/**
 * rxe_dealloc_ucontext - a process closes the device
 * @ibuc: the context, whose objects are destroyed
 *
 * The RDMA core calls this under a lock that unregistering the device also takes: the module
 * stays until this has returned.
 */
void rxe_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	atomic_dec(&to_rxe_dev(ibuc->device)->num_ucontext);
	module_put(THIS_MODULE);
}

/**
 * rxe_disassociate_ucontext - ib_device_ops.disassociate_ucontext: the device is removed
 *	while a process has it open
 * @ibuc: the context, whose objects the RDMA core destroys
 *
 * Nothing to do: the process keeps the memory of its mapped rings, which the kernel no longer
 * uses. Each mapping has its own reference to the module (rxe_mmap()).
 */
void rxe_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}
