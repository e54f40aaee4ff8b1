/* SPDX-License-Identifier: GPL-2.0 */
/*
 * On-demand paging, private to mem/: which pages of a process, or of a dma-buf that may move,
 * are present (chunk.c), and how they become so (odp.c, dmabuf.c).
 */
#ifndef RXE_MEM_ODP_H
#define RXE_MEM_ODP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <compat/mmu.h>
#include <rxe/odp.h>
#include <rxe/user.h>

/* Low bits of an entry of rxe_odp_chunk.pages */
#define RXE_PAGE_READ	BIT(0)	/* present */
#define RXE_PAGE_WRITE	BIT(1)	/* present, and may be written */
#define RXE_PAGE_DIRTY	BIT(2)	/* being taken back, and may have been written */

/**
 * struct rxe_odp_windows - the use of memory windows, of all regions of a process or of one dma-buf
 * @used: a task has used pages by way of a memory window since the last grace period
 * @grace: one grace period at a time for @used. Taken in direct reclaim, like
 *	rxe_odp_chunk.lock
 */
struct rxe_odp_windows {
	bool		used;
	struct mutex	grace;	/* used */
};

/**
 * struct rxe_process - a process; shared by its regions
 * @node: in the table of processes
 * @mm: the process; holds a reference to the struct (mmgrab()), not to the memory
 * @user: the user whose limit it counts against; holds a reference
 * @users: references, one for each struct rxe_odp
 * @windows: the use of memory windows
 * @prefetches: prefetches that wait for a worker or have one, at most RXE_ODP_PREFETCHES
 * @wq: faults, which may sleep in the process's memory; each holds a reference to a struct
 *	rxe_odp
 * @prefetch_wq: prefetches, likewise. A prefetch may be long, and must not delay a fault that a
 *	QP waits for
 */
struct rxe_process {
	struct hlist_node	node;
	struct mm_struct	*mm;
	struct rxe_user		*user;
	u32			users;
	struct rxe_odp_windows	windows;
	atomic_t		prefetches;
	struct workqueue_struct	*wq;
	struct workqueue_struct	*prefetch_wq;
};

/* process.c */
struct rxe_process *rxe_process_get(struct ib_device *ibdev);
void rxe_process_put(struct rxe_process *process);
void rxe_process_wait(void);

/**
 * struct rxe_odp_batch - pages that a fault is about to make present
 * @node: in rxe_odp_chunk.batches
 * @first: page number of the first page
 * @num: number of pages; the notifier ends the batch before the first page that it takes back
 */
struct rxe_odp_batch {
	struct list_head	node;
	unsigned long		first;
	unsigned long		num;
};

/**
 * struct rxe_odp_chunk - consecutive pages of a process, or all pages of a dma-buf
 * @notifier: called before the process's memory management takes pages back; not registered
 *	for a dma-buf
 * @odp: the memory that has the chunk
 * @lock: orders changes of @pages, @present and @batches. The notifier takes it in direct
 *	reclaim, so no memory is allocated under it
 * @first: page number of the first page: its address divided by PAGE_SIZE
 * @num: number of pages
 * @present: number of pages that are present
 * @users: one for the table, and one for each fault that uses the chunk
 * @batches: struct rxe_odp_batch of each fault that is getting pages
 * @unused: links chunks that are about to be freed
 * @pages: kernel address of each page, with RXE_PAGE_*; read without the lock
 */
struct rxe_odp_chunk {
	struct mmu_interval_notifier notifier;
	struct rxe_odp		*odp;
	struct mutex		lock;	/* pages, present, batches */
	unsigned long		first;
	unsigned long		num;
	unsigned long		present;
	refcount_t		users;
	struct list_head	batches;
	struct list_head	unused;
	unsigned long		*pages;
};

/**
 * struct rxe_odp - memory that isn't pinned: of a process, or of a dma-buf
 * @ref: one for the region, one for each fault or prefetch that uses it
 * @process: the process; NULL for a dma-buf
 * @dmabuf: the dma-buf, which the struct owns; NULL for a process
 * @wq: for its faults
 * @mr: the region; valid until rxe_odp_end()
 * @payer: the user whom the page tables are charged to; NULL: nobody. A dma-buf has its own payer
 * @window_used: a task has used pages by way of a memory window, perhaps before the last grace
 *	period; cleared with @windows' lock held
 * @windows: the use of memory windows; of @process, or @own
 * @own: of a dma-buf
 * @closing: the region's owner has given back its reference to the region, or is about to
 * @ended: the region and all references to its memory are gone; no more chunks are added
 * @work: frees the struct, in process context
 * @lock: orders adding and removing chunks, and rxe_odp_end()
 * @chunks: index of the chunk -> struct rxe_odp_chunk; read without the lock
 * @num_chunks: number of chunks
 * @sweep_at: number of chunks at which those without a present page are removed
 * @first: page number of the first page
 * @num: number of pages
 * @order: log2 of the pages per chunk
 */
