// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: allocation, and mapping into user space.
 *
 * A process's ring is charged to its memory cgroup, page by page. When memory runs
 * out, making a ring fails, and the OOM killer isn't called. The ring is also charged to
 * the user's budget (user/user.c), until its memory is freed.
 *
 * Context: process, may sleep. No locks here: a ring belongs to one QP or CQ,
 * whose creation and destruction the RDMA core serialises.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rxe/memory.h>
#include <rxe/ring.h>
#include <rxe/user.h>

/**
 * struct rxe_ring_mmap - a ring that user space can map
 * @entry: the RDMA core's part; counts references: the ring's, and those of mmap() under way
 * @ref: one for @entry, and one for each VMA
 * @user: who is charged; holds a reference; NULL: nobody
 * @charged: bytes
 * @buf: the memory, freed and uncharged with the last reference
 * @size: bytes that user space maps
 *
 * Outlives the ring while a process has it mapped. @entry mustn't be used then, since it
 * refers to the process's context, which may be gone.
 */
struct rxe_ring_mmap {
	struct rdma_user_mmap_entry	entry;
	struct kref			ref;
	struct rxe_user			*user;
	u64				charged;
	void				*buf;
	u32				size;
};

static void free_mmap(struct kref *ref)
{
	struct rxe_ring_mmap *m = container_of(ref, struct rxe_ring_mmap, ref);

	vfree(m->buf);
	rxe_user_uncharge(m->user, m->charged);
	rxe_user_put(m->user);
	kfree(m);
}

static int charge_mmap(struct rxe_ring_mmap *m, struct ib_device *ibdev, size_t bytes)
{
	int err = rxe_user_charge(m->user, ibdev, bytes);

	if (!err)
		m->charged += bytes;
	return err;
}

/* Bytes of a ring in whole pages, or 0 if an mminfo has no room for that number */
static size_t get_buf_size(u32 elems, u32 stride)
{
	size_t size = size_add(sizeof(struct rxe_queue_buf),
			       size_mul(elems, stride));

	return size > U32_MAX - PAGE_SIZE ? 0 : PAGE_ALIGN(size);
}

static void free_list(struct page **pages, u32 num)
{
	while (num)
		__free_page(pages[--num]);
	kvfree(pages);
}

/* @num pages, all or none, in a list that the caller frees */
static struct page **list_pages(u32 num)
{
	struct page **pages = kvmalloc_array(num, sizeof(*pages), RXE_GFP_USER);
	u32 n;

	if (!pages)
		return NULL;
	for (n = 0; n < num; n++) {
		pages[n] = alloc_page(RXE_GFP_USER | __GFP_ZERO);
		if (!pages[n]) {
			free_list(pages, n);
			return NULL;
		}
		cond_resched();
	}
	return pages;
}

#ifdef CONFIG_MEMCG
/* Pages that the caller's cgroup and those above it may take before they reclaim any */
static unsigned long get_margin(void)
{
	struct mem_cgroup *own = get_mem_cgroup_from_mm(current->mm), *memcg;
	unsigned long margin = ULONG_MAX, max, used;

	for (memcg = own; memcg; memcg = parent_mem_cgroup(memcg)) {
		max = READ_ONCE(memcg->memory.max);
		used = page_counter_read(&memcg->memory);
		margin = min(margin, max - min(max, used));
	}
	mem_cgroup_put(own);
	return margin;
}
#else
static unsigned long get_margin(void)
{
	return ULONG_MAX;
}
#endif

/*
 * Is spare memory left in the caller's cgroup besides a new ring? If the ring filled the
 * cgroup, the next page fault would kill the process. Near the limit, the cgroup may still
 * reclaim pages, as the allocation of spare ones shows.
 */
static bool has_spare(void)
{
	struct page **pages;

	if (get_margin() >= RXE_RING_SPARE_PAGES)
		return true;
	pages = list_pages(RXE_RING_SPARE_PAGES);
	if (!pages)
		return false;
	free_list(pages, RXE_RING_SPARE_PAGES);
	return true;
}

/* As vmalloc_user(), but charged, and without the OOM killer */
static void *alloc_user(size_t size)
{
	u32 num = size >> PAGE_SHIFT;
	struct page **pages = list_pages(num);
	void *buf = NULL;

	if (!pages)
		return NULL;
	if (has_spare())
		buf = vmap(pages, num, VM_MAP | VM_USERMAP | VM_MAP_PUT_PAGES,
			   PAGE_KERNEL);
	if (!buf)
		free_list(pages, num);
	return buf;
}

static struct rxe_ring_mmap *alloc_mmap(size_t size)
{
	struct rxe_ring_mmap *m = kzalloc(sizeof(*m), RXE_GFP_USER);
	struct rxe_user *user;

	if (!m)
		return ERR_PTR(-ENOMEM);
	user = rxe_user_get_payer();
	if (IS_ERR(user)) {
		kfree(m);
		return ERR_CAST(user);
	}
	kref_init(&m->ref);
	m->user = user;
	m->size = size;
	return m;
}

static int fill_mmap(struct rxe_ring_mmap *m, struct ib_ucontext *uctx)
{
	int err = charge_mmap(m, uctx->device, m->size);

	if (err)
		return err;
	if (rxe_has_memory_left(m->size))
		m->buf = alloc_user(m->size);
	if (!m->buf)
		return -ENOMEM;
	return rdma_user_mmap_entry_insert(uctx, &m->entry, m->size);
}

