// SPDX-License-Identifier: GPL-2.0
/*
 * Invalidation (section 10.6.5): a QP, or its peer, ends a key that a work request has made
 * valid.
 *
 * Context: bottom halves off.
 */
#include <mem/key.h>

/* Access rights of peers */
#define ACCESS_REMOTE		(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
				 IB_ACCESS_REMOTE_ATOMIC)

/* May a work request of this QP change the key? */
static bool key_is_for(const struct rxe_key *key, const struct ib_qp *qp)
{
	if (key->kind == RXE_KEY_FAST)
		return key->pd == qp->pd;
	return key->kind != RXE_KEY_FIXED && rxe_window_is_for(key, qp->pd, qp);
}

/*
 * May this QP invalidate the key? The key of a window of type 1 can't be invalidated. A peer may
 * invalidate a key that has any remote access right.
 */
static bool may_invalidate(const struct rxe_key *key, const struct ib_qp *qp, bool remote)
{
	if (key->kind == RXE_KEY_MW_1 || !key_is_for(key, qp))
		return false;
	return key->kind != RXE_KEY_FAST || !remote || (key->access & ACCESS_REMOTE);
}

/**
 * rxe_key_invalidate - invalidate a key [10.6.5]
 * @qp: the QP that has the work request, or whose peer asks
 * @remote: the peer asks
 * @value: L_Key or R_Key
 *
 * A window is unbound. The caller holds no reference to the memory of a key.
 *
 * Return: 0; -EINVAL if it can't be invalidated, or is invalid; -EAGAIN as rxe_key_end().
 */
int rxe_key_invalidate(const struct ib_qp *qp, bool remote, u32 value)
{
	struct rxe_key *key = rxe_key_find(qp->pd, value);
	int err = -EINVAL;

	if (!key)
		return err;
	spin_lock(&key->lock);
	if (key->name == value && (key->value || key->ending) &&
	    may_invalidate(key, qp, remote))
		err = rxe_key_end(key);
	if (!err && key->kind == RXE_KEY_MW_2)
		rxe_window_unbind(container_of(key, struct rxe_window, key));
	spin_unlock(&key->lock);
	return err;
}

/**
 * rxe_key_restore - undo rxe_key_end() after -EAGAIN: the work request won't be executed
 * @qp: the QP whose work request is flushed, or has failed
 * @ending: the key that the work request was invalidating, or 0; set to 0
 *
 * The key has its old rights again, unless another work request has ended it meanwhile
 * [10.3.1.1].
 *
 * Context: bottom halves off.
 */
void rxe_key_restore(const struct ib_qp *qp, u32 *ending)
{
	u32 value = *ending;
	struct rxe_key *key;

	if (likely(!value))
		return;
	*ending = 0;
	key = rxe_key_find(qp->pd, value);
	if (!key)
		return;
	spin_lock(&key->lock);
	if (key->ending && key->name == value && key_is_for(key, qp)) {
		key->ending = false;
		smp_store_release(&key->value, value);	/* pairs with lookups */
	}
	spin_unlock(&key->lock);
}
