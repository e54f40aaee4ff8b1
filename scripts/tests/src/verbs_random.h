/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of verbs_random: operations, and the function that executes those of a
 * process.
 */
#ifndef VERBS_RANDOM_H
#define VERBS_RANDOM_H

#include "verbs_util.h"

#define PROCS_CAP	8
#define OPS_CAP		4096

/* name, and relative frequency */
#define OP_KINDS(X) \
	X(reg_mr, 80) X(dereg_mr, 20) X(rereg_mr, 30) X(create_cq, 60) X(resize_cq, 70) \
	X(moderate_cq, 20) X(destroy_cq, 15) X(create_srq, 30) X(resize_srq, 40) \
	X(limit_srq, 30) X(destroy_srq, 15) X(create_pair, 120) X(destroy_pair, 25) \
	X(fail_pair, 8) X(reset_pair, 40) X(renew_ah, 20) X(attach, 60) X(detach, 15) \
	X(alloc_mw, 60) X(bind_mw, 90) X(invalidate_mw, 25) X(dealloc_mw, 25) X(write, 140) \
	X(write_imm, 60) X(read, 80) X(flush, 40) X(send, 100) X(send_inv, 20) X(drain, 80) \
	X(atomic, 80) X(atomic_write, 40) X(prefetch, 30) X(drop_pages, 50) X(page_out, 30) \
	X(protect, 8) X(fork, 8)

enum op_kind {
#define X(name, often) OP_ ## name,
	OP_KINDS(X)
#undef X
	OP_NUM,
};

/* Numbers are used modulo the number of objects, so any part of a list is a valid list */
struct op {
	uint32_t proc, kind;
	uint32_t a, b, c, d;
};

/* What has happened in a run; shared by the processes */
struct tally {
	uint64_t completed, failed, messages, binds, atomics, flushes, paged, resets, groups;
	uint64_t steps;		/* operations, and objects that are destroyed at the end */
};

/* Parameters of all processes */
struct world {
	const char *dev[2];	/* of the requesters, of the responders; one is enough */
	int gid_index[2];
	bool lockstep;		/* an operation is complete before the next one begins */
	bool wrong_model;	/* deliberate: the model keeps invalidated windows */
	struct tally *tally;
};

#define TALLY(what) __atomic_add_fetch(&world->tally->what, 1, __ATOMIC_RELAXED)

/*
 * vr_run.c: executes the operations of a process. If the device does something that the model
 * doesn't allow, ends the process, with the reason in @why.
 */
void run_process(const struct world *w, const struct op *ops, uint32_t n, uint32_t proc,
		 char *why, size_t why_len);

#endif
