// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: memory of a process that isn't pinned.
 *
 * Theory. The driver keeps a table of the pages that are present. A fault makes a page
 * present. The process's memory management takes it back when it unmaps, migrates, swaps
 * out, copies or protects the page. It calls the driver's notifier first, and the notifier
 * doesn't return while a task may be using the page. So the driver needs no reference to
 * the page.
 *
 * Users of the table are the tasks of QPs. They hold a reference to the region for one
 * run, with bottom halves off, and take no lock. The notifier marks the page as not
 * present, and then waits for a grace period if the region has users, or if a memory window
 * was used since the last one. The page's address stays in the table until the end of the
 * grace period: a task that found the page present may use it until its run ends.
 *
 * A fault gets the page by get_user_pages_remote(), makes it present unless the notifier
 * has been called since the fault began, and gives the reference back. Each page has its
 * own write permission: a fault for reading doesn't break copy on write.
 *
 * A region consists of chunks with a notifier each. A region of up to RXE_ODP_WHOLE pages
 * is one chunk. A larger one, up to all of a process's memory (implicit on-demand paging),
 * gets chunks of 2^RXE_ODP_CHUNK_ORDER pages, and only where it is used.
 *
 * Context: process, may sleep. rxe_odp_present() and rxe_odp_run(): bottom halves off.
 * Lock order: rxe_odp.lock, mmap_lock, rxe_odp_chunk.lock, rxe_odp.grace.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <mem/odp.h>
#include <rxe/knobs.h>
#include <rxe/memory.h>

static struct workqueue_struct *free_wq;	/* for free_odp(), which sleeps */

/**
 * rxe_odp_start - prepare; at module load
 *
 * Context: process.
 *
 * Return: 0, or -ENOMEM.
 */
int rxe_odp_start(void)
{
	free_wq = alloc_workqueue("rdma_rxe_free", WQ_UNBOUND, 0);
	return free_wq ? 0 : -ENOMEM;
}

/**
 * rxe_odp_stop - wait for the last fault, and undo rxe_odp_start(); at module unload
 *
 * Context: process; no QP or region is left.
 */
void rxe_odp_stop(void)
{
	rxe_process_wait();
	destroy_workqueue(free_wq);
}

static struct rxe_odp_chunk *find_chunk(struct rxe_odp *odp, unsigned long page)
{
	return xa_load(&odp->chunks, (page - odp->first) >> odp->order);
}

/**
 * rxe_odp_use_window - note that a memory window is used; before rxe_odp_present()
 * @odp: the memory that the window is bound to
 *
 * Context: bottom halves off, with a reference to the window's region.
 */
void rxe_odp_use_window(struct rxe_odp *odp)
{
	if (!READ_ONCE(odp->window_used))
		WRITE_ONCE(odp->window_used, true);
	smp_mb();	/* pairs with wait_for_users() */
}

/**
 * rxe_odp_present - how much of a range is present?
 * @odp: the memory
 * @addr: first byte
 * @len: bytes, at least 1
 * @write: they are to be written
 *
 * Context: bottom halves off, with a reference to the region. The bytes may be used until
 * that is given back.
 *
 * Return: bytes that are present from @addr on, at most @len.
 */
u64 rxe_odp_present(struct rxe_odp *odp, u64 addr, u64 len, bool write)
{
	unsigned long need = write ? RXE_PAGE_WRITE : RXE_PAGE_READ;
	unsigned long page = addr >> PAGE_SHIFT, last = (addr + len - 1) >> PAGE_SHIFT;
	struct rxe_odp_chunk *chunk = NULL;

	for (; page <= last; page++) {
		if (!chunk || page - chunk->first >= chunk->num)
			chunk = find_chunk(odp, page);
		if (!chunk || !(READ_ONCE(chunk->pages[page - chunk->first]) & need))
			break;
	}
	if (page > last)
		return len;
	return ((u64)page << PAGE_SHIFT) - min_t(u64, addr, (u64)page << PAGE_SHIFT);
}

/**
 * rxe_odp_run - rxe_key_run() for memory that isn't pinned
 * @odp: the memory
 * @addr: a byte that rxe_odp_present() found present, with the reference still held
 * @len: in: bytes wanted, at least 1; out: bytes contiguous, at least 1
 *
 * Return: kernel address.
 */
