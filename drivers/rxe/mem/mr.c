// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions as verbs objects (sections 10.6, 11.2.7). A region is all of the kernel's
 * memory, memory of a process (pinned or paged on demand), or a dma-buf. Regions for fast
 * registration are in fast.c.
 *
 * Context: process.
 */
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <compat/umem.h>
#include <compat/verbs.h>
#include <mem/dmabuf.h>
#include <mem/key.h>
#include <mem/mr.h>
#include <mem/odp.h>
#include <mem/pmem.h>
#include <rxe/memory.h>

/* Access flags of a region, including those that may be ignored */
#define RXE_MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED | \
			 IB_ACCESS_FLUSH_GLOBAL | \
			 IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

/* Further flags for memory of a process: it may be persistent if pinned, or on demand */
#define RXE_USER_MR_ACCESS	(RXE_ODP_ACCESS | IB_ACCESS_FLUSH_PERSISTENT)

/**
 * rxe_mr_access_ok - does the device have these rights?
 * @access: enum ib_access_flags
 *
 * Return: true if it has all of them, or may ignore them.
 */
bool rxe_mr_access_ok(int access)
{
	return !(access & ~RXE_MR_ACCESS);
}

/* Only pinned memory can be persistent */
static bool is_user_access_ok(int access)
{
	if ((access & RXE_ODP_ACCESS) && (access & IB_ACCESS_FLUSH_PERSISTENT))
		return false;
	return rxe_mr_access_ok(access & ~RXE_USER_MR_ACCESS);
}

/**
 * rxe_mr_alloc - make a region without memory
 * @rxe: device
 * @ibpd: protection domain
 * @access: enum ib_access_flags
 *
 * Return: the region, or ERR_PTR(-ENOMEM).
 */
struct rxe_mr *rxe_mr_alloc(struct rxe_dev *rxe, struct ib_pd *ibpd,
			    int access)
{
	struct rxe_mr *mr;

	if (!rxe_limit_get(&rxe->num_mr, RXE_MAX_MR, ibpd->uobject))
		return ERR_PTR(-ENOMEM);
	mr = kzalloc(sizeof(*mr), RXE_GFP_USER);
	if (!mr) {
		atomic_dec(&rxe->num_mr);
		return ERR_PTR(-ENOMEM);
	}
	rxe_region_init(&mr->region);
	mr->key.region = &mr->region;
	mr->key.access = access;
	mr->key.pd = ibpd;
	mr->ibmr.device = &rxe->ibdev;
	mr->ibmr.pd = ibpd;
	return mr;
}

/**
 * rxe_mr_free - free a region that lookups can't find
 * @rxe: device
 * @mr: the region
 */
void rxe_mr_free(struct rxe_dev *rxe, struct rxe_mr *mr)
{
	kvfree(mr->region.pages);
	kvfree(mr->next);
	ib_umem_release(mr->umem);
	if (mr->region.odp)
		rxe_odp_end(mr->region.odp);	/* has the dma-buf */
	else if (mr->dmabuf)
		rxe_dmabuf_put(mr->dmabuf);
	kfree_rcu(mr, rcu);
	atomic_dec(&rxe->num_mr);
}

/**
 * rxe_mr_publish - give a region its key
 * @rxe: device
 * @mr: the region
 *
 * Return: as rxe_key_publish().
 */
int rxe_mr_publish(struct rxe_dev *rxe, struct rxe_mr *mr)
{
	int err = rxe_key_publish(rxe, &mr->key, mr->key.kind == RXE_KEY_FIXED);

	mr->ibmr.lkey = mr->key.name;
	mr->ibmr.rkey = mr->key.name;
	return err;
}

/* Give a region its key, unless @err says that it has no memory */
static struct ib_mr *mr_publish_or_free(struct rxe_mr *mr, int err)
{
	struct rxe_dev *rxe = to_rxe_dev(mr->ibmr.device);

	if (!err)
		err = rxe_mr_publish(rxe, mr);
	if (!err)
		return &mr->ibmr;
	rxe_mr_free(rxe, mr);
	return ERR_PTR(err);
}

