// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: memory of a process that isn't pinned.
 *
 * A page is present from the moment that a fault brings it until the process's memory
 * management takes it back: it is unmapped, migrated, swapped out, copied on write, or
 * its protection changes. A notifier tells before that happens, and doesn't return while
 * a task may be using the page. So no reference to the page is needed.
 *
 * Readers are the tasks of QPs: they hold a reference to the region, for one run, with
 * bottom halves off, and take no lock. The notifier makes the page not present, and if
 * there are references waits for a grace period. The page's address stays in the table
 * meanwhile: who found it present may use it until then.
 *
 * A fault gets the page as any system call does that writes to a process
 * (get_user_pages()), gives its reference back, and makes the page present, if the
 * notifier hasn't been called since it began. Whether a page may be written is known per
 * page: a fault for reading doesn't break copy on write.
 *
 * The pages of a region are in chunks, with a notifier each. A region of up to
 * RXE_ODP_WHOLE pages is one chunk. Larger ones, up to all of a process's memory
 * (implicit on-demand paging), get chunks of RXE_ODP_CHUNK pages where they are used.
 *
 * Context: process, which may sleep; rxe_odp_present(), rxe_odp_run(): bottom halves off.
 * Lock order: rxe_odp.lock, mmap_lock, rxe_odp_chunk.lock.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <mem/odp.h>
#include <rxe/knobs.h>
#include <rxe/memory.h>

static struct workqueue_struct *odp_wq;

/**
 * rxe_odp_start - start what goes to the memory of processes
 *
 * Return: 0, or -ENOMEM.
 */
