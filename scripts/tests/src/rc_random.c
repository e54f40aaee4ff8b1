// SPDX-License-Identifier: GPL-2.0
/*
 * rc_random: random RC operations, verified byte for byte on both sides.
 *
 * Both sides derive the same operations from one seed, so each knows what the other does and
 * keeps a model of the memory that the operations change. Every queue pair carries a flow each
 * way. A flow goes in rounds: the requester posts a round's operations as its send queue has
 * room, checks what its READs and atomics brought, and says "done" over the control connection;
 * the responder compares receives, and the target memory with the model, and says "ok".
 *
 * Data comes from a pool of random bytes that both sides make, so an operation is a few offsets
 * and checking is memcmp(). Receives are partly posted late, so RNR NAKs happen; a WRITE or
 * atomic that overlaps an earlier READ is fenced, as the specification demands.
 *
 * One process with two threads (-d A -D B, or twice the same device), or two processes joined
 * by TCP (--listen, --connect).
 */
#include <getopt.h>
#include <pthread.h>
#include <sched.h>

#include "verbs_util.h"

#define ROUND		64		/* operations a round */
#define SGE_CAP		32
#define QPS_CAP		64
#define GIDS_CAP	8
#define INLINE_CAP	1024
#define ATOMIC_AREA	512		/* bytes at the start of a target that only atomics change */
#define GAP		8		/* poisoned bytes after each piece of a landing buffer */
#define SLACK		32		/* a receive is at most so much larger than its message */
#define POISON		0xa5
#define BATCH		8
#define STALL_MS	180000

enum kind { SEND, SEND_IMM, WRITE, WRITE_IMM, READ, CMP_SWAP, FETCH_ADD, KINDS };

static const char * const kind_name[KINDS] = {
	"SEND", "SEND_IMM", "WRITE", "WRITE_IMM", "READ", "CMP_SWAP", "FETCH_ADD",
};

static const enum ibv_wr_opcode kind_wr[KINDS] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static const enum ibv_wc_opcode kind_wc[KINDS] = {
	IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
	IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,
};

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

/* What both sides agree on in the first exchange. */
struct hello {
	uint64_t magic;
	uint64_t seed;
	uint32_t count, qps, max_size, max_sge, max_rd, mtu, gids, atomics;
};

#define MAGIC 0x72635f72616e6434ull

struct flow {			/* one direction of one queue pair */
	uint64_t rng;
	uint8_t *shadow;		/* model of the target */
	uint64_t words[ATOMIC_AREA / 8];	/* its atomic area, as of generation */
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
	bool busy_poll, master;
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

struct msg {			/* on the control connection */
	uint32_t what, qp, round, pad;
};

enum { MSG_DONE = 1, MSG_OK = 2, MSG_BYE = 3 };

static void __attribute__((noreturn)) wrong(struct conn *c, struct flow *f, uint32_t i,
					    const char *what)
{
	struct op *o = &f->ops[i];

	die("%s: qp %u (%s, mtu %d) round %u op %u: %s of %u bytes at %u: %s", c->side->name,
	    (unsigned int)(c - c->side->c), f == &c->out ? "out" : "in", mtu_bytes(c->attr.mtu),
	    f->round, i, kind_name[o->kind], o->len, o->roff, what);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- generation: the same on both sides ---- */

static uint32_t random_len(uint64_t *s, uint32_t mtu, uint32_t max)
{
	uint32_t p = rnd_range(s, 0, 999), top;

	if (p < 40)
		return 0;
	if (p < 400)
		top = 256;
	else if (p < 800)
		top = 4 * mtu;
	else if (p < 950)
		top = 16 << 10;
	else if (p < 998)
		top = 64 << 10;
	else
		top = max;
	/* whole packets and a byte around them are where the mistakes live */
	if (p % 5 == 0 && p < 950)
		return least(mtu * rnd_range(s, 1, 4) + rnd_range(s, 0, 2) - 1, max);
	return rnd_range(s, 1, least(top, max));
}

/* Cut len into n pieces of at least one byte; offsets are filled by the caller. */
static void cut(uint64_t *s, struct piece *p, uint32_t n, uint32_t len)
{
	uint32_t i, most;

	for (i = 0; i + 1 < n; i++) {
		most = len - (n - 1 - i);
		if (most > 2 * len / (n - i))
			most = 2 * len / (n - i);
		p[i].len = rnd_range(s, 1, most ? most : 1);
		len -= p[i].len;
	}
	if (n)
		p[n - 1].len = len;
}

static uint32_t pick_sges(uint64_t *s, uint32_t max, uint32_t len)
{
	uint32_t n = rnd_range(s, 0, 3) ? rnd_range(s, 1, 3) : rnd_range(s, 1, max);

	if (n > max)
		n = max;
	return n < len ? n : len ? len : 0;
}

/* Lay pieces out in a landing or receive area, a poisoned gap after each. */
static uint32_t lay(struct piece *p, uint32_t n, uint32_t at)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		p[i].off = at;
		at += p[i].len + GAP;
	}
	return (at + 7) & ~7u;
}