void *rxe_odp_run(struct rxe_odp *odp, u64 addr, u32 *len)
{
	unsigned long page = addr >> PAGE_SHIFT, at, next;
	struct rxe_odp_chunk *chunk = find_chunk(odp, page);
	unsigned long i = page - chunk->first;
	u32 off = offset_in_page(addr), run = PAGE_SIZE - off;

	/* The notifier may clear the bits at any time, but not yet the address */
	at = READ_ONCE(chunk->pages[i]) & PAGE_MASK;
	for (; run < *len && ++i < chunk->num; run += PAGE_SIZE) {
		next = READ_ONCE(chunk->pages[i]);
		if (!(next & RXE_PAGE_READ) || (next & PAGE_MASK) != at + off + run)
			break;
	}
	*len = min(*len, run);
	return (void *)(at + off);
}

/**
 * rxe_odp_set - make a page present
 * @chunk: the chunk that has the page
 * @page: page number
 * @addr: kernel address of the page
 * @write: the page may be written
 *
 * Context: chunk->lock held.
 */
void rxe_odp_set(struct rxe_odp_chunk *chunk, unsigned long page, void *addr, bool write)
{
	unsigned long *slot = &chunk->pages[page - chunk->first];
	unsigned long bits = RXE_PAGE_READ | (write ? RXE_PAGE_WRITE : 0);

	if (*slot & RXE_PAGE_READ)
		bits |= *slot & RXE_PAGE_WRITE;	/* it is the same page */
	else
		chunk->present++;
	WRITE_ONCE(*slot, (unsigned long)addr | bits);
}

/*
 * Wait for tasks that found the pages by way of a memory window. They hold a reference to the
 * window's region, not to this one. If no window was used since the flag was cleared, earlier
 * tasks end with the grace period that followed. The lock waits for its end.
 */
static void wait_for_windows(struct rxe_odp *odp)
{
	mutex_lock(&odp->grace);
	if (READ_ONCE(odp->window_used)) {
		WRITE_ONCE(odp->window_used, false);
		synchronize_rcu_expedited();
	}
	mutex_unlock(&odp->grace);
}

/*
 * Wait for tasks that may use pages which aren't present any more. A task that takes its
 * reference to the region, or uses a window, after this point doesn't find the pages.
 *
 * A region that has ended has no user. Either no key ever named it. Or rxe_dereg_mr() has
 * refused further windows while none was bound, has hidden the key, and has waited for the
 * last reference. References by way of a window end before the window is unbound.
 */
static void wait_for_users(struct rxe_odp *odp)
{
	unsigned int refs;

	/* Pairs with rxe_odp_end(): after the uses of all references */
	if (smp_load_acquire(&odp->ended))
		return;
	smp_mb();	/* pairs with key_take() and rxe_odp_use_window() */
	refs = kref_read(&odp->mr->region.ref);
	smp_rmb();	/* pairs with the reference's end after rxe_odp_close() */
	if (refs > 1 || READ_ONCE(odp->closing))
		synchronize_rcu_expedited();
	else
		wait_for_windows(odp);
}

/* Remove a page that no task uses any more, and mark it dirty if it may have been written */
static void forget_page(unsigned long *slot)
{
	unsigned long old = *slot;

	if (old & RXE_PAGE_DIRTY)
		folio_mark_dirty(page_folio(virt_to_page((void *)(old & PAGE_MASK))));
	WRITE_ONCE(*slot, 0);
}

/**
 * rxe_odp_drop - take pages back
 * @chunk: the chunk that has the pages
 * @first: index of the first page in the chunk
 * @end: one after the last
 *
 * On return the pages aren't present, and no task uses them.
 *
 * Context: process, may sleep; chunk->lock held.
 */
void rxe_odp_drop(struct rxe_odp_chunk *chunk, unsigned long first, unsigned long end)
{
	unsigned long i, old, num = 0;

	for (i = first; i < end && num < chunk->present; i++) {
		old = chunk->pages[i];
		if (!(old & RXE_PAGE_READ))
			continue;
		WRITE_ONCE(chunk->pages[i], (old & PAGE_MASK) |
			   (old & RXE_PAGE_WRITE ? RXE_PAGE_DIRTY : 0));
		num++;
	}
	if (!num)
		return;
	chunk->present -= num;
	wait_for_users(chunk->odp);
	while (i-- > first)
		forget_page(&chunk->pages[i]);
}

/* Take pages back for the process's memory management, perhaps in direct reclaim */
static bool invalidate_range(struct mmu_interval_notifier *notifier,
			     const struct mmu_notifier_range *range, unsigned long seq)
{
	struct rxe_odp_chunk *chunk = container_of(notifier, struct rxe_odp_chunk, notifier);
	unsigned long first = max(range->start >> PAGE_SHIFT, chunk->first);
	unsigned long last = min((range->end - 1) >> PAGE_SHIFT,
				 chunk->first + chunk->num - 1);

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&chunk->lock);
	mmu_interval_set_seq(notifier, seq);
	if (first <= last)
		rxe_odp_drop(chunk, first - chunk->first, last - chunk->first + 1);
	mutex_unlock(&chunk->lock);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate	= invalidate_range,
};

