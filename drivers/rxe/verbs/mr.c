// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions (sections 10.6, 11.2.7).
 *
 * A region is found by the key index in its L_Key or R_Key (they are the same
 * number), checked, and referenced for as long as one run of a task copies.
 * Freeing it waits for the last of them, so that the pages stay pinned while
 * anybody touches them.
 *
 * Context: register and free in process context; lookups and copies anywhere
 * but NMI.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <compat/umem.h>
#include <rxe/verbs.h>

#define RXE_KEY_VARIANT_BITS	8
#define RXE_KEY_INDEX_MAX	((1U << 24) - 1)

#define RXE_MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED | \
			 IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

static void mr_idle(struct kref *kref)
{
	complete(&container_of(kref, struct rxe_mr, ref)->idle);
}

/**
 * rxe_mr_put - give back a reference
 * @mr: from rxe_mr_get()
 */
void rxe_mr_put(struct rxe_mr *mr)
{
	kref_put(&mr->ref, mr_idle);
}

/* Are @len bytes at @va in the region? No sum may wrap around. */
static bool mr_covers(const struct rxe_mr *mr, u64 va, u64 len)
{
	u64 off = va - mr->iova;

	return va >= mr->iova && off <= mr->length && len <= mr->length - off;
}

static bool mr_allows(const struct rxe_mr *mr, struct ib_pd *pd, u32 key,
		      int access)
{
	return mr->ibmr.lkey == key && READ_ONCE(mr->ibmr.pd) == pd &&
	       (READ_ONCE(mr->access) & access) == access;
}

/**
 * rxe_mr_check - may a region at hand be used?
 * @mr: the region
 * @pd: protection domain of the QP
 * @key: L_Key or R_Key
 * @access: enum ib_access_flags that are needed
 * @va: first byte
 * @len: bytes
 *
 * Return: true if rxe_mr_get() would find this one.
 */
bool rxe_mr_check(const struct rxe_mr *mr, struct ib_pd *pd, u32 key,
		  int access, u64 va, u64 len)
{
	return mr_allows(mr, pd, key, access) && mr_covers(mr, va, len);
}

/**
 * rxe_mr_get - find a region, with every check [C10-56] [C10-57] [o10-37]
 * @rxe: device
 * @pd: protection domain of the QP
 * @key: L_Key or R_Key
 * @access: enum ib_access_flags that are needed, 0 to read locally
 * @va: first byte
 * @len: bytes, at least 1: zero bytes need no key [C9-88]
 *
 * Context: bottom halves off, which keeps the region that is found in RCU.
 * Return: the region with a reference, to be held for one run of a task and no
 * longer; NULL if any check fails.
 */
struct rxe_mr *rxe_mr_get(struct rxe_dev *rxe, struct ib_pd *pd, u32 key,
			  int access, u64 va, u64 len)
{
	struct rxe_mr *mr;

	mr = xa_load(&rxe->mrs, key >> RXE_KEY_VARIANT_BITS);
	if (mr && (!rxe_mr_check(mr, pd, key, access, va, len) ||
		   !kref_get_unless_zero(&mr->ref)))
		mr = NULL;
	return mr;
}

void *rxe_mr_run(const struct rxe_mr *mr, u64 va, u32 *len)
{
	void **page;
	u32 off, run;
	u64 pos;

	if (mr->is_dma)
		return (void *)(uintptr_t)va;
	pos = va - mr->iova + mr->offset;
	page = mr->pages + (pos >> PAGE_SHIFT);
	off = offset_in_page(pos);
	for (run = PAGE_SIZE - off; run < *len; run += PAGE_SIZE, page++)
		if (page[1] != page[0] + PAGE_SIZE)
			break;
	*len = min(*len, run);
	return mr->pages[pos >> PAGE_SHIFT] + off;
}

static struct rxe_mr *mr_alloc(struct rxe_dev *rxe, struct ib_pd *ibpd,
			       int access)
{
	struct rxe_mr *mr;

	if (!rxe_limit_get(&rxe->num_mr, RXE_MAX_MR))
		return ERR_PTR(-ENOMEM);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		atomic_dec(&rxe->num_mr);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&mr->ref);
	init_completion(&mr->idle);
	mr->access = access;
	mr->ibmr.device = &rxe->ibdev;
	mr->ibmr.pd = ibpd;
	return mr;
}

/* Only for a region that nobody can find any more */
static void mr_free(struct rxe_dev *rxe, struct rxe_mr *mr)
{
	kvfree(mr->pages);
	ib_umem_release(mr->umem);
	kfree_rcu(mr, rcu);
	atomic_dec(&rxe->num_mr);
}

/*
 * Give the region its key and let lookups find it. Indices go round, and the
 * variant is random, so that a stale key finds nothing.
 */