/**
 * rxe_get_dma_mr - a region that is all of the kernel's memory
 * @ibpd: protection domain
 * @access: enum ib_access_flags
 *
 * "DMA addresses" of a kernel consumer are kernel addresses.
 *
 * Return: the region; ERR_PTR: -EOPNOTSUPP for access flags that RoCE or this
 * driver don't have, -ENOMEM.
 */
struct ib_mr *rxe_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct rxe_dev *rxe = to_rxe_dev(ibpd->device);
	struct rxe_mr *mr;

	if (!rxe_mr_access_ok(access))
		return ERR_PTR(-EOPNOTSUPP);
	mr = rxe_mr_alloc(rxe, ibpd, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->key.length = U64_MAX;
	return mr_publish_or_free(mr, 0);
}

/* kvmalloc_array() refuses more than INT_MAX bytes; the list of a region of 1 TiB has more */
static void **alloc_page_list(size_t num)
{
	if (num > INT_MAX / sizeof(void *))
		return __vmalloc_array(num, sizeof(void *), RXE_GFP_USER);
	return kvmalloc_array(num, sizeof(void *), RXE_GFP_USER);
}

/* List the pages that @umem pinned; they come in long contiguous runs */
static int mr_list_pages(struct rxe_mr *mr, struct ib_umem *umem)
{
	struct sg_table *sgt = &umem->sgt_append.sgt;
	struct scatterlist *sg;
	void **pages;
	size_t n = 0;
	u32 i, k;

	pages = alloc_page_list(ib_umem_num_pages(umem));
	if (!pages)
		return -ENOMEM;
	mr->region.pages = pages;
	for_each_sgtable_sg(sgt, sg, i) {
		void *p = page_address(sg_page(sg));

		for (k = 0; k < sg->length >> PAGE_SHIFT; k++, p += PAGE_SIZE)
			pages[n++] = p;
		cond_resched();
	}
	return 0;
}

/*
 * On-demand paging: a position in the region is an address in the process. A pointer may have
 * a tag (arm64, x86), which page tables and memory management don't know.
 */
static int mr_make_paged(struct rxe_mr *mr, u64 start, u64 length)
{
	struct rxe_odp *odp;

	start = untagged_addr(start);
	odp = rxe_odp_create(mr, start, length);
	if (IS_ERR(odp))
		return PTR_ERR(odp);
	mr->region.odp = odp;
	mr->key.paged = true;
	mr->key.start = start;
	return 0;
}

static int mr_pin_memory(struct rxe_mr *mr, u64 start, u64 length)
{
	mr->key.start = offset_in_page(start);
	mr->umem = rxe_umem_get(mr->ibmr.device, start, length, mr->key.access);
	if (IS_ERR(mr->umem)) {
		int err = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return err;
	}
	if ((mr->key.access & IB_ACCESS_FLUSH_PERSISTENT) && !rxe_pmem_holds(mr->umem))
		return -EINVAL;
	return mr_list_pages(mr, mr->umem);
}

/* The RDMA core shows the values of struct ib_mr, and doesn't always set them */
static void set_range(struct rxe_mr *mr, u64 iova, u64 length)
{
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr->key.iova = rxe_get_first_va(mr->key.access, iova);
	mr->key.length = length;
}

static int mr_get_memory(struct rxe_mr *mr, u64 start, u64 length, u64 iova)
{
	set_range(mr, iova, length);
	if (!length)
		return 0;	/* no memory, so @start may be anything */
	if (mr->key.access & RXE_ODP_ACCESS)
		return mr_make_paged(mr, start, length);
	return mr_pin_memory(mr, start, length);
}

