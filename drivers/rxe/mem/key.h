/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keys and regions, private to mem/: how they begin and end. Their use is in rxe/mem.h.
 */
#ifndef RXE_MEM_KEY_H
#define RXE_MEM_KEY_H

#include <rxe/window.h>

/**
 * enum rxe_key_kind - what a key belongs to, which decides how it becomes valid
 * @RXE_KEY_FIXED: a region that is valid from its registration to its end
 * @RXE_KEY_FAST: a region that work requests register and invalidate
 * @RXE_KEY_MW_1: a memory window of type 1, which work requests bind and unbind
 * @RXE_KEY_MW_2: a memory window of type 2B, which work requests bind and invalidate
 */
enum rxe_key_kind {
	RXE_KEY_FIXED,
	RXE_KEY_FAST,
	RXE_KEY_MW_1,
	RXE_KEY_MW_2,
};

/* The address of a key's first byte: @iova, or 0 if @access says so */
static inline u64 rxe_get_first_va(int access, u64 iova)
{
	return access & IB_ZERO_BASED ? 0 : iova;
}

/**
 * struct rxe_window - the part of a memory window that lookups find
 * @rcu: frees the struct after the last lookup
 * @key: the key
 * @region: the bound memory: the pages of @mr, with a reference count of its own, which
 *	tells whether a task uses this key
 * @pd: protection domain of the window
 * @mr: the region that it is bound to, or NULL
 * @qp: RXE_KEY_MW_2: the QP that it is bound to, valid with @mr
 * @windows: RXE_KEY_MW_2: the windows of that QP, valid with @mr
 * @link: link in @windows, whose lock protects it
 *
 * All but @rcu, @pd and @link are protected by the key's lock. Lookups follow the rules of
 * struct rxe_key.
 */
struct rxe_window {
	struct rcu_head		rcu;
	struct rxe_key		key;
	struct rxe_region	region;
	struct ib_pd		*pd;
	struct rxe_mr		*mr;
	const struct ib_qp	*qp;
	struct rxe_windows	*windows;
	struct list_head	link;
};

/* key.c */
int rxe_key_publish(struct rxe_dev *rxe, struct rxe_key *key, bool valid);
void rxe_key_retire(struct rxe_dev *rxe, struct rxe_key *key);
struct rxe_key *rxe_key_find(struct ib_pd *pd, u32 value);
bool rxe_key_covers(const struct rxe_key *key, u64 va, u64 len);
int rxe_key_end(struct rxe_key *key);
bool rxe_window_is_for(const struct rxe_key *key, const struct ib_pd *pd,
		       const struct ib_qp *remote);

/* region.c */
void rxe_region_init(struct rxe_region *region);
void rxe_region_end(struct rxe_region *region);

/* mr.c */
bool rxe_mr_access_ok(int access);

/* mw.c */
void rxe_window_unbind(struct rxe_window *window);

#endif /* RXE_MEM_KEY_H */
