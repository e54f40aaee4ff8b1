// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: which pages of a process, or of a dma-buf that may move, are present.
 *
 * Theory. The tasks of QPs use the table of pages. A task holds a reference to the region for
 * one run, with bottom halves off, and takes no lock. The notifier marks a page as not present.
 * Then it waits for a grace period if the region has users, or if a memory window was used since
 * the last grace period. The page's address stays in the table until the end of the grace
 * period: a task that found the page present may use it until its run ends.
 *
 * The table consists of chunks with a notifier each. A chunk is added at the first fault in
 * it, if the process has memory there. Later the process may unmap that memory, and map other
 * memory elsewhere. Chunks without a present page are therefore removed when the number of
 * chunks has doubled since the last removal, and is at least RXE_ODP_SWEEP. A removal thus costs
 * little per added chunk. They are also removed when there is no memory for another chunk.
 *
 * A chunk is removed only while no page is present, no fault uses the chunk, and no callback
 * waits for tasks that use its pages. The chunk first leaves the table, then its notifier is
 * removed. A grace period later, no task looks at the chunk any more.
 *
 * A dma-buf has one chunk without a notifier: the exporter calls the driver itself (dmabuf.c).
 *
 * Context: process, may sleep. rxe_odp_present() and rxe_odp_run(): bottom halves off.
 * Lock order: rxe_odp.lock, mmap_lock, rxe_odp_chunk.lock, rxe_odp_windows.grace. The lock of a
 * dma-buf comes before rxe_odp_chunk.lock.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <mem/odp.h>
#include <rxe/knobs.h>
#include <rxe/memory.h>

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
	if (!READ_ONCE(odp->windows->used))
		WRITE_ONCE(odp->windows->used, true);
	smp_mb();	/* pairs with wait_for_users() */
}

/**
 * rxe_odp_present - how much of a range is present?
 * @odp: the memory
 * @addr: first byte
 * @len: bytes, at least 1
 * @write: the bytes are to be written
 *
 * Context: bottom halves off, with a reference to the region. The bytes may be used until the
 * reference is dropped.
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
			chunk = rxe_odp_find_chunk(odp, page);
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
	struct rxe_odp_chunk *chunk = rxe_odp_find_chunk(odp, page);
	unsigned long i = page - chunk->first;
	u32 off = offset_in_page(addr), run = PAGE_SIZE - off;

	/* The notifier may clear the bits at any time, but the address only after this run */
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
 * rxe_odp_start_batch - note which pages a fault is about to get
 * @chunk: the chunk that has the pages
 * @batch: first and num are set; remains in chunk->batches until the caller removes it
 *
 * From now on, pages that are taken back are cut off the batch. Pages taken back earlier may
 * still be mapped in the process. The caller waits for that by mmu_interval_read_begin().
 *
 * Context: process.
 */
void rxe_odp_start_batch(struct rxe_odp_chunk *chunk, struct rxe_odp_batch *batch)
{
	mutex_lock(&chunk->lock);
	list_add(&batch->node, &chunk->batches);
	mutex_unlock(&chunk->lock);
}

