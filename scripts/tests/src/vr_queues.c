// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_random: completion queues, shared receive queues and pairs of queue pairs.
 */

#define _GNU_SOURCE
#include <sys/mman.h>

#include "vr.h"

static uint32_t serials;

void do_create_cq(const struct op *o)
{
	struct cq *cq = cqs + o->a % CQS;

	if (cq->cq)
		return;
	cq->chan = ibv_create_comp_channel(ctx);
	ENSURE(cq->chan, "create_comp_channel: %s", strerror(errno));
	cq->cq = ibv_create_cq(ctx, 2 * BURST + o->b % CQ_MOST, NULL, cq->chan,
			       o->c % ctx->num_comp_vectors);
	ENSURE(cq->cq, "create_cq: %s", strerror(errno));
}

void do_resize_cq(const struct op *o)
{
	struct cq *cq = cqs + o->a % CQS;
	uint32_t cqe;
	int err;

	if (!cq->cq)
		return;
	cqe = open_of(cq) + BURST + o->b % (o->c & 1 ? 2 * BURST : CQ_MOST);
	err = ibv_resize_cq(cq->cq, cqe);
	ENSURE(!err, "resize_cq to %d: %s", cqe, strerror(err));
	ENSURE(cq->cq->cqe >= (int)cqe, "resize_cq to %d gave %d", cqe, cq->cq->cqe);
}

void do_moderate_cq(const struct op *o)
{
	struct cq *cq = cqs + o->a % CQS;
	int err;

	if (!cq->cq)
		return;
	err = moderate_cq(cq->cq, o->b % 8, o->c % 2000);
	ENSURE(!err, "modify_cq: %s", strerror(err));
}

void do_destroy_cq(const struct op *o)
{
	struct cq *cq = cqs + o->a % CQS;
	int err;

	if (!cq->cq)
		return;
	poll_cq(cq);
	err = ibv_destroy_cq(cq->cq);
	ENSURE(err == (cq->users ? EBUSY : 0), "destroy_cq with %d users: %s", cq->users,
	       strerror(err));
	if (err)
		return;
	ENSURE(!ibv_destroy_comp_channel(cq->chan), "destroy_comp_channel failed");
	cq->cq = NULL;
}

static void make_recvs(struct recvs *r)
{
	r->mem = new_pages(RECVS * RECV_LEN);
	/* what is pinned is copied for a child at once, which takes long */
	madvise(r->mem, RECVS * RECV_LEN, MADV_DONTFORK);
	r->mr = ibv_reg_mr(pd, r->mem, RECVS * RECV_LEN, IBV_ACCESS_LOCAL_WRITE);
	ENSURE(r->mr, "reg_mr: %s", strerror(errno));
	r->next = 0;
}

static void free_recvs(struct recvs *r)
{
	ENSURE(!ibv_dereg_mr(r->mr), "dereg_mr of receives failed");
	madvise(r->mem, RECVS * RECV_LEN, MADV_DOFORK);
	free(r->mem);
}

void do_create_srq(const struct op *o)
{
	struct srq *s = srqs + o->a % SRQS;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 64 + o->b % SRQ_MOST, .max_sge = 1 } };

	if (s->srq)
		return;
	s->srq = ibv_create_srq(pd, &attr);
	ENSURE(s->srq, "create_srq: %s", strerror(errno));
	make_recvs(&s->recvs);
}

/* What waits there may be too much for the new size */
void do_resize_srq(const struct op *o)
{
	struct srq *s = srqs + o->a % SRQS;
	struct ibv_srq_attr attr = { .max_wr = 16 + o->b % SRQ_MOST };
	int err;

	if (!s->srq)
		return;
	err = ibv_modify_srq(s->srq, &attr, IBV_SRQ_MAX_WR);
	ENSURE(!err || err == EINVAL, "modify_srq to %d: %s", attr.max_wr, strerror(err));
}

