// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: a task of a QP asks for pages and stops; a worker makes them present and wakes
 * the task.
 *
 * A QP has three faults. They are for what it sends, for requests of the peer, and for
 * responses to its own requests. While one waits, the other two and all other QPs go on.
 *
 * A fault may take any time, since a process can serve the page faults of another one
 * (userfaultfd, FUSE). So nothing waits for the work. A QP that is reset or destroyed
 * leaves the fault to the work, which frees it (rxe_fault_free()). A region that ends
 * doesn't wait either (rxe_odp_end()).
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

/* Partial success is no error: the task retries, and then gets the error of the next page */
static void get_fault_pages(struct work_struct *work)
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
	smp_store_release(&fault->busy, false);	/* pairs with rxe_fault_is_busy() */
	if (fault->owner)
		fault->wake(fault->owner);
	spin_unlock_bh(&fault->lock);
	kref_put(&fault->ref, release_fault);
}

/**
 * rxe_fault_create - make a fault for a task of a QP
 * @wake: called with @owner when the pages are present or can't be; process context,
 *	bottom halves off, a lock of the fault held
 * @owner: argument of @wake
 * @gfp: allocation flags
 *
 * Return: the fault, or NULL if memory is short.
 */
struct rxe_fault *rxe_fault_create(void (*wake)(void *owner), void *owner, gfp_t gfp)
{
	struct rxe_fault *fault = kzalloc(sizeof(*fault), gfp);

	if (!fault)
		return NULL;
	kref_init(&fault->ref);
	spin_lock_init(&fault->lock);
	INIT_WORK(&fault->work, get_fault_pages);
	fault->wake = wake;
	fault->owner = owner;
	return fault;
}

/**
 * rxe_fault_free - give up a fault
 * @fault: the fault, or NULL; if its work is running, the work frees it
 *
 * On return, the owner isn't woken any more.
 *
 * Context: process; the owner's task doesn't run.
 */
void rxe_fault_free(struct rxe_fault *fault)
{
	if (!fault)
		return;
	spin_lock_bh(&fault->lock);
	fault->owner = NULL;
	spin_unlock_bh(&fault->lock);
	if (cancel_work(&fault->work))	/* the work hadn't started */
		kref_put(&fault->ref, release_fault);
	kref_put(&fault->ref, release_fault);
}

/**
 * rxe_fault_reset - forget the last request
 * @fault: the QP's pointer to its fault, which may be NULL; a fault in use by a worker is
 *	replaced by a new one
 *
 * Context: process; the owner's task doesn't run.
 */
void rxe_fault_reset(struct rxe_fault **fault)
{
	struct rxe_fault *old = *fault;
	bool busy;

	if (!old)
		return;
	spin_lock_bh(&old->lock);	/* the work wakes the owner under it */
	busy = old->busy;
	spin_unlock_bh(&old->lock);
	if (busy) {
		*fault = rxe_fault_create(old->wake, old->owner, GFP_KERNEL | __GFP_NOFAIL);
		rxe_fault_free(old);
		return;
	}
	drop_odp(old);
	old->err = 0;
}

/* Did the last request fail for the same page? Then the task must not request it again */
static bool has_failed(const struct rxe_fault *fault, const struct rxe_odp *odp, u64 addr,
		       bool write)
{
	return fault->err && fault->odp == odp && fault->addr == addr &&
	       fault->write == write;
}

/* Return: -EAGAIN while a worker has the fault; -EFAULT if it has failed for that page */
static int request_fault(struct rxe_fault *fault, struct rxe_odp *odp, u64 addr, u64 len,
			 bool write)
{
	bool failed;

	if (rxe_fault_is_busy(fault))
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
	queue_work(odp->wq, &fault->work);
	return -EAGAIN;
}

/**
 * rxe_fault_pages - rxe_key_prepare() for memory that isn't pinned
 * @fault: as rxe_key_prepare()
 * @key: as rxe_key_prepare()
 * @write: as rxe_key_prepare()
 * @va: as rxe_key_prepare()
 * @len: as rxe_key_prepare()
 * @rest: as rxe_key_prepare(); at most RXE_ODP_AHEAD of these bytes are requested
 *
 * Context: as rxe_key_prepare().
 *
 * Return: as rxe_key_prepare().
 */
int rxe_fault_pages(struct rxe_fault *fault, const struct rxe_key *key, bool write,
		    u64 va, u64 len, u64 rest)
{
	u64 addr = va - key->iova + key->start;
	struct rxe_odp *odp = key->region->odp;
	u64 there;

	if (key->kind != RXE_KEY_FIXED)
		rxe_odp_use_window(odp);
	there = rxe_odp_present(odp, addr, len, write);
	if (there == len)
		return 0;
	if (!fault)
		return -EFAULT;
	/* @len is in the key's range, @rest may not be */
	rest = min3(rest, key->iova + key->length - va, (u64)RXE_ODP_AHEAD);
	rest = max(len, rest);
	return request_fault(fault, odp, addr + there, rest - there, write);
}
