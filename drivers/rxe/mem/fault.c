// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: a task of a QP asks for pages, and waits while a worker goes to the process's
 * memory.
 *
 * A QP has one fault for each side that may wait: what it sends, its peer's requests,
 * the responses to its own. The other sides, and other QPs, go on meanwhile. A fault may
 * take as long as somebody pleases, since a process can serve the faults of another
 * (userfaultfd, FUSE). So nobody waits for the work: a QP that is reset or destroyed
 * leaves it alone (rxe_fault_free()), and a region that ends does, too.
 *
 * Context: the QP's tasks, bottom halves off; the work: process.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <mem/odp.h>
#include <rxe/knobs.h>

static void drop_odp(struct rxe_fault *fault)
{
	if (fault->odp)
		rxe_odp_put(fault->odp);
	fault->odp = NULL;
}

static void release_fault(struct kref *ref)
{
	struct rxe_fault *fault = container_of(ref, struct rxe_fault, ref);

	drop_odp(fault);
	kfree(fault);
}

/* Some progress is success: the task asks again, and fails for the page that it needs */
static void fault_work(struct work_struct *work)
{
	struct rxe_fault *fault = container_of(work, struct rxe_fault, work);
	u64 done;
	int err;

	err = rxe_odp_fault(fault->odp, fault->addr, fault->len,
			    fault->write ? RXE_ODP_WRITE : RXE_ODP_READ, &done);
	fault->err = done || err == -EAGAIN ? 0 : err;
	if (!fault->err)
		drop_odp(fault);
	spin_lock_bh(&fault->lock);
	smp_store_release(&fault->busy, false);	/* pairs with rxe_fault_busy() */
	if (fault->owner)
		fault->wake(fault->owner);
	spin_unlock_bh(&fault->lock);
	kref_put(&fault->ref, release_fault);
}

/**
 * rxe_fault_create - make a fault for one side of a QP
 * @wake: called with @owner when a fault is done, from process context with bottom
 *	halves off and a lock held
 * @owner: who waits
 * @gfp: how to allocate
 *
 * Return: the fault, or NULL.
 */
struct rxe_fault *rxe_fault_create(void (*wake)(void *owner), void *owner, gfp_t gfp)
{
	struct rxe_fault *fault = kzalloc(sizeof(*fault), gfp);

	if (!fault)
		return NULL;
	kref_init(&fault->ref);
	spin_lock_init(&fault->lock);
	INIT_WORK(&fault->work, fault_work);
	fault->wake = wake;
	fault->owner = owner;
	return fault;
}

/**
 * rxe_fault_free - leave a fault alone
 * @fault: the fault, or NULL; it frees itself when its work is done
 *
 * The owner isn't woken after the return. Context: process; the owner doesn't run.
 */
void rxe_fault_free(struct rxe_fault *fault)
{
	if (!fault)
		return;
	spin_lock_bh(&fault->lock);
	fault->owner = NULL;
	spin_unlock_bh(&fault->lock);
	kref_put(&fault->ref, release_fault);
}

/**
 * rxe_fault_reset - forget what was asked for
 * @fault: where the QP has it, or has NULL; replaced if a worker has it
 *
 * Context: process; the owner doesn't run.
 */
void rxe_fault_reset(struct rxe_fault **fault)
{
	struct rxe_fault *old = *fault;

	if (!old)
		return;
	if (rxe_fault_busy(old)) {
		*fault = rxe_fault_create(old->wake, old->owner, GFP_KERNEL | __GFP_NOFAIL);
		rxe_fault_free(old);
		return;
	}
	drop_odp(old);
	old->err = 0;
}

/* Did the last fault fail for just this? Then nobody asks again by itself */
static bool has_failed(const struct rxe_fault *fault, const struct rxe_odp *odp, u64 addr,
		       bool write)
{
	return fault->err && fault->odp == odp && fault->addr == addr &&
	       fault->write == write;
}

static int ask(struct rxe_fault *fault, struct rxe_odp *odp, u64 addr, u64 len, bool write)
{
	bool failed;

	if (rxe_fault_busy(fault))
		return -EAGAIN;
	failed = has_failed(fault, odp, addr, write);
	fault->err = 0;
	drop_odp(fault);
	if (failed)
		return -EFAULT;
	kref_get(&odp->ref);
	fault->odp = odp;
	fault->addr = addr;
	fault->len = len;
	fault->write = write;
	fault->since = jiffies;
	fault->busy = true;
	kref_get(&fault->ref);
	rxe_odp_work(&fault->work);
	return -EAGAIN;
}

/**
 * rxe_fault_pages - rxe_key_ready() for memory that isn't pinned
 * @fault: who asks, or NULL
 * @key: the key
 * @write: the bytes are to be written
 * @va: first byte
 * @len: bytes
 * @rest: bytes, at least @len, that will be needed soon
 *
 * Return: as rxe_key_ready().
 */
int rxe_fault_pages(struct rxe_fault *fault, const struct rxe_key *key, bool write,
		    u64 va, u64 len, u64 rest)
{
	u64 addr = va - key->iova + key->start;
	struct rxe_odp *odp = key->region->odp;
	u64 there = rxe_odp_present(odp, addr, len, write);

	if (there == len)
		return 0;
	if (!fault)
		return -EFAULT;
	/* Only @len is known to be in the key's range */
	rest = min3(rest, key->iova + key->length - va, (u64)RXE_ODP_AHEAD);
	rest = max(len, rest);
	return ask(fault, odp, addr + there, rest - there, write);
}
