// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: a task of a QP asks for pages and stops; a worker makes them present and wakes
 * the task.
 *
 * A QP has three pagers: for the data that it sends, for requests of the peer, and for
 * responses to its own requests. While one pager waits, the other two and all other QPs go on.
 * A pager gets memory for a fault at its first missing page.
 *
 * A fault may take any time, since a process can serve the page faults of another process
 * (userfaultfd, FUSE). Nothing waits for the work: a QP that is reset or destroyed leaves the
 * fault to the work, which frees it (rxe_pager_reset()). A region that ends doesn't wait
 * either (rxe_odp_end()).
 *
 * Context: the QP's tasks, bottom halves off; the work: process.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <mem/key.h>
#include <mem/odp.h>
#include <rxe/knobs.h>

static void (*wake_task)(void *owner);

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
	if (fault->pager)
		wake_task(fault->pager->owner);
	spin_unlock_bh(&fault->lock);
	kref_put(&fault->ref, release_fault);
}

/**
 * rxe_fault_set_wake - set the function that runs a task again, at module load
 * @wake: called with the owner of a pager when its pages are present or can't be; bottom
 *	halves off, a lock of the fault held
 */
void rxe_fault_set_wake(void (*wake)(void *owner))
{
	wake_task = wake;
}

/**
 * rxe_pager_init - set up a pager, without memory for a fault
 * @pager: the pager
 * @owner: the task that is to be woken
 */
void rxe_pager_init(struct rxe_pager *pager, void *owner)
{
	*pager = (struct rxe_pager){ .owner = owner };
}

/**
 * rxe_pager_reset - forget the last request, and free the memory
 * @pager: the pager; if the work of its fault runs, the work frees the fault
 *
 * On return, the owner isn't woken any more.
 *
 * Context: process; the owner's task doesn't run.
 */
void rxe_pager_reset(struct rxe_pager *pager)
{
	struct rxe_fault *fault = pager->fault;

	if (!fault)
		return;
	pager->fault = NULL;
	spin_lock_bh(&fault->lock);
	fault->pager = NULL;
	spin_unlock_bh(&fault->lock);
	if (cancel_work(&fault->work))	/* the work hadn't started */
		kref_put(&fault->ref, release_fault);
	kref_put(&fault->ref, release_fault);
}

/**
 * rxe_fault_is_busy - does a worker have a fault?
 * @fault: the fault
 *
 * Return: true if so. If not, the results of the work are visible.
 */
bool rxe_fault_is_busy(const struct rxe_fault *fault)
{
	return smp_load_acquire(&fault->busy);	/* pairs with get_fault_pages() */
}

/**
 * rxe_pager_is_late - has a worker had the fault for longer than @ms?
 * @pager: the pager
 * @ms: milliseconds
 *
 * Return: true if so.
 */
bool rxe_pager_is_late(const struct rxe_pager *pager, u32 ms)
{
	return rxe_pager_is_busy(pager) &&
	       time_after(jiffies, pager->fault->since + msecs_to_jiffies(ms));
}

/* Return: the fault, made at the first request; NULL if memory is short */
static struct rxe_fault *get_fault(struct rxe_pager *pager)
{
	struct rxe_fault *fault = pager->fault;

	if (fault)
		return fault;
	fault = kzalloc(sizeof(*fault), GFP_ATOMIC | __GFP_NOWARN);
	if (!fault)
		return NULL;
	kref_init(&fault->ref);
	spin_lock_init(&fault->lock);
	INIT_WORK(&fault->work, get_fault_pages);
	fault->pager = pager;
	pager->fault = fault;
	return fault;
}

/* Did the last request fail for the same page? Then the task must not request it again */
static bool has_failed(const struct rxe_fault *fault, const struct rxe_odp *odp, u64 addr,
		       bool write)
{
	return fault->err && fault->odp == odp && fault->addr == addr &&
	       fault->write == write;
}

/*
 * If memory is short, the task runs again soon, and asks again. Return: -EAGAIN while a worker
 * has the fault, or memory is short; -EFAULT if the fault has failed for that page
 */
static int request_fault(struct rxe_pager *pager, struct rxe_odp *odp, u64 addr, u64 len,
			 bool write)
{
	struct rxe_fault *fault = get_fault(pager);
	bool failed;

	if (!fault) {
		wake_task(pager->owner);
		return -EAGAIN;
	}
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
 * @pager: as rxe_key_prepare()
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
int rxe_fault_pages(struct rxe_pager *pager, const struct rxe_key *key, bool write,
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
	if (!pager)
		return -EFAULT;
	/* @len is in the key's range, @rest may not be */
	rest = min3(rest, key->iova + key->length - va, (u64)RXE_ODP_AHEAD);
	rest = max(len, rest);
	return request_fault(pager, odp, addr + there, rest - there, write);
}
