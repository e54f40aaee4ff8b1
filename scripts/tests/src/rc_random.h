/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of rc_random: operations, flows, connections, the two sides.
 */
#ifndef RC_RANDOM_H
#define RC_RANDOM_H

#include "verbs_util.h"

#define ROUND		64		/* operations per round */
#define SGE_CAP		32
#define QPS_CAP		64
#define GIDS_CAP	8
#define INLINE_CAP	1024
#define ATOMIC_AREA	512		/* bytes at a target's start that only atomics change */
#define GAP		8		/* poisoned bytes after each piece of a landing buffer */
#define SLACK		32		/* a receive is at most so much larger than its message */
#define POISON		0xa5
#define BATCH		8
#define STALL_MS	180000

enum kind {
	SEND, SEND_IMM, WRITE, WRITE_IMM, READ, CMP_SWAP, FETCH_ADD, ATOMIC_WRITE, FLUSH, KINDS
};

extern const char * const kind_name[KINDS];

struct piece {
	uint32_t off;
	uint32_t len;
};

struct op {
	enum kind kind;
	bool fence, solicited, signal, want_inline;
	uint8_t nsge, nrecv;
	uint32_t len, roff, imm;
	uint64_t compare, value, before;
	struct piece sge[SGE_CAP];	/* in the pool; for READ and atomics in the landing area */
	struct piece recv[SGE_CAP];	/* in the receive area */
};

/* Parameters that both sides agree on in the first exchange. */
struct hello {
	uint64_t magic;
	uint64_t seed;
	uint32_t count, qps, max_size, max_sge, max_rd, mtu, gids, atomics, ex;
};

#define MAGIC 0x72635f72616e6435ull

struct flow {			/* one direction of one queue pair */
	uint64_t rng;
	uint8_t *shadow;		/* model of the target */
	uint64_t words[ATOMIC_AREA / 8];	/* the target's atomic area, as generated */
	struct op ops[ROUND];
	uint32_t nops, left, round;
	bool over;
	/* requester */
	uint32_t posted, completed, unsignalled;
	bool told;
	/* responder */
	uint32_t recvs, recv_posted, recv_seen, recv_op;
	uint8_t recv_idx[ROUND];	/* k-th receive belongs to this operation */
	bool peer_done;
};

struct side;

struct conn {
	struct side *side;
	struct ibv_qp *qp;
	struct ibv_cq *scq, *rcq;
	struct rc_attr attr;
	uint32_t depth, max_inline;
	bool sig_all;
	uint8_t *target, *landing, *recv;
	struct ibv_mr *target_mr, *landing_mr, *recv_mr;
	uint64_t peer_addr;
	uint32_t peer_rkey;
	struct flow out, in;
	struct addr me, peer;
};

struct side {
	const char *name, *dev;
	int gid[GIDS_CAP], gids;
	int ctl;
	bool busy_poll, master, no_flush;
	uint8_t timeout;
	struct hello h;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_mr *pool_mr;
	uint8_t *pool;
	uint32_t pool_len, target_len, landing_len, recv_len;
	struct conn c[QPS_CAP];
	uint64_t local;			/* random numbers that the other side need not know */
	uint64_t ops[KINDS], bytes, fences, inlines;
	uint64_t progress_ms;
};

struct msg {			/* sent on the control connection */
	uint32_t what, qp, round, pad;
};

enum { MSG_DONE = 1, MSG_OK = 2, MSG_BYE = 3 };

static inline uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* random_ops.c */
void __attribute__((noreturn)) wrong(struct conn *c, struct flow *f, uint32_t i,
				     const char *what);
bool takes_recv(const struct op *o);
bool lands(const struct op *o);
bool is_ex(const struct op *o);
void gen_round(struct side *s, struct conn *c, struct flow *f);
void begin_round(struct conn *c, struct flow *f);
void model_op(struct side *s, struct flow *f, const struct op *o);
bool poisoned(const uint8_t *p, uint32_t len);

/* random_out.c */
bool step_out(struct conn *c);
void complete_send(struct conn *c, const struct ibv_wc *wc);

/* random_in.c */
void post_recvs(struct conn *c, uint32_t upto);
bool step_in(struct conn *c);
void complete_recv(struct conn *c, const struct ibv_wc *wc);

/* random_loop.c */
void tell_peer(struct side *s, uint32_t what, uint32_t qp, uint32_t round);
void run_side(struct side *s);

/* random_conn.c */
void set_up_side(struct side *s);
void tear_down_side(struct side *s);

#endif
