// SPDX-License-Identifier: GPL-2.0
/*
 * rc_random: the responder of a flow. It posts receives, and compares received data and the target
 * memory with the model.
 */
#include "rc_random.h"

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
		/* Bytes behind the message, the last SLACK bytes at most, stay poisoned */
		n = least(sge[i].length, SLACK);
		memset(c->recv + o->recv[i].off + o->recv[i].len - n, POISON, n + GAP);
	}
	if (ibv_post_recv(c->qp, &wr, &bad))
		wrong(c, f, f->recv_idx[k], "post_recv refused it");
}

void post_recvs(struct conn *c, uint32_t upto)
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

void complete_recv(struct conn *c, const struct ibv_wc *wc)
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
		model_op(s, f, &f->ops[i]);
	for (i = 0; i < f->nops; i++) {
		o = &f->ops[i];
		if (o->kind != SEND && o->kind != SEND_IMM && o->kind != READ &&
		    memcmp(c->target + o->roff, f->shadow + o->roff, o->len))
			wrong(c, f, i, "target memory differs from the model");
	}
	/* A stray write would be in the rest of the target */
	if ((f->round % 16 == 0 || !f->left) && memcmp(c->target, f->shadow, s->target_len))
		wrong(c, f, 0, "target memory differs outside what the round wrote");
}

bool step_in(struct conn *c)
{
	struct flow *f = &c->in;
	uint32_t round = f->round;

	if (f->over || !f->peer_done || f->recv_seen < f->recvs)
		return false;
	check_target(c);
	begin_round(c, f);
	if (!f->over)
		post_recvs(c, rnd_range(&c->side->local, 0, f->recvs));
	tell_peer(c->side, MSG_OK, c - c->side->c, round);
	if (!f->over)
		post_recvs(c, f->recvs);
	return true;
}