static void free_chunk(struct rxe_odp_chunk *chunk)
{
	kvfree(chunk->pages);
	kfree(chunk);
}

static struct rxe_odp_chunk *alloc_chunk(struct rxe_odp *odp, unsigned long index)
{
	unsigned long off = index << odp->order;
	struct rxe_odp_chunk *chunk = kzalloc(sizeof(*chunk), GFP_KERNEL_ACCOUNT);

	if (!chunk)
		return NULL;
	mutex_init(&chunk->lock);
	chunk->odp = odp;
	chunk->first = odp->first + off;
	chunk->num = min(1UL << odp->order, odp->num - off);
	chunk->pages = kvcalloc(chunk->num, sizeof(*chunk->pages), RXE_GFP_USER);
	if (chunk->pages)
		return chunk;
	kfree(chunk);
	return NULL;
}

/* Context: odp->lock held, and a reference to the process's memory (mmget()) */
static struct rxe_odp_chunk *add_chunk(struct rxe_odp *odp, unsigned long index)
{
	struct rxe_odp_chunk *chunk = alloc_chunk(odp, index);
	int err;

	if (!chunk)
		return ERR_PTR(-ENOMEM);
	err = xa_reserve(&odp->chunks, index, GFP_KERNEL);
	if (!err)
		err = mmu_interval_notifier_insert(&chunk->notifier, odp->process->mm,
						   chunk->first << PAGE_SHIFT,
						   chunk->num << PAGE_SHIFT, &notifier_ops);
	if (err) {
		xa_release(&odp->chunks, index);
		free_chunk(chunk);
		return ERR_PTR(err);
	}
	xa_store(&odp->chunks, index, chunk, GFP_KERNEL);	/* reserved */
	return chunk;
}

/*
 * Does the process have memory at @addr? A chunk costs memory, so none is added elsewhere:
 * otherwise a peer could make the driver allocate them by probing a large region.
 */
static bool is_mapped(struct mm_struct *mm, unsigned long addr)
{
	struct vm_area_struct *vma;
	bool mapped;

	mmap_read_lock(mm);
	vma = find_vma(mm, addr);
	mapped = vma && vma->vm_start <= addr;
	mmap_read_unlock(mm);
	return mapped;
}

/*
 * Find the chunk of a page, or add it. Its memory is charged to the cgroup of the process,
 * since this may run in a worker. Context: with a reference to the process's memory.
 */
static struct rxe_odp_chunk *get_chunk(struct rxe_odp *odp, unsigned long page)
{
	struct rxe_odp_chunk *chunk = find_chunk(odp, page);
	struct mem_cgroup *memcg, *old;

	if (chunk)
		return chunk;
	if (odp->order == RXE_ODP_CHUNK_ORDER && !is_mapped(odp->process->mm, page << PAGE_SHIFT))
		return ERR_PTR(-EFAULT);
	memcg = get_mem_cgroup_from_mm(odp->process->mm);
	old = set_active_memcg(memcg);
	mutex_lock(&odp->lock);
	chunk = find_chunk(odp, page);
	if (!chunk)
		chunk = odp->ended ? ERR_PTR(-EFAULT) :
			add_chunk(odp, (page - odp->first) >> odp->order);
	mutex_unlock(&odp->lock);
	set_active_memcg(old);
	mem_cgroup_put(memcg);
	return chunk;
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
 * pages of the chunk were taken back meanwhile.
 */
static long fault_batch(struct rxe_odp_chunk *chunk, unsigned long page,
			unsigned long num, enum rxe_odp_how how)
{
	struct page *pages[RXE_ODP_BATCH];
	unsigned long seq = mmu_interval_read_begin(&chunk->notifier);
	long got, i;

	/* @page is in the chunk, the last of the @num pages may not be */
	num = min3(num, chunk->first + chunk->num - page, (unsigned long)RXE_ODP_BATCH);
	got = get_pages(chunk->odp->process->mm, page, num, how, pages);
	if (got < 0)
		return got;
	mutex_lock(&chunk->lock);
	if (mmu_interval_read_retry(&chunk->notifier, seq))
		num = 0;
	for (i = 0; num && i < got; i++)
		rxe_odp_set(chunk, page + i, page_address(pages[i]), how == RXE_ODP_WRITE);
	mutex_unlock(&chunk->lock);
	for (i = 0; i < got; i++)
		put_page(pages[i]);
	return num ? got : -EAGAIN;
}

/* Return: number of pages, at least 1, that are done, or an error as rxe_odp_fault() */
static long fault_some(struct rxe_odp *odp, unsigned long page, unsigned long num,
		       enum rxe_odp_how how)
{
	struct rxe_odp_chunk *chunk;
	u32 tries = RXE_ODP_TRIES;
	long got;