static bool overlaps_read(struct flow *f, uint32_t from, uint32_t i)
{
	struct op *o = &f->ops[i], *r;
	uint32_t k;

	for (k = from; k < i; k++) {
		r = &f->ops[k];
		if (r->kind >= READ && r->roff < o->roff + o->len && o->roff < r->roff + r->len)
			return true;
	}
	return false;
}

static void gen_atomic(struct flow *f, struct op *o)
{
	uint32_t w = rnd_range(&f->rng, 0, ATOMIC_AREA / 8 - 1);

	o->len = 8;
	o->roff = w * 8;
	o->nsge = 1;
	o->sge[0].len = 8;
	o->value = rnd(&f->rng);
	o->compare = rnd_range(&f->rng, 0, 3) ? f->words[w] : rnd(&f->rng);
	o->before = f->words[w];
	if (o->kind == FETCH_ADD)
		f->words[w] += o->value;
	else if (o->compare == o->before)
		f->words[w] = o->value;
}

static void gen_data(struct side *s, struct conn *c, struct flow *f, struct op *o)
{
	uint32_t lo = o->kind == READ ? 0 : ATOMIC_AREA, i;

	o->len = random_len(&f->rng, mtu_bytes(c->attr.mtu), s->h.max_size);
	o->roff = rnd_range(&f->rng, lo, s->target_len - o->len);
	o->nsge = pick_sges(&f->rng, s->h.max_sge, o->len);
	cut(&f->rng, o->sge, o->nsge, o->len);
	for (i = 0; i < o->nsge && o->kind != READ; i++)
		o->sge[i].off = rnd_range(&f->rng, 0, s->pool_len - o->sge[i].len);
}

static bool takes_recv(const struct op *o)
{
	return o->kind == SEND || o->kind == SEND_IMM || o->kind == WRITE_IMM;
}

static void gen_op(struct side *s, struct conn *c, struct flow *f, uint32_t i)
{
	struct op *o = &f->ops[i];
	uint32_t cap, flags = rnd(&f->rng);

	memset(o, 0, offsetof(struct op, sge));
	o->kind = rnd_range(&f->rng, 0, s->h.atomics ? KINDS - 1 : READ);
	o->imm = rnd(&f->rng);
	o->fence = (flags & 15) == 0;
	o->solicited = flags & 16;
	o->signal = flags & 32;
	o->want_inline = flags & 64;
	if (o->kind >= CMP_SWAP)
		gen_atomic(f, o);
	else
		gen_data(s, c, f, o);
	if (!takes_recv(o))
		return;
	cap = (o->kind == WRITE_IMM ? 0 : o->len) + rnd_range(&f->rng, 0, SLACK);
	o->nrecv = pick_sges(&f->rng, s->h.max_sge, cap);
	cut(&f->rng, o->recv, o->nrecv, cap);
}

/* The next round of a flow; ends where the landing or receive area would overflow. */
static void gen_round(struct side *s, struct conn *c, struct flow *f)
{
	uint32_t landing = 0, recv = 0, read_from = 0, i;
	struct op *o;

	f->nops = rnd_range(&f->rng, 1, f->left < ROUND ? f->left : ROUND);
	f->recvs = 0;
	for (i = 0; i < f->nops; i++) {
		o = &f->ops[i];
		gen_op(s, c, f, i);
		if ((o->kind == WRITE || o->kind == WRITE_IMM || o->kind >= CMP_SWAP) &&
		    overlaps_read(f, read_from, i))
			o->fence = true;
		if (o->fence)
			read_from = i;
		if (o->kind >= READ)
			landing = lay(o->sge, o->nsge, landing);
		if (takes_recv(o)) {
			recv = lay(o->recv, o->nrecv, recv);
			f->recv_idx[f->recvs++] = i;
		}
		/* room for the largest operation must remain, or the round ends here */
		if (landing + s->h.max_size + 4096 > s->landing_len ||
		    recv + s->h.max_size + 4096 > s->recv_len) {
			f->nops = i + 1;
			break;
		}
	}
	f->left -= f->nops;
	f->posted = f->completed = f->unsignalled = 0;
	f->recv_posted = f->recv_seen = 0;
	f->told = f->peer_done = false;
}

/* ---- the model ---- */

static void model_write(struct side *s, struct flow *f, const struct op *o)
{
	uint32_t i, at = o->roff;

	for (i = 0; i < o->nsge; i++) {
		memcpy(f->shadow + at, s->pool + o->sge[i].off, o->sge[i].len);
		at += o->sge[i].len;
	}
}

static void model_atomic(struct flow *f, const struct op *o)
{
	uint64_t v;

	memcpy(&v, f->shadow + o->roff, 8);
	if (o->kind == FETCH_ADD)
		v += o->value;
	else if (v == o->compare)
		v = o->value;
	memcpy(f->shadow + o->roff, &v, 8);
}

static void model(struct side *s, struct flow *f, const struct op *o)
{
	if (o->kind == WRITE || o->kind == WRITE_IMM)
		model_write(s, f, o);
	else if (o->kind >= CMP_SWAP)
		model_atomic(f, o);
}

