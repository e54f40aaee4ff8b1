// SPDX-License-Identifier: GPL-2.0
/*
 * rc_random: the requester of a flow. It posts a round's operations when the send queue has room,
 * and checks completions and the results of READs and atomics.
 */
#include "rc_random.h"

static const enum ibv_wr_opcode kind_wr[KINDS] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static const enum ibv_wc_opcode kind_wc[KINDS] = {
	IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
	IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD, IBV_WC_ATOMIC_WRITE,
#if HAVE_FLUSH
	IBV_WC_FLUSH,
#endif
};

static void poison_gaps(uint8_t *area, const struct piece *p, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		memset(area + p[i].off + p[i].len, POISON, GAP);
}

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

static void complete_op(struct conn *c, uint32_t i)
{
	struct side *s = c->side;
	struct flow *f = &c->out;
	struct op *o = &f->ops[i];

	if (o->kind == READ)
		check_read(c, f, i);
	else if (lands(o))
		check_atomic(c, f, i);
	model_op(s, f, o);
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

static unsigned int send_flags(const struct op *o)
{
	return (o->fence ? IBV_SEND_FENCE : 0) | (o->signal ? IBV_SEND_SIGNALED : 0) |
	       (o->solicited ? IBV_SEND_SOLICITED : 0);
}

/* Signal an operation before the send queue is full of unsignalled ones. */
static void decide_signal(struct conn *c, uint32_t i)
{
	struct flow *f = &c->out;
	struct op *o = &f->ops[i];

	if (i + 1 == f->nops || f->unsignalled + 2 >= c->depth / 2)
		o->signal = true;
	f->unsignalled = o->signal || c->sig_all ? 0 : f->unsignalled + 1;
}

/* Posts the next operation, which ibv_post_send() can't post */
static void post_ex_op(struct conn *c, uint32_t i)
{
	struct op *o = &c->out.ops[i];

	decide_signal(c, i);
	if (post_ex(c->qp, o->kind == FLUSH ? EX_FLUSH : EX_ATOMIC_WRITE, i, send_flags(o),
		    c->peer_rkey, c->peer_addr + o->roff, &o->value, o->len))
		wrong(c, &c->out, i, "it can't be posted");
	c->out.posted++;
}

static void fill_wr(struct conn *c, struct wr *w, uint32_t i)
{
	struct side *s = c->side;
	struct op *o = &c->out.ops[i];
	bool here = lands(o);
	uint32_t k;

	memset(&w->wr, 0, sizeof(w->wr));
	w->wr.wr_id = i;
	w->wr.opcode = kind_wr[o->kind];
	w->wr.sg_list = w->sge;
	w->wr.num_sge = o->nsge;
	w->wr.imm_data = htonl(o->imm);
	w->wr.send_flags = send_flags(o);
	for (k = 0; k < o->nsge; k++) {
		w->sge[k].addr = (uintptr_t)(here ? c->landing : s->pool) + o->sge[k].off;
		w->sge[k].length = o->sge[k].len;
		w->sge[k].lkey = here ? c->landing_mr->lkey : s->pool_mr->lkey;
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
	if (here)
		poison_gaps(c->landing, o->sge, o->nsge);
	else if (o->want_inline && o->len <= c->max_inline)
		fill_inline(s, w, o);
}

static bool post_sends(struct conn *c)
{
	static __thread struct wr w[BATCH];
	struct ibv_send_wr *bad;
	struct flow *f = &c->out;
	uint32_t n = 0, i, room = c->depth - (f->posted - f->completed);

	if (room && f->posted < f->nops && is_ex(&f->ops[f->posted])) {
		post_ex_op(c, f->posted);
		return true;
	}
	while (n < BATCH && n < room && f->posted + n < f->nops && !is_ex(&f->ops[f->posted + n])) {
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
	/* Inline data is copied when it is posted: overwrite it */
	for (i = 0; i < n; i++)
		if (w[i].wr.send_flags & IBV_SEND_INLINE)
			memset(w[i].inline_data, 0xee, sizeof(w[i].inline_data));
	f->posted += n;
	return true;
}

bool step_out(struct conn *c)
{
	struct flow *f = &c->out;
	bool did = false;

	if (f->over || f->told)
		return false;
	while (post_sends(c))
		did = true;
	if (f->completed == f->nops) {
		f->told = did = true;
		tell_peer(c->side, MSG_DONE, c - c->side->c, f->round);
	}
	return did;
}

void complete_send(struct conn *c, const struct ibv_wc *wc)
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
		complete_op(c, f->completed++);
	}
}
