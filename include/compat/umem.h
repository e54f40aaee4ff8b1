/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pinning user memory by address: ib_umem_get() before 7.3.
 */
#ifndef RXE_COMPAT_UMEM_H
#define RXE_COMPAT_UMEM_H

#include <rdma/ib_umem.h>
#include <compat/have.h>

static inline struct ib_umem *rxe_umem_get(struct ib_device *ibdev,
					   unsigned long addr, size_t size,
					   int access)
{
#ifdef HAVE_IB_UMEM_GET_VA
	return ib_umem_get_va(ibdev, addr, size, access);
#else
	return ib_umem_get(ibdev, addr, size, access);
#endif
}

#endif /* RXE_COMPAT_UMEM_H */
