/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of verbs_nth: the tables of calls, one per kind of object (nth_*.c), and the
 * objects that all of them use.
 */
#ifndef NTH_H
#define NTH_H

#include <sys/mman.h>

#include "verbs_util.h"

#define DATA_LEN 100000
#define DEPTH 100

/* Whose allocations count? */
enum whose {
	CALLER,
	WORKERS,	/* those of kernel threads, on the driver's behalf */
	CHILD,		/* those of a new process, which the call makes: see in_child() */
};

/*
 * Each verb and each undo returns 0 or an errno. No allocation of an undo fails.
 *
 * Later calls use the objects of earlier ones. When a call succeeds though an allocation failed,
 * undo makes it possible to call it again. Calls without undo post work requests. If their doorbell
 * fails, the work requests wait in the ring for the next doorbell. So only allocations of the
 * driver itself fail there.
 */
struct call {
	const char *name;
	int (*make)(void);
	int (*undo)(void);
	bool own;	/* the driver itself allocates memory in this call */
	/*
	 * After each call, without faults: what is wrong now, or NULL. @err: what the call
	 * returned. It may also prepare the next call
	 */
	const char *(*after)(int err);
	enum whose whose;
	/* Errors beside ENOMEM, not of the driver itself; ended by 0. NULL: none */
	const int *also;
};

/* Calls of one kind of object; the last call has no name. All but calls may be NULL */
struct group {
	const struct call *calls;
	void (*begin)(void);	/* makes what the calls need, without faults */
	void (*end)(void);	/* undoes it */
	const char *(*lacks)(void);	/* why the kernel doesn't have this kind; NULL: it has */
};

extern const struct group nth_mr, nth_srq, nth_mw, nth_mcast, nth_odp, nth_dmabuf, nth_path;

/* verbs_nth.c */
extern struct ibv_device *nth_device;
extern struct ibv_context *ctx;
extern struct ibv_pd *pd;
extern struct ibv_cq *cq;
extern struct ibv_mr *mr;		/* of @from and @to */
extern struct ibv_qp *rc, *ud;
extern struct rc_attr rc_attrs, far_attrs;
extern struct ibv_ah_attr ah_attr, far_attr;	/* to itself; to a neighbour elsewhere */
extern uint8_t *from, *to;		/* DATA_LEN bytes each, one behind the other */
extern bool own;		/* only allocations of the driver itself fail */
extern const int no_route[];	/* .also of calls that need the peer's MAC address */

int made(const void *obj);
int nothing(void);
struct ibv_qp *new_qp(enum ibv_qp_type type, struct ibv_srq *srq);
void connect_self(struct ibv_qp *qp);
int transfer(struct ibv_qp *qp, struct ibv_srq *srq, enum ibv_wr_opcode opcode, uint32_t rkey);

/* nth_faults.c */

/* Call once, before all others */
void faults_init(void);

/* From now on, the @n-th allocation fails */
void faults_start(enum whose whose, unsigned int n);

/*
 * No allocation fails any more. Return: 0 if one has failed; else the number left to count.
 * @unsure: out: it isn't known whether one would have failed: try again
 */
unsigned int faults_stop(enum whose whose, bool *unsure);

/* Within a call of CALLER: no allocation fails any more */
void no_faults(void);

/* For a call of CHILD: @begin without faults, and @make, in a new process. Return: as @make */
int in_child(void (*begin)(void), int (*make)(void));

#endif
