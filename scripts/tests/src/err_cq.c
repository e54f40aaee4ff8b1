// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: completion queues: full, too large, in use, resized under load; notification and
 * its moderation.
 */
#include <pthread.h>
#include <sched.h>

#include "verbs_err.h"

/* A completion finds no room: the CQ and its queue pairs go to the error state [11.6.3.4] */
bool c_cq_full(void)
{
	struct pair *p = pair_make();
	struct ibv_cq *cq = ibv_create_cq(place[0].ctx, 2, NULL, NULL, 0);
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	int i;

	CHECK(cq, "create_cq: %s", strerror(errno));
	CHECK(cq->cqe < DEPTH, "a CQ of 2 got %d entries", cq->cqe);
	ibv_destroy_qp(p->a);
	p->a = new_qp(p->pd, cq, IBV_QPT_RC);
	pair_connect(p);
	for (i = 0; i < cq->cqe + 8; i++)
		if (post_one(p->a, &wr))
			break;		/* the QP may be in error already */
	CHECK(wait_event(IBV_EVENT_CQ_ERR, 10000), "no IBV_EVENT_CQ_ERR");
	if (!expect_qp_event(p->a, IBV_EVENT_QP_FATAL) || !expect_state(p->a, IBV_QPS_ERR))
		return false;
	ibv_destroy_qp(p->a);
	p->a = NULL;
	CHECK(!ibv_destroy_cq(cq), "destroying the full CQ failed");
	return pair_free(p);
}

/* With IGNORE_OVERRUN, a full CQ loses completions, and its queue pairs still work */
bool c_cq_overrun_ignored(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 2, .wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	};
	struct pair *p = pair_make();
	struct ibv_cq_ex *cq = ibv_create_cq_ex(place[0].ctx, &attr);
	uint64_t end = now_ms() + 10000, next = 0;
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_wc wc;
	int depth;

	CHECK(cq, "create_cq_ex: %s", strerror(errno));
	depth = ibv_cq_ex_to_cq(cq)->cqe;
	ibv_destroy_qp(p->a);
	p->a = new_qp(p->pd, ibv_cq_ex_to_cq(cq), IBV_QPT_RC);
	pair_connect(p);
	memset(p->src, 0xaa, 8);
	memset(p->dst, 0, 16);
	for (wr.wr_id = 0; (int)wr.wr_id < depth + 9; wr.wr_id++) {
		wr.wr.rdma.remote_addr = ADDR(p, (int)wr.wr_id == depth + 8 ? 8 : 0);
		CHECK(!post_one(p->a, &wr), "post_send refused it");
	}
	while (now_ms() < end && *(volatile uint64_t *)(p->dst + 8) != *(uint64_t *)p->src)
		sched_yield();
	/* The first ones are there, in order. More may come, while there is room. */
	while (now_ms() < end && next < wr.wr_id + 1) {
		if (ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc) != 1) {
			/* Refused while the send queue is full, since the device is slow */
			if (next >= (uint64_t)depth)
				post_one(p->a, &wr);
			sched_yield();
			continue;
		}
		CHECK(!wc.status, "%s", ibv_wc_status_str(wc.status));
		CHECK(wc.wr_id == next || (next >= (uint64_t)depth && wc.wr_id > next),
		      "completion %d, expected %d", (int)wc.wr_id, (int)next);
		next = wc.wr_id + 1;
	}
	CHECK(next == wr.wr_id + 1, "the last completion was %d", (int)next - 1);
	CHECK(!wait_event(IBV_EVENT_CQ_ERR, 0), "IBV_EVENT_CQ_ERR");
	if (!expect_state(p->a, IBV_QPS_RTS))
		return false;
	ibv_destroy_qp(p->a);
	p->a = NULL;
	CHECK(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroying the CQ failed");
	return pair_free(p);
}

/* Timestamps, for which a completion has no room, are refused */
bool c_cq_timestamps(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 2, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};

	errno = 0;
	CHECK(!ibv_create_cq_ex(place[0].ctx, &attr), "a CQ with timestamps was created");
	CHECK(errno == EOPNOTSUPP, "errno %d", errno);
	return true;
}

static bool send_with_flags(struct pair *p, int flags)
{
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	wr.send_flags |= flags;
	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, IBV_WC_SUCCESS, 0) && expect_status(p->cb, IBV_WC_SUCCESS, 0);
}

bool c_notify_solicited(void)
{
	struct pair *p = pair_up();

	CHECK(!ibv_req_notify_cq(p->cb, 1), "req_notify_cq failed");
	if (!send_with_flags(p, 0))
		return false;
	CHECK(!wait_cq_event(p, 200), "an event for an unsolicited completion");
	if (!send_with_flags(p, IBV_SEND_SOLICITED))
		return false;
	CHECK(wait_cq_event(p, 5000), "no event for a solicited completion");
	return pair_free(p);
}

bool c_notify_once(void)
{
	struct pair *p = pair_up();

	if (!send_with_flags(p, 0))
		return false;
	CHECK(!wait_cq_event(p, 100), "an event though not armed");
	CHECK(!ibv_req_notify_cq(p->cb, 0), "req_notify_cq failed");
	if (!send_with_flags(p, 0))
		return false;
	CHECK(wait_cq_event(p, 5000), "no event");
	if (!send_with_flags(p, IBV_SEND_SOLICITED))
		return false;
	CHECK(!wait_cq_event(p, 100), "a second event for one arming");
	return pair_free(p);
}