void do_destroy_srq(const struct op *o)
{
	struct srq *s = srqs + o->a % SRQS;
	int err;

	if (!s->srq)
		return;
	poll_all();
	err = ibv_destroy_srq(s->srq);
	ENSURE(err == (s->users ? EBUSY : 0), "destroy_srq with %d users: %s", s->users,
	       strerror(err));
	if (err)
		return;
	s->srq = NULL;
	free_recvs(&s->recvs);
}

static void connect_pair(struct pair *p)
{
	struct rc_attr r = rc_attr(world->gid_index);
	struct addr addr[2];
	int i;

	for (i = 0; i < 2; i++) {
		addr[i] = (struct addr){ .qpn = p->qp[i]->qp_num, .psn = 0xfffffa + i };
		ENSURE(!ibv_query_gid(ctx, 1, world->gid_index, &addr[i].gid), "query_gid failed");
	}
	for (i = 0; i < 2; i++) {
		if (p->type == IBV_QPT_UD)
			ud_up(p->qp[i], QKEY, addr[i].psn);
		else
			rc_up(p->qp[i], &r, addr[i].psn, addr + !i);
	}
	if (p->type == IBV_QPT_UD) {
		struct ibv_ah_attr ah = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = addr[1].gid, .sgid_index = world->gid_index,
				 .hop_limit = 64 },
		};

		p->ah = ibv_create_ah(pd, &ah);
		ENSURE(p->ah, "create_ah: %s", strerror(errno));
	}
}

/* Nothing changes the stripes from now on */
static void settle_stripes(struct pair *p)
{
	uint32_t off = stripe_of(p);
	int i;

	for (i = 0; i < REGIONS; i++) {
		memcpy(regions[i].copy + off - CONST_LEN, regions[i].mem + off, STRIPE);
		regions[i].known[p - pairs] = true;
	}
}

static void release_windows(struct pair *p)
{
	int i;

	for (i = 0; i < WINDOWS; i++)
		if (windows[i].by == p)
			unbind(windows + i);
}

/* With work requests under way, either end first */
void do_destroy_pair(const struct op *o)
{
	struct pair *p = pairs + o->a % PAIRS;
	int i, first = o->b & 1;

	if (!p->qp[0])
		return;
	for (i = 0; i < 2; i++)
		ENSURE(!ibv_destroy_qp(p->qp[i ^ first]), "destroy_qp failed");
	if (p->ah)
		ENSURE(!ibv_destroy_ah(p->ah), "destroy_ah failed");
	/* Those completions that came are there, others won't come */
	p->qp[0] = NULL;
	p->qp[1] = NULL;
	poll_cq(p->cq);
	if (!p->srq)
		free_recvs(&p->recvs);
	p->cq->users--;
	if (p->srq)
		p->srq->users--;
	release_windows(p);
	settle_stripes(p);
}

void do_create_pair(const struct op *o)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD
	};
	struct pair *p = pairs + o->a % PAIRS;
	struct cq *cq = cqs + o->b % CQS;
	struct srq *srq = srqs + o->c % SRQS;
	struct ibv_qp_init_attr init = {
		.qp_type = types[o->d % ARRAY_LEN(types)], .send_cq = cq->cq, .recv_cq = cq->cq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = SQ_DEPTH, .max_recv_wr = SQ_DEPTH, .max_send_sge = 2,
			 .max_recv_sge = 1 },
	};
	int i;

	if (p->qp[0] && !usable(p))
		do_destroy_pair(o);
	if (p->qp[0] || !cq->cq)
		return;
	*p = (struct pair){
		.type = init.qp_type, .cq = cq, .serial = ++serials + SRQS,
		.srq = o->d >> 8 & 1 && srq->srq ? srq : NULL,
	};
	for (i = 0; i < 2; i++) {
		struct ibv_qp_init_attr ia = init;

		ia.srq = i && p->srq ? p->srq->srq : NULL;
		p->qp[i] = try_qp_ex(pd, &ia, EX_ATOMIC_WRITE);
		ENSURE(p->qp[i], "create_qp: %s", strerror(errno));
	}
	if (!p->srq)
		make_recvs(&p->recvs);
	cq->users++;
	if (p->srq)
		p->srq->users++;
	connect_pair(p);
}