static bool poisoned(const uint8_t *p, uint32_t len)
{
	while (len--)
		if (*p++ != POISON)
			return false;
	return true;
}

static void poison_gaps(uint8_t *area, const struct piece *p, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		memset(area + p[i].off + p[i].len, POISON, GAP);
}

/* ---- requester ---- */

static void check_read(struct conn *c, struct flow *f, uint32_t i)
{
	struct op *o = &f->ops[i];
	uint32_t k, at = o->roff;

	for (k = 0; k < o->nsge; k++) {
		if (memcmp(c->landing + o->sge[k].off, f->shadow + at, o->sge[k].len))
			wrong(c, f, i, "READ brought wrong data");
		if (!poisoned(c->landing + o->sge[k].off + o->sge[k].len, GAP))
			wrong(c, f, i, "READ wrote past its SGE");
		at += o->sge[k].len;
	}
}

static void check_atomic(struct conn *c, struct flow *f, uint32_t i)
{
	struct op *o = &f->ops[i];
	uint64_t v;

	memcpy(&v, c->landing + o->sge[0].off, 8);
	if (v != o->before)
		wrong(c, f, i, "wrong original value returned");
	if (!poisoned(c->landing + o->sge[0].off + 8, GAP))
		wrong(c, f, i, "the result was written past its SGE");
}

static void op_completed(struct conn *c, uint32_t i)
{
	struct side *s = c->side;
	struct flow *f = &c->out;
	struct op *o = &f->ops[i];

	if (o->kind == READ)
		check_read(c, f, i);
	else if (o->kind >= CMP_SWAP)
		check_atomic(c, f, i);
	model(s, f, o);
	s->ops[o->kind]++;
	s->bytes += o->len;
	s->fences += o->fence;
}

struct wr {
	struct ibv_send_wr wr;
	struct ibv_sge sge[SGE_CAP];
	uint8_t inline_data[INLINE_CAP];
};

static void fill_inline(struct side *s, struct wr *w, const struct op *o)
{
	uint32_t k, at = 0;

	for (k = 0; k < o->nsge; k++) {
		memcpy(w->inline_data + at, s->pool + o->sge[k].off, o->sge[k].len);
		w->sge[k].addr = (uintptr_t)w->inline_data + at;
		w->sge[k].lkey = 0xdeadbeef;
		at += o->sge[k].len;
	}
	w->wr.send_flags |= IBV_SEND_INLINE;
	s->inlines++;
}

static void fill_wr(struct conn *c, struct wr *w, uint32_t i)
{
	struct side *s = c->side;
	struct op *o = &c->out.ops[i];
	bool lands = o->kind >= READ;
	uint32_t k;

	memset(&w->wr, 0, sizeof(w->wr));
	w->wr.wr_id = i;
	w->wr.opcode = kind_wr[o->kind];
	w->wr.sg_list = w->sge;
	w->wr.num_sge = o->nsge;
	w->wr.imm_data = htonl(o->imm);
	w->wr.send_flags = (o->fence ? IBV_SEND_FENCE : 0) | (o->signal ? IBV_SEND_SIGNALED : 0) |
			   (o->solicited ? IBV_SEND_SOLICITED : 0);
	for (k = 0; k < o->nsge; k++) {
		w->sge[k].addr = (uintptr_t)(lands ? c->landing : s->pool) + o->sge[k].off;
		w->sge[k].length = o->sge[k].len;
		w->sge[k].lkey = lands ? c->landing_mr->lkey : s->pool_mr->lkey;
	}
	if (o->kind >= CMP_SWAP) {
		w->wr.wr.atomic.remote_addr = c->peer_addr + o->roff;
		w->wr.wr.atomic.rkey = c->peer_rkey;
		w->wr.wr.atomic.compare_add = o->kind == FETCH_ADD ? o->value : o->compare;
		w->wr.wr.atomic.swap = o->value;
	} else if (o->kind >= WRITE) {
		w->wr.wr.rdma.remote_addr = c->peer_addr + o->roff;
		w->wr.wr.rdma.rkey = c->peer_rkey;
	}
	if (lands)
		poison_gaps(c->landing, o->sge, o->nsge);
	else if (o->want_inline && o->len <= c->max_inline)
		fill_inline(s, w, o);
}

/* Every send queue must see a signalled operation before it is full of unsignalled ones. */
static void decide_signal(struct conn *c, uint32_t i)
{
	struct flow *f = &c->out;
	struct op *o = &f->ops[i];

	if (i + 1 == f->nops || f->unsignalled + 2 >= c->depth / 2)
		o->signal = true;
	f->unsignalled = o->signal || c->sig_all ? 0 : f->unsignalled + 1;
}

static bool post_sends(struct conn *c)
{
	static __thread struct wr w[BATCH];
	struct ibv_send_wr *bad;
	struct flow *f = &c->out;
	uint32_t n = 0, i, room = c->depth - (f->posted - f->completed);

	while (n < BATCH && n < room && f->posted + n < f->nops) {
		decide_signal(c, f->posted + n);
		fill_wr(c, &w[n], f->posted + n);
		if (n)
			w[n - 1].wr.next = &w[n].wr;
		n++;
	}
	if (!n)
		return false;
	if (ibv_post_send(c->qp, &w[0].wr, &bad))
		wrong(c, f, f->posted, "post_send refused it");
	for (i = 0; i < n; i++)		/* inline data was copied at the post, or should have been */
		if (w[i].wr.send_flags & IBV_SEND_INLINE)
			memset(w[i].inline_data, 0xee, sizeof(w[i].inline_data));
	f->posted += n;
	return true;
}

