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
	int i;

	if (cq->cq[0])
		return;
	for (i = 0; i < 2; i++) {
		cq->chan[i] = ibv_create_comp_channel(ctx[i]);
		ENSURE(cq->chan[i], "create_comp_channel: %s", strerror(errno));
		cq->cq[i] = ibv_create_cq(ctx[i], 2 * BURST + o->b % CQ_MOST, NULL, cq->chan[i],
					  o->c % ctx[i]->num_comp_vectors);
		ENSURE(cq->cq[i], "create_cq: %s", strerror(errno));
	}
}

void do_resize_cq(const struct op *o)
{
	struct cq *cq = cqs + o->a % CQS;
	uint32_t cqe;
	int err, i;

	if (!cq->cq[0])
		return;
	cqe = open_of(cq) + BURST + o->b % (o->c & 1 ? 2 * BURST : CQ_MOST);
	for (i = 0; i < 2; i++) {
		err = ibv_resize_cq(cq->cq[i], cqe);
		ENSURE(!err, "resize_cq to %d: %s", cqe, strerror(err));
		ENSURE(cq->cq[i]->cqe >= (int)cqe, "resize_cq to %d gave %d", cqe,
		       cq->cq[i]->cqe);
	}
}

void do_moderate_cq(const struct op *o)
{
	struct cq *cq = cqs + o->a % CQS;
	int err;

	if (!cq->cq[0])
		return;
	err = moderate_cq(cq->cq[o->d & 1], o->b % 8, o->c % 2000);
	ENSURE(!err, "modify_cq: %s", strerror(err));
}

void do_destroy_cq(const struct op *o)
{
	struct cq *cq = cqs + o->a % CQS;
	int err, i;

	if (!cq->cq[0])
		return;
	poll_cq(cq);
	for (i = 0; i < 2; i++) {
		err = ibv_destroy_cq(cq->cq[i]);
		ENSURE(err == (cq->users ? EBUSY : 0), "destroy_cq with %d users: %s", cq->users,
		       strerror(err));
		if (err)
			continue;
		ENSURE(!ibv_destroy_comp_channel(cq->chan[i]), "destroy_comp_channel failed");
		cq->cq[i] = NULL;
	}
}

static void make_recvs(struct recvs *r)
{
	r->mem = new_pages(RECVS * RECV_LEN);
	/* Pinned pages are copied for a child during the fork, which takes long */
	madvise(r->mem, RECVS * RECV_LEN, MADV_DONTFORK);
	r->mr = ibv_reg_mr(pd[1], r->mem, RECVS * RECV_LEN, IBV_ACCESS_LOCAL_WRITE);
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
	s->srq = ibv_create_srq(pd[1], &attr);
	ENSURE(s->srq, "create_srq: %s", strerror(errno));
	s->limits = 0;
	make_recvs(&s->recvs);
}

/* The waiting receives may be too many for the new size */
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

/* If fewer receives wait already, the event comes with the next message */
void do_limit_srq(const struct op *o)
{
	struct srq *s = srqs + o->a % SRQS;
	struct ibv_srq_attr attr = {};
	int err;

	if (!s->srq)
		return;
	ENSURE(!ibv_query_srq(s->srq, &attr), "query_srq failed");
	attr.srq_limit = o->b % (attr.max_wr + 1);
	err = ibv_modify_srq(s->srq, &attr, IBV_SRQ_LIMIT);
	ENSURE(!err, "modify_srq to limit %d of %d: %s", attr.srq_limit, attr.max_wr,
	       strerror(err));
	s->limits++;
}

