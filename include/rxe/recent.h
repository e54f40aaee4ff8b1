/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of an xarray that were made last, by the low bits of their index. Most lookups find
 * their object here, at a fraction of the cost of xa_load(). The others fall back to the xarray.
 */
#ifndef RXE_RECENT_H
#define RXE_RECENT_H

#include <linux/rcupdate.h>
#include <rxe/constants.h>

/**
 * struct rxe_recent - the last object with each value of the low bits
 * @slot: objects that the xarray has, too; freed after an RCU grace period
 *
 * Only rxe_recent_add() and rxe_recent_remove() change a slot. A lookup doesn't: it could bring
 * back an object after its removal.
 */
struct rxe_recent {
	void __rcu	*slot[RXE_RECENT];
};

/* Context: RCU read side. Return: an object, perhaps with another index, or NULL */
static inline void *rxe_recent_peek(const struct rxe_recent *recent, u32 index)
{
	return rcu_dereference_check(recent->slot[index % RXE_RECENT], rcu_read_lock_bh_held());
}

/* Add a complete object that is in the xarray */
static inline void rxe_recent_add(struct rxe_recent *recent, u32 index, void *object)
{
	rcu_assign_pointer(recent->slot[index % RXE_RECENT], object);
}

/* Remove an object, before its grace period begins */
static inline void rxe_recent_remove(struct rxe_recent *recent, u32 index, void *object)
{
	cmpxchg((void __force **)&recent->slot[index % RXE_RECENT], object, NULL);
}

#endif /* RXE_RECENT_H */