/**
 * rxe_reg_user_mr - register memory of a process [11.2.7]
 * @ibpd: protection domain
 * @start: address in the process
 * @length: bytes
 * @iova: the address by which work requests and peers name the first byte
 * @access: enum ib_access_flags
 * @udata: of the process; the ABI has nothing in it
 *
 * A region of 0 bytes may be at any address; no memory is pinned for it. With
 * IB_ACCESS_ON_DEMAND, no memory is pinned, and @length U64_MAX with @start 0 means all memory
 * of the process.
 *
 * Return: the region; ERR_PTR: -EINVAL for a range that wraps around, or if memory with
 * IB_ACCESS_FLUSH_PERSISTENT isn't persistent; -EOPNOTSUPP for access flags that the
 * device lacks; -ENOMEM (also beyond RLIMIT_MEMLOCK); -EFAULT.
 */
struct ib_mr *rxe_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 iova, int access, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibpd->device);
	struct rxe_mr *mr;

	if (!is_user_access_ok(access))
		return ERR_PTR(-EOPNOTSUPP);
	if (iova + length < iova)
		return ERR_PTR(-EINVAL);
	mr = rxe_mr_alloc(rxe, ibpd, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_publish_or_free(mr, mr_get_memory(mr, start, length, iova));
}

/*
 * A dma-buf that may move is paged, too: a position in the region is a position in the buffer.
 * Its pages are made present at once, so that the caller gets an error if that fails.
 */
static int mr_make_movable(struct rxe_mr *mr, u64 offset, u64 length)
{
	struct rxe_odp *odp = rxe_odp_create_dmabuf(mr, offset, length);

	if (IS_ERR(odp))
		return PTR_ERR(odp);
	mr->region.odp = odp;
	mr->key.paged = true;
	mr->key.start = offset;
	return rxe_dmabuf_start(mr->dmabuf, odp);
}

static int mr_attach_dmabuf(struct rxe_mr *mr, u64 offset, u64 length, u64 iova, int fd)
{
	struct rxe_dmabuf *dmabuf = rxe_dmabuf_get(&mr->ibmr.device->dev, fd);
	int err;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	mr->dmabuf = dmabuf;
	mr->region.mapped = true;
	err = rxe_dmabuf_check(dmabuf, offset, length, mr->key.access) ?:
	      rxe_dmabuf_charge(dmabuf, mr->ibmr.device, length);
	if (err)
		return err;
	set_range(mr, iova, length);
	if (rxe_dmabuf_may_move(dmabuf))
		return mr_make_movable(mr, offset, length);
	mr->key.start = offset_in_page(offset);
	mr->region.pages = rxe_dmabuf_pages(dmabuf, offset, length);
	return mr->region.pages ? 0 : -ENOMEM;
}

/**
 * rxe_reg_dmabuf_mr - register memory of a dma-buf
 * @ibpd: protection domain
 * @offset: first byte in the buffer
 * @length: bytes, at least 1
 * @iova: the address by which work requests and peers name the first byte
 * @fd: the buffer's file descriptor
 * @access: enum ib_access_flags
 *
 * Return: the region; ERR_PTR: -EINVAL for a range that wraps around or isn't in the
 * buffer; -EACCES to write a buffer that is read-only; -EOPNOTSUPP for access flags that
 * the device lacks; -ENOMEM; errors as rxe_dmabuf_get().
 */
struct ib_mr *rxe_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova,
				int fd, int access)
{
	struct rxe_dev *rxe = to_rxe_dev(ibpd->device);
	struct rxe_mr *mr;

	if (!rxe_mr_access_ok(access))
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || iova + length < iova)
		return ERR_PTR(-EINVAL);
	mr = rxe_mr_alloc(rxe, ibpd, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mr_publish_or_free(mr, mr_attach_dmabuf(mr, offset, length, iova, fd));
}

/* Can the region keep its memory and its key? Never if both PD and access change */
static bool mr_can_stay(const struct rxe_mr *mr, int flags, int access)
{
	if (flags & IB_MR_REREG_TRANS)
		return false;
	if ((flags & IB_MR_REREG_PD) && (flags & IB_MR_REREG_ACCESS))
		return false;
	if ((access ^ mr->key.access) & RXE_USER_MR_ACCESS)
		return false;
	return !mr->umem || mr->umem->writable || !ib_access_writable(access);
}