/* An event can come after its SRQ was destroyed, but then none is found */
void take_srq_limit(const struct ibv_srq *srq)
{
	int i;

	for (i = 0; i < SRQS; i++)
		if (srqs[i].srq == srq)
			ENSURE(srqs[i].limits--, "an event more than there are limits");
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

/* Connects from RESET. The new PSNs are far from those of packets before the reset. */
static void connect_pair(struct pair *p)
{
	struct addr addr[2];
	int i;

	for (i = 0; i < 2; i++)
		addr[i] = (struct addr){
			.qpn = p->qp[i]->qp_num, .gid = gid_at(ctx[i], world->gid_index[i]),
			.psn = (0xfffffa + i + p->resets * 0x40000) & 0xffffff,
		};
	for (i = 0; i < 2; i++) {
		struct rc_attr r = rc_attr(world->gid_index[i]);

		r.access |= ex_access(ex_offered);
		if (p->type == IBV_QPT_UD)
			ud_up(p->qp[i], QKEY, addr[i].psn);
		else
			rc_up(p->qp[i], &r, addr[i].psn, addr + !i);
	}
	p->gid = addr[1].gid;
}

static struct ibv_ah *make_ah(union ibv_gid to, uint32_t bits)
{
	struct rc_attr r = {
		.gid_index = world->gid_index[0], .hop_limit = 1 + bits % 255,
		.flow_label = bits >> 8 & 0xfffff, .traffic_class = (bits >> 4 & 0x3f) << 2,
	};
	struct ibv_ah_attr attr = path_to(&r, to);
	struct ibv_ah *ah = ibv_create_ah(pd[0], &attr);

	ENSURE(ah, "create_ah: %s", strerror(errno));
	return ah;
}

/* Each pair has its own group, so it gets only its own messages */
static union ibv_gid make_group(const struct pair *p)
{
	uint32_t num = getpid() << 10 | (p->serial & 1023);
	union ibv_gid gid = {};

	if (p->gid.global.subnet_prefix) {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
		memcpy(gid.raw + 12, &num, 4);
		return gid;
	}
	gid.raw[10] = 0xff;
	gid.raw[11] = 0xff;
	num = htonl(239u << 24 | (num & 0xffffff));
	memcpy(gid.raw + 12, &num, 4);
	return gid;
}

/* Work requests in flight may use the old AH: they may fail */
void do_renew_ah(const struct op *o)
{
	struct pair *p = pairs + o->a % PAIRS;
	struct ibv_ah *old = p->ah;

	if (!p->qp[0] || p->type != IBV_QPT_UD)
		return;
	poll_cq(p->cq);
	disturb_pair(p);
	p->ah = make_ah(p->gid, o->b);
	ENSURE(!ibv_destroy_ah(old), "destroy_ah failed");
}

void do_attach(const struct op *o)
{
	struct pair *p = pairs + o->a % PAIRS;
	int err;

	if (!p->qp[0] || p->type != IBV_QPT_UD)
		return;
	err = ibv_attach_mcast(p->qp[1], &p->group, 0);
	ENSURE(!err, "attach_mcast: %s", strerror(err));
	p->attached = true;
	TALLY(groups);
}

void do_detach(const struct op *o)
{
	struct pair *p = pairs + o->a % PAIRS;
	int err;

	if (!p->qp[0] || !p->attached)
		return;
	err = ibv_detach_mcast(p->qp[1], &p->group, 0);
	ENSURE(!err, "detach_mcast: %s", strerror(err));
	p->attached = false;
}

/* Called when nothing changes the stripes any more */
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

/* Sets either end to ERR first. Work requests in flight complete with errors */
void do_fail_pair(const struct op *o)
{
	struct pair *p = pairs + o->a % PAIRS;
	int i, first = o->b & 1;

	if (!usable(p))
		return;
	poll_cq(p->cq);
	disturb_pair(p);
	p->peer_failed = true;
	for (i = 0; i < 2; i++)
		ENSURE(!qp_to_state(p->qp[i ^ first], IBV_QPS_ERR), "modify_qp to ERR failed");
}

/* It isn't known any more whether the windows that the pair has bound are still bound */
static void doubt_windows(struct pair *p)
{
	int i;

	for (i = 0; i < WINDOWS; i++) {
		struct window *w = windows + i;

		if (w->by != p)
			continue;
		disturb(NULL, w);
		w->by = NULL;
		if (w->unsure)
			continue;
		w->unsure = true;
		w->on->windows--;
		w->on->unsure++;
	}
}

/* Work requests that were posted before don't complete any more */
static void forget_flights(struct pair *p)
{
	for (; p->done != p->posted; p->done++)
		forget_stripe(p, p->flight + p->done % SQ_DEPTH);
	p->recv_seen = p->recv_seq = p->sends_done = p->first_seq = p->sends;
	p->failed = p->peer_failed = false;
}

/* Resets a pair in any state, with work requests in flight. Then it is connected again */
void do_reset_pair(const struct op *o)
{
	struct pair *p = pairs + o->a % PAIRS;
	int i, first = o->b & 1;

	if (!p->qp[0])
		return;
	for (i = 0; i < 2; i++)
		ENSURE(!qp_to_state(p->qp[i ^ first], IBV_QPS_RESET), "modify_qp to RESET failed");
	poll_cq(p->cq);
	forget_flights(p);
	doubt_windows(p);
	p->resets++;
	connect_pair(p);
	TALLY(resets);
}

/* Destroys a pair with work requests in flight, either end first */
void do_destroy_pair(const struct op *o)
{
	struct pair *p = pairs + o->a % PAIRS;
	int i, first = o->b & 1;

	if (!p->qp[0])
		return;
	if (p->attached) {
		ENSURE(ibv_destroy_qp(p->qp[1]) == EBUSY, "destroy_qp of a group's member");
		do_detach(o);
	}
	for (i = 0; i < 2; i++)
		ENSURE(!ibv_destroy_qp(p->qp[i ^ first]), "destroy_qp failed");
	if (p->ah)
		ENSURE(!ibv_destroy_ah(p->ah) && !ibv_destroy_ah(p->group_ah),
		       "destroy_ah failed");
	/* The completions that have come are in the CQs. No others will come */
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
		.qp_type = types[o->d % ARRAY_LEN(types)], .sq_sig_all = 1,
		.cap = { .max_send_wr = SQ_DEPTH, .max_recv_wr = SQ_DEPTH, .max_send_sge = 2,
			 .max_recv_sge = 1, .max_inline_data = INLINE_LEN },
	};
	int i;

	if (p->qp[0] && !usable(p))
		do_destroy_pair(o);
	if (p->qp[0] || !cq->cq[0])
		return;
	*p = (struct pair){
		.type = init.qp_type, .cq = cq, .serial = ++serials + SRQS,
		.srq = o->d >> 8 & 1 && srq->srq ? srq : NULL,
	};
	for (i = 0; i < 2; i++) {
		struct ibv_qp_init_attr ia = init;

		ia.send_cq = ia.recv_cq = cq->cq[i];
		ia.srq = i && p->srq ? p->srq->srq : NULL;
		p->qp[i] = try_qp_ex(pd[i], &ia, EX_ATOMIC_WRITE | ex_offered);
		ENSURE(p->qp[i], "create_qp: %s", strerror(errno));
	}
	if (!p->srq)
		make_recvs(&p->recvs);
	cq->users++;
	if (p->srq)
		p->srq->users++;
	connect_pair(p);
	if (p->type == IBV_QPT_UD) {
		p->group = make_group(p);
		p->ah = make_ah(p->gid, o->a);
		p->group_ah = make_ah(p->group, o->a);
	}
}
