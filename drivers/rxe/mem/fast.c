// SPDX-License-Identifier: GPL-2.0
/*
 * Fast registration (section 10.6.4): regions of kernel consumers that get their memory
 * by work requests.
 *
 * A region has two lists of pages: the pages of its memory, and those of the next
 * registration. ib_map_mr_sg() fills the latter, also while the region is valid. The next Fast
 * Register work request swaps the two lists. Further Fast Register work requests register the
 * same pages again. invalidate.c invalidates the key.
 *
 * Context: alloc: process; map: any; register: bottom halves off.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <mem/key.h>
#include <mem/mr.h>

/**
 * rxe_alloc_mr - a region for fast registration
 * @ibpd: protection domain
 * @type: IB_MR_TYPE_MEM_REG
 * @max_num_sg: pages that it may have
 *
 * Return: the region, invalid; ERR_PTR: -EOPNOTSUPP for another type, -EINVAL beyond
 * max_fast_reg_page_list_len, -ENOMEM.
 */
struct ib_mr *rxe_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	struct rxe_dev *rxe = to_rxe_dev(ibpd->device);
	struct rxe_mr *mr;
	int err = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > RXE_MAX_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	mr = rxe_mr_alloc(rxe, ibpd, 0);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->key.kind = RXE_KEY_FAST;
	mr->max_pages = max_num_sg;
	mr->region.pages = kvcalloc(max_num_sg, sizeof(*mr->next), GFP_KERNEL);
	mr->next = kvcalloc(max_num_sg, sizeof(*mr->next), GFP_KERNEL);
	if (mr->region.pages && mr->next)
		err = rxe_mr_publish(rxe, mr);
	if (err) {
		rxe_mr_free(rxe, mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/* "DMA addresses" are kernel addresses */
static int add_page(struct ib_mr *ibmr, u64 addr)
{
	struct rxe_mr *mr = to_rxe_mr(ibmr);

	if (mr->num_next == mr->max_pages)
		return -ENOMEM;
	mr->next[mr->num_next++] = (void *)(uintptr_t)addr;
	return 0;
}

/**
 * rxe_map_mr_sg - list the pages of the next registration
 * @ibmr: the region, with page_size set; address and length are filled in
 * @sg: the memory
 * @num: entries in @sg
 * @offset: in and out: first byte in @sg; NULL: 0
 *
 * Return: entries of @sg that fit, or -EINVAL.
 */
int rxe_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int num,
		  unsigned int *offset)
{
	struct rxe_mr *mr = to_rxe_mr(ibmr);

	if (mr->key.kind != RXE_KEY_FAST)
		return -EINVAL;
	mr->num_next = 0;	/* on errors, the next registration has no bytes */
	mr->mapped = true;
	if (ibmr->page_size < SZ_4K || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	return ib_sg_to_pages(ibmr, sg, num, offset, add_page);
}

static void take_list(struct rxe_mr *mr)
{
	swap(mr->region.pages, mr->next);
	mr->region.shift = ilog2(mr->ibmr.page_size ?: PAGE_SIZE);
	mr->num_pages = mr->num_next;
	mr->mapped = false;
}

/*
 * The listed pages limit the length: if not all pages fit, ib_sg_to_pages() leaves a length
 * that may be negative. The consumer may have changed the address, but not within a page.
 */
static void register_list(struct rxe_mr *mr, u32 value, int access)
{
	struct rxe_key *key = &mr->key;
	u64 most;

	if (mr->mapped)
		take_list(mr);
	most = (u64)mr->num_pages << mr->region.shift;
	key->access = access;
	key->iova = rxe_get_first_va(access, mr->ibmr.iova);
	key->start = mr->ibmr.iova & (BIT_ULL(mr->region.shift) - 1);
	key->length = most ? min_t(u64, mr->ibmr.length, most - key->start) : 0;
	key->name = value;
	smp_store_release(&key->value, value);	/* pairs with lookups */
}

/**
 * rxe_mr_register - execute a Fast Register work request [10.6.4]
 * @qp: the QP that has it
 * @value: the key that the region gets; its index names the region
 * @access: enum ib_access_flags
 *
 * Return: 0; -EINVAL if the region is valid already, isn't for fast registration, isn't in
 * the QP's protection domain, or if the device lacks an access right.
 */
int rxe_mr_register(const struct ib_qp *qp, u32 value, int access)
{
	struct rxe_key *key = rxe_key_find(qp->pd, value);
	int err = -EINVAL;

	if (!key || key->kind != RXE_KEY_FAST || !rxe_mr_access_ok(access))
		return err;
	spin_lock(&key->lock);
	if (key->name && !key->value && !key->ending && key->pd == qp->pd) {
		register_list(container_of(key, struct rxe_mr, key), value, access);
		err = 0;
	}
	spin_unlock(&key->lock);
	return err;
}
