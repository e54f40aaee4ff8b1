/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory allocated on behalf of processes: accounting, and a reserve for others.
 */
#ifndef RXE_MEMORY_H
#define RXE_MEMORY_H

#include <linux/gfp.h>
#include <linux/mm.h>
#include <rxe/knobs.h>

/*
 * For objects of processes, which may be many or large: charged to the caller's memory cgroup,
 * and they fail rather than invoke the OOM killer.
 */
#define RXE_GFP_USER	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/**
 * rxe_memory_left - is there memory for one more object?
 * @bytes: approximate size of the object
 *
 * This is a guess, since others allocate at the same time: the allocation may still
 * fail. Context: any.
 *
 * Return: false if little would be left.
 */
static inline bool rxe_memory_left(size_t bytes)
{
	unsigned long spare = totalram_pages() / RXE_MEMORY_SPARE;

	return si_mem_available() >= (long)(spare + (bytes >> PAGE_SHIFT));
}

#endif /* RXE_MEMORY_H */