/*
 * Refuse to bind windows to the region from now on. Return: false if a window is bound: it
 * would keep the old memory and rights [11.2.7.5]. If another region has replaced this one,
 * binding is refused already.
 */
static bool mr_stop_binding(struct rxe_mr *mr)
{
	return atomic_cmpxchg(&mr->windows, 0, -1) <= 0;
}

/*
 * A process that inherited the verbs context (fork()) may change the region, but can't have the
 * memory pinned anew: the addresses would mean its own memory.
 */
static bool is_callers_memory(const struct rxe_mr *mr)
{
	if (mr->umem)
		return mr->umem->owning_mm == current->mm;
	return !mr->region.odp || rxe_odp_is_callers(mr->region.odp);
}

/*
 * After the return, the old rights aren't used any more. A task holds a region only for one
 * run, with bottom halves off, and synchronize_rcu() waits for that.
 */
static void mr_change_rights(struct rxe_mr *mr, int access, struct ib_pd *ibpd)
{
	WRITE_ONCE(mr->key.access, access);
	WRITE_ONCE(mr->key.pd, ibpd);
	synchronize_rcu();
}

/**
 * rxe_rereg_user_mr - change a region [11.2.7.5]
 * @ibmr: the region
 * @flags: enum ib_mr_rereg_flags: which of the following are to change
 * @start: address in the process
 * @length: bytes
 * @iova: address of the first byte
 * @access: enum ib_access_flags
 * @ibpd: protection domain
 * @udata: of the process; the ABI has nothing in it
 *
 * Normally the region is changed in place. Exception: a new region with a new key is made for
 *
 *   - other memory;
 *   - write access to memory that was pinned for reading;
 *   - a change between pinned and on-demand memory, or between persistent and other access;
 *   - a change of both PD and access.
 *
 * The RDMA core then frees the old region.
 *
 * Return: NULL if changed in place, once the old rights aren't used any more; the new
 * region; or an ERR_PTR, with the old region unchanged: as rxe_reg_user_mr(), -EBUSY if a
 * window is bound to the region, -EOPNOTSUPP to keep the memory of a dma-buf, -EINVAL for a new
 * region on the old memory if that belongs to another process.
 */
struct ib_mr *rxe_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 iova, int access,
				struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rxe_mr *mr = to_rxe_mr(ibmr);
	int zero_based = mr->key.access & IB_ZERO_BASED;
	struct ib_mr *new = NULL;
	bool stay;

	if (!(flags & IB_MR_REREG_PD))
		ibpd = mr->key.pd;
	if (mr->dmabuf && !(flags & IB_MR_REREG_TRANS))
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->key.access;
	if (!is_user_access_ok(access))
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_TRANS)) {
		access = (access & ~IB_ZERO_BASED) | zero_based;
		start = mr->umem ? mr->umem->address : mr->key.start;
		length = mr->key.length;
		iova = mr->key.iova;
	}
	stay = mr_can_stay(mr, flags, access);
	if (!stay && !(flags & IB_MR_REREG_TRANS) && !is_callers_memory(mr))
		return ERR_PTR(-EINVAL);
	if (!mr_stop_binding(mr))
		return ERR_PTR(-EBUSY);
	if (stay)
		mr_change_rights(mr, access, ibpd);
	else
		new = rxe_reg_user_mr(ibpd, start, length, iova, access, udata);
	if (IS_ERR_OR_NULL(new))
		atomic_set(&mr->windows, 0);	/* undo mr_stop_binding() */
	return new;
}

/**
 * rxe_dereg_mr - free a region
 * @ibmr: the region
 * @udata: of the process; NULL for a kernel consumer
 *
 * Return: 0, once the memory isn't used any more; -EBUSY if a window is bound to it.
 */
int rxe_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibmr->device);
	struct rxe_mr *mr = to_rxe_mr(ibmr);

	if (!mr_stop_binding(mr))
		return -EBUSY;
	rxe_key_retire(rxe, &mr->key);
	if (mr->region.odp)
		rxe_odp_close(mr->region.odp);
	rxe_region_end(&mr->region);
	rxe_mr_free(rxe, mr);
	return 0;
}
