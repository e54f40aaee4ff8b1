/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Persistent memory of a process, private to mem/ (pmem.c).
 */
#ifndef RXE_MEM_PMEM_H
#define RXE_MEM_PMEM_H

#include <rdma/ib_umem.h>
#include <rxe/mem.h>

bool rxe_pmem_holds(const struct ib_umem *umem);

#endif /* RXE_MEM_PMEM_H */
