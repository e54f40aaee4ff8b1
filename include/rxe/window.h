/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory windows (mem/mw.c).
 */
#ifndef RXE_WINDOW_H
#define RXE_WINDOW_H

#include <rxe/mem.h>

struct rxe_window;

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
 * struct rxe_mw - memory window
 * @ibmw: the RDMA core's MW, which it frees right after dealloc_mw
 * @window: the part that lookups find
 */
struct rxe_mw {
	struct ib_mw		ibmw;
	struct rxe_window	*window;
};

/**
 * struct rxe_bind - parameters of a Bind Memory Window work request
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

/* mw.c */
int rxe_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int rxe_dealloc_mw(struct ib_mw *ibmw);
void rxe_windows_init(struct rxe_windows *windows);
int rxe_window_bind(const struct ib_qp *qp, struct rxe_windows *windows,
		    const struct rxe_bind *bind);
void rxe_windows_leave(struct rxe_windows *windows);

#endif /* RXE_WINDOW_H */
