// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: memory of a process that isn't pinned; making its pages present.
 *
 * Theory. The driver keeps a table of the pages that are present. A fault makes a page
 * present. The process's memory management takes the page back when it unmaps, migrates, swaps
 * out, copies or protects the page. It calls the driver's notifier first, and the notifier
 * doesn't return while a task may be using the page. The driver thus needs no reference to
 * the page.
 *
 * A fault gets the page by get_user_pages_remote(). It makes the page present unless the
 * notifier has taken this page back since the fault began. Then it drops its reference. The
 * kernel's sequence number isn't used for this, since there is only one for the whole chunk: a
 * process that unmaps other pages all the time, as memory allocators do, would make every
 * fault fail. Each page has its own write permission: a fault for reading doesn't break copy
 * on write.
 *
 * A region consists of chunks with a notifier each. A region of up to RXE_ODP_WHOLE pages is
 * one chunk. A larger region gets chunks of 2^RXE_ODP_CHUNK_ORDER pages, and only where it is
 * used (chunk.c). It may be all of a process's memory (implicit on-demand paging).
 *
 * Context: process, may sleep. Locks: chunk.c.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <mem/dmabuf.h>
#include <mem/odp.h>
#include <rxe/knobs.h>
#include <rxe/memory.h>

/* For free_odp(), which sleeps, and for the faults of dma-bufs, which take a finite time */
static struct workqueue_struct *odp_wq;

/**
 * rxe_odp_start - prepare; at module load
 *
 * Context: process.
 *
 * Return: 0, or -ENOMEM.
 */
int rxe_odp_start(void)
{
	odp_wq = alloc_workqueue("rdma_rxe_pages", WQ_UNBOUND, 0);
	return odp_wq ? 0 : -ENOMEM;
}

/**
 * rxe_odp_stop - wait for the last fault, and undo rxe_odp_start(); at module unload
 *
 * Context: process; no QP or region is left.
 */
void rxe_odp_stop(void)
{
	rxe_process_wait();
	destroy_workqueue(odp_wq);
}

/* Return: number of pages, each with a reference, or a negative error; never 0 */
static long get_pages(struct mm_struct *mm, unsigned long page, unsigned long num,
		      enum rxe_odp_how how, struct page **pages)
{
	unsigned int flags = how == RXE_ODP_WRITE ? FOLL_WRITE :
			     how == RXE_ODP_NO_FAULT ? FOLL_NOFAULT : 0;
	int locked = 1;
	long got;

	mmap_read_lock(mm);
	got = rxe_get_pages_remote(mm, page << PAGE_SHIFT, num, flags, pages, &locked);
	if (locked)
		mmap_read_unlock(mm);
	return got ?: -EFAULT;
}

/*
 * Make up to @num pages present. Return: how many were, or a negative error; -EAGAIN if
 * the first page was taken back meanwhile.
 */
static long fault_in_batch(struct rxe_odp_chunk *chunk, unsigned long page,
			   unsigned long num, enum rxe_odp_how how)
{
	struct rxe_odp_batch batch = { .first = page };
	struct page *pages[RXE_ODP_BATCH];
	long got, done, i;

	/* @page is in the chunk, the last of the @num pages may not be */
	num = min3(num, chunk->first + chunk->num - page, (unsigned long)RXE_ODP_BATCH);
	batch.num = num;
	rxe_odp_start_batch(chunk, &batch);
	mmu_interval_read_begin(&chunk->notifier);
	got = get_pages(chunk->odp->process->mm, page, num, how, pages);
	mutex_lock(&chunk->lock);
	list_del(&batch.node);
	done = min_t(long, got, batch.num);
	for (i = 0; i < done; i++)
		rxe_odp_set(chunk, page + i, page_address(pages[i]), how == RXE_ODP_WRITE);
	mutex_unlock(&chunk->lock);
	for (i = 0; i < got; i++)
		put_page(pages[i]);
	return done ?: -EAGAIN;
}

/*
 * Has the process exited, or replaced its program, so that only faults still use its memory? Pages
 * that are made present now would be charged to no cgroup.
 */
static bool process_is_gone(const struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	return !rcu_access_pointer(mm->owner);
#else
	return false;
#endif
}

/* Return: number of pages that are present now, at least 1, or an error as rxe_odp_fault() */
static long fault_in_chunk(struct rxe_odp *odp, unsigned long page, unsigned long num,
			   enum rxe_odp_how how)
{
	struct rxe_odp_chunk *chunk = rxe_odp_get_chunk(odp, page);
	u32 tries = RXE_ODP_TRIES;
	long got;

	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	do
		got = fault_in_batch(chunk, page, num, how);
	while (got == -EAGAIN && --tries);
	rxe_odp_put_chunk(chunk);
	return got;
}

/* Return: number of pages, at least 1, that are done, or an error as rxe_odp_fault() */
static long fault_in_some(struct rxe_odp *odp, unsigned long page, unsigned long num,
			  enum rxe_odp_how how)
{
	long got;

