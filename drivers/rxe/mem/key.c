// SPDX-License-Identifier: GPL-2.0
/*
 * Keys (sections 10.6.3, 10.6.4): the only place that turns an L_Key or R_Key into
 * memory.
 *
 * A key is looked up by its index and checked. Its region is then referenced during
 * one run of a task. The L_Key and R_Key of a region are the same number.
 *
 * Context: publish and retire in process context; lookups and copies anywhere but NMI,
 * with bottom halves off, which is the RCU read side that protects the key.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <rxe/mem.h>

#define KEY_VARIANT_BITS	8
#define KEY_INDEX_MAX		((1U << 24) - 1)

/**
 * rxe_key_publish - give a key its value and let lookups find it
 * @rxe: device
 * @key: all but its value is set
 *
 * Indices are assigned cyclically, and the variant is random, so that a stale key
 * hardly ever matches.
 *
 * Return: 0, -ENOMEM, or -EBUSY when all indices are taken.
 */
int rxe_key_publish(struct rxe_dev *rxe, struct rxe_key *key)
{
	u32 index;
	int err;

	/* Only reserve the index: the value must be set before lookups find the key */
	err = xa_alloc_cyclic(&rxe->keys, &index, NULL,
			      XA_LIMIT(1, KEY_INDEX_MAX), &rxe->next_key,
			      GFP_KERNEL);
	if (err < 0)
		return err;
	key->value = index << KEY_VARIANT_BITS | get_random_u8();
	err = xa_err(xa_store(&rxe->keys, index, key, GFP_KERNEL));
	if (err)
		xa_erase(&rxe->keys, index);
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
	xa_erase(&rxe->keys, key->value >> KEY_VARIANT_BITS);
}

/* Are @len bytes at @va in the key's range? No sum may wrap around [o10-37]. */
static bool key_covers(const struct rxe_key *key, u64 va, u64 len)
{
	u64 off = va - key->iova;

	return va >= key->iova && off <= key->length && len <= key->length - off;
}

static bool key_permits(const struct rxe_key *key, struct ib_pd *pd, u32 value,
			int access)
{
	return key->value == value && READ_ONCE(key->pd) == pd &&
	       (READ_ONCE(key->access) & access) == access;
}

static bool key_allows(const struct rxe_key *key, struct ib_pd *pd, u32 value,
		       int access, u64 va, u64 len)
{
	return key_permits(key, pd, value, access) && key_covers(key, va, len);
}

/**
 * rxe_key_get - find memory by a key, with every check [C10-56] [C10-57] [o10-37]
 * @rxe: device
 * @pd: protection domain of the QP
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
int rxe_key_get(struct rxe_dev *rxe, struct ib_pd *pd, u32 value, int access,
		u64 va, u64 len, struct rxe_key **key)
{
	struct rxe_key *found = xa_load(&rxe->keys, value >> KEY_VARIANT_BITS);

	*key = NULL;
	if (!found || !key_allows(found, pd, value, access, va, len) ||
	    !kref_get_unless_zero(&found->region->ref))
		return -EACCES;
	*key = found;
	return 0;
}

/**
 * rxe_key_get_all - find all of the memory of a key
 * @rxe: device
 * @pd: protection domain of the QP
 * @value: R_Key
 * @access: enum ib_access_flags that are needed
 * @key: out: as rxe_key_get()
 *
 * Return: as rxe_key_get().
 */
int rxe_key_get_all(struct rxe_dev *rxe, struct ib_pd *pd, u32 value, int access,
		    struct rxe_key **key)
{
	struct rxe_key *found = xa_load(&rxe->keys, value >> KEY_VARIANT_BITS);

	*key = NULL;
	if (!found || !key_permits(found, pd, value, access) ||
	    !kref_get_unless_zero(&found->region->ref))
		return -EACCES;
	*key = found;
	return 0;
}

/**
 * rxe_key_keep - rxe_key_get() for a run of packets that mostly use one key
 * @rxe: device
 * @pd: protection domain of the QP
 * @value: L_Key or R_Key
 * @access: enum ib_access_flags that are needed
 * @va: first byte
 * @len: bytes, at least 1
 * @key: in and out: the key, kept until rxe_key_drop(); NULL if there is none
 *
 * Return: as rxe_key_get().
 */
int rxe_key_keep(struct rxe_dev *rxe, struct ib_pd *pd, u32 value, int access,
		 u64 va, u64 len, struct rxe_key **key)
{
	if (*key && key_allows(*key, pd, value, access, va, len))
		return 0;
	rxe_key_drop(key);
	return rxe_key_get(rxe, pd, value, access, va, len, key);
}

/**
 * rxe_key_run - the longest contiguous kernel address range at @va
 * @key: from rxe_key_get() that covered @va to @va + @len
 * @va: address in the key's range
 * @len: in: bytes wanted, at least 1; out: bytes contiguous, at least 1
 *
 * Return: kernel address.
 */
void *rxe_key_run(const struct rxe_key *key, u64 va, u32 *len)
{
	u64 pos = va - key->iova + key->start;
	void **page;
	u32 off, run;

	if (!key->region->pages)
		return (void *)(uintptr_t)pos;
	page = key->region->pages + (pos >> PAGE_SHIFT);
	off = offset_in_page(pos);
	for (run = PAGE_SIZE - off; run < *len; run += PAGE_SIZE, page++)
		if (page[1] != page[0] + PAGE_SIZE)
			break;
	*len = min(*len, run);
	return key->region->pages[pos >> PAGE_SHIFT] + off;
}