int rxe_odp_start(void)
{
	odp_wq = alloc_workqueue("rdma_rxe_odp", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return odp_wq ? 0 : -ENOMEM;
}

/**
 * rxe_odp_stop - wait for the last work, and stop
 */
void rxe_odp_stop(void)
{
	destroy_workqueue(odp_wq);
}

/**
 * rxe_odp_work - queue work that may sleep in the memory of a process
 * @work: the work, not queued yet
 *
 * Context: any.
 */
void rxe_odp_work(struct work_struct *work)
{
	queue_work(odp_wq, work);
}

static struct rxe_odp_chunk *find_chunk(struct rxe_odp *odp, unsigned long page)
{
	return xa_load(&odp->chunks, (page - odp->first) >> odp->order);
}

/**
 * rxe_odp_present - how much of a range is present?
 * @odp: the memory
 * @addr: first byte
 * @len: bytes, at least 1
 * @write: they are to be written
 *
 * Context: with a reference to the region, which keeps present what is.
 *
 * Return: bytes that are present from @addr on, @len at most.
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
 * rxe_odp_run - rxe_key_run() for such memory
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

	/* The bits may be gone by now, the address isn't */
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
 * rxe_odp_set - a page is present
 * @chunk: has it; its lock is held
 * @page: its number
 * @addr: its kernel address
 * @write: it may be written
 */
void rxe_odp_set(struct rxe_odp_chunk *chunk, unsigned long page, void *addr, bool write)
{
	unsigned long *slot = &chunk->pages[page - chunk->first];
	unsigned long bits = RXE_PAGE_READ | (write ? RXE_PAGE_WRITE : 0);

	if (*slot & RXE_PAGE_READ)
		bits |= *slot & RXE_PAGE_WRITE;	/* still the same page */
	else
		chunk->present++;
	WRITE_ONCE(*slot, (unsigned long)addr | bits);
}

/*
 * Wait for those who may use pages that aren't present any more. They took their
 * reference before: who takes one now doesn't find the pages. A window has references
 * of its own.
 */
static void wait_for_users(struct rxe_odp *odp)
{
	unsigned int refs;

	smp_mb();	/* pairs with key_take() */
	refs = kref_read(&odp->mr->region.ref);
	smp_rmb();	/* pairs with the reference's end after rxe_odp_close() */
	if (refs > 1 || READ_ONCE(odp->closing) || atomic_read(&odp->mr->windows) > 0)
		synchronize_rcu_expedited();
}

/* Nobody uses the page any more: tell its owner if it may have been written */
static void forget_page(unsigned long *slot)
{
	unsigned long old = *slot;

	if (old & RXE_PAGE_DIRTY)
		folio_mark_dirty(page_folio(virt_to_page((void *)(old & PAGE_MASK))));
	WRITE_ONCE(*slot, 0);
}

/**
 * rxe_odp_drop - pages aren't present any more
 * @chunk: has them; its lock is held
 * @first: number of the first page in the chunk
 * @end: one after the last
 *
 * When it returns, no task uses them.
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

/* The process's memory management takes pages back. May run in direct reclaim */
static bool invalidate(struct mmu_interval_notifier *notifier,
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
	.invalidate	= invalidate,
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

/* Context: odp->lock held, the process's memory alive */
static struct rxe_odp_chunk *add_chunk(struct rxe_odp *odp, unsigned long index)
{
	struct rxe_odp_chunk *chunk = alloc_chunk(odp, index);
	int err;

	if (!chunk)
		return ERR_PTR(-ENOMEM);
	err = xa_reserve(&odp->chunks, index, GFP_KERNEL);
	if (!err)
		err = mmu_interval_notifier_insert(&chunk->notifier, odp->mm,
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

/* No chunks for memory that the process doesn't have: a peer may probe a large region */
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
 * The chunk of a page; added if it is missing, at the expense of the process's cgroup,
 * whoever runs this. Context: the process's memory is alive.
 */
static struct rxe_odp_chunk *get_chunk(struct rxe_odp *odp, unsigned long page)
{
	struct rxe_odp_chunk *chunk = find_chunk(odp, page);
	struct mem_cgroup *memcg, *old;

	if (chunk)
		return chunk;
	if (odp->order == RXE_ODP_CHUNK_ORDER && !is_mapped(odp->mm, page << PAGE_SHIFT))
		return ERR_PTR(-EFAULT);
	memcg = get_mem_cgroup_from_mm(odp->mm);
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

/* Return: pages, or an error; never 0 */
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

/* Return: pages that are present now, or an error; -EAGAIN: they are being taken back */
static long fault_batch(struct rxe_odp_chunk *chunk, unsigned long page,
			unsigned long num, enum rxe_odp_how how)
{
	struct page *pages[RXE_ODP_BATCH];
	unsigned long seq = mmu_interval_read_begin(&chunk->notifier);
	long got, i;

	/* @page is in the chunk, the last of its @num may not be */
	num = min3(num, chunk->first + chunk->num - page, (unsigned long)RXE_ODP_BATCH);
	got = get_pages(chunk->odp->mm, page, num, how, pages);
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

static long fault_some(struct rxe_odp *odp, unsigned long page, unsigned long num,
		       enum rxe_odp_how how)
{
	struct rxe_odp_chunk *chunk;
	u32 tries = RXE_ODP_TRIES;
	long got;

	if (page - odp->first >= odp->num || page >= odp->mm->task_size >> PAGE_SHIFT)
		return -EFAULT;
	chunk = get_chunk(odp, page);
	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	do {
		got = fault_batch(chunk, page, num, how);
		cond_resched();
	} while (got == -EAGAIN && --tries);
	if (got == -EFAULT && how == RXE_ODP_NO_FAULT)
		return 1;	/* it stays as it is */
	return got;
}

/**
 * rxe_odp_fault - make pages present
 * @odp: the memory, with a reference
 * @addr: first byte
 * @len: bytes, at least 1
 * @how: what for
 * @done: out: bytes from @addr on that were made present before an error
 *
 * They may be taken back at any time.
 *
 * Return: 0; -EFAULT if the process doesn't have the memory, not for that, or not any
 * more; -EAGAIN if it is taken back again and again; -ENOMEM; what a signal leads to.
 */
int rxe_odp_fault(struct rxe_odp *odp, u64 addr, u64 len, enum rxe_odp_how how,
		  u64 *done)
{
	unsigned long first = addr >> PAGE_SHIFT, page = first;
	unsigned long last = (addr + len - 1) >> PAGE_SHIFT;
	long got = 0;

	*done = 0;
	if (!mmget_not_zero(odp->mm))
		return -EFAULT;
	while (page <= last) {
		got = fault_some(odp, page, last - page + 1, how);
		if (got < 0)
			break;
		page += got;
	}
	mmput(odp->mm);
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
	mmdrop(odp->mm);
	kfree(odp);
}

static void release_odp(struct kref *ref)
{
	rxe_odp_work(&container_of(ref, struct rxe_odp, ref)->work);
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
 * rxe_odp_create - memory of the calling process, for a region
 * @mr: the region
 * @start: address of the first byte; with @length U64_MAX: 0
 * @length: bytes, at least 1; U64_MAX: all memory of the process
 *
 * Return: the memory, nothing of it present; ERR_PTR: -EFAULT for addresses that no
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
	kref_init(&odp->ref);
	mutex_init(&odp->lock);
	INIT_WORK(&odp->work, free_odp);
	xa_init_flags(&odp->chunks, XA_FLAGS_ACCOUNT);
	mmgrab(current->mm);
	odp->mm = current->mm;
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
 * rxe_odp_close - the owner of the region is about to give up its reference
 * @odp: the memory
 */
void rxe_odp_close(struct rxe_odp *odp)
{
	WRITE_ONCE(odp->closing, true);
}

/**
 * rxe_odp_end - the region ends
 * @odp: its memory; nobody has a reference to the region any more
 *
 * Doesn't wait for faults, which may take as long as the process's memory makes them:
 * they have references of their own.
 */
void rxe_odp_end(struct rxe_odp *odp)
{
	struct rxe_odp_chunk *chunk;
	unsigned long index;

	mutex_lock(&odp->lock);
	odp->ended = true;
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