	if (page - odp->first >= odp->num || page >= odp->process->mm->task_size >> PAGE_SHIFT)
		return -EFAULT;
	/* Stop a long prefetch */
	if (READ_ONCE(odp->ended) || process_is_gone(odp->process->mm))
		return -EFAULT;
	if (fatal_signal_pending(current))
		return -EINTR;
	got = fault_in_chunk(odp, page, num, how);
	if (got == -EFAULT && how == RXE_ODP_NO_FAULT)
		return 1;	/* the page isn't mapped: skip it */
	return got;
}

/*
 * rxe_odp_fault() for memory of a process. Chunks and page tables are charged to the cgroup of the
 * process, since this may run in a worker.
 */
static int fault_in_range(struct rxe_odp *odp, u64 addr, u64 len, enum rxe_odp_how how,
			  u64 *done)
{
	unsigned long first = addr >> PAGE_SHIFT, page = first;
	unsigned long last = (addr + len - 1) >> PAGE_SHIFT;
	struct mem_cgroup *memcg, *old;
	long got = 0;

	*done = 0;
	if (!mmget_not_zero(odp->process->mm))
		return -EFAULT;
	memcg = get_mem_cgroup_from_mm(odp->process->mm);
	old = set_active_memcg(memcg);
	while (page <= last) {
		got = fault_in_some(odp, page, last - page + 1, how);
		if (got < 0)
			break;
		page += got;
		cond_resched();	/* a hole may be large */
	}
	set_active_memcg(old);
	mem_cgroup_put(memcg);
	mmput(odp->process->mm);
	if (page > first)
		*done = ((u64)page << PAGE_SHIFT) - addr;
	return min(got, 0L);
}

/**
 * rxe_odp_fault - make pages present
 * @odp: the memory, with a reference
 * @addr: first byte
 * @len: bytes, at least 1
 * @how: what the pages are for
 * @done: out: bytes from @addr on that were made present before an error
 *
 * The pages may be taken back again at any time.
 *
 * Context: process, may sleep for as long as the process's page faults take.
 *
 * Return: 0; -EFAULT if the process doesn't have the memory, lacks the permission, or has
 * exited; -EAGAIN if a page was taken back in RXE_ODP_TRIES tries; -ENOMEM; -EINTR or
 * the like after a signal; for a dma-buf, as rxe_dmabuf_fault().
 */
int rxe_odp_fault(struct rxe_odp *odp, u64 addr, u64 len, enum rxe_odp_how how,
		  u64 *done)
{
	int err;

	if (!odp->dmabuf)
		return fault_in_range(odp, addr, len, how, done);
	err = rxe_dmabuf_fault(odp->dmabuf);
	*done = err ? 0 : len;
	return err;
}

static void free_odp(struct work_struct *work)
{
	struct rxe_odp *odp = container_of(work, struct rxe_odp, work);
	struct rxe_odp_chunk *chunk;
	unsigned long index;

	xa_for_each(&odp->chunks, index, chunk)
		rxe_odp_free_chunk(chunk);
	xa_destroy(&odp->chunks);
	rxe_user_put(odp->payer);
	if (odp->process)
		rxe_process_put(odp->process);
	if (odp->dmabuf)
		rxe_dmabuf_put(odp->dmabuf);
	kfree(odp);
}

static void release_odp(struct kref *ref)
{
	queue_work(odp_wq, &container_of(ref, struct rxe_odp, ref)->work);
}

/**
 * rxe_odp_put - give back a reference
 * @odp: the memory
 *
 * Context: any.
 */
void rxe_odp_put(struct rxe_odp *odp)
{
	kref_put(&odp->ref, release_odp);
}

static struct rxe_odp *alloc_odp(struct rxe_mr *mr, u64 start, u64 length)
{
	struct rxe_odp *odp = kzalloc(sizeof(*odp), RXE_GFP_USER);

	if (!odp)
		return NULL;
	kref_init(&odp->ref);
	mutex_init(&odp->lock);
	mutex_init(&odp->own.grace);
	odp->windows = &odp->own;
	INIT_WORK(&odp->work, free_odp);
	xa_init_flags(&odp->chunks, XA_FLAGS_ACCOUNT);
	odp->mr = mr;
	odp->first = start >> PAGE_SHIFT;
	odp->num = ((start + length - 1) >> PAGE_SHIFT) - odp->first + 1;
	return odp;
}

static bool ignore_range(struct mmu_interval_notifier *notifier,
			 const struct mmu_notifier_range *range, unsigned long seq)
{
	return true;
}

/*
 * The first notifier of a process takes mmap_lock, for which the process may make it wait for
 * ever (FUSE). Add one here, in the process's own context, and remove it: later ones don't take
 * the lock. A worker adds them with rxe_odp.lock held, for which rxe_odp_end() waits.
 *
 * Return: 0, -ENOMEM, or -EINTR by a signal.
 */
