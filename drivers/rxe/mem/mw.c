// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows (section 10.6.7): keys of their own on parts of
 * a region, which work requests give out and take back.
 *
 * Type 1: bound anew at any time, which ends the old binding; any QP of the protection
 * domain may use it. Type 2B: belongs to the QP that it was bound on; it is invalidated
 * before it is bound anew. Type 2A isn't offered: the verbs can't tell it from 2B.
 *
 * Context: alloc and dealloc: process; the others: bottom halves off.
 */
#include <linux/slab.h>
#include <compat/verbs.h>
#include <rxe/window.h>

/* Access rights of a window that need local write access to the region */
#define WINDOW_WRITES	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* Access rights that a window may have */
#define WINDOW_ACCESS	(WINDOW_WRITES | IB_ACCESS_REMOTE_READ | IB_ACCESS_FLUSH_GLOBAL)

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
	if (!rxe_limit_get(&rxe->num_mw, RXE_MAX_MW))
		return -ENOMEM;
	window = kzalloc(sizeof(*window), GFP_KERNEL_ACCOUNT);
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
 * rxe_window_unbind - the window doesn't use its region any more
 * @window: the window; its key is invalid, and its lock is held or no lookup finds it
 */
void rxe_window_unbind(struct rxe_window *window)
{
	if (!window->mr)
		return;
	atomic_dec(&window->mr->windows);
	window->mr = NULL;
	window->qp = NULL;
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
	rxe_window_unbind(window);
	kfree_rcu(window, rcu);
	atomic_dec(&rxe->num_mw);
	return 0;
}

/* May a region be bound for this? [10.6.7] Its rights limit those of the window */
static bool region_allows(const struct rxe_key *key, const struct rxe_bind *bind)
{
	u64 off = bind->addr - key->iova;

	if (READ_ONCE(key->value) != bind->mr_lkey || !(key->access & IB_ACCESS_MW_BIND))
		return false;
	if ((bind->access & WINDOW_WRITES) && !(key->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	if (bind->access & IB_ACCESS_FLUSH_GLOBAL & ~key->access)
		return false;
	return bind->addr >= key->iova && off <= key->length &&
	       bind->length <= key->length - off;
}

/* Return: the region, counted as bound; NULL if it can't be */
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

static void set_binding(struct rxe_window *window, const struct ib_qp *qp,
			struct rxe_mr *mr, const struct rxe_bind *bind)
{
	struct rxe_key *key = &window->key;

	window->mr = mr;
	if (key->kind == RXE_KEY_MW_2)
		WRITE_ONCE(window->qp, qp);
	window->region.pages = mr->region.pages;
	window->region.odp = mr->region.odp;
	window->region.shift = mr->region.shift;
	key->paged = mr->key.paged;
	key->access = bind->access & ~IB_ACCESS_LOCAL_WRITE;
	key->iova = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
	key->length = bind->length;
	key->start = mr->key.start + (bind->addr - mr->key.iova);
	key->name = bind->new_rkey;
	smp_store_release(&key->value, bind->new_rkey);	/* pairs with lookups */
}

/*
 * Is the window the one that the work request names, and may it be bound? [10.6.7] Local
 * write access is accepted without effect, as on hardware: an R_Key has no local rights.
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
		       const struct rxe_bind *bind)
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
	if (unbind)
		window->key.name = bind->new_rkey;
	else
		set_binding(window, qp, mr, bind);
	return 0;
}

/**
 * rxe_window_bind - execute a Bind Memory Window work request [10.6.7]
 * @qp: the QP that has it
 * @bind: what it asks for
 *
 * The caller holds no reference to the memory of a key.
 *
 * Return: 0; -EINVAL if the window or the region doesn't allow it, with both unchanged;
 * -EAGAIN as rxe_key_end().
 */
int rxe_window_bind(const struct ib_qp *qp, const struct rxe_bind *bind)
{
	struct rxe_key *key = rxe_key_find(qp->pd, bind->mw_rkey);
	int err;

	if (!key || (key->kind != RXE_KEY_MW_1 && key->kind != RXE_KEY_MW_2))
		return -EINVAL;
	spin_lock(&key->lock);
	err = bind_locked(container_of(key, struct rxe_window, key), qp, bind);
	spin_unlock(&key->lock);
	return err;
}

static void unbind_from_qp(struct rxe_window *window, const struct ib_qp *qp)
{
	spin_lock(&window->key.lock);
	if (window->qp == qp) {
		window->key.ending = false;
		WRITE_ONCE(window->key.value, 0);
		rxe_window_unbind(window);
	}
	spin_unlock(&window->key.lock);
}

/**
 * rxe_windows_leave - unbind the windows of type 2B of a QP that goes away
 * @qp: the QP, which receives nothing any more, so that these windows aren't used
 *
 * Context: process.
 */
void rxe_windows_leave(const struct ib_qp *qp)
{
	struct rxe_dev *rxe = to_rxe_dev(qp->device);
	struct rxe_key *key;
	unsigned long index;

	rcu_read_lock_bh();
	xa_for_each(&rxe->keys, index, key)
		if (key->kind == RXE_KEY_MW_2)
			unbind_from_qp(container_of(key, struct rxe_window, key), qp);
	rcu_read_unlock_bh();
}
