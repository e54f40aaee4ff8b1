// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows (section 10.6.7): separate keys for parts of a region, which work requests
 * bind and invalidate.
 *
 * Type 1: may be bound again at any time, which ends the old binding. Any QP of the protection
 * domain may use the window. Type 2B: belongs to the QP on which it was bound, and must be
 * invalidated before it is bound again. Type 2A isn't offered: the verbs can't tell it from
 * 2B.
 *
 * Each QP has a list of its bound windows of type 2B. The cost of destroying a QP thus doesn't
 * depend on the number of the device's keys. A window is on the list exactly while it is bound.
 *
 * Context: alloc and dealloc: process; the others: bottom halves off.
 */
#include <linux/slab.h>
#include <compat/verbs.h>
#include <mem/key.h>
#include <rxe/memory.h>

/* Access rights of a window that need local write access to the region */
#define WINDOW_WRITES	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* Access rights that a window has only if the region has them */
#define WINDOW_FLUSHES	(IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

/* Access rights that a window may have */
#define WINDOW_ACCESS	(WINDOW_WRITES | WINDOW_FLUSHES | IB_ACCESS_REMOTE_READ)

static struct rxe_mw *to_rxe_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct rxe_mw, ibmw);
}

/**
 * rxe_alloc_mw - make a memory window
 * @ibmw: memory from the RDMA core; its PD and type are set
 * @udata: of the process; the ABI has nothing in it
 *
 * Return: 0, with the window bound to nothing; -EINVAL for an unknown type; -ENOMEM.
 */
int rxe_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibmw->device);
	struct rxe_window *window;
	int err;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EINVAL;
	if (!rxe_limit_get(&rxe->num_mw, RXE_MAX_MW, udata))
		return -ENOMEM;
	window = kzalloc(sizeof(*window), RXE_GFP_USER);
	if (!window) {
		err = -ENOMEM;
		goto dec;
	}
	rxe_region_init(&window->region);
	window->pd = ibmw->pd;
	window->key.region = &window->region;
	window->key.kind = ibmw->type == IB_MW_TYPE_1 ? RXE_KEY_MW_1 : RXE_KEY_MW_2;
	err = rxe_key_publish(rxe, &window->key, false);
	if (err)
		goto free;
	to_rxe_mw(ibmw)->window = window;
	ibmw->rkey = window->key.name;
	return 0;
free:
	kfree(window);
dec:
	atomic_dec(&rxe->num_mw);
	return err;
}

/**
 * rxe_windows_init - no window is bound
 * @windows: the windows of a new QP
 */
void rxe_windows_init(struct rxe_windows *windows)
{
	spin_lock_init(&windows->lock);
	INIT_LIST_HEAD(&windows->bound);
}

/**
 * rxe_window_unbind - release the region of a window
 * @window: the window; its key is invalid, and its lock is held
 */
void rxe_window_unbind(struct rxe_window *window)
{
	if (!window->mr)
		return;
	if (window->windows) {
		spin_lock(&window->windows->lock);
		list_del(&window->link);
		spin_unlock(&window->windows->lock);
	}
	atomic_dec(&window->mr->windows);
	window->mr = NULL;
	window->qp = NULL;
	window->windows = NULL;
}

/**
 * rxe_dealloc_mw - free a memory window
 * @ibmw: the window
 *
 * Return: 0, once its memory isn't used by its key any more.
 */
int rxe_dealloc_mw(struct ib_mw *ibmw)
{
	struct rxe_dev *rxe = to_rxe_dev(ibmw->device);
	struct rxe_window *window = to_rxe_mw(ibmw)->window;

	rxe_key_retire(rxe, &window->key);
	rxe_region_end(&window->region);
	spin_lock_bh(&window->key.lock);	/* the QP may be unbinding it */
	rxe_window_unbind(window);
	spin_unlock_bh(&window->key.lock);
	kfree_rcu(window, rcu);
	atomic_dec(&rxe->num_mw);
	return 0;
}

