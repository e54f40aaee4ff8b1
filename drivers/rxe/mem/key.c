// SPDX-License-Identifier: GPL-2.0
/*
 * Keys (sections 10.6.3, 10.6.4): the only place that finds the memory of an L_Key or R_Key.
 *
 * A key is looked up by its index and checked. Its region is then referenced during
 * one run of a task. The L_Key and R_Key of a region are the same number.
 *
 * Context: publish and retire in process context. The others anywhere but hard interrupts,
 * with bottom halves off, which is the RCU read side that protects the key.
 */
#include <linux/random.h>
#include <mem/key.h>
#include <mem/odp.h>
#include <rxe/memory.h>

/* A key has 24 bits of index above its variant */
#define KEY_INDEX_MAX		((1U << 24) - 1)

/**
 * rxe_key_publish - give a key its value and let lookups find it
 * @rxe: device
 * @key: all but its value is set
 * @valid: the key is valid at once
 *
 * Indices are assigned cyclically, and the variant is random, so that a stale key
 * hardly ever matches.
 *
 * Return: 0, -ENOMEM, or -EBUSY when all indices are taken.
 */
int rxe_key_publish(struct rxe_dev *rxe, struct rxe_key *key, bool valid)
{
	u32 index;
	int err;

	spin_lock_init(&key->lock);
	/* Only reserve the index: the value must be set before lookups find the key */
	err = rxe_alloc_cyclic(&rxe->keys, &index, NULL, XA_LIMIT(1, KEY_INDEX_MAX),
			       &rxe->next_key);
	if (err)
		return err;
	key->name = index << RXE_KEY_VARIANT_BITS | get_random_u8();
	key->value = valid ? key->name : 0;
	err = xa_err(xa_store(&rxe->keys, index, key, RXE_GFP_USER));
	if (err)
		xa_erase(&rxe->keys, index);
	else
		rxe_recent_add(&rxe->recent_keys, index, key);
	return err;
}

/**
 * rxe_key_retire - hide a key from lookups
 * @rxe: device
 * @key: a published key
 *
 * Earlier lookups may still read the key for an RCU grace period.
 */
void rxe_key_retire(struct rxe_dev *rxe, struct rxe_key *key)
{
	u32 index = key->name >> RXE_KEY_VARIANT_BITS;

	xa_erase(&rxe->keys, index);
	rxe_recent_remove(&rxe->recent_keys, index, key);
	spin_lock_bh(&key->lock);
	WRITE_ONCE(key->value, 0);
	WRITE_ONCE(key->name, 0);
	spin_unlock_bh(&key->lock);
}

/**
 * rxe_key_find - find a key to change it, valid or not
 * @pd: protection domain of the caller, for its device
 * @value: any key with the same index
 *
 * Return: the key, until bottom halves are on again, or NULL. The caller checks all of
 * it under its lock.
 */
struct rxe_key *rxe_key_find(struct ib_pd *pd, u32 value)
{
	struct rxe_dev *rxe = to_rxe_dev(pd->device);
	u32 index = value >> RXE_KEY_VARIANT_BITS;
	struct rxe_key *key;

	if (unlikely(!index))	/* no key has it, but it must not match the name of a retired one */
		return NULL;
	key = rxe_recent_peek(&rxe->recent_keys, index);
	if (likely(key && READ_ONCE(key->name) >> RXE_KEY_VARIANT_BITS == index))
		return key;
	return xa_load(&rxe->keys, index);
}

/**
 * rxe_key_covers - is a range inside of a key's? [o10-37]
 * @key: the key
 * @va: first byte
 * @len: bytes
 *
 * No sum wraps around.
 *
 * Return: true if so; zero bytes may also begin at the end of the key's range.
 */
bool rxe_key_covers(const struct rxe_key *key, u64 va, u64 len)
{
	u64 off = va - key->iova;

	return va >= key->iova && off <= key->length && len <= key->length - off;
}

/**
 * rxe_window_is_for - may a QP's peer use a window? [10.6.7]
 * @key: the window's key
 * @pd: protection domain of the QP
 * @remote: the QP; NULL for an L_Key: windows are for peers alone
 *
 * Return: true if so. A window of type 2B is for the QP that it was bound on.
 */
bool rxe_window_is_for(const struct rxe_key *key, const struct ib_pd *pd,
		       const struct ib_qp *remote)
{
	const struct rxe_window *window = container_of(key, struct rxe_window, key);

	if (!remote || window->pd != pd)
		return false;
	return key->kind == RXE_KEY_MW_1 || READ_ONCE(window->qp) == remote;
}

static bool key_permits(const struct rxe_key *key, const struct ib_pd *pd,
			const struct ib_qp *remote, u32 value, int access)
{
	const struct ib_pd *owner;

	/* Pairs with the release that makes the key valid. An invalid key's value is 0 */
	if (!value || smp_load_acquire(&key->value) != value)
		return false;
	owner = READ_ONCE(key->pd);
	if (owner != pd && (owner || !rxe_window_is_for(key, pd, remote)))
		return false;
	return (READ_ONCE(key->access) & access) == access;
}