static void tell(struct side *s, uint32_t what, uint32_t qp, uint32_t round)
{
	struct msg m = { .what = what, .qp = qp, .round = round };

	write_all(s->ctl, &m, sizeof(m));
}

static bool step_out(struct conn *c)
{
	struct flow *f = &c->out;
	bool did = false;

	if (f->over || f->told)
		return false;
	while (post_sends(c))
		did = true;
	if (f->completed == f->nops) {
		f->told = did = true;
		tell(c->side, MSG_DONE, c - c->side->c, f->round);
	}
	return did;
}

static void next_round(struct conn *c, struct flow *f)
{
	f->round++;
	if (!f->left)
		f->over = true;
	else
		gen_round(c->side, c, f);
}

/* ---- responder ---- */

static void post_recv(struct conn *c, uint32_t k)
{
	struct flow *f = &c->in;
	struct op *o = &f->ops[f->recv_idx[k]];
	struct ibv_sge sge[SGE_CAP];
	struct ibv_recv_wr wr = { .wr_id = k, .sg_list = sge, .num_sge = o->nrecv }, *bad;
	uint32_t i, n;

	for (i = 0; i < o->nrecv; i++) {
		sge[i].addr = (uintptr_t)c->recv + o->recv[i].off;
		sge[i].length = o->recv[i].len;
		sge[i].lkey = c->recv_mr->lkey;
		/* what the message doesn't reach, the last SLACK bytes at most, stays poisoned */
		n = least(sge[i].length, SLACK);
		memset(c->recv + o->recv[i].off + o->recv[i].len - n, POISON, n + GAP);
	}
	if (ibv_post_recv(c->qp, &wr, &bad))
		wrong(c, f, f->recv_idx[k], "post_recv refused it");
}

static void post_recvs(struct conn *c, uint32_t upto)
{
	while (c->in.recv_posted < upto)
		post_recv(c, c->in.recv_posted++);
}

/* Compare a scattered receive with the pieces of the pool that were sent. */
static void check_recv_data(struct conn *c, uint32_t i)
{
	struct side *s = c->side;
	struct flow *f = &c->in;
	struct op *o = &f->ops[i];
	uint32_t k, a = 0, aoff = 0, done, n, left = o->kind == WRITE_IMM ? 0 : o->len;

	for (k = 0; k < o->nrecv; k++) {
		for (done = 0; done < o->recv[k].len && left; done += n, left -= n) {
			n = o->recv[k].len - done;
			if (n > o->sge[a].len - aoff)
				n = o->sge[a].len - aoff;
			if (memcmp(c->recv + o->recv[k].off + done,
				   s->pool + o->sge[a].off + aoff, n))
				wrong(c, f, i, "received wrong data");
			aoff += n;
			if (aoff == o->sge[a].len) {
				a++;
				aoff = 0;
			}
		}
		if (!poisoned(c->recv + o->recv[k].off + done, o->recv[k].len - done + GAP))
			wrong(c, f, i, "received past the end");
	}
	if (left)
		wrong(c, f, i, "internal: receive shorter than message");
}

