/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory windows (mem/mw.c).
 */
#ifndef RXE_WINDOW_H
#define RXE_WINDOW_H

#include <rxe/mem.h>

/**
 * struct rxe_windows - the windows of type 2B that are bound on a QP
 * @lock: protects @bound; nests in rxe_key.lock, bottom halves off
 * @bound: struct rxe_window, in any order
 */
struct rxe_windows {
	spinlock_t		lock;	/* bound */
	struct list_head	bound;
};

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

/**
 * struct rxe_mw - memory window
 * @ibmw: the RDMA core's MW, which it frees right after dealloc_mw
 * @window: the part that lookups find
 */
struct rxe_mw {
	struct ib_mw		ibmw;
	struct rxe_window	*window;
};

/**
 * struct rxe_bind - what a Bind Memory Window work request asks for
 * @mw_rkey: the window's R_Key until now
 * @new_rkey: its R_Key from now on
 * @mr_lkey: L_Key of the region
 * @access: enum ib_access_flags
 * @addr: first byte, by @mr_lkey
 * @length: bytes; 0 unbinds a window of type 1
 */
struct rxe_bind {
	u32	mw_rkey;
	u32	new_rkey;
	u32	mr_lkey;
	int	access;
	u64	addr;
	u64	length;
};

static inline struct rxe_mw *to_rxe_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct rxe_mw, ibmw);
}

/* mw.c */
int rxe_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int rxe_dealloc_mw(struct ib_mw *ibmw);
void rxe_windows_init(struct rxe_windows *windows);
int rxe_window_bind(const struct ib_qp *qp, struct rxe_windows *windows,
		    const struct rxe_bind *bind);
void rxe_window_unbind(struct rxe_window *window);
void rxe_windows_leave(struct rxe_windows *windows);

#endif /* RXE_WINDOW_H */