static struct rxe_ring_mmap *create_mmap(struct ib_ucontext *uctx, size_t size)
{
	struct rxe_ring_mmap *m = alloc_mmap(size);
	int err;

	if (IS_ERR(m))
		return m;
	err = fill_mmap(m, uctx);
	if (err) {
		kref_put(&m->ref, free_mmap);
		return ERR_PTR(err);
	}
	return m;
}

static int ring_alloc(struct rxe_ring *ring, struct ib_ucontext *uctx,
		      size_t size)
{
	struct rxe_ring_mmap *m;

	if (uctx) {
		m = create_mmap(uctx, size);
		if (IS_ERR(m))
			return PTR_ERR(m);
		ring->mmap = m;
		ring->buf = m->buf;
	} else {
		ring->buf = vzalloc(size);
		if (!ring->buf)
			return -ENOMEM;
	}
	ring->buf->log2_elem_size = ring->shift;
	ring->buf->index_mask = ring->mask;
	return 0;
}

/**
 * rxe_ring_create - make a ring
 * @uctx: of the process that will map the ring; NULL for a kernel consumer
 * @num: elements that must fit, at least 1
 * @elem_size: bytes of an element; its stride is the next power of two
 *
 * Return: the ring, zeroed and empty; ERR_PTR: -EINVAL if it would be too
 * large, -ENOMEM.
 */
struct rxe_ring *rxe_ring_create(struct ib_ucontext *uctx, u32 num,
				 u32 elem_size)
{
	struct rxe_ring *ring;
	size_t size;
	int err;

	if (!num || num >= BIT(30) || !elem_size || elem_size > SZ_64K)
		return ERR_PTR(-EINVAL);
	size = get_buf_size(roundup_pow_of_two(num + 1),
			    roundup_pow_of_two(elem_size));
	if (!size)
		return ERR_PTR(-EINVAL);

	ring = kzalloc(sizeof(*ring), RXE_GFP_USER);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->mask = roundup_pow_of_two(num + 1) - 1;
	ring->shift = order_base_2(elem_size);
	err = ring_alloc(ring, uctx, size);
	if (err) {
		kfree(ring);
		return ERR_PTR(err);
	}
	return ring;
}

/**
 * rxe_ring_charge - charge memory that belongs to a ring to the ring's user
 * @ring: the ring
 * @bytes: size of the memory, which is freed before the ring
 *
 * rxe_ring_destroy() has the charge undone with that of the ring. A ring of a kernel
 * consumer isn't charged.
 *
 * Return: 0; -ENOMEM if the user's budget is exceeded.
 */
int rxe_ring_charge(struct rxe_ring *ring, size_t bytes)
{
	struct rxe_ring_mmap *m = ring->mmap;

	return m ? charge_mmap(m, m->entry.ucontext->device, bytes) : 0;
}

/**
 * rxe_ring_destroy - free a ring
 * @ring: the ring; NULL and ERR_PTR are ignored
 *
 * The kernel must no longer use the ring. A process that still has it mapped keeps
 * the memory, and its user the charge, until it unmaps.
 */
void rxe_ring_destroy(struct rxe_ring *ring)
{
	if (IS_ERR_OR_NULL(ring))
		return;
	if (ring->mmap)
		rdma_user_mmap_entry_remove(&ring->mmap->entry);
	else
		vfree(ring->buf);
	kfree(ring);
}

/**
 * rxe_ring_mminfo - tell user space where to map a ring
 * @ring: a ring that was created for a process
 * @mi: answer
 */
void rxe_ring_mminfo(const struct rxe_ring *ring, struct mminfo *mi)
{
	mi->offset = rdma_user_mmap_get_offset(&ring->mmap->entry);
	mi->size = ring->mmap->size;
	mi->pad = 0;
}

/* A VMA was copied (fork), or split */
static void open_vma(struct vm_area_struct *vma)
{
	struct rxe_ring_mmap *m = vma->vm_private_data;

	kref_get(&m->ref);
	__module_get(THIS_MODULE);
}

/* The module stays until this has returned: rxe_tx_wait() */
static void close_vma(struct vm_area_struct *vma)
{
	struct rxe_ring_mmap *m = vma->vm_private_data;

	kref_put(&m->ref, free_mmap);
	module_put(THIS_MODULE);
}

static const struct vm_operations_struct ring_vm_ops = {
	.open	= open_vma,
	.close	= close_vma,
};

/**
 * rxe_mmap - map a ring
 * @uctx: of the process
 * @vma: offset and size as in the ring's mminfo
 *
 * The VMA may outlive the device. So it holds a reference to the module.
 *
 * Return: 0; -EINVAL if there is no such ring or it has another size.
 */
int rxe_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(uctx, vma);
	struct rxe_ring_mmap *m;
	int err;

	if (!entry)
		return -EINVAL;
	m = container_of(entry, struct rxe_ring_mmap, entry);
	err = remap_vmalloc_range(vma, m->buf, 0);
	if (!err) {
		vma->vm_private_data = m;
		vma->vm_ops = &ring_vm_ops;
		open_vma(vma);
	}
	rdma_user_mmap_entry_put(entry);
	return err;
}

/**
 * rxe_mmap_free - free a mapping's entry, which has no reference left
 * @entry: embedded in struct rxe_ring_mmap
 */
void rxe_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct rxe_ring_mmap *m = container_of(entry, struct rxe_ring_mmap,
					       entry);

	kref_put(&m->ref, free_mmap);
}