/* End the faults' batches before the first of these pages. Context: chunk->lock held */
static void cut_batches(struct rxe_odp_chunk *chunk, unsigned long first, unsigned long end)
{
	struct rxe_odp_batch *batch;

	list_for_each_entry(batch, &chunk->batches, node)
		if (batch->first < end && first < batch->first + batch->num)
			batch->num = first - min(first, batch->first);
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

/**
 * rxe_odp_set_all - make all pages of a dma-buf present, to be read and written
 * @odp: memory that has one chunk
 * @addr: kernel address of the first page; the others follow
 *
 * Context: process, may sleep.
 */
void rxe_odp_set_all(struct rxe_odp *odp, void *addr)
{
	struct rxe_odp_chunk *chunk = rxe_odp_find_chunk(odp, odp->first);
	unsigned long i;

	mutex_lock(&chunk->lock);
	for (i = 0; i < chunk->num; i++)
		rxe_odp_set(chunk, chunk->first + i, addr + (i << PAGE_SHIFT), true);
	mutex_unlock(&chunk->lock);
}

/*
 * Wait for tasks that found the pages by way of a memory window. They hold a reference to the
 * window's region, not to this one. If no window on this region was used since its flag was
 * cleared, or none of the process since that flag was cleared, earlier tasks end with the grace
 * period that followed. The lock waits for its end.
 *
 * Reclaim that takes a page back waits here once for each region with the page. The flag of the
 * process lets one grace period serve all of them, unless windows are used meanwhile.
 */
static void wait_for_windows(struct rxe_odp *odp)
{
	struct rxe_odp_windows *windows = odp->windows;

	mutex_lock(&windows->grace);
	if (READ_ONCE(odp->window_used) && READ_ONCE(windows->used)) {
		WRITE_ONCE(odp->window_used, false);
		WRITE_ONCE(windows->used, false);
		synchronize_rcu_expedited();
	}
	mutex_unlock(&windows->grace);
}

/*
 * Wait for tasks that may use pages which aren't present any more. A task that takes its
 * reference to the region, or uses a window, after this point doesn't find the pages.
 *
 * A region that has ended has no user. Either no key ever named it, or rxe_dereg_mr() has ended
 * it: it refused further windows while none was bound, hid the key, and waited for the last
 * reference. References by way of a window end before the window is unbound.
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
 * On return the pages aren't present, and no task uses them. Faults that are getting them
 * don't make them present.
 *
 * Context: process, may sleep; chunk->lock held.
 */
void rxe_odp_drop(struct rxe_odp_chunk *chunk, unsigned long first, unsigned long end)
{
	unsigned long i, old, num = 0;

	cut_batches(chunk, chunk->first + first, chunk->first + end);
	for (i = first; i < end && num < chunk->present; i++) {
		old = chunk->pages[i];
		if (!(old & RXE_PAGE_READ))
			continue;
		WRITE_ONCE(chunk->pages[i], (old & PAGE_MASK) |
			   (old & RXE_PAGE_WRITE && !chunk->odp->dmabuf ? RXE_PAGE_DIRTY : 0));
		num++;
	}
	if (!num)
		return;
	chunk->present -= num;
	wait_for_users(chunk->odp);
	while (i-- > first)
		forget_page(&chunk->pages[i]);
}

/**
 * rxe_odp_drop_all - take all pages of a dma-buf back
 * @odp: memory that has one chunk
 *
 * On return as rxe_odp_drop().
 *
 * Context: process, may sleep; perhaps direct reclaim.
 */
void rxe_odp_drop_all(struct rxe_odp *odp)
{
	struct rxe_odp_chunk *chunk = rxe_odp_find_chunk(odp, odp->first);

	mutex_lock(&chunk->lock);
	rxe_odp_drop(chunk, 0, chunk->num);
	mutex_unlock(&chunk->lock);
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

static u64 get_chunk_bytes(const struct rxe_odp_chunk *chunk)
{
	return sizeof(*chunk) + chunk->num * sizeof(*chunk->pages);
}

/**
 * rxe_odp_free_chunk - free a chunk that no task uses
 * @chunk: a chunk without notifier
 *
 * Context: process.
 */
void rxe_odp_free_chunk(struct rxe_odp_chunk *chunk)
{
	rxe_user_uncharge(chunk->odp->payer, get_chunk_bytes(chunk));
	kvfree(chunk->pages);
	kfree(chunk);
}

static struct rxe_odp_chunk *alloc_chunk(struct rxe_odp *odp, unsigned long index)
{
	unsigned long off = index << odp->order;
	struct rxe_odp_chunk *chunk = kzalloc(sizeof(*chunk), RXE_GFP_USER);

	if (!chunk)
		return NULL;
	mutex_init(&chunk->lock);
	refcount_set(&chunk->users, 1);
	INIT_LIST_HEAD(&chunk->batches);
	chunk->odp = odp;
	chunk->first = odp->first + off;
	chunk->num = min(1UL << odp->order, odp->num - off);
	if (rxe_user_charge(odp->payer, odp->mr->ibmr.device, get_chunk_bytes(chunk))) {
		kfree(chunk);
		return NULL;
	}
	chunk->pages = kvcalloc(chunk->num, sizeof(*chunk->pages), RXE_GFP_USER);
	if (chunk->pages)
		return chunk;
	rxe_odp_free_chunk(chunk);
	return NULL;
}

/**
 * rxe_odp_add_whole - add the one chunk of a dma-buf, which needs no notifier
 * @odp: memory without a chunk
 *
 * Context: process.
 *
 * Return: 0, or -ENOMEM.
 */
int rxe_odp_add_whole(struct rxe_odp *odp)
{
	struct rxe_odp_chunk *chunk = alloc_chunk(odp, 0);
	int err;

	if (!chunk)
		return -ENOMEM;
	err = xa_err(xa_store(&odp->chunks, 0, chunk, RXE_GFP_USER));
	if (err)
		rxe_odp_free_chunk(chunk);
	return err;
}

/*
 * Take a chunk without a present page and without faults out of the table. A chunk whose lock is
 * taken is in use. If it is free, no callback waits for tasks that use the chunk's pages.
 * Without a fault, no page of the chunk becomes present any more.
 */
static bool unlink_unused(struct rxe_odp *odp, unsigned long index, struct rxe_odp_chunk *chunk)
{
	bool unused;

	if (!mutex_trylock(&chunk->lock))
		return false;
	unused = !chunk->present && refcount_dec_if_one(&chunk->users);
	mutex_unlock(&chunk->lock);
	if (unused) {
		xa_erase(&odp->chunks, index);
		odp->num_chunks--;
	}
	return unused;
}

/* Context: odp->lock held. */
static void unlink_all_unused(struct rxe_odp *odp, struct list_head *unused)
{
	struct rxe_odp_chunk *chunk;
	unsigned long index;

	xa_for_each(&odp->chunks, index, chunk) {
		if (unlink_unused(odp, index, chunk))
			list_add(&chunk->unused, unused);
		cond_resched();
	}
	odp->sweep_at = max(2 * odp->num_chunks, (unsigned long)RXE_ODP_SWEEP);
}

/* Without odp->lock: removing a notifier waits for callbacks of the whole process */
static void free_unused(struct list_head *unused)
{
	struct rxe_odp_chunk *chunk, *next;

	if (list_empty(unused))
		return;
	list_for_each_entry(chunk, unused, unused)
		mmu_interval_notifier_remove(&chunk->notifier);
	synchronize_rcu();	/* for tasks that look whether pages are present */
	list_for_each_entry_safe(chunk, next, unused, unused)
		rxe_odp_free_chunk(chunk);
}

static void remove_unused(struct rxe_odp *odp)
{
	LIST_HEAD(unused);

	mutex_lock(&odp->lock);
	if (!odp->ended)
		unlink_all_unused(odp, &unused);
	mutex_unlock(&odp->lock);
	free_unused(&unused);
}

/* Context: odp->lock held, and a reference to the process's memory (mmget()) */
static struct rxe_odp_chunk *add_chunk(struct rxe_odp *odp, unsigned long index)
{
	struct rxe_odp_chunk *chunk = alloc_chunk(odp, index);
	int err;

	if (!chunk)
		return ERR_PTR(-ENOMEM);
	err = xa_reserve(&odp->chunks, index, RXE_GFP_USER);
	if (!err)
		err = mmu_interval_notifier_insert(&chunk->notifier, odp->process->mm,
						   chunk->first << PAGE_SHIFT,
						   chunk->num << PAGE_SHIFT, &notifier_ops);
	if (err) {
		xa_release(&odp->chunks, index);
		rxe_odp_free_chunk(chunk);
		return ERR_PTR(err);
	}
	xa_store(&odp->chunks, index, chunk, GFP_KERNEL);	/* reserved */
	odp->num_chunks++;
	return chunk;
}

/*
 * Does the process have memory at @addr? Chunks cost memory, and are added only there.
 * Otherwise, a peer could make the driver allocate chunks by probing a large region.
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

/* The chunk of a page, or NULL; the caller gives it back by rxe_odp_put_chunk() */
static struct rxe_odp_chunk *get_known_chunk(struct rxe_odp *odp, unsigned long page)
{
	struct rxe_odp_chunk *chunk;

	rcu_read_lock();
	chunk = rxe_odp_find_chunk(odp, page);
	if (chunk && !refcount_inc_not_zero(&chunk->users))
		chunk = NULL;
	rcu_read_unlock();
	return chunk;
}

/* As get_known_chunk(), but add a missing chunk. Its memory is charged to the active cgroup */
static struct rxe_odp_chunk *get_or_add_chunk(struct rxe_odp *odp, unsigned long page)
{
	struct rxe_odp_chunk *chunk;
	LIST_HEAD(unused);

	mutex_lock(&odp->lock);
	if (!odp->ended && odp->num_chunks >= odp->sweep_at)
		unlink_all_unused(odp, &unused);
	chunk = get_known_chunk(odp, page);
	if (!chunk) {
		chunk = odp->ended ? ERR_PTR(-EFAULT) :
			add_chunk(odp, (page - odp->first) >> odp->order);
		if (!IS_ERR(chunk))
			refcount_inc(&chunk->users);
	}
	mutex_unlock(&odp->lock);
	free_unused(&unused);
	return chunk;
}

/**
 * rxe_odp_get_chunk - find the chunk of a page for a fault, or add it
 * @odp: the memory
 * @page: page number
 *
 * A new chunk's memory is charged to the active cgroup. The caller has set it to that of the
 * process, or is the process.
 *
 * Context: process, with a reference to the process's memory (mmget()). The caller gives the
 * chunk back by rxe_odp_put_chunk().
 *
 * Return: the chunk; ERR_PTR: -EFAULT if the process has no memory there, or the region has
 * ended; -ENOMEM, -EINTR.
 */
struct rxe_odp_chunk *rxe_odp_get_chunk(struct rxe_odp *odp, unsigned long page)
{
	struct rxe_odp_chunk *chunk = get_known_chunk(odp, page);

	if (chunk)
		return chunk;
	if (odp->order == RXE_ODP_CHUNK_ORDER && !is_mapped(odp->process->mm, page << PAGE_SHIFT))
		return ERR_PTR(-EFAULT);
	chunk = get_or_add_chunk(odp, page);
	if (chunk != ERR_PTR(-ENOMEM))
		return chunk;
	/* Perhaps unused chunks have used up the user's limit */
	remove_unused(odp);
	return get_or_add_chunk(odp, page);
}

/**
 * rxe_odp_put_chunk - note that a fault doesn't use a chunk any more
 * @chunk: as rxe_odp_get_chunk() returned it
 *
 * Context: any.
 */
void rxe_odp_put_chunk(struct rxe_odp_chunk *chunk)
{
	refcount_dec(&chunk->users);
}
