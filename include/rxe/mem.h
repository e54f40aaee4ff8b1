/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that work requests and peers name by keys (section 10.6).
 *
 * A region is memory. A key names part of a region, for one PD and for some kinds of
 * access. Several keys may name one region.
 */
#ifndef RXE_MEM_H
#define RXE_MEM_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rxe/dev.h>

struct ib_umem;
struct rxe_dmabuf;
struct rxe_odp;
struct scatterlist;

#define RXE_KEY_VARIANT_BITS	8	/* low bits of a key, which its owner chooses */

/**
 * struct rxe_region - memory
 * @ref: one for the owner, one or more for each task run that copies
 * @idle: completed when @ref reaches zero
 * @pages: kernel address of each page. If NULL, a position in the region is itself an address:
 *	in the process if @odp is set, else in the kernel
 * @odp: memory of a process that isn't pinned, or NULL
 * @shift: log2 of the bytes per page
 * @mapped: another driver maps it for the kernel, perhaps without caches
 */
struct rxe_region {
	struct kref		ref;
	struct completion	idle;
	void			**pages;
	struct rxe_odp		*odp;
	u8			shift;
	bool			mapped;
};

/**
 * struct rxe_key - what a key allows
 * @value: L_Key and R_Key: key index in bits 31..8, key variant in bits 7..0; 0 while the key
 *	is invalid
 * @access: enum ib_access_flags
 * @pd: protection domain; NULL for the key of a memory window, see struct rxe_window
 * @iova: address of the first byte in work requests and on the wire
 * @length: bytes
 * @start: position of the first byte in the region
 * @region: the memory
 * @name: @value when it was valid last; 0: the key has been retired
 * @kind: enum rxe_key_kind
 * @paged: the memory isn't pinned, so rxe_key_prepare() is called before each use
 * @ending: a work request is invalidating the key; a task may still use its memory
 * @lock: orders changes of the key
 *
 * Found under RCU; freed after a grace period. While @value is set, only @access and @pd ever
 * change. A task takes a reference to the region, and then checks that @value is still set.
 * Until the task drops the reference, the key can't become valid with other values.
 */
struct rxe_key {
	u32			value;
	int			access;
	struct ib_pd		*pd;
	u64			iova;
	u64			length;
	u64			start;
	struct rxe_region	*region;
	u32			name;
	u8			kind;
	bool			paged;
	bool			ending;
	spinlock_t		lock;	/* changes */
};

/**
 * struct rxe_mr - memory region: a key on a region of its own
 * @ibmr: the RDMA core's MR
 * @rcu: frees the struct after the last lookup
 * @key: the key
 * @region: the memory
 * @umem: the pinned user memory; NULL if the region has no bytes, or other memory
 * @dmabuf: the dma-buf that has the bytes, or NULL
 * @windows: memory windows that are bound to it; -1: none may be bound any more
 * @next: RXE_KEY_FAST: the pages of the next registration
 * @num_next: pages in @next
 * @num_pages: RXE_KEY_FAST: pages in the list of @region
 * @max_pages: room in each of the two lists
 * @mapped: RXE_KEY_FAST: ib_map_mr_sg() was called since the last registration
 */
struct rxe_mr {
	struct ib_mr		ibmr;
	struct rcu_head		rcu;
	struct rxe_key		key;
	struct rxe_region	region;
	struct ib_umem		*umem;
	struct rxe_dmabuf	*dmabuf;
	atomic_t		windows;
	void			**next;
	u32			num_next;
	u32			num_pages;
	u32			max_pages;
	bool			mapped;
};

static inline struct rxe_mr *to_rxe_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rxe_mr, ibmr);
}

/* key.c */
int rxe_key_get(struct ib_pd *pd, const struct ib_qp *remote, u32 value, int access,
		u64 va, u64 len, struct rxe_key **key);
int rxe_key_get_all(struct ib_pd *pd, const struct ib_qp *remote, u32 value, int access,
		    struct rxe_key **key);
int rxe_key_keep(struct ib_pd *pd, const struct ib_qp *remote, u32 value, int access,
		 u64 va, u64 len, struct rxe_key **key);
void *rxe_key_run(const struct rxe_key *key, u64 va, u32 *len);

/* region.c */
void rxe_region_put(struct rxe_region *region);

/**
 * rxe_key_hold - take another reference to the memory of a key
 * @key: from rxe_key_get(), still held
 */
static inline void rxe_key_hold(struct rxe_key *key)
{
	kref_get(&key->region->ref);
}

/**
 * rxe_key_put - drop a reference
 * @key: from rxe_key_get(), in the same task run
 */
static inline void rxe_key_put(struct rxe_key *key)
{
	rxe_region_put(key->region);
}

/**
 * rxe_key_drop - drop the key that rxe_key_keep() kept
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
struct ib_mr *rxe_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova,
				int fd, int access);
int rxe_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* pmem.c */
void rxe_key_persist(const struct rxe_key *key, u64 va, u32 len);

/* fast.c, invalidate.c */
struct ib_mr *rxe_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int rxe_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int num,
		  unsigned int *offset);
int rxe_mr_register(const struct ib_qp *qp, u32 value, int access);
int rxe_key_invalidate(const struct ib_qp *qp, bool remote, u32 value);
void rxe_key_restore(const struct ib_qp *qp, u32 *ending);

#endif /* RXE_MEM_H */