struct rxe_odp {
	struct kref		ref;
	struct rxe_process	*process;
	struct rxe_dmabuf	*dmabuf;
	struct workqueue_struct	*wq;
	struct rxe_mr		*mr;
	struct rxe_user		*payer;
	bool			window_used;
	struct rxe_odp_windows	*windows;
	struct rxe_odp_windows	own;
	bool			closing;
	bool			ended;
	struct work_struct	work;
	struct mutex		lock;	/* chunks, num_chunks, sweep_at */
	struct xarray		chunks;
	unsigned long		num_chunks;
	unsigned long		sweep_at;
	unsigned long		first;
	unsigned long		num;
	u8			order;
};

/**
 * struct rxe_fault - the page fault of one task and direction of a QP
 * @ref: one for the pager, one for the work while it runs
 * @lock: protects @pager
 * @pager: whose fault it is; NULL: nobody needs it any more
 * @busy: the members below belong to the work; otherwise they belong to the task
 * @work: makes the pages present; process context
 * @since: jiffies of the request
 * @odp: the memory, with a reference; NULL: there is no request
 * @addr: address of the first missing byte in the process
 * @len: bytes to make present from @addr on, at least 1
 * @write: the pages are to be written
 * @err: error of the last request, 0 or negative; reported to the next request if that
 *	is for the same page
 */
struct rxe_fault {
	struct kref		ref;
	spinlock_t		lock;	/* pager */
	struct rxe_pager	*pager;
	bool			busy;
	struct work_struct	work;
	unsigned long		since;
	struct rxe_odp		*odp;
	u64			addr;
	u64			len;
	bool			write;
	int			err;
};

/**
 * enum rxe_odp_how - what pages are made present for
 * @RXE_ODP_READ: to be read
 * @RXE_ODP_WRITE: to be read and written
 * @RXE_ODP_NO_FAULT: to be read; pages that the process hasn't mapped are left out
 */
enum rxe_odp_how {
	RXE_ODP_READ,
	RXE_ODP_WRITE,
	RXE_ODP_NO_FAULT,
};

/*
 * Find the chunk that has a page, or NULL. Context: RCU read side; bottom halves off will do.
 */
static inline struct rxe_odp_chunk *
rxe_odp_find_chunk(struct rxe_odp *odp, unsigned long page)
{
	return xa_load(&odp->chunks, (page - odp->first) >> odp->order);
}

/* chunk.c */
struct rxe_odp_chunk *rxe_odp_get_chunk(struct rxe_odp *odp, unsigned long page);
void rxe_odp_put_chunk(struct rxe_odp_chunk *chunk);
void rxe_odp_free_chunk(struct rxe_odp_chunk *chunk);
void rxe_odp_use_window(struct rxe_odp *odp);
u64 rxe_odp_present(struct rxe_odp *odp, u64 addr, u64 len, bool write);
void *rxe_odp_run(struct rxe_odp *odp, u64 addr, u32 *len);
void rxe_odp_start_batch(struct rxe_odp_chunk *chunk, struct rxe_odp_batch *batch);
void rxe_odp_set(struct rxe_odp_chunk *chunk, unsigned long page, void *addr, bool write);
void rxe_odp_drop(struct rxe_odp_chunk *chunk, unsigned long first, unsigned long end);
int rxe_odp_add_whole(struct rxe_odp *odp);
void rxe_odp_set_all(struct rxe_odp *odp, void *addr);
void rxe_odp_drop_all(struct rxe_odp *odp);

/* odp.c */
struct rxe_odp *rxe_odp_create(struct rxe_mr *mr, u64 start, u64 length);
struct rxe_odp *rxe_odp_create_dmabuf(struct rxe_mr *mr, u64 offset, u64 length);
bool rxe_odp_is_callers(const struct rxe_odp *odp);
void rxe_odp_close(struct rxe_odp *odp);
void rxe_odp_end(struct rxe_odp *odp);
void rxe_odp_put(struct rxe_odp *odp);
int rxe_odp_fault(struct rxe_odp *odp, u64 addr, u64 len, enum rxe_odp_how how,
		  u64 *done);

#endif /* RXE_MEM_ODP_H */