/* Reference the memory of a key, before the key is checked. Return: NULL if there is none */
static struct rxe_key *key_take(struct ib_pd *pd, u32 value)
{
	struct rxe_key *key = rxe_key_find(pd, value);

	if (!key || !kref_get_unless_zero(&key->region->ref))
		return NULL;
	/* Pairs with rxe_key_end(): the value is read while the reference is held */
	smp_mb__after_atomic();
	return key;
}

/* Find a key that gives these rights. Return: with a reference to its memory; NULL if none */
static struct rxe_key *key_take_permitted(struct ib_pd *pd, const struct ib_qp *remote,
					  u32 value, int access)
{
	struct rxe_key *key = key_take(pd, value);

	if (key && !key_permits(key, pd, remote, value, access))
		rxe_key_drop(&key);
	return key;
}

/**
 * rxe_key_get - find memory by a key, with every check [10.6.3] [C10-56] [C10-57] [o10-37]
 * @pd: protection domain of the QP, or of its SRQ
 * @remote: R_Key: the QP whose peer asks; L_Key: NULL
 * @value: L_Key or R_Key
 * @access: enum ib_access_flags that are needed: 0 to read local memory,
 *	IB_ACCESS_LOCAL_WRITE to write it, IB_ACCESS_REMOTE_READ, _WRITE or _ATOMIC for
 *	an R_Key from the wire
 * @va: first byte
 * @len: bytes, at least 1: zero bytes need no key [C9-88]
 * @key: out: the key, with a reference to its region, for at most one run of a task;
 *	NULL on errors
 *
 * Return: 0, or -EACCES if any check fails.
 */
int rxe_key_get(struct ib_pd *pd, const struct ib_qp *remote, u32 value, int access,
		u64 va, u64 len, struct rxe_key **key)
{
	*key = key_take_permitted(pd, remote, value, access);
	if (*key && !rxe_key_covers(*key, va, len))
		rxe_key_drop(key);
	return *key ? 0 : -EACCES;
}

/**
 * rxe_key_get_all - find all of the memory of a key
 * @pd: protection domain of the QP
 * @remote: the QP whose peer asks
 * @value: R_Key
 * @access: enum ib_access_flags that are needed
 * @key: out: as rxe_key_get()
 *
 * Return: as rxe_key_get().
 */
int rxe_key_get_all(struct ib_pd *pd, const struct ib_qp *remote, u32 value, int access,
		    struct rxe_key **key)
{
	*key = key_take_permitted(pd, remote, value, access);
	return *key ? 0 : -EACCES;
}

/* A function of its own, so that rxe_key_keep() needs no stack in the usual case */
static noinline int replace_key(struct ib_pd *pd, const struct ib_qp *remote, u32 value,
				int access, u64 va, u64 len, struct rxe_key **key)
{
	rxe_key_drop(key);
	return rxe_key_get(pd, remote, value, access, va, len, key);
}

/**
 * rxe_key_keep - rxe_key_get() for a run of packets that mostly use one key
 * @pd: as rxe_key_get()
 * @remote: as rxe_key_get()
 * @value: L_Key or R_Key
 * @access: enum ib_access_flags that are needed
 * @va: first byte
 * @len: bytes, at least 1
 * @key: in and out: the key, kept until rxe_key_drop(); NULL if there is none
 *
 * Return: as rxe_key_get().
 */
int rxe_key_keep(struct ib_pd *pd, const struct ib_qp *remote, u32 value, int access,
		 u64 va, u64 len, struct rxe_key **key)
{
	if (*key && key_permits(*key, pd, remote, value, access) &&
	    rxe_key_covers(*key, va, len))
		return 0;
	return replace_key(pd, remote, value, access, va, len, key);
}

/**
 * rxe_key_end - make a key invalid
 * @key: the key, its lock held
 *
 * No lookup finds the key from now on.
 *
 * Return: 0; -EAGAIN while a task uses the key's memory, for at most one run. The caller tries
 * again later.
 */
int rxe_key_end(struct rxe_key *key)
{
	key->ending |= key->value != 0;
	WRITE_ONCE(key->value, 0);
	smp_mb();	/* pairs with key_take() */
	if (kref_read(&key->region->ref) > 1)
		return -EAGAIN;
	smp_acquire__after_ctrl_dep();	/* pairs with the end of the last use */
	key->ending = false;
	return 0;
}

/**
 * rxe_key_run - the longest contiguous kernel address range at @va
 * @key: from rxe_key_get() that covered @va to @va + @len, which are present
 * @va: address in the key's range
 * @len: in: bytes wanted, at least 1; out: bytes contiguous, at least 1
 *
 * Return: kernel address.
 */
void *rxe_key_run(const struct rxe_key *key, u64 va, u32 *len)
{
	u64 pos = va - key->iova + key->start;
	u8 shift = key->region->shift;
	u32 size = 1U << shift, off = pos & (size - 1), run;
	void **page;

	if (!key->region->pages)
		return key->paged ? rxe_odp_run(key->region->odp, pos, len) :
				    (void *)(uintptr_t)pos;
	page = key->region->pages + (pos >> shift);
	for (run = size - off; run < *len; run += size, page++)
		if (page[1] != page[0] + size)
			break;
	*len = min(*len, run);
	return key->region->pages[pos >> shift] + off;
}