static int prepare_notifiers(struct mm_struct *mm)
{
	static const struct mmu_interval_notifier_ops ops = { .invalidate = ignore_range };
	struct mmu_interval_notifier first;
	int err = mmu_interval_notifier_insert(&first, mm, 0, PAGE_SIZE, &ops);

	if (!err)
		mmu_interval_notifier_remove(&first);
	return err;
}

/**
 * rxe_odp_create - describe memory of the calling process, for a region
 * @mr: the region
 * @start: address of the first byte
 * @length: bytes, at least 1; U64_MAX with @start 0: all memory of the process
 *
 * Context: process.
 *
 * Return: the memory, with no page present; ERR_PTR: -EFAULT for addresses that no
 * process has, -ENOMEM also if too many processes have such memory, or a user too much,
 * -EINTR by a signal.
 */
struct rxe_odp *rxe_odp_create(struct rxe_mr *mr, u64 start, u64 length)
{
	bool all = !start && length == U64_MAX;
	struct rxe_odp_chunk *chunk;
	struct rxe_odp *odp;
	int err;

	if (!all && !access_ok((void __user *)(uintptr_t)start, length))
		return ERR_PTR(-EFAULT);
	odp = alloc_odp(mr, start, length);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	odp->payer = rxe_user_get_payer();
	if (IS_ERR(odp->payer)) {
		kfree(odp);
		return ERR_PTR(-ENOMEM);
	}
	odp->process = rxe_process_get(mr->ibmr.device);
	if (!odp->process) {
		rxe_user_put(odp->payer);
		kfree(odp);
		return ERR_PTR(-ENOMEM);
	}
	odp->windows = &odp->process->windows;
	odp->wq = odp->process->wq;
	odp->order = RXE_ODP_CHUNK_ORDER;
	odp->sweep_at = RXE_ODP_SWEEP;
	if (odp->num <= RXE_ODP_WHOLE) {
		odp->order = order_base_2(RXE_ODP_WHOLE);
		chunk = rxe_odp_get_chunk(odp, odp->first);
		err = PTR_ERR_OR_ZERO(chunk);
		if (!err)
			rxe_odp_put_chunk(chunk);
	} else {
		err = prepare_notifiers(odp->process->mm);
	}
	if (err) {
		rxe_odp_put(odp);
		return ERR_PTR(err);
	}
	return odp;
}

/**
 * rxe_odp_create_dmabuf - describe memory of a dma-buf that may move, for a region
 * @mr: the region, whose buffer is only freed with the memory from now on
 * @offset: first byte in the buffer
 * @length: bytes, at least 1
 *
 * Context: process.
 *
 * Return: the memory, with no page present; ERR_PTR(-ENOMEM).
 */
struct rxe_odp *rxe_odp_create_dmabuf(struct rxe_mr *mr, u64 offset, u64 length)
{
	struct rxe_odp *odp = alloc_odp(mr, offset, length);

	if (!odp)
		return ERR_PTR(-ENOMEM);
	odp->wq = odp_wq;
	odp->order = order_base_2(odp->num);
	if (rxe_odp_add_whole(odp)) {
		kfree(odp);
		return ERR_PTR(-ENOMEM);
	}
	odp->dmabuf = mr->dmabuf;
	return odp;
}

/**
 * rxe_odp_is_callers - is it memory of the calling process?
 * @odp: the memory
 *
 * Return: true if so.
 */
bool rxe_odp_is_callers(const struct rxe_odp *odp)
{
	return odp->process->mm == current->mm;
}

/**
 * rxe_odp_close - note that the owner is about to give back its reference to the region
 * @odp: the memory
 *
 * From now on, the number of references doesn't tell whether a task uses the region.
 */
void rxe_odp_close(struct rxe_odp *odp)
{
	WRITE_ONCE(odp->closing, true);
}

/**
 * rxe_odp_end - take all pages back, and give back the region's reference
 * @odp: memory of a region without references
 *
 * Doesn't wait for a grace period per chunk, since the region has no users. Doesn't wait for
 * faults of a process either, which may take any time: they have their own references. Waits
 * for the fault of a dma-buf, since the buffer is detached from the device.
 *
 * Context: process.
 */
void rxe_odp_end(struct rxe_odp *odp)
{
	struct rxe_odp_chunk *chunk;
	unsigned long index;

	mutex_lock(&odp->lock);
	smp_store_release(&odp->ended, true);	/* pairs with wait_for_users() */
	xa_for_each(&odp->chunks, index, chunk) {
		mutex_lock(&chunk->lock);
		rxe_odp_drop(chunk, 0, chunk->num);
		mutex_unlock(&chunk->lock);
		if (!odp->dmabuf)
			mmu_interval_notifier_remove(&chunk->notifier);
		cond_resched();
	}
	mutex_unlock(&odp->lock);
	if (odp->dmabuf)
		rxe_dmabuf_close(odp->dmabuf);
	rxe_odp_put(odp);
}