/* May a window be bound to the region? [10.6.7] The region's rights limit the window's */
static bool region_allows(const struct rxe_key *key, const struct rxe_bind *bind)
{
	if (READ_ONCE(key->value) != bind->mr_lkey || !(key->access & IB_ACCESS_MW_BIND))
		return false;
	if ((bind->access & WINDOW_WRITES) && !(key->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	if (bind->access & WINDOW_FLUSHES & ~key->access)
		return false;
	return rxe_key_covers(key, bind->addr, bind->length);
}

/* Find the region, and count the window as bound. Return: NULL if the bind isn't allowed */
static struct rxe_mr *bind_region(struct ib_pd *pd, const struct rxe_bind *bind)
{
	struct rxe_key *key = rxe_key_find(pd, bind->mr_lkey);
	struct rxe_mr *mr;

	if (!key || key->kind != RXE_KEY_FIXED || READ_ONCE(key->pd) != pd)
		return NULL;
	mr = container_of(key, struct rxe_mr, key);
	if (!atomic_inc_unless_negative(&mr->windows))
		return NULL;
	if (region_allows(key, bind))
		return mr;
	atomic_dec(&mr->windows);
	return NULL;
}

/* Type 2B: the window belongs to the QP from now on */
static void set_owner(struct rxe_window *window, const struct ib_qp *qp,
		      struct rxe_windows *windows)
{
	WRITE_ONCE(window->qp, qp);
	window->windows = windows;
	spin_lock(&windows->lock);
	list_add_tail(&window->link, &windows->bound);
	spin_unlock(&windows->lock);
}

static void set_binding(struct rxe_window *window, struct rxe_mr *mr,
			const struct rxe_bind *bind)
{
	struct rxe_key *key = &window->key;

	window->mr = mr;
	window->region.pages = mr->region.pages;
	window->region.odp = mr->region.odp;
	window->region.shift = mr->region.shift;
	window->region.mapped = mr->region.mapped;
	key->paged = mr->key.paged;
	key->access = bind->access & ~IB_ACCESS_LOCAL_WRITE;
	key->iova = rxe_get_first_va(bind->access, bind->addr);
	key->length = bind->length;
	key->start = mr->key.start + (bind->addr - mr->key.iova);
	key->name = bind->new_rkey;
	smp_store_release(&key->value, bind->new_rkey);	/* pairs with lookups */
}

/*
 * Does the work request name this window, and may the window be bound? [10.6.7] Local write
 * access is accepted without effect, as on hardware: an R_Key has no local rights.
 */
static bool may_bind(const struct rxe_window *window, const struct ib_qp *qp,
		     const struct rxe_bind *bind)
{
	const struct rxe_key *key = &window->key;
	int access = WINDOW_ACCESS | IB_ACCESS_LOCAL_WRITE;

	if (key->kind == RXE_KEY_MW_2) {
		if (window->mr)
			return false;	/* bound, also while it is being invalidated */
		access |= IB_ZERO_BASED;
	}
	return key->name == bind->mw_rkey && window->pd == qp->pd &&
	       !((bind->new_rkey ^ bind->mw_rkey) >> RXE_KEY_VARIANT_BITS) &&
	       !(bind->access & ~access);
}

static int bind_locked(struct rxe_window *window, const struct ib_qp *qp,
		       struct rxe_windows *windows, const struct rxe_bind *bind)
{
	bool unbind = window->key.kind == RXE_KEY_MW_1 && !bind->length;
	struct rxe_mr *mr = NULL;
	int err;

	if (!may_bind(window, qp, bind))
		return -EINVAL;
	if (!unbind) {
		mr = bind_region(qp->pd, bind);
		if (!mr)
			return -EINVAL;
	}
	err = rxe_key_end(&window->key);
	if (err) {
		if (mr)
			atomic_dec(&mr->windows);
		return err;
	}
	rxe_window_unbind(window);
	if (unbind) {
		window->key.name = bind->new_rkey;
		return 0;
	}
	if (window->key.kind == RXE_KEY_MW_2)
		set_owner(window, qp, windows);
	set_binding(window, mr, bind);
	return 0;
}

/**
 * rxe_window_bind - execute a Bind Memory Window work request [10.6.7]
 * @qp: the QP that has it
 * @windows: the QP's bound windows
 * @bind: the parameters of the work request
 *
 * The caller holds no reference to the memory of a key.
 *
 * Return: 0; -EINVAL if the window or the region doesn't allow it, with both unchanged;
 * -EAGAIN as rxe_key_end().
 */
int rxe_window_bind(const struct ib_qp *qp, struct rxe_windows *windows,
		    const struct rxe_bind *bind)
{
	struct rxe_key *key = rxe_key_find(qp->pd, bind->mw_rkey);
	int err;

	if (!key || (key->kind != RXE_KEY_MW_1 && key->kind != RXE_KEY_MW_2))
		return -EINVAL;
	spin_lock(&key->lock);
	err = bind_locked(container_of(key, struct rxe_window, key), qp, windows, bind);
	spin_unlock(&key->lock);
	return err;
}

/*
 * Another process may free the window, which unbinds it, at any time before the lock of its
 * key is taken. The memory is freed after a grace period. Return: false if no window was left.
 */
static bool unbind_first(struct rxe_windows *windows)
{
	struct rxe_window *window;

	rcu_read_lock_bh();
	spin_lock(&windows->lock);
	window = list_first_entry_or_null(&windows->bound, struct rxe_window, link);
	spin_unlock(&windows->lock);
	if (window) {
		spin_lock(&window->key.lock);
		if (window->windows == windows) {
			window->key.ending = false;
			WRITE_ONCE(window->key.value, 0);
			rxe_window_unbind(window);
		}
		spin_unlock(&window->key.lock);
	}
	rcu_read_unlock_bh();
	return window;
}

/**
 * rxe_windows_leave - unbind the windows of type 2B of a QP that goes away
 * @windows: the windows of the QP. The QP no longer sends or receives, so nothing uses or
 *	binds its windows
 *
 * Context: process, may sleep: a process may have bound any number of windows.
 */
void rxe_windows_leave(struct rxe_windows *windows)
{
	while (unbind_first(windows))
		cond_resched();
}