static void recv_completed(struct conn *c, const struct ibv_wc *wc)
{
	struct flow *f = &c->in;
	uint32_t k = f->recv_seen++, i;
	struct op *o;
	bool imm;

	if (k >= f->recvs || wc->wr_id != k)
		die("qp %u: receive %u completed out of order or twice (expected %u of %u)",
		    wc->qp_num, (uint32_t)wc->wr_id, k, f->recvs);
	i = f->recv_idx[k];
	o = &f->ops[i];
	imm = o->kind != SEND;
	if (wc->opcode != (o->kind == WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
		wrong(c, f, i, "wrong opcode in the receive completion");
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != imm || (imm && ntohl(wc->imm_data) != o->imm))
		wrong(c, f, i, "wrong immediate data");
	if (wc->byte_len != o->len)
		wrong(c, f, i, "wrong byte_len in the receive completion");
	check_recv_data(c, i);
}

static void check_target(struct conn *c)
{
	struct side *s = c->side;
	struct flow *f = &c->in;
	struct op *o;
	uint32_t i;

	for (i = 0; i < f->nops; i++)
		model(s, f, &f->ops[i]);
	for (i = 0; i < f->nops; i++) {
		o = &f->ops[i];
		if (o->kind != SEND && o->kind != SEND_IMM && o->kind != READ &&
		    memcmp(c->target + o->roff, f->shadow + o->roff, o->len))
			wrong(c, f, i, "target memory differs from the model");
	}
	/* stray writes show in the rest of the target */
	if ((f->round % 16 == 0 || !f->left) && memcmp(c->target, f->shadow, s->target_len))
		wrong(c, f, 0, "target memory differs outside what the round wrote");
}

static bool step_in(struct conn *c)
{
	struct flow *f = &c->in;
	uint32_t round = f->round;

	if (f->over || !f->peer_done || f->recv_seen < f->recvs)
		return false;
	check_target(c);
	next_round(c, f);
	if (!f->over)
		post_recvs(c, rnd_range(&c->side->local, 0, f->recvs));
	tell(c->side, MSG_OK, c - c->side->c, round);
	if (!f->over)
		post_recvs(c, f->recvs);
	return true;
}

/* ---- the event loop of one side ---- */

static void send_completed(struct conn *c, const struct ibv_wc *wc)
{
	struct flow *f = &c->out;
	uint32_t i = wc->wr_id;

	if (i >= f->posted || i < f->completed)
		die("qp %u: send %u completed out of order or twice (%u posted, %u completed)",
		    wc->qp_num, i, f->posted, f->completed);
	if (wc->opcode != kind_wc[f->ops[i].kind])
		wrong(c, f, i, "wrong opcode in the send completion");
	if (c->sig_all && i != f->completed)
		wrong(c, f, i, "a completion is missing");
	while (f->completed <= i) {
		if (f->completed != i && f->ops[f->completed].signal)
			wrong(c, f, f->completed, "its completion is missing");
		op_completed(c, f->completed++);
	}
}

static struct conn *by_qpn(struct side *s, uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < s->h.qps; i++)
		if (s->c[i].qp->qp_num == qpn)
			return &s->c[i];
	die("%s: completion of unknown qp %u", s->name, qpn);
}

static void completed(struct side *s, const struct ibv_wc *wc)
{
	struct conn *c = by_qpn(s, wc->qp_num);
	struct flow *f;

	if (wc->status != IBV_WC_SUCCESS) {
		fprintf(stderr, "%s: completion with status %s, vendor error 0x%x, %u posted, %u completed, %u of %u received\n",
			s->name, ibv_wc_status_str(wc->status), wc->vendor_err, c->out.posted,
			c->out.completed, c->in.recv_seen, c->in.recvs);
		f = wc->wr_id < c->out.posted ? &c->out : &c->in;
		wrong(c, f, wc->wr_id < ROUND ? wc->wr_id : 0, "failed (operation is a guess)");
	}
	if (wc->opcode & IBV_WC_RECV)
		recv_completed(c, wc);
	else
		send_completed(c, wc);
}

static bool drain(struct side *s, struct ibv_cq *cq)
{
	struct ibv_wc wc[16];
	bool did = false;
	int i, n;

	while ((n = ibv_poll_cq(cq, ARRAY_LEN(wc), wc)) > 0) {
		for (i = 0; i < n; i++)
			completed(s, &wc[i]);
		did = true;
	}
	if (n < 0)
		die("%s: poll_cq failed", s->name);
	return did;
}

static bool drain_all(struct side *s)
{
	bool did = false;
	uint32_t i;

	for (i = 0; i < s->h.qps; i++) {
		did |= drain(s, s->c[i].scq);
		if (s->c[i].rcq != s->c[i].scq)
			did |= drain(s, s->c[i].rcq);
	}
	return did;
}

static void control(struct side *s, bool *bye)
{
	struct msg m;
	struct conn *c;

	read_all(s->ctl, &m, sizeof(m));
	if (m.what == MSG_BYE) {
		*bye = true;
		return;
	}
	if (m.qp >= s->h.qps)
		die("%s: bad control message", s->name);
	c = &s->c[m.qp];
	if (m.round != (m.what == MSG_DONE ? c->in.round : c->out.round))
		die("%s: qp %u: control message of round %u out of order", s->name, m.qp, m.round);
	if (m.what == MSG_DONE)
		c->in.peer_done = true;
	else
		next_round(c, &c->out);
}

static void arm(struct side *s)
{
	uint32_t i;

	for (i = 0; i < s->h.qps; i++) {
		if (ibv_req_notify_cq(s->c[i].scq, 0) || ibv_req_notify_cq(s->c[i].rcq, 0))
			die("req_notify_cq: %s", strerror(errno));
	}
}

/* Nothing to do: sleep till a completion or a control message comes. */
static bool idle(struct side *s, bool *bye)
{
	struct pollfd p[2] = {
		{ .fd = s->ctl, .events = POLLIN }, { .fd = s->chan->fd, .events = POLLIN },
	};
	int n;

	if (!s->busy_poll) {
		arm(s);
		if (drain_all(s))
			return true;
	} else {
		sched_yield();
	}
	n = poll(p, s->busy_poll ? 1 : 2, s->busy_poll ? 0 : 1000);
	if (n < 0 && errno != EINTR)
		die("poll: %s", strerror(errno));
	if (n > 0 && p[0].revents)
		control(s, bye);
	if (n > 0 && p[1].revents)
		take_cq_event(s->chan);
	return n > 0;
}