static int mr_publish(struct rxe_dev *rxe, struct rxe_mr *mr)
{
	u32 index;
	int err;

	/* Reserve the index: the key must be there when the region is found */
	err = xa_alloc_cyclic(&rxe->mrs, &index, NULL,
			      XA_LIMIT(1, RXE_KEY_INDEX_MAX), &rxe->next_mr,
			      GFP_KERNEL);
	if (err < 0)
		return err;
	mr->ibmr.lkey = index << RXE_KEY_VARIANT_BITS | get_random_u8();
	mr->ibmr.rkey = mr->ibmr.lkey;
	err = xa_err(xa_store(&rxe->mrs, index, mr, GFP_KERNEL));
	if (err)
		xa_erase(&rxe->mrs, index);
	return err;
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
	int err;

	if (access & ~RXE_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_alloc(rxe, ibpd, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->is_dma = true;
	mr->length = U64_MAX;
	err = mr_publish(rxe, mr);
	if (err) {
		mr_free(rxe, mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/* List the pages that @umem pinned; they come in long contiguous runs */
static int mr_list_pages(struct rxe_mr *mr, struct ib_umem *umem)
{
	struct sg_table *sgt = &umem->sgt_append.sgt;
	struct scatterlist *sg;
	size_t n = 0;
	u32 i, k;

	mr->pages = kvmalloc_array(ib_umem_num_pages(umem), sizeof(*mr->pages),
				   RXE_GFP_USER);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_sg(sgt, sg, i) {
		void *p = page_address(sg_page(sg));

		for (k = 0; k < sg->length >> PAGE_SHIFT; k++, p += PAGE_SIZE)
			mr->pages[n++] = p;
		cond_resched();
	}
	return 0;
}

static int mr_pin(struct rxe_mr *mr, u64 start, u64 length, u64 iova)
{
	mr->iova = mr->access & IB_ZERO_BASED ? 0 : iova;
	mr->length = length;
	mr->offset = offset_in_page(start);
	if (!length)
		return 0;	/* no memory, wherever it is */
	mr->umem = rxe_umem_get(mr->ibmr.device, start, length, mr->access);
	if (IS_ERR(mr->umem)) {
		int err = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return err;
	}
	return mr_list_pages(mr, mr->umem);
}

/**
 * rxe_reg_user_mr - register memory of a process
 * @ibpd: protection domain
 * @start: address in the process
 * @length: bytes
 * @iova: the address by which work requests and peers name the first byte
 * @access: enum ib_access_flags
 * @udata: of the process; the ABI has nothing in it
 *
 * A region of no bytes may be anywhere: nothing is pinned, nothing is in it.
 *
 * Return: the region; ERR_PTR: -EINVAL for a range that wraps around, -EOPNOTSUPP
 * for access flags that the device lacks, -ENOMEM (also when RLIMIT_MEMLOCK says
 * so), -EFAULT.
 */
struct ib_mr *rxe_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 iova, int access, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibpd->device);
	struct rxe_mr *mr;
	int err;

	if (access & ~RXE_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (iova + length < iova)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(rxe, ibpd, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = mr_pin(mr, start, length, iova);
	if (!err)
		err = mr_publish(rxe, mr);
	if (err) {
		mr_free(rxe, mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/* Can the region stay, its memory pinned as it is? One change at a time */
static bool mr_can_stay(const struct rxe_mr *mr, int flags, int access)
{
	if (flags & IB_MR_REREG_TRANS)
		return false;
	if ((flags & IB_MR_REREG_PD) && (flags & IB_MR_REREG_ACCESS))
		return false;
	return !mr->umem || mr->umem->writable || !ib_access_writable(access);
}

/*
 * Nobody uses the region by its old rights once this has returned: a task holds
 * it for one run, with bottom halves off, which RCU waits for.
 */
static void mr_change(struct rxe_mr *mr, int access, struct ib_pd *ibpd)
{
	WRITE_ONCE(mr->access, access);
	WRITE_ONCE(mr->ibmr.pd, ibpd);
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
 * Other memory, write access to memory that was pinned for reading, or another PD
 * and other rights at once make a new region with a new key; the RDMA core frees
 * the old one. Otherwise the region stays.
 *
 * Return: NULL if the region was changed, when nobody uses it by its old rights
 * any more; the new region; ERR_PTR as of rxe_reg_user_mr(), in which case the old
 * one is as it was.
 */
struct ib_mr *rxe_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 iova, int access,
				struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct rxe_mr *mr = to_rxe_mr(ibmr);
	int zero_based = mr->access & IB_ZERO_BASED;

	if (!(flags & IB_MR_REREG_PD))
		ibpd = mr->ibmr.pd;
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (access & ~RXE_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_TRANS)) {
		access = (access & ~IB_ZERO_BASED) | zero_based;
		start = mr->umem ? mr->umem->address : 0;
		length = mr->length;
		iova = mr->iova;
	}
	if (mr_can_stay(mr, flags, access)) {
		mr_change(mr, access, ibpd);
		return NULL;
	}
	return rxe_reg_user_mr(ibpd, start, length, iova, access, udata);
}

/**
 * rxe_dereg_mr - free a region
 * @ibmr: the region
 * @udata: of the process; NULL for a kernel consumer
 *
 * Return: 0, when nobody touches the memory any more.
 */
int rxe_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibmr->device);
	struct rxe_mr *mr = to_rxe_mr(ibmr);

	xa_erase(&rxe->mrs, ibmr->lkey >> RXE_KEY_VARIANT_BITS);
	rxe_mr_put(mr);
	wait_for_completion(&mr->idle);
	mr_free(rxe, mr);
	return 0;
}
