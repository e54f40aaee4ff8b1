/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that work requests and peers name by keys (section 10.6).
 *
 * A region is memory. A key names part of a region, for one PD and for some kinds of
 * access. Several keys may name one region.
 */
#ifndef RXE_MEM_H
#define RXE_MEM_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <rdma/ib_verbs.h>
#include <rxe/dev.h>

struct ib_umem;

/**
 * struct rxe_region - memory
 * @ref: one for the owner, one or more for each task run that copies
 * @idle: completed when @ref reaches zero
 * @pages: address of each page. NULL: the region is all of the kernel's memory, and
 *	a position in it is an address
 */
struct rxe_region {
	struct kref		ref;
	struct completion	idle;
	void			**pages;
};

/**
 * struct rxe_key - what a key allows
 * @value: L_Key and R_Key: key index in bits 31..8, key variant in bits 7..0
 * @access: enum ib_access_flags
 * @pd: protection domain
 * @iova: address of the first byte in work requests and on the wire
 * @length: bytes
 * @start: position of the first byte in the region
 * @region: the memory
 *
 * Found under RCU; freed after a grace period. Only @access and @pd ever change.
 */
struct rxe_key {
	u32			value;
	int			access;
	struct ib_pd		*pd;
	u64			iova;
	u64			length;
	u64			start;
	struct rxe_region	*region;
};

/**
 * struct rxe_mr - memory region: a key on a region of its own
 * @ibmr: the RDMA core's MR
 * @rcu: frees the struct after the last lookup
 * @key: the key
 * @region: the memory
 * @umem: the pinned user memory; NULL if there are no bytes
 */
struct rxe_mr {
	struct ib_mr		ibmr;
	struct rcu_head		rcu;
	struct rxe_key		key;
	struct rxe_region	region;
	struct ib_umem		*umem;
};

static inline struct rxe_mr *to_rxe_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rxe_mr, ibmr);
}

/* key.c */
int rxe_key_publish(struct rxe_dev *rxe, struct rxe_key *key);
void rxe_key_retire(struct rxe_dev *rxe, struct rxe_key *key);
int rxe_key_get(struct rxe_dev *rxe, struct ib_pd *pd, u32 value, int access,
		u64 va, u64 len, struct rxe_key **key);
int rxe_key_get_all(struct rxe_dev *rxe, struct ib_pd *pd, u32 value, int access,
		    struct rxe_key **key);
int rxe_key_keep(struct rxe_dev *rxe, struct ib_pd *pd, u32 value, int access,
		 u64 va, u64 len, struct rxe_key **key);
void *rxe_key_run(const struct rxe_key *key, u64 va, u32 *len);

/* region.c */
void rxe_region_init(struct rxe_region *region);
void rxe_region_put(struct rxe_region *region);
void rxe_region_end(struct rxe_region *region);

/**
 * rxe_key_hold - take another reference to the memory of a key
 * @key: from rxe_key_get(), still held
 */
static inline void rxe_key_hold(struct rxe_key *key)
{
	kref_get(&key->region->ref);
}

/**
 * rxe_key_put - give back a reference
 * @key: from rxe_key_get(), in the same task run
 */
static inline void rxe_key_put(struct rxe_key *key)
{
	rxe_region_put(key->region);
}

/**
 * rxe_key_drop - give back the key that rxe_key_keep() kept
 * @key: where it is kept; set to NULL
 */
static inline void rxe_key_drop(struct rxe_key **key)
{
	if (*key)
		rxe_key_put(*key);
	*key = NULL;
}

/* mr.c */
struct ib_mr *rxe_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *rxe_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 iova, int access, struct ib_udata *udata);
struct ib_mr *rxe_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 iova, int access,
				struct ib_pd *ibpd, struct ib_udata *udata);
int rxe_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* RXE_MEM_H */