static void stalled(struct side *s)
{
	uint32_t i;

	for (i = 0; i < s->h.qps; i++) {
		struct conn *c = &s->c[i];

		fprintf(stderr, "%s: qp %u state %d: out round %u, %u of %u posted, %u completed%s; in round %u, %u of %u received%s\n",
			s->name, i, qp_state(c->qp), c->out.round, c->out.posted, c->out.nops,
			c->out.completed, c->out.over ? ", over" : "", c->in.round,
			c->in.recv_seen, c->in.recvs, c->in.over ? ", over" : "");
	}
	die("%s: no progress for %d s", s->name, STALL_MS / 1000);
}

static bool all_over(struct side *s)
{
	uint32_t i;

	for (i = 0; i < s->h.qps; i++)
		if (!s->c[i].out.over || !s->c[i].in.over)
			return false;
	return true;
}

static void run(struct side *s)
{
	bool said = false, bye = false, did;
	uint32_t i;

	s->progress_ms = now_ms();
	while (!said || !bye) {
		did = drain_all(s);
		for (i = 0; i < s->h.qps; i++) {
			did |= step_out(&s->c[i]);
			did |= step_in(&s->c[i]);
		}
		if (!said && all_over(s)) {
			tell(s, MSG_BYE, 0, 0);
			said = true;
		}
		if (!did && !(said && bye))
			did = idle(s, &bye);
		if (did)
			s->progress_ms = now_ms();
		else if (now_ms() - s->progress_ms > STALL_MS)
			stalled(s);
	}
}

/* ---- setup ---- */

static void init_flow(struct side *s, struct flow *f, uint32_t qp, bool of_master, uint32_t ops)
{
	f->rng = s->h.seed * 1000003 + qp * 2 + of_master;
	f->left = ops;
	f->shadow = new_pages(s->target_len);
	rnd_fill(f->shadow, s->target_len, f->rng);
	memcpy(f->words, f->shadow, sizeof(f->words));
}

static struct ibv_cq *make_cq(struct side *s, int cqe, uint32_t qp)
{
	struct ibv_cq *cq = ibv_create_cq(s->ctx, cqe, NULL, s->chan,
					  qp % s->ctx->num_comp_vectors);

	if (!cq)
		die("create_cq: %s", strerror(errno));
	return cq;
}

static void make_qp(struct side *s, struct conn *c, uint32_t q)
{
	uint64_t *local = &s->local;
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = c->depth, .max_recv_wr = ROUND,
			 .max_send_sge = s->h.max_sge, .max_recv_sge = s->h.max_sge,
			 .max_inline_data = rnd_range(local, 0, 3) ? rnd_range(local, 0, 256) : 0 },
		.sq_sig_all = c->sig_all,
	};

	c->scq = make_cq(s, c->depth + ROUND, q);
	c->rcq = q % 2 ? c->scq : make_cq(s, ROUND, q);
	ia.send_cq = c->scq;
	ia.recv_cq = c->rcq;
	c->qp = ibv_create_qp(s->pd, &ia);
	if (!c->qp)
		die("create_qp with %u SGEs: %s", s->h.max_sge, strerror(errno));
	c->max_inline = ia.cap.max_inline_data;
	if (c->max_inline > INLINE_CAP)
		c->max_inline = INLINE_CAP;
}

/* cfg is a stream that both sides draw alike */
static void make_conn(struct side *s, uint32_t q, uint64_t *cfg)
{
	uint64_t *local = &s->local;
	struct conn *c = &s->c[q];
	uint32_t ops = (s->h.count + 2 * s->h.qps - 1) / (2 * s->h.qps);

	c->side = s;
	c->attr = rc_attr(s->gid[q % s->h.gids]);
	c->attr.mtu = rnd_range(cfg, IBV_MTU_256, s->h.mtu);
	c->attr.rd_atomic = c->attr.dest_rd_atomic = rnd_range(cfg, 1, s->h.max_rd);
	c->attr.timeout = s->timeout;
	c->attr.min_rnr_timer = rnd_range(local, 1, 14);
	c->depth = rnd_range(local, 0, 3) ? rnd_range(local, 8, 64) : rnd_range(local, 4, 8);
	c->sig_all = rnd_range(local, 0, 3) == 0;
	make_qp(s, c, q);
	c->target = new_pages(s->target_len);
	c->landing = new_pages(s->landing_len);
	c->recv = new_pages(s->recv_len);
	c->target_mr = new_mr(s->pd, c->target, s->target_len,
			      IBV_ACCESS_LOCAL_WRITE | c->attr.access);
	c->landing_mr = new_mr(s->pd, c->landing, s->landing_len, IBV_ACCESS_LOCAL_WRITE);
	c->recv_mr = new_mr(s->pd, c->recv, s->recv_len, IBV_ACCESS_LOCAL_WRITE);
	init_flow(s, &c->out, q, s->master, ops);
	init_flow(s, &c->in, q, !s->master, ops);
	memcpy(c->target, c->in.shadow, s->target_len);
	c->me.qpn = c->qp->qp_num;
	c->me.psn = rnd_range(local, 0, 3) ? rnd(local) & 0xffffff : 0xffffff - rnd_range(local, 0, 99);
	if (ibv_query_gid(s->ctx, 1, c->attr.gid_index, &c->me.gid))
		die("%s: no GID with index %d", s->dev, c->attr.gid_index);
}

