// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetch (ibv_advise_mr()): a process says which pages it will use, so that no QP has to
 * wait for them. A worker makes the pages present. Exception: the caller makes them present
 * itself if RXE_ODP_PREFETCHES of the process are pending, or memory is short. It does so for a
 * dma-buf that may move, too, which takes a finite time.
 *
 * Context: process.
 */
#include <linux/slab.h>
#include <mem/key.h>
#include <mem/odp.h>
#include <rxe/knobs.h>
#include <rxe/memory.h>

/**
 * struct prefetch - a range that a worker prefetches
 * @work: the work
 * @odp: the memory, with a reference
 * @addr: first byte, in the process
 * @len: bytes, at least 1
 * @how: enum rxe_odp_how
 */
struct prefetch {
	struct work_struct	work;
	struct rxe_odp		*odp;
	u64			addr;
	u64			len;
	enum rxe_odp_how	how;
};

static void prefetch_pages(struct work_struct *work)
{
	struct prefetch *pre = container_of(work, struct prefetch, work);
	u64 done;

	rxe_odp_fault(pre->odp, pre->addr, pre->len, pre->how, &done);
	atomic_dec(&pre->odp->process->prefetches);
	rxe_odp_put(pre->odp);
	kfree(pre);
}

/* Return: 0, or an error as rxe_advise_mr() */
static int check_key(const struct rxe_key *key, const struct ib_pd *pd,
		     const struct ib_sge *sge, enum rxe_odp_how how)
{
	if (READ_ONCE(key->value) != sge->lkey || key->kind != RXE_KEY_FIXED)
		return -ENOENT;
	if (READ_ONCE(key->pd) != pd)
		return -EPERM;
	if (how == RXE_ODP_WRITE && !(READ_ONCE(key->access) & IB_ACCESS_LOCAL_WRITE))
		return -EPERM;
	if (!key->paged)
		return -EINVAL;
	return rxe_key_covers(key, sge->addr, sge->length) ? 0 : -EFAULT;
}

/* Find the memory of a range, and take a reference. Return: 0, or an error as check_key() */
static int find_range(struct ib_pd *pd, const struct ib_sge *sge, struct prefetch *pre)
{
	struct rxe_key *key;
	int err = -ENOENT;

	rcu_read_lock_bh();
	key = rxe_key_find(pd, sge->lkey);
	if (!key || !kref_get_unless_zero(&key->region->ref))
		goto out;
	err = check_key(key, pd, sge, pre->how);
	if (!err) {
		pre->odp = key->region->odp;
		pre->addr = sge->addr - key->iova + key->start;
		pre->len = sge->length;
		kref_get(&pre->odp->ref);
	}
	rxe_key_put(key);
out:
	rcu_read_unlock_bh();
	return err;
}

/* Return: false for a dma-buf, if too many prefetches wait, or if memory is short */
static bool queue_prefetch(const struct prefetch *range)
{
	struct rxe_process *process = range->odp->process;
	struct prefetch *pre;

	if (!process || !atomic_add_unless(&process->prefetches, 1, RXE_ODP_PREFETCHES))
		return false;
	pre = kmemdup(range, sizeof(*range), RXE_GFP_USER);
	if (!pre) {
		atomic_dec(&process->prefetches);
		return false;
	}
	INIT_WORK(&pre->work, prefetch_pages);
	queue_work(process->prefetch_wq, &pre->work);
	return true;
}

static int prefetch_sge(struct ib_pd *pd, const struct ib_sge *sge,
			enum rxe_odp_how how, bool flush)
{
	struct prefetch range = { .how = how };
	u64 done;
	int err = find_range(pd, sge, &range);

	if (err)
		return err;
	if (range.len && !flush && queue_prefetch(&range))
		return 0;
	if (range.len)
		err = rxe_odp_fault(range.odp, range.addr, range.len, how, &done);
	rxe_odp_put(range.odp);
	return flush ? err : 0;
}

/**
 * rxe_advise_mr - ib_device_ops.advise_mr
 * @ibpd: protection domain
 * @advice: which kind of prefetch
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH: return when the pages are present
 * @sge: ranges, by L_Key
 * @num_sge: number of ranges
 * @attrs: of the process; unused
 *
 * Ranges are handled in order. Ranges before the first error are prefetched.
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EOPNOTSUPP for an unknown advice; -EINVAL for an unknown flag or pinned
 * memory; -ENOENT for an unknown key; -EPERM if the key belongs to another protection
 * domain or doesn't permit writing; -EFAULT for bytes outside of the region or, with the
 * flag, bytes that the process doesn't have. With the flag also the other errors of
 * rxe_odp_fault().
 */
int rxe_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		  struct ib_sge *sge, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	static const enum rxe_odp_how how[] = {
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH]		= RXE_ODP_READ,
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE]	= RXE_ODP_WRITE,
		[IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT]	= RXE_ODP_NO_FAULT,
	};
	int err = 0;

	if (advice >= ARRAY_SIZE(how))
		return -EOPNOTSUPP;
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EINVAL;
	for (; num_sge && !err; num_sge--, sge++)
		err = prefetch_sge(ibpd, sge, how[advice],
				   flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	return err;
}
