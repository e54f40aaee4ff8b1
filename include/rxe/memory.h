/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory allocated on behalf of processes: accounting, and a reserve for others.
 */
#ifndef RXE_MEMORY_H
#define RXE_MEMORY_H

#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/xarray.h>
#include <rxe/knobs.h>

/*
 * For objects of processes, which may be many or large. Allocations are charged to the caller's
 * memory cgroup, and fail rather than invoke the OOM killer.
 */
#define RXE_GFP_USER	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * rxe_has_memory_left - is there memory for one more object?
 * @bytes: approximate size of the object
 *
 * This is a guess, since others allocate at the same time: the allocation may still
 * fail. Context: any.
 *
 * Return: false if little would be left.
 */
static inline bool rxe_has_memory_left(size_t bytes)
{
	unsigned long spare = min_t(unsigned long, totalram_pages() / RXE_MEMORY_SPARE,
				    RXE_MEMORY_SPARE_BYTES >> PAGE_SHIFT);

	return si_mem_available() >= (long)(spare + (bytes >> PAGE_SHIFT));
}

/**
 * rxe_alloc_cyclic - enter an object in a table, behind the last object that was entered
 * @xa: the table
 * @id: out: its number
 * @entry: the object, or NULL to only reserve the number
 * @limit: of the numbers
 * @next: where to begin; the number after @id if successful
 *
 * xa_alloc_cyclic() isn't used, since it begins anew on any error: a process at its cgroup's
 * limit would have numbers reused early.
 *
 * Return: 0; -ENOMEM; -EBUSY if no number is free.
 */
static inline int rxe_alloc_cyclic(struct xarray *xa, u32 *id, void *entry,
				   struct xa_limit limit, u32 *next)
{
	struct xa_limit rest = { .min = max(limit.min, READ_ONCE(*next)), .max = limit.max };
	int err = xa_alloc(xa, id, entry, rest, RXE_GFP_USER);

	if (err == -EBUSY)
		err = xa_alloc(xa, id, entry, limit, RXE_GFP_USER);
	if (!err)
		WRITE_ONCE(*next, *id + 1);
	return err;
}

#endif /* RXE_MEMORY_H */
