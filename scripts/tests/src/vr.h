/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects and the model of a process of verbs_random, shared by the files vr_*.c.
 */
#ifndef VR_H
#define VR_H

#include "verbs_random.h"

#define REGIONS		4
#define WINDOWS		6
#define CQS		3
#define SRQS		2
#define PAIRS		4
#define CONST_LEN	16384
#define STRIPE		8192
#define REGION_LEN	(CONST_LEN + PAIRS * STRIPE)
#define SQ_DEPTH	64
#define BURST		8	/* work requests of an operation, at most */
#define MSG_LEN		3000	/* of a SEND, at most; a UD message is at most MTU */
#define MTU		1024
#define RECVS		1024	/* buffers of a receive queue */
#define RECV_LEN	4096
#define GRH_LEN		40
#define SRQ_MOST	256
#define CQ_MOST		4096
#define QKEY		0x11111111
#define PATIENCE_MS	20000
#define WAITING		(-1)

#define INLINE_LEN	64
#define GROUP_QPN	0xffffff

/* Old user space has no name for it, and posts no such work request. */
#if !HAVE_FLUSH
#define IBV_WR_FLUSH	IBV_WR_DRIVER1
#endif

#define RIGHTS	(ACCESS_ALL | IBV_ACCESS_MW_BIND)

enum expect { MUST, MAY, MUST_NOT };	/* may the operation succeed? */

struct region {
	uint8_t *mem, *copy;		/* copy: expected contents of the stripes */
	bool shared;			/* dropped pages come back with their contents */
	struct ibv_mr *mr[2];		/* for requesters, for responders */
	int access;
	bool foreign;			/* in a PD without queue pairs: unusable */
	uint32_t windows, unsure;	/* windows that are bound to it, and perhaps bound */
	bool known[PAIRS];
};

struct window {
	struct ibv_mw *mw;
	struct region *on;		/* the region it is bound to */
	struct pair *by;		/* type 2: bound on its queue pair 1 */
	int access;
	bool unsure;			/* it isn't known whether it is invalidated */
};

struct recvs {			/* of an SRQ or a queue pair */
	uint8_t *mem;
	struct ibv_mr *mr;
	uint32_t next;
};

struct cq {			/* one for each end of a pair */
	struct ibv_comp_channel *chan[2];
	struct ibv_cq *cq[2];
	uint32_t users;
};

struct srq {
	struct ibv_srq *srq;
	struct recvs recvs;
	uint32_t users;
	uint32_t limits;		/* limits that were set; each causes one event at most */
};

struct flight {			/* a work request that is in flight */
	enum ibv_wr_opcode opcode;
	enum expect expect;
	struct region *local, *remote;
	struct window *window;
	uint32_t local_off, remote_off, len;
	uint64_t operand[2];		/* to add; to compare with, to swap; to write */
};

struct message {		/* at the start of a SEND */
	uint32_t serial, seq, region, off, len;
};

struct pair {
	enum ibv_qp_type type;
	struct ibv_qp *qp[2];
	union ibv_gid gid, group;	/* of queue pair 1 */
	bool attached;			/* to the group */
	struct ibv_ah *ah, *group_ah;
	uint32_t resets;
	struct cq *cq;
	struct srq *srq;
	struct recvs recvs;
	struct flight flight[SQ_DEPTH];
	uint32_t serial, posted, done;	/* work requests of queue pair 0 */
	uint32_t sends, sends_done;	/* each has a receive, of the pair or in the SRQ */
	uint32_t recv_seen, recv_seq;
	uint32_t first_seq;		/* of the first datagram since the last reset */
	uint32_t got[RECVS];		/* received datagrams: number plus one */
	bool failed, peer_failed;
	uint32_t control;		/* binds and invalidations of queue pair 1 */
	int control_status;		/* status of the last one; WAITING until it completes */
};

/* Index 0 is for requesters, 1 for responders. Both may be on the same device. */
extern struct ibv_context *ctx[2];
extern struct ibv_pd *pd[2], *other_pd[2];
extern unsigned int ex_offered;		/* of enum EX_ */
extern const struct world *world;
extern struct region regions[REGIONS];
extern struct window windows[WINDOWS];
extern struct cq cqs[CQS];
extern struct srq srqs[SRQS];
extern struct pair pairs[PAIRS];

#define ENSURE(cond, ...) do { if (!(cond)) wrong(__VA_ARGS__); } while (0)

/* wr_id: serial of the pair, kind (ID_), and number or buffer */
enum { ID_SEND, ID_RECV, ID_CONTROL };

static inline uint64_t wr_id(uint32_t serial, uint32_t what, uint32_t num)
{
	return (uint64_t)serial << 32 | what << 24 | (num & 0xffffff);
}

static inline int stripe_of(const struct pair *p)
{
	return CONST_LEN + (p - pairs) * STRIPE;
}

/* vr_run.c */
void __attribute__((noreturn, format(printf, 1, 2))) wrong(const char *fmt, ...);

/* vr_queues.c */
void take_srq_limit(const struct ibv_srq *srq);

/* vr_check.c */
uint32_t poll_cq(struct cq *cq);
void poll_all(void);
void wait_settled(struct pair *p, bool sleeps);
void check_stripes(struct pair *p);
uint32_t open_of(const struct cq *cq);
void forget_stripe(struct pair *p, const struct flight *f);
bool has_room(const struct pair *p, uint32_t completions);
bool usable(const struct pair *p);
struct pair *pick_pair(uint32_t n, bool rc);
struct region *pick_region(uint32_t n, int rights, bool wild);

/* vr_memory.c */
void disturb(const struct region *r, const struct window *w);
void disturb_pair(struct pair *p);
void unbind(struct window *w);
void make_regions(void);

#define X(name, often) void do_ ## name(const struct op *o);
OP_KINDS(X)
#undef X

#endif