static void connect_conn(struct side *s, struct conn *c)
{
	struct { struct addr a; uint64_t addr; uint32_t rkey, pad; } m = {
		.a = c->me, .addr = (uintptr_t)c->target, .rkey = c->target_mr->rkey,
	};

	write_all(s->ctl, &m, sizeof(m));
	read_all(s->ctl, &m, sizeof(m));
	c->peer = m.a;
	c->peer_addr = m.addr;
	c->peer_rkey = m.rkey;
	rc_up(c->qp, &c->attr, c->me.psn, &c->peer);
}

static void agree(struct side *s)
{
	struct ibv_device_attr d;
	struct ibv_port_attr p;
	struct hello o;

	if (ibv_query_device(s->ctx, &d) || ibv_query_port(s->ctx, 1, &p))
		die("%s: query failed", s->dev);
	if (p.state != IBV_PORT_ACTIVE)
		die("%s: port is not active", s->dev);
	s->h.magic = MAGIC;
	s->h.max_sge = least(least(d.max_sge, d.max_sge_rd ? d.max_sge_rd : 1), SGE_CAP);
	s->h.max_rd = least(least(d.max_qp_rd_atom, d.max_qp_init_rd_atom), 16);
	s->h.mtu = p.active_mtu;
	s->h.gids = s->gids;
	s->h.atomics = d.atomic_cap != IBV_ATOMIC_NONE;
	write_all(s->ctl, &s->h, sizeof(s->h));
	read_all(s->ctl, &o, sizeof(o));
	if (o.magic != MAGIC)
		die("%s: the peer is not the same program", s->name);
	if (!s->master) {
		s->h.seed = o.seed;
		s->h.count = o.count;
		s->h.qps = o.qps;
		s->h.max_size = o.max_size;
	}
	s->h.max_sge = least(s->h.max_sge, o.max_sge);
	s->h.max_rd = least(s->h.max_rd, o.max_rd);
	s->h.mtu = least(s->h.mtu, o.mtu);
	s->h.gids = least(s->h.gids, o.gids);
	s->h.atomics &= o.atomics;
}

static void setup(struct side *s)
{
	uint64_t cfg;
	uint32_t q;
	char ready;

	s->ctx = open_device(s->dev);
	if (!s->gids) {
		s->gid[0] = find_gid(s->ctx, "v2");
		s->gids = 1;
	}
	agree(s);
	cfg = s->h.seed;
	s->local = s->h.seed * 77 + s->master;
	s->pd = ibv_alloc_pd(s->ctx);
	s->chan = ibv_create_comp_channel(s->ctx);
	if (!s->pd || !s->chan)
		die("%s: cannot make a PD or channel: %s", s->dev, strerror(errno));
	s->pool_len = 2 * s->h.max_size + 65536;
	s->target_len = 2 * s->h.max_size + 4096;
	s->landing_len = s->recv_len = 2 * s->h.max_size + 65536;
	s->pool = new_pages(s->pool_len);
	rnd_fill(s->pool, s->pool_len, s->h.seed);
	s->pool_mr = new_mr(s->pd, s->pool, s->pool_len, 0);
	for (q = 0; q < s->h.qps; q++)
		make_conn(s, q, &cfg);
	for (q = 0; q < s->h.qps; q++) {
		struct conn *c = &s->c[q];

		gen_round(s, c, &c->out);
		gen_round(s, c, &c->in);
		connect_conn(s, c);
		post_recvs(c, c->in.recvs);
	}
	/* What is sent before the peer's last queue pair is ready would be lost */
	write_all(s->ctl, "", 1);
	read_all(s->ctl, &ready, 1);
}

static void teardown(struct side *s)
{
	uint32_t q;

	for (q = 0; q < s->h.qps; q++) {
		struct conn *c = &s->c[q];

		if (ibv_destroy_qp(c->qp) || ibv_destroy_cq(c->scq) ||
		    (c->rcq != c->scq && ibv_destroy_cq(c->rcq)))
			die("%s: destroying a queue pair failed: %s", s->name, strerror(errno));
		ibv_dereg_mr(c->target_mr);
		ibv_dereg_mr(c->landing_mr);
		ibv_dereg_mr(c->recv_mr);
	}
	if (ibv_dereg_mr(s->pool_mr) || ibv_destroy_comp_channel(s->chan) || ibv_dealloc_pd(s->pd))
		die("%s: teardown failed: %s", s->name, strerror(errno));
	ibv_close_device(s->ctx);
}

static void *side_main(void *arg)
{
	struct side *s = arg;

	setup(s);
	run(s);
	teardown(s);
	return NULL;
}

static void summary(const struct side *s, uint64_t ms)
{
	uint64_t total = 0;
	int k;

	for (k = 0; k < KINDS; k++)
		total += s->ops[k];
	printf("%s: %llu operations verified on %u QPs (up to %u SGEs, MTU %d), %llu bytes in %llu ms:",
	       s->name, (unsigned long long)total, s->h.qps, s->h.max_sge,
	       mtu_bytes(s->h.mtu), (unsigned long long)s->bytes, (unsigned long long)ms);
	for (k = 0; k < KINDS; k++)
		printf(" %s %llu", kind_name[k], (unsigned long long)s->ops[k]);
	printf(", fenced %llu, inline %llu\n", (unsigned long long)s->fences,
	       (unsigned long long)s->inlines);
}