	if (page - odp->first >= odp->num || page >= odp->process->mm->task_size >> PAGE_SHIFT)
		return -EFAULT;
	/* Stop a long prefetch when the region has ended: the process may be dead */
	if (READ_ONCE(odp->ended))
		return -EFAULT;
	chunk = get_chunk(odp, page);
	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	do {
		got = fault_batch(chunk, page, num, how);
		cond_resched();
	} while (got == -EAGAIN && --tries);
	if (got == -EFAULT && how == RXE_ODP_NO_FAULT)
		return 1;	/* the page isn't mapped: skip it */
	return got;
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
 * exited; -EAGAIN if the pages were taken back in RXE_ODP_TRIES tries; -ENOMEM; -EINTR or
 * the like after a signal.
 */
int rxe_odp_fault(struct rxe_odp *odp, u64 addr, u64 len, enum rxe_odp_how how,
		  u64 *done)
{
	unsigned long first = addr >> PAGE_SHIFT, page = first;
	unsigned long last = (addr + len - 1) >> PAGE_SHIFT;
	long got = 0;

	*done = 0;
	if (!mmget_not_zero(odp->process->mm))
		return -EFAULT;
	while (page <= last) {
		got = fault_some(odp, page, last - page + 1, how);
		if (got < 0)
			break;
		page += got;
	}
	mmput(odp->process->mm);
	if (page > first)
		*done = ((u64)page << PAGE_SHIFT) - addr;
	return min(got, 0L);
}

static void free_odp(struct work_struct *work)
{
	struct rxe_odp *odp = container_of(work, struct rxe_odp, work);
	struct rxe_odp_chunk *chunk;
	unsigned long index;

	xa_for_each(&odp->chunks, index, chunk)
		free_chunk(chunk);
	xa_destroy(&odp->chunks);
	rxe_process_put(odp->process);
	kfree(odp);
}

static void release_odp(struct kref *ref)
{
	queue_work(free_wq, &container_of(ref, struct rxe_odp, ref)->work);
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

/**
 * rxe_odp_create - describe memory of the calling process, for a region
 * @mr: the region
 * @start: address of the first byte
 * @length: bytes, at least 1; U64_MAX with @start 0: all memory of the process
 *
 * Context: process.
 *
 * Return: the memory, with no page present; ERR_PTR: -EFAULT for addresses that no
 * process has, -ENOMEM.
 */
struct rxe_odp *rxe_odp_create(struct rxe_mr *mr, u64 start, u64 length)
{
	bool all = !start && length == U64_MAX;
	struct rxe_odp_chunk *chunk = NULL;
	struct rxe_odp *odp;

	if (!all && !access_ok((void __user *)(uintptr_t)start, length))
		return ERR_PTR(-EFAULT);
	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	odp->process = rxe_process_get();
	if (!odp->process) {
		kfree(odp);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&odp->ref);
	mutex_init(&odp->lock);
	mutex_init(&odp->grace);
	INIT_WORK(&odp->work, free_odp);
	xa_init_flags(&odp->chunks, XA_FLAGS_ACCOUNT);
	odp->mr = mr;
	odp->first = start >> PAGE_SHIFT;
	odp->num = ((start + length - 1) >> PAGE_SHIFT) - odp->first + 1;
	odp->order = RXE_ODP_CHUNK_ORDER;
	if (odp->num <= RXE_ODP_WHOLE) {
		odp->order = order_base_2(RXE_ODP_WHOLE);
		chunk = get_chunk(odp, odp->first);
	}
	if (!IS_ERR(chunk))
		return odp;
	rxe_odp_put(odp);
	return ERR_CAST(chunk);
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
 * No grace period is waited for, since the region has no users. Otherwise each chunk would
 * cost one. Faults aren't waited for either, since they may take any time: they have their
 * own references.
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
		mmu_interval_notifier_remove(&chunk->notifier);
		cond_resched();
	}
	mutex_unlock(&odp->lock);
	rxe_odp_put(odp);
}