/* A moderated event waits for its time or for enough completions, whichever is first */
bool c_notify_moderated(void)
{
	struct ibv_device_attr_ex attr;
	struct pair *p = pair_up();
	uint64_t start;
	int i;

	CHECK(!ibv_query_device_ex(place[0].ctx, NULL, &attr), "query_device_ex failed");
	CHECK(attr.cq_mod_caps.max_cq_count == 0xffff && attr.cq_mod_caps.max_cq_period == 0xffff,
	      "at most %d completions and %d us", attr.cq_mod_caps.max_cq_count,
	      attr.cq_mod_caps.max_cq_period);
	CHECK(!moderate_cq(p->cb, 0, 65000), "modify_cq failed");
	CHECK(!ibv_req_notify_cq(p->cb, 0), "req_notify_cq failed");
	start = now_ms();
	if (!send_with_flags(p, 0))
		return false;
	CHECK(wait_cq_event(p, 5000), "no event after its time");
	CHECK(now_ms() - start >= 64, "an event after %d ms", (int)(now_ms() - start));

	CHECK(!moderate_cq(p->cb, 4, 65000), "modify_cq failed");
	CHECK(!ibv_req_notify_cq(p->cb, 0), "req_notify_cq failed");
	for (i = 0; i < 4; i++)
		if (!send_with_flags(p, 0))
			return false;
	CHECK(wait_cq_event(p, 5000), "no event for enough completions");
	CHECK(!wait_cq_event(p, 100), "a second event");

	CHECK(!moderate_cq(p->cb, 0, 0), "modify_cq failed");
	return send_with_flags(p, 0) && !ibv_req_notify_cq(p->cb, 0) && send_with_flags(p, 0) &&
	       wait_cq_event(p, 5000) && pair_free(p);
}

/* An error completion counts as solicited */
bool c_notify_error(void)
{
	struct pair *p = pair_up();

	recv_one(p->b, 1, p->dst, 100, p->dst_mr->lkey);
	CHECK(!ibv_req_notify_cq(p->cb, 1), "req_notify_cq failed");
	qp_to_state(p->b, IBV_QPS_ERR);
	CHECK(wait_cq_event(p, 5000), "no event for a flush");
	return expect_flush(p->cb, 1, 1) && pair_free(p);
}

bool c_limit_cq(void)
{
	struct pair *p = pair_make();
	struct ibv_cq *cq;

	errno = 0;
	REFUSED(ibv_create_cq(place[0].ctx, dev.max_cqe + 1, NULL, NULL, 0), "max_cqe+1");
	cq = ibv_create_cq(place[0].ctx, dev.max_cqe, NULL, NULL, 0);
	CHECK(cq && cq->cqe >= dev.max_cqe, "max_cqe itself: %s", strerror(errno));
	CHECK(!ibv_destroy_cq(cq), "destroy_cq: %s", strerror(errno));
	REFUSED(ibv_create_cq(place[0].ctx, 0, NULL, NULL, 0), "a CQ of 0");
	REFUSED(ibv_create_cq(place[0].ctx, 10, NULL, NULL, place[0].ctx->num_comp_vectors),
		"completion vector num_comp_vectors");
	cq = ibv_create_cq(place[0].ctx, 10, NULL, NULL, place[0].ctx->num_comp_vectors - 1);
	CHECK(cq, "the last completion vector refused: %s", strerror(errno));
	ibv_destroy_cq(cq);
	return pair_free(p);
}

/* Objects in use can't be destroyed */
bool c_busy_objects(void)
{
	struct pair *p = pair_up();

	CHECK(ibv_destroy_cq(p->ca), "a CQ with a QP on it was destroyed");
	CHECK(ibv_dealloc_pd(p->pd), "a PD with objects in it was deallocated");
	return pair_free(p);
}

struct load {
	struct pair *p;
	volatile bool stop;
	volatile uint64_t sent, taken;
};

/* Posts as many work requests as the CQ has room for. wr_id is the number of those before */
static void *post_load(void *arg)
{
	struct load *l = arg;
	struct ibv_sge sge = sge_of(l->p->src, 8, l->p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(l->p, 0), l->p->dst_mr->rkey);

	while (!l->stop) {
		wr.wr_id = l->sent;
		if (l->sent - l->taken < 3 * DEPTH && !post_one(l->p->a, &wr))
			l->sent++;
		else
			sched_yield();
	}
	return NULL;
}

/* All completions that are there, each once and in order */
static bool take_in_order(struct load *l)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(l->p->ca, 1, &wc) == 1) {
		CHECK(!wc.status, "%s", ibv_wc_status_str(wc.status));
		CHECK(wc.wr_id == l->taken, "completion %d, expected %d", (int)wc.wr_id,
		      (int)l->taken);
		l->taken++;
	}
	return true;
}

/* Completions that come while a CQ is resized are neither lost nor doubled */
bool c_resize_load(void)
{
	struct load l = { .p = pair_up() };
	pthread_t thread;
	uint64_t end;
	int i, err;

	pthread_create(&thread, NULL, post_load, &l);
	for (i = 0; i < 100; i++) {
		err = ibv_resize_cq(l.p->ca, i & 1 ? 4 * DEPTH : 100000);
		CHECK(!err, "resize_cq: %s", strerror(err));
		if (i % 3 && !take_in_order(&l))
			return false;
	}
	l.stop = true;
	pthread_join(thread, NULL);
	for (end = now_ms() + 20000; l.taken < l.sent && now_ms() < end; )
		if (!take_in_order(&l))
			return false;
	CHECK(l.taken == l.sent, "%d completions of %d", (int)l.taken, (int)l.sent);
	CHECK(l.taken > 100, "only %d completions", (int)l.taken);
	return pair_free(l.p);
}