static const char usage[] =
"usage: rc_random [-d DEV] [-D DEV2] [options]           both ends in this process\n"
"       rc_random --listen PORT [-d DEV] [-g N,...]      wait for the other end\n"
"       rc_random --connect HOST:PORT [-d DEV] [options] be the other end\n"
"Random RC operations both ways, every opcode, verified byte for byte on both sides.\n"
"  -d, --dev DEV       device (the first one)\n"
"  -D, --dev2 DEV      device of the other end in one process (same as -d)\n"
"  -g, --gid N,...     GID indexes, QPs take them in turn (the first v2 one)\n"
"  -G, --gid2 N,...    GID indexes of the other end in one process (same as -g)\n"
"  -n, --count N       operations in total, both ways together (100000)\n"
"  -q, --qps N         queue pairs (6)\n"
"  -s, --seed N        seed (1); the same seed makes the same operations\n"
"  -m, --max-size N    largest message (1048576)\n"
"  -t, --timeout N     timeout of this side's queue pairs: 4.096 us * 2^N (18)\n"
"  -b, --busy          poll the completion queues instead of waiting for events\n"
"  -h, --help          this text\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "dev2", 1, NULL, 'D' }, { "gid", 1, NULL, 'g' },
	{ "gid2", 1, NULL, 'G' }, { "count", 1, NULL, 'n' }, { "qps", 1, NULL, 'q' },
	{ "seed", 1, NULL, 's' }, { "max-size", 1, NULL, 'm' }, { "timeout", 1, NULL, 't' }, { "busy", 0, NULL, 'b' },
	{ "listen", 1, NULL, 'l' }, { "connect", 1, NULL, 'c' }, { "help", 0, NULL, 'h' }, {},
};

static void parse_gids(struct side *s, char *list)
{
	char *p;

	for (p = strtok(list, ","); p && s->gids < GIDS_CAP; p = strtok(NULL, ","))
		s->gid[s->gids++] = atoi(p);
}

static void run_one(struct side *s, const char *listen_port, char *target)
{
	char *colon = target ? strrchr(target, ':') : NULL;
	uint64_t start;

	if (target && !colon)
		die("--connect wants HOST:PORT");
	if (colon)
		*colon = 0;
	s->master = !!target;
	s->name = target ? "client" : "server";
	s->ctl = tcp_open(target, target ? colon + 1 : listen_port);
	start = now_ms();
	side_main(s);
	summary(s, now_ms() - start);
}

static void run_both(struct side *a, struct side *b)
{
	uint64_t start = now_ms();
	pthread_t t;
	int fd[2];

	a->name = "A";
	b->name = "B";
	a->master = true;
	b->busy_poll = a->busy_poll;
	b->timeout = a->timeout;
	if (!b->dev)
		b->dev = a->dev;
	if (!b->gids) {
		memcpy(b->gid, a->gid, sizeof(a->gid));
		b->gids = a->gids;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		die("socketpair: %s", strerror(errno));
	a->ctl = fd[0];
	b->ctl = fd[1];
	if (pthread_create(&t, NULL, side_main, b))
		die("cannot start a thread");
	side_main(a);
	pthread_join(t, NULL);
	summary(a, now_ms() - start);
	summary(b, now_ms() - start);
}

int main(int argc, char **argv)
{
	static struct side a, b;
	char *target = NULL, *port = NULL;
	int o;

	a.timeout = 18;
	a.h = (struct hello) { .seed = 1, .count = 100000, .qps = 6, .max_size = 1 << 20 };
	while ((o = getopt_long(argc, argv, "d:D:g:G:n:q:s:m:t:bl:c:h", options, NULL)) != -1) {
		switch (o) {
		case 'd': a.dev = optarg; break;
		case 'D': b.dev = optarg; break;
		case 'g': parse_gids(&a, optarg); break;
		case 'G': parse_gids(&b, optarg); break;
		case 'n': a.h.count = strtoul(optarg, NULL, 0); break;
		case 'q': a.h.qps = strtoul(optarg, NULL, 0); break;
		case 's': a.h.seed = strtoull(optarg, NULL, 0); break;
		case 'm': a.h.max_size = strtoul(optarg, NULL, 0); break;
		case 't': a.timeout = strtoul(optarg, NULL, 0); break;
		case 'b': a.busy_poll = true; break;
		case 'l': port = optarg; break;
		case 'c': target = optarg; break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	}
	if (!a.h.qps || a.h.qps > QPS_CAP || a.h.count < 2 * a.h.qps || a.h.max_size < 16384)
		die("1 to %d QPs, at least 2 operations each, --max-size at least 16384", QPS_CAP);
	if (target || port)
		run_one(&a, port, target);
	else
		run_both(&a, &b);
	return 0;
}
