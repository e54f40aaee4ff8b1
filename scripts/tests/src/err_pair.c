// SPDX-License-Identifier: GPL-2.0
/*
 * What the cases of verbs_err share: a pair of queue pairs on one device, work requests, and
 * what is expected of completions, states and events.
 */
#include "verbs_err.h"

struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 64 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &ia);

	if (!qp)
		die("create_qp: %s", strerror(errno));
	return qp;
}

int qp_to_sqd(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

struct addr addr_of(struct ibv_qp *qp)
{
	return (struct addr) { .qpn = qp->qp_num, .psn = qp->qp_num & 0xffffff, .gid = gid };
}

void pair_connect(struct pair *p)
{
	struct addr a = addr_of(p->a), b = addr_of(p->b);

	rc_up(p->a, &p->ra, a.psn, &b);
	rc_up(p->b, &p->rb, b.psn, &a);
}

/* All but the connection, so that a case can change ra and rb first. */
struct pair *pair_make(void)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->pd = ibv_alloc_pd(ctx);
	p->pd2 = ibv_alloc_pd(ctx);
	p->chan = ibv_create_comp_channel(ctx);
	p->ca = ibv_create_cq(ctx, 4 * DEPTH, NULL, p->chan, 0);
	p->cb = ibv_create_cq(ctx, 4 * DEPTH, NULL, p->chan, 0);
	if (!p->pd || !p->pd2 || !p->ca || !p->cb)
		die("cannot make objects: %s", strerror(errno));
	p->src = new_pages(BUF_LEN);
	p->dst = new_pages(BUF_LEN);
	rnd_fill(p->src, BUF_LEN, 1);
	memset(p->dst, 0, BUF_LEN);
	p->src_mr = new_mr(p->pd, p->src, BUF_LEN, IBV_ACCESS_LOCAL_WRITE);
	p->dst_mr = new_mr(p->pd, p->dst, BUF_LEN, ALL_ACCESS);
	p->a = new_qp(p->pd, p->ca, IBV_QPT_RC);
	p->b = new_qp(p->pd, p->cb, IBV_QPT_RC);
	p->ra = p->rb = rc_attr(gid_index);
	return p;
}

struct pair *pair_up(void)
{
	struct pair *p = pair_make();

	pair_connect(p);
	return p;
}

void drain_events(void)
{
	struct pollfd f = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	while (poll(&f, 1, 0) > 0 && !ibv_get_async_event(ctx, &e))
		ibv_ack_async_event(&e);
}

/* Takes events until one of the type comes. */
bool wait_event(enum ibv_event_type type, int ms)
{
	struct pollfd f = { .fd = ctx->async_fd, .events = POLLIN };
	uint64_t end = now_ms() + ms;
	struct ibv_async_event e;

	int64_t left = ms;

	do {
		if (poll(&f, 1, left > 0 ? left : 0) > 0 && !ibv_get_async_event(ctx, &e)) {
			ibv_ack_async_event(&e);
			if (e.event_type == type)
				return true;
		}
		left = end - now_ms();
	} while (left > 0);
	return false;
}

/* A completion event of either side */
bool wait_cq_event(struct pair *p, int ms)
{
	struct pollfd f = { .fd = p->chan->fd, .events = POLLIN };

	if (poll(&f, 1, ms) <= 0)
		return false;
	take_cq_event(p->chan);
	return true;
}

bool pair_free(struct pair *p)
{
	bool bad = false;

	drain_events();
	bad |= p->a && ibv_destroy_qp(p->a);
	bad |= p->b && ibv_destroy_qp(p->b);
	bad |= ibv_destroy_cq(p->ca) | ibv_destroy_cq(p->cb);
	bad |= ibv_destroy_comp_channel(p->chan);
	bad |= ibv_dereg_mr(p->src_mr) | ibv_dereg_mr(p->dst_mr);
	bad |= ibv_dealloc_pd(p->pd) | ibv_dealloc_pd(p->pd2);
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

/* An operation on the peer's memory, for cases to spoil. */
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

bool expect_state(struct ibv_qp *qp, enum ibv_qp_state want)
{
	uint64_t end = now_ms() + 5000;

	while (qp_state(qp) != want && now_ms() < end)
		usleep(1000);
	CHECK(qp_state(qp) == want, "queue pair is in state %d, expected %d", qp_state(qp), want);
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

/* Runs one operation that the responder must refuse; the target must be untouched. */
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
	return pair_free(p);
}

bool refused(struct pair *p, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
	     uint32_t rkey, enum ibv_wc_status want)
{
	return refused_or(p, op, len, addr, rkey, want, want);
}
