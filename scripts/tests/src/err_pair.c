// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for the cases of verbs_err: they make a pair of queue pairs, on one device or on two,
 * post work requests, and check completions, states and events.
 */
#include "verbs_err.h"

struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 64 },
	};

	return create_qp(pd, &ia);
}

int qp_to_sqd(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

void pair_connect(struct pair *p)
{
	struct addr a = addr_of(p->a), b = addr_of(p->b);

	rc_up(p->a, &p->ra, a.psn, &b);
	rc_up(p->b, &p->rb, b.psn, &a);
}

static void make_domains(struct pair *p)
{
	p->pd = p->pd_b = new_pd(place[0].ctx);
	p->pd2 = p->pd2_b = new_pd(place[0].ctx);
	if (place[1].ctx != place[0].ctx) {
		p->pd_b = new_pd(place[1].ctx);
		p->pd2_b = new_pd(place[1].ctx);
	}
}

/* Makes all but the connection: a case can change ra and rb first. */
struct pair *pair_make_of(enum ibv_qp_type type)
{
	struct pair *p = calloc(1, sizeof(*p));

	make_domains(p);
	p->chan = ibv_create_comp_channel(place[0].ctx);
	p->chan_b = ibv_create_comp_channel(place[1].ctx);
	p->ca = ibv_create_cq(place[0].ctx, 4 * DEPTH, NULL, p->chan, 0);
	p->cb = ibv_create_cq(place[1].ctx, 4 * DEPTH, NULL, p->chan_b, 0);
	if (!p->ca || !p->cb)
		die("cannot make objects: %s", strerror(errno));
	p->src = new_pages(BUF_LEN);
	p->dst = new_pages(BUF_LEN);
	rnd_fill(p->src, BUF_LEN, 1);
	memset(p->dst, 0, BUF_LEN);
	p->src_mr = new_mr(p->pd, p->src, BUF_LEN, IBV_ACCESS_LOCAL_WRITE);
	p->dst_mr = new_mr(p->pd_b, p->dst, BUF_LEN, ACCESS_ALL);
	p->a = new_qp(p->pd, p->ca, type);
	p->b = new_qp(p->pd_b, p->cb, type);
	p->ra = rc_attr(place[0].gid_index);
	p->rb = rc_attr(place[1].gid_index);
	return p;
}

struct pair *pair_make(void)
{
	return pair_make_of(IBV_QPT_RC);
}

struct pair *pair_up(void)
{
	struct pair *p = pair_make();

	pair_connect(p);
	return p;
}

/* Takes events of side a's device until one of the type comes. */
bool wait_event(enum ibv_event_type type, int ms)
{
	uint64_t end = now_ms() + ms;
	struct ibv_async_event e;
	int64_t left = ms;

	do {
		if (next_event(place[0].ctx, &e, left) && e.event_type == type)
			return true;
		left = end - now_ms();
	} while (left > 0);
	return false;
}

/* The queue pair has this event, since no completion reports the error [10.10.2]; 0: no event */
bool expect_qp_event(struct ibv_qp *qp, enum ibv_event_type want)
{
	uint64_t end = now_ms() + (want ? 5000 : 0);
	struct ibv_async_event e;
	int64_t left;

	do {
		left = end - now_ms();
		if (!next_event(qp->context, &e, left) ||
		    (e.event_type != IBV_EVENT_QP_FATAL && e.event_type != IBV_EVENT_QP_REQ_ERR &&
		     e.event_type != IBV_EVENT_QP_ACCESS_ERR))
			continue;
		CHECK(e.event_type == want && e.element.qp == qp, "%s of the %s queue pair",
		      ibv_event_type_str(e.event_type), e.element.qp == qp ? "right" : "wrong");
		return true;
	} while (left > 0);
	CHECK(!want, "no event \"%s\"", ibv_event_type_str(want));
	return true;
}

/* A completion event of either side */
bool wait_cq_event(struct pair *p, int ms)
{
	struct pollfd f[] = { { p->chan->fd, POLLIN, 0 }, { p->chan_b->fd, POLLIN, 0 } };

	if (poll(f, 2, ms) <= 0)
		return false;
	take_cq_event(f[0].revents ? p->chan : p->chan_b);
	return true;
}

static void hold_pair(void)
{
	puts("held");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

bool pair_free(struct pair *p)
{
	bool bad = false;

	if (hold_pairs)
		hold_pair();
	drain_events();
	bad |= p->a && ibv_destroy_qp(p->a);
	bad |= p->b && ibv_destroy_qp(p->b);
	bad |= ibv_destroy_cq(p->ca) | ibv_destroy_cq(p->cb);
	bad |= ibv_destroy_comp_channel(p->chan) | ibv_destroy_comp_channel(p->chan_b);
	bad |= ibv_dereg_mr(p->src_mr) | ibv_dereg_mr(p->dst_mr);
	bad |= ibv_dealloc_pd(p->pd) | ibv_dealloc_pd(p->pd2);
	if (place[1].ctx != place[0].ctx)
		bad |= ibv_dealloc_pd(p->pd_b) | ibv_dealloc_pd(p->pd2_b);
	free(p->src);
	free(p->dst);
	free(p);
	CHECK(!bad, "teardown failed: %s", strerror(errno));
	return true;
}

struct ibv_sge sge_of(const void *p, uint32_t len, uint32_t lkey)
{
	return (struct ibv_sge) { .addr = (uintptr_t)p, .length = len, .lkey = lkey };
}

struct ibv_send_wr wr_of(enum ibv_wr_opcode op, struct ibv_sge *sge, int n)
{
	return (struct ibv_send_wr) {
		.wr_id = 1, .opcode = op, .sg_list = sge, .num_sge = n,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

int post_one(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, wr, &bad);
}

int recv_one(struct ibv_qp *qp, uint64_t id, void *buf, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = sge_of(buf, len, lkey);
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

void post_n(struct pair *p, int first, int n, bool signalled)
{
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);
	int i;

	for (i = 0; i < n; i++) {
		wr.wr_id = first + i;
		wr.send_flags = signalled ? IBV_SEND_SIGNALED : 0;
		if (post_one(p->a, &wr))
			die("post_send: %s", strerror(errno));
	}
}

/* An operation on the peer's memory. The case makes it invalid. */
struct ibv_send_wr remote_wr(enum ibv_wr_opcode op, struct ibv_sge *sge, uint64_t addr,
			     uint32_t rkey)
{
	bool atomic = op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_send_wr wr = wr_of(op, sge, sge->length ? 1 : 0);

	if (atomic) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 2;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	return wr;
}

bool expect_status(struct ibv_cq *cq, enum ibv_wc_status want, enum ibv_wc_status or)
{
	struct ibv_wc wc;

	CHECK(wait_wc(cq, &wc), "no completion, expected %s", ibv_wc_status_str(want));
	CHECK(wc.status == want || wc.status == or, "completed with %s, expected %s",
	      ibv_wc_status_str(wc.status), ibv_wc_status_str(want));
	return true;
}

bool expect_flush(struct ibv_cq *cq, uint64_t first, int n)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++) {
		CHECK(wait_wc(cq, &wc), "only %d of %d flushed", i, n);
		CHECK(wc.wr_id == first + i, "flushed out of order: %d, expected %d",
		      (int)wc.wr_id, (int)first + i);
		CHECK(wc.status == IBV_WC_WR_FLUSH_ERR, "request %d flushed with %s", i,
		      ibv_wc_status_str(wc.status));
	}
	CHECK(!wait_wc_ms(cq, &wc, 50), "more completions than requests");
	return true;
}

/* The event that belongs to a NAK, if no receive completes with an error [9.9.3] */
static enum ibv_event_type event_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_REM_ACCESS_ERR: return IBV_EVENT_QP_ACCESS_ERR;
	case IBV_WC_REM_INV_REQ_ERR: return IBV_EVENT_QP_REQ_ERR;
	case IBV_WC_REM_OP_ERR: return IBV_EVENT_QP_FATAL;
	default: return 0;
	}
}

/* Runs one operation, which the responder must refuse. The target must be unchanged. */
bool refused_or(struct pair *p, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
		uint32_t rkey, enum ibv_wc_status want, enum ibv_wc_status or)
{
	static uint8_t before[BUF_LEN];
	struct ibv_sge sge = sge_of(p->src, len, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(op, &sge, addr, rkey);

	memcpy(before, p->dst, BUF_LEN);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, want, or) || !expect_state(p->a, IBV_QPS_ERR))
		return false;
	CHECK(!memcmp(before, p->dst, BUF_LEN), "the target was written");
	return expect_qp_event(p->b, event_of(want)) && pair_free(p);
}

bool refused(struct pair *p, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
	     uint32_t rkey, enum ibv_wc_status want)
{
	return refused_or(p, op, len, addr, rkey, want, want);
}
