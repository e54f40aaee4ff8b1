/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging, within mem/: which pages of a process are present (odp.c).
 */
#ifndef RXE_MEM_ODP_H
#define RXE_MEM_ODP_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <compat/mmu.h>
#include <rxe/odp.h>

/* Low bits of rxe_odp_chunk.pages; with none of them the page isn't present */
#define RXE_PAGE_READ	BIT(0)	/* it may be read */
#define RXE_PAGE_WRITE	BIT(1)	/* it may be written, too */
#define RXE_PAGE_DIRTY	BIT(2)	/* it is going, and may have been written */

/**
 * struct rxe_odp_chunk - consecutive pages of a process
 * @notifier: tells when pages go
 * @odp: what they are part of
 * @lock: changes of @pages and @present. The notifier takes it, so nothing is allocated
 *	under it
 * @first: number of the first page: its address divided by the page size
 * @num: pages
 * @present: those that are present
 * @pages: kernel address of each page, and RXE_PAGE_*; read without lock
 */
struct rxe_odp_chunk {
	struct mmu_interval_notifier notifier;
	struct rxe_odp		*odp;
	struct mutex		lock;	/* pages, present */
	unsigned long		first;
	unsigned long		num;
	unsigned long		present;
	unsigned long		*pages;
};

/**
 * struct rxe_odp - memory of a process that isn't pinned
 * @ref: one for the region, one for each fault that is under way or has failed
 * @mm: the process; the struct is kept, the memory isn't
 * @mr: the region; valid until rxe_odp_end()
 * @closing: the region's owner has given up its reference, or is about to
 * @ended: no chunks are added any more
 * @prefetches: prefetches that a worker has yet to do
 * @work: frees it
 * @lock: orders who adds chunks, and rxe_odp_end()
 * @chunks: by position; added on demand, kept until the end
 * @first: number of the first page
 * @num: pages
 * @order: log2 of the pages per chunk
 */
struct rxe_odp {
	struct kref		ref;
	struct mm_struct	*mm;
	struct rxe_mr		*mr;
	bool			closing;
	bool			ended;
	atomic_t		prefetches;
	struct work_struct	work;
	struct mutex		lock;	/* chunks are added */
	struct xarray		chunks;
	unsigned long		first;
	unsigned long		num;
	u8			order;
};

/**
 * enum rxe_odp_how - what a fault is for
 * @RXE_ODP_READ: the pages are to be read
 * @RXE_ODP_WRITE: they are to be written
 * @RXE_ODP_NO_FAULT: they are to be read, but only those that the process has mapped
 */
enum rxe_odp_how {
	RXE_ODP_READ,
	RXE_ODP_WRITE,
	RXE_ODP_NO_FAULT,
};

/* odp.c */
void rxe_odp_work(struct work_struct *work);
struct rxe_odp *rxe_odp_create(struct rxe_mr *mr, u64 start, u64 length);
void rxe_odp_close(struct rxe_odp *odp);
void rxe_odp_end(struct rxe_odp *odp);
void rxe_odp_put(struct rxe_odp *odp);
u64 rxe_odp_present(struct rxe_odp *odp, u64 addr, u64 len, bool write);
void *rxe_odp_run(struct rxe_odp *odp, u64 addr, u32 *len);
int rxe_odp_fault(struct rxe_odp *odp, u64 addr, u64 len, enum rxe_odp_how how,
		  u64 *done);
void rxe_odp_set(struct rxe_odp_chunk *chunk, unsigned long page, void *addr, bool write);
void rxe_odp_drop(struct rxe_odp_chunk *chunk, unsigned long first, unsigned long end);

#endif /* RXE_MEM_ODP_H */
