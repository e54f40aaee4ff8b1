// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: what must fail fails with the right status, and harms nobody else.
 *
 * Each case makes its own objects on one device (both ends loop back), does one thing wrong,
 * and checks the completion status, the queue pair's state, the async event or the errno.
 * Prints "ok NAME", "fail NAME why" or "skip NAME why" per case.
 */
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <rdma/ib_user_verbs.h>
#include <sys/mman.h>

#include "verbs_util.h"

#define BUF_LEN		(64 << 10)
#define DEPTH		64
#define ALL_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct ibv_context *ctx;
static struct ibv_device_attr dev;
static struct ibv_port_attr port;
static int gid_index = -1;
static union ibv_gid gid;
static const char *this_case;

#define FAIL(...) do { case_fail(this_case, __VA_ARGS__); return false; } while (0)
#define CHECK(cond, ...) do { if (!(cond)) FAIL(__VA_ARGS__); } while (0)

/* Two connected RC queue pairs, a buffer and an MR on each side. */
struct pair {
	struct ibv_pd *pd, *pd2;	/* pd2 is a stranger's */
	struct ibv_comp_channel *chan;
	struct ibv_cq *ca, *cb;
	struct ibv_qp *a, *b;
	struct rc_attr ra, rb;
	uint8_t *src, *dst;
	struct ibv_mr *src_mr, *dst_mr;
};

static struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type)
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

static struct addr addr_of(struct ibv_qp *qp)
{
	return (struct addr) { .qpn = qp->qp_num, .psn = qp->qp_num & 0xffffff, .gid = gid };
}

static void pair_connect(struct pair *p)
{
	struct addr a = addr_of(p->a), b = addr_of(p->b);

	rc_up(p->a, &p->ra, a.psn, &b);
	rc_up(p->b, &p->rb, b.psn, &a);
}

/* All but the connection, so that a case can change ra and rb first. */
static struct pair *pair_make(void)
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

static struct pair *pair_up(void)
{
	struct pair *p = pair_make();

	pair_connect(p);
	return p;
}

static void drain_events(void)
{
	struct pollfd f = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	while (poll(&f, 1, 0) > 0 && !ibv_get_async_event(ctx, &e))
		ibv_ack_async_event(&e);
}

/* Takes events until one of the type comes. */
static bool wait_event(enum ibv_event_type type, int ms)
{
	struct pollfd f = { .fd = ctx->async_fd, .events = POLLIN };
	uint64_t end = now_ms() + ms;
	struct ibv_async_event e;

	while (now_ms() < end) {
		if (poll(&f, 1, end - now_ms()) <= 0 || ibv_get_async_event(ctx, &e))
			continue;
		ibv_ack_async_event(&e);
		if (e.event_type == type)
			return true;
	}
	return false;
}

static bool pair_free(struct pair *p)
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

static struct ibv_sge sge_of(const void *p, uint32_t len, uint32_t lkey)
{
	return (struct ibv_sge) { .addr = (uintptr_t)p, .length = len, .lkey = lkey };
}

static struct ibv_send_wr wr_of(enum ibv_wr_opcode op, struct ibv_sge *sge, int n)
{
	return (struct ibv_send_wr) {
		.wr_id = 1, .opcode = op, .sg_list = sge, .num_sge = n,
		.send_flags = IBV_SEND_SIGNALED,
	};
}

static int post_one(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, wr, &bad);
}

static int recv_one(struct ibv_qp *qp, uint64_t id, void *buf, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = sge_of(buf, len, lkey);
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* An operation on the peer's memory, for the cases below to spoil. */
static struct ibv_send_wr remote_wr(struct pair *p, enum ibv_wr_opcode op, struct ibv_sge *sge,
				    uint64_t addr, uint32_t rkey)
{
	bool atomic = op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_send_wr wr = wr_of(op, sge, sge->length ? 1 : 0);

	(void)p;
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

static bool expect_status(struct ibv_cq *cq, enum ibv_wc_status want, enum ibv_wc_status or)
{
	struct ibv_wc wc;

	CHECK(wait_wc(cq, &wc), "no completion, expected %s", ibv_wc_status_str(want));
	CHECK(wc.status == want || wc.status == or, "completed with %s, expected %s",
	      ibv_wc_status_str(wc.status), ibv_wc_status_str(want));
	return true;
}

static bool expect_state(struct ibv_qp *qp, enum ibv_qp_state want)
{
	uint64_t end = now_ms() + 5000;

	while (qp_state(qp) != want && now_ms() < end)
		usleep(1000);
	CHECK(qp_state(qp) == want, "queue pair is in state %d, expected %d", qp_state(qp), want);
	return true;
}

/* Runs one operation that the responder must refuse; the target must be untouched. */
static bool refused_or(struct pair *p, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
		       uint32_t rkey, enum ibv_wc_status want, enum ibv_wc_status or)
{
	static uint8_t before[BUF_LEN];
	struct ibv_sge sge = sge_of(p->src, len, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, op, &sge, addr, rkey);

	memcpy(before, p->dst, BUF_LEN);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, want, or) || !expect_state(p->a, IBV_QPS_ERR))
		return false;
	CHECK(!memcmp(before, p->dst, BUF_LEN), "the target was written");
	return pair_free(p);
}

static bool refused(struct pair *p, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
		    uint32_t rkey, enum ibv_wc_status want)
{
	return refused_or(p, op, len, addr, rkey, want, want);
}

#define W IBV_WR_RDMA_WRITE
#define R IBV_WR_RDMA_READ
#define A IBV_WR_ATOMIC_FETCH_AND_ADD
#define REM_ACC IBV_WC_REM_ACCESS_ERR
#define ADDR(p, off) ((uintptr_t)(p)->dst + (off))

/* ---- remote keys, bounds and rights ---- */

static bool bad_rkey(enum ibv_wr_opcode op)
{
	struct pair *p = pair_up();

	return refused(p, op, 8, ADDR(p, 0), p->dst_mr->rkey ^ 0x5500, REM_ACC);
}

static bool c_write_bad_rkey(void) { return bad_rkey(W); }
static bool c_read_bad_rkey(void) { return bad_rkey(R); }
static bool c_atomic_bad_rkey(void) { return bad_rkey(A); }

/* the low byte is the consumer's part of a key: a stale one is as wrong as another index */
static bool c_write_stale_rkey(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 8, ADDR(p, 0), p->dst_mr->rkey ^ 1, REM_ACC);
}

static bool c_write_deregistered(void)
{
	struct pair *p = pair_up();
	uint32_t rkey = p->dst_mr->rkey;

	CHECK(!ibv_dereg_mr(p->dst_mr), "dereg_mr failed");
	p->dst_mr = new_mr(p->pd, p->src, 64, 0);
	return refused(p, W, 8, ADDR(p, 0), rkey, REM_ACC);
}

static bool no_access(enum ibv_wr_opcode op, int access)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd, p->dst, BUF_LEN, IBV_ACCESS_LOCAL_WRITE | access);
	return refused(p, op, 8, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

static bool c_write_no_access(void)
{
	return no_access(W, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

static bool c_read_no_access(void)
{
	return no_access(R, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}

static bool c_atomic_no_access(void)
{
	return no_access(A, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

/* the queue pair itself doesn't allow the operation; both NAK codes are in use */
static bool qp_no_access(enum ibv_wr_opcode op)
{
	struct pair *p = pair_make();

	p->rb.access = 0;
	pair_connect(p);
	return refused_or(p, op, 8, ADDR(p, 0), p->dst_mr->rkey, IBV_WC_REM_INV_REQ_ERR, REM_ACC);
}

static bool c_write_qp_no_access(void) { return qp_no_access(W); }
static bool c_read_qp_no_access(void) { return qp_no_access(R); }
static bool c_atomic_qp_no_access(void) { return qp_no_access(A); }

static bool c_write_one_past(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 100, ADDR(p, BUF_LEN - 99), p->dst_mr->rkey, REM_ACC);
}

static bool c_write_one_past_long(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 10000, ADDR(p, BUF_LEN - 9999), p->dst_mr->rkey, REM_ACC);
}

static bool c_read_one_past(void)
{
	struct pair *p = pair_up();

	return refused(p, R, 100, ADDR(p, BUF_LEN - 99), p->dst_mr->rkey, REM_ACC);
}

static bool c_write_one_before(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 100, ADDR(p, -1), p->dst_mr->rkey, REM_ACC);
}

static bool c_atomic_past(void)
{
	struct pair *p = pair_up();

	return refused(p, A, 8, ADDR(p, BUF_LEN), p->dst_mr->rkey, REM_ACC);
}

static bool c_write_wraps(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 100, ~0ull - 10, p->dst_mr->rkey, REM_ACC);
}

static bool c_read_wraps(void)
{
	struct pair *p = pair_up();

	return refused(p, R, 4096, ~0ull - 4094, p->dst_mr->rkey, REM_ACC);
}

static bool other_pd(enum ibv_wr_opcode op)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd2, p->dst, BUF_LEN, ALL_ACCESS);
	return refused(p, op, 8, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

static bool c_write_other_pd(void) { return other_pd(W); }
static bool c_read_other_pd(void) { return other_pd(R); }
static bool c_atomic_other_pd(void) { return other_pd(A); }

/* the provider may refuse it at the post already */
static bool c_atomic_unaligned(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, A, &sge, ADDR(p, 4), p->dst_mr->rkey);

	if (post_one(p->a, &wr))
		return pair_free(p);
	pair_free(p);
	p = pair_up();
	return refused(p, A, 8, ADDR(p, 4), p->dst_mr->rkey, IBV_WC_REM_INV_REQ_ERR);
}

/* what no completion tells of is an event [10.10.2] */
static bool c_responder_event(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), 0x12345678);

	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, REM_ACC, REM_ACC) || !expect_state(p->b, IBV_QPS_ERR))
		return false;
	CHECK(wait_event(IBV_EVENT_QP_ACCESS_ERR, 5000), "no IBV_EVENT_QP_ACCESS_ERR");
	return pair_free(p);
}

/*
 * the receive that the immediate data would have completed says what happened
 * [11.6.2]
 */
static bool c_write_imm_bad_rkey(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, IBV_WR_RDMA_WRITE_WITH_IMM, &sge, ADDR(p, 0),
					  0x12345678);
	struct ibv_wc wc;

	recv_one(p->b, 9, p->dst, 100, p->dst_mr->lkey);
	recv_one(p->b, 10, p->dst, 100, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, REM_ACC, REM_ACC) || !expect_state(p->b, IBV_QPS_ERR))
		return false;
	CHECK(wait_wc(p->cb, &wc), "no completion of the receive");
	CHECK(wc.wr_id == 9 && wc.status == IBV_WC_LOC_ACCESS_ERR, "receive %d: %s",
	      (int)wc.wr_id, ibv_wc_status_str(wc.status));
	CHECK(wait_wc(p->cb, &wc), "no completion of the second receive");
	CHECK(wc.wr_id == 10 && wc.status == IBV_WC_WR_FLUSH_ERR, "receive %d: %s",
	      (int)wc.wr_id, ibv_wc_status_str(wc.status));
	return pair_free(p);
}

/* the key of a zero-length request isn't checked, nor is its address [C9-88] */
static bool zero_len(enum ibv_wr_opcode op)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 0, 0x77777777);
	struct ibv_send_wr wr = remote_wr(p, op, &sge, 0xdead, 0xdeadbeef);

	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS))
		return false;
	return pair_free(p);
}

static bool c_write_zero(void) { return zero_len(W); }
static bool c_read_zero(void) { return zero_len(R); }

/* ---- local keys and lengths ---- */

static bool local_refused(struct pair *p, enum ibv_wr_opcode op, struct ibv_sge sge)
{
	struct ibv_send_wr wr = remote_wr(p, op, &sge, ADDR(p, 0), p->dst_mr->rkey);

	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR) ||
	    !expect_state(p->a, IBV_QPS_ERR))
		return false;
	return pair_free(p);
}

static bool c_send_bad_lkey(void)
{
	struct pair *p = pair_up();

	return local_refused(p, IBV_WR_SEND, sge_of(p->src, 100, p->src_mr->lkey ^ 0x5500));
}

static bool c_write_bad_lkey(void)
{
	struct pair *p = pair_up();

	return local_refused(p, W, sge_of(p->src, 100, p->src_mr->lkey ^ 0x5500));
}

static bool c_send_lkey_past(void)
{
	struct pair *p = pair_up();

	return local_refused(p, IBV_WR_SEND,
			     sge_of(p->src + BUF_LEN - 99, 100, p->src_mr->lkey));
}

static bool c_send_other_pd(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->src_mr);
	p->src_mr = new_mr(p->pd2, p->src, BUF_LEN, IBV_ACCESS_LOCAL_WRITE);
	return local_refused(p, IBV_WR_SEND, sge_of(p->src, 100, p->src_mr->lkey));
}

static bool c_read_into_readonly(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->src_mr);
	p->src_mr = new_mr(p->pd, p->src, BUF_LEN, 0);
	return local_refused(p, R, sge_of(p->src, 100, p->src_mr->lkey));
}

static bool c_atomic_into_readonly(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->src_mr);
	p->src_mr = new_mr(p->pd, p->src, BUF_LEN, 0);
	return local_refused(p, A, sge_of(p->src, 8, p->src_mr->lkey));
}

/* a SEND that the responder can't place: it completes with here, the requester with there */
static bool recv_refuses(struct pair *p, uint32_t len, uint32_t room, uint32_t lkey,
			 enum ibv_wc_status here, enum ibv_wc_status there)
{
	struct ibv_sge sge = sge_of(p->src, len, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	recv_one(p->b, 9, p->dst, room, lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->cb, here, here) || !expect_status(p->ca, there, there) ||
	    !expect_state(p->a, IBV_QPS_ERR) || !expect_state(p->b, IBV_QPS_ERR))
		return false;
	return pair_free(p);
}

static bool c_recv_too_long(void)
{
	struct pair *p = pair_up();

	return recv_refuses(p, 101, 100, p->dst_mr->lkey, IBV_WC_LOC_LEN_ERR,
			    IBV_WC_REM_INV_REQ_ERR);
}

static bool c_recv_too_long_multi(void)
{
	struct pair *p = pair_up();

	return recv_refuses(p, 10001, 10000, p->dst_mr->lkey, IBV_WC_LOC_LEN_ERR,
			    IBV_WC_REM_INV_REQ_ERR);
}

static bool c_recv_bad_lkey(void)
{
	struct pair *p = pair_up();

	return recv_refuses(p, 100, 100, p->dst_mr->lkey ^ 0x5500, IBV_WC_LOC_PROT_ERR,
			    IBV_WC_REM_OP_ERR);
}

static bool c_recv_readonly(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd, p->dst, BUF_LEN, 0);
	return recv_refuses(p, 100, 100, p->dst_mr->lkey, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
}

static bool c_recv_exact_fit(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 10000, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	recv_one(p->b, 9, p->dst, 10000, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->cb, IBV_WC_SUCCESS, 0) || !expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(p->src, p->dst, 10000) && !p->dst[10000], "wrong data");
	return pair_free(p);
}

/* ---- RNR and dead peers ---- */

static bool rnr_exceeded(enum ibv_wr_opcode op, int rnr_retry)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr;

	p->ra.rnr_retry = rnr_retry;
	pair_connect(p);
	wr = remote_wr(p, op, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR) ||
	    !expect_state(p->a, IBV_QPS_ERR))
		return false;
	return pair_free(p);
}

static bool c_rnr_0(void) { return rnr_exceeded(IBV_WR_SEND, 0); }
static bool c_rnr_3(void) { return rnr_exceeded(IBV_WR_SEND, 3); }
static bool c_rnr_write_imm(void) { return rnr_exceeded(IBV_WR_RDMA_WRITE_WITH_IMM, 0); }

/*
 * 7 is for ever: many times the 0.64 ms timer later the receive appears, and all is well
 * [9.7.5.2.8]
 */
static bool c_rnr_7(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 10000, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);
	struct ibv_wc wc;

	CHECK(!post_one(p->a, &wr), "post_send refused it");
	CHECK(!wait_wc_ms(p->ca, &wc, 300), "completed without a receive: %s",
	      ibv_wc_status_str(wc.status));
	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	if (!expect_status(p->cb, IBV_WC_SUCCESS, 0) || !expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(p->src, p->dst, 10000), "wrong data");
	return pair_free(p);
}

/* timeout 10 is 4 ms: with every retry that is some 34 ms, or a few seconds with backoff */
static bool dead_peer(int retry, enum ibv_wr_opcode op)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr;
	uint64_t start;

	p->ra.retry = retry;
	p->ra.timeout = 10;
	pair_connect(p);
	CHECK(!qp_to_state(p->b, IBV_QPS_RESET), "cannot reset the peer");
	wr = remote_wr(p, op, &sge, ADDR(p, 0), p->dst_mr->rkey);
	start = now_ms();
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR) ||
	    !expect_state(p->a, IBV_QPS_ERR))
		return false;
	CHECK(now_ms() - start < 20000, "took %d ms", (int)(now_ms() - start));
	return pair_free(p);
}

static bool c_dead_peer_7(void) { return dead_peer(7, IBV_WR_SEND); }
static bool c_dead_peer_0(void) { return dead_peer(0, IBV_WR_SEND); }
static bool c_dead_peer_read(void) { return dead_peer(7, R); }

/* timeout 0 is no timer at all */
static bool c_dead_peer_no_timer(void)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);
	struct ibv_wc wc;

	p->ra.timeout = 0;
	pair_connect(p);
	qp_to_state(p->b, IBV_QPS_RESET);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	CHECK(!wait_wc_ms(p->ca, &wc, 500), "completed with %s", ibv_wc_status_str(wc.status));
	qp_to_state(p->a, IBV_QPS_ERR);
	if (!expect_status(p->ca, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR))
		return false;
	return pair_free(p);
}

/* a queue pair that isn't in RTR or beyond drops what comes, whoever sends it */
static bool c_peer_in_init(void)
{
	struct pair *p = pair_make();
	struct addr a = addr_of(p->a), b = addr_of(p->b);
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	p->ra.timeout = 8;
	rc_up(p->a, &p->ra, a.psn, &b);
	rc_to_init(p->b, &p->rb);
	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR))
		return false;
	return pair_free(p);
}

/* ---- flush, drain, full CQ ---- */

static bool cq_event(struct pair *p, int ms)
{
	struct pollfd f = { .fd = p->chan->fd, .events = POLLIN };

	if (poll(&f, 1, ms) <= 0)
		return false;
	take_cq_event(p->chan);
	return true;
}

static bool expect_flush(struct ibv_cq *cq, uint64_t first, int n)
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

static void post_n(struct pair *p, int first, int n, bool signalled)
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

static bool c_flush_sends(void)
{
	struct pair *p = pair_up();

	post_n(p, 100, 20, true);	/* no receive: they wait in RNR */
	qp_to_state(p->a, IBV_QPS_ERR);
	if (!expect_flush(p->ca, 100, 20))
		return false;
	return pair_free(p);
}

/* flushed requests complete even if they weren't signalled */
static bool c_flush_unsignalled(void)
{
	struct pair *p = pair_up();

	post_n(p, 100, 20, false);
	qp_to_state(p->a, IBV_QPS_ERR);
	if (!expect_flush(p->ca, 100, 20))
		return false;
	return pair_free(p);
}

static bool c_flush_recvs(void)
{
	struct pair *p = pair_up();
	int i;

	for (i = 0; i < 20; i++)
		recv_one(p->b, 100 + i, p->dst, 100, p->dst_mr->lkey);
	qp_to_state(p->b, IBV_QPS_ERR);
	if (!expect_flush(p->cb, 100, 20))
		return false;
	return pair_free(p);
}

static bool c_flush_posted_in_error(void)
{
	struct pair *p = pair_up();
	int i;

	qp_to_state(p->a, IBV_QPS_ERR);
	post_n(p, 100, 5, true);
	if (!expect_flush(p->ca, 100, 5))
		return false;
	for (i = 0; i < 5; i++)
		recv_one(p->a, 200 + i, p->src, 100, p->src_mr->lkey);
	if (!expect_flush(p->ca, 200, 5))
		return false;
	return pair_free(p);
}

/* a receive has no doorbell, and is flushed even if nothing else happens for long */
static bool c_flush_recv_late(void)
{
	static const int pause[] = { 0, 10, 3000, 0 };
	struct pair *p = pair_up();
	struct ibv_wc wc;
	unsigned int i;

	qp_to_state(p->a, IBV_QPS_ERR);
	for (i = 0; i < ARRAY_LEN(pause); i++) {
		usleep(1000 * pause[i]);
		recv_one(p->a, 200 + i, p->src, 100, p->src_mr->lkey);
		CHECK(wait_wc_ms(p->ca, &wc, 5000), "receive %u isn't flushed", i);
		CHECK(wc.wr_id == 200 + i && wc.status == IBV_WC_WR_FLUSH_ERR,
		      "receive %d: %s", (int)wc.wr_id, ibv_wc_status_str(wc.status));
	}
	return pair_free(p);
}

/* who waits for an event doesn't wait until somebody looks */
static bool c_flush_recv_notify(void)
{
	struct pair *p = pair_up();
	struct ibv_wc wc;
	uint64_t t;

	qp_to_state(p->a, IBV_QPS_ERR);
	usleep(3000000);
	CHECK(!ibv_req_notify_cq(p->ca, 0), "req_notify_cq failed");
	recv_one(p->a, 200, p->src, 100, p->src_mr->lkey);
	t = now_ms();
	CHECK(!ibv_req_notify_cq(p->ca, 0), "req_notify_cq failed");
	CHECK(cq_event(p, 5000), "no event");
	CHECK(wait_wc_ms(p->ca, &wc, 0), "an event, but no completion");
	CHECK(wc.wr_id == 200 && wc.status == IBV_WC_WR_FLUSH_ERR, "receive %d: %s",
	      (int)wc.wr_id, ibv_wc_status_str(wc.status));
	printf("# after %d ms\n", (int)(now_ms() - t));
	return pair_free(p);
}

/* more than one run flushes: all of them, once, in order */
static bool c_flush_many(void)
{
	const int num = 5000;
	struct pair *p = pair_make();
	struct ibv_cq *cq = ibv_create_cq(ctx, 2 * num, NULL, NULL, 0);
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = num, .max_recv_wr = num, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int i, sends = 0, recvs = 0;
	struct ibv_wc wc;

	ibv_destroy_qp(p->a);
	p->a = ibv_create_qp(p->pd, &ia);
	CHECK(p->a, "create_qp: %s", strerror(errno));
	pair_connect(p);
	qp_to_state(p->a, IBV_QPS_SQD);
	post_n(p, 0, num, true);
	for (i = 0; i < num; i++)
		recv_one(p->a, 100000 + i, p->src, 100, p->src_mr->lkey);
	qp_to_state(p->a, IBV_QPS_ERR);
	while (sends + recvs < 2 * num) {
		CHECK(wait_wc(cq, &wc), "only %d and %d flushed", sends, recvs);
		CHECK(wc.status == IBV_WC_WR_FLUSH_ERR, "%s", ibv_wc_status_str(wc.status));
		if (wc.wr_id < 100000)
			CHECK((int)wc.wr_id == sends++, "send %d out of order", (int)wc.wr_id);
		else
			CHECK((int)wc.wr_id == 100000 + recvs++, "receive %d out of order",
			      (int)wc.wr_id);
	}
	CHECK(!wait_wc_ms(cq, &wc, 50), "more completions than requests");
	ibv_destroy_qp(p->a);
	p->a = NULL;
	CHECK(!ibv_destroy_cq(cq), "destroy_cq: %s", strerror(errno));
	return pair_free(p);
}

/* the request that failed reports why, those behind it flush in order [10.8.3.4] */
static bool c_flush_after_error(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr[3], *bad;

	wr[0] = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	wr[1] = remote_wr(p, W, &sge, ADDR(p, 0), 0x12345678);
	wr[2] = wr[0];
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	wr[2].wr_id = 100;
	CHECK(!ibv_post_send(p->a, wr, &bad), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS) ||
	    !expect_status(p->ca, REM_ACC, REM_ACC) || !expect_flush(p->ca, 100, 1))
		return false;
	return pair_free(p);
}

static bool c_reset_and_reuse(void)
{
	struct pair *p = pair_up();

	post_n(p, 1, 5, true);
	qp_to_state(p->a, IBV_QPS_ERR);
	if (!expect_flush(p->ca, 1, 5))
		return false;
	CHECK(!qp_to_state(p->a, IBV_QPS_RESET) && !qp_to_state(p->b, IBV_QPS_RESET),
	      "to RESET failed");
	pair_connect(p);
	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	post_n(p, 50, 1, true);
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0) || !expect_status(p->cb, IBV_WC_SUCCESS, 0))
		return false;
	return pair_free(p);
}

static int to_sqd(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

/* what is in flight ends, then the event comes [10.3.1.5] */
static bool c_sqd_drain(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 30000, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 4; i++)
		CHECK(!post_one(p->a, &wr), "post_send refused it");
	CHECK(!to_sqd(p->a), "to SQD failed");
	CHECK(wait_event(IBV_EVENT_SQ_DRAINED, 20000), "no IBV_EVENT_SQ_DRAINED");
	/* what had begun is done; a request posted now waits for RTS */
	for (i = 0; i < 4 && wait_wc_ms(p->ca, &wc, 100); i++)
		CHECK(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	wr.wr_id = 77;
	CHECK(!post_one(p->a, &wr), "post_send in SQD refused");
	CHECK(!wait_wc_ms(p->ca, &wc, 200), "a request ran in SQD");
	CHECK(!qp_to_state(p->a, IBV_QPS_RTS), "back to RTS failed");
	for (; i < 5; i++) {
		CHECK(wait_wc(p->ca, &wc), "requests got lost over SQD");
		CHECK(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	}
	CHECK(wc.wr_id == 77, "out of order over SQD");
	return pair_free(p);
}

/* A switch or counter of the device */
static bool in_sysfs(const char *name, const char *mode, uint64_t *value)
{
	char path[512];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", ctx->device->ibdev_path, name);
	file = fopen(path, mode);
	if (!file)
		return false;
	ok = *mode == 'w' ? fprintf(file, "%lu", *value) > 0 : fscanf(file, "%lu", value) == 1;
	return !fclose(file) && ok;
}

/* Connect one end, turn the switch, connect the other: they still agree on packets */
static bool switched(uint64_t first)
{
	struct pair *p = pair_make();
	struct addr a = addr_of(p->a), b = addr_of(p->b);
	uint64_t second = !first, on = 1;
	struct ibv_sge sge = sge_of(p->src, 30000, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_wc wc;
	int err;

	CHECK(in_sysfs("same_device", "w", &first), "no such switch");
	err = rc_to_init(p->a, &p->ra) ?: rc_to_rtr(p->a, &p->ra, &b);
	in_sysfs("same_device", "w", &second);
	err = err ?: rc_to_init(p->b, &p->rb) ?: rc_to_rtr(p->b, &p->rb, &a) ?:
	      rc_to_rts(p->b, &p->rb, b.psn) ?: rc_to_rts(p->a, &p->ra, a.psn);
	in_sysfs("same_device", "w", &on);
	CHECK(!err, "connecting: %s", strerror(err));
	CHECK(!post_one(p->a, &wr) && wait_wc(p->ca, &wc), "nothing came of it");
	CHECK(wc.status == IBV_WC_SUCCESS, "WRITE: %s", ibv_wc_status_str(wc.status));
	CHECK(!memcmp(p->src, p->dst, 30000), "other bytes");
	wr.opcode = R;
	CHECK(!post_one(p->a, &wr) && wait_wc(p->ca, &wc), "nothing came of it");
	CHECK(wc.status == IBV_WC_SUCCESS, "READ: %s", ibv_wc_status_str(wc.status));
	return pair_free(p);
}

static bool c_switched_off_between(void)
{
	return switched(1);
}

static bool c_switched_on_between(void)
{
	return switched(0);
}

/* From this device to the wire, with no path MTU given: packets are as long as the wire has them */
static bool c_sqd_new_address(void)
{
	static const char sent[] = "ports/1/hw_counters/sent_pkts";
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8192, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_SQD,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .sgid_index = gid_index, .hop_limit = 1 } },
	};
	uint64_t before, now, end = now_ms() + 5000;

	CHECK(!to_sqd(p->a), "to SQD failed");
	CHECK(wait_event(IBV_EVENT_SQ_DRAINED, 20000), "no IBV_EVENT_SQ_DRAINED");
	a.ah_attr.grh.dgid = addr_of(p->a).gid;
	a.ah_attr.grh.dgid.raw[15] ^= 0x40;	/* nobody's */
	CHECK(!ibv_modify_qp(p->a, &a, IBV_QP_STATE | IBV_QP_AV), "SQD to SQD failed");
	CHECK(!qp_to_state(p->a, IBV_QPS_RTS), "back to RTS failed");
	CHECK(in_sysfs(sent, "r", &before), "no counter");
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	do {
		usleep(20000);	/* the RDMA core reads counters anew after 10 ms */
		CHECK(in_sysfs(sent, "r", &now), "no counter");
	} while (now - before < 8 && now_ms() < end);
	CHECK(now - before >= 8, "%lu packets for 8 KiB", now - before);
	return pair_free(p);
}

static bool c_sqd_idle(void)
{
	struct pair *p = pair_up();

	CHECK(!to_sqd(p->a), "to SQD failed");
	CHECK(wait_event(IBV_EVENT_SQ_DRAINED, 5000), "no IBV_EVENT_SQ_DRAINED");
	return pair_free(p);
}

/* a completion that finds no room: the CQ is lost, and its queue pairs with it [11.6.3.4] */
static bool c_cq_full(void)
{
	struct pair *p = pair_make();
	struct ibv_cq *cq = ibv_create_cq(ctx, 2, NULL, NULL, 0);
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	int i;

	CHECK(cq, "create_cq: %s", strerror(errno));
	CHECK(cq->cqe < DEPTH, "a CQ of 2 got %d entries", cq->cqe);
	ibv_destroy_qp(p->a);
	p->a = new_qp(p->pd, cq, IBV_QPT_RC);
	pair_connect(p);
	for (i = 0; i < cq->cqe + 8; i++)
		if (post_one(p->a, &wr))
			break;		/* it may be in error by now */
	CHECK(wait_event(IBV_EVENT_CQ_ERR, 10000), "no IBV_EVENT_CQ_ERR");
	if (!expect_state(p->a, IBV_QPS_ERR))
		return false;
	ibv_destroy_qp(p->a);
	p->a = NULL;
	CHECK(!ibv_destroy_cq(cq), "destroying the full CQ failed");
	return pair_free(p);
}

/* ---- notification ---- */

static bool send_flagged(struct pair *p, int flags)
{
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	wr.send_flags |= flags;
	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, IBV_WC_SUCCESS, 0) && expect_status(p->cb, IBV_WC_SUCCESS, 0);
}

static bool c_notify_solicited(void)
{
	struct pair *p = pair_up();

	CHECK(!ibv_req_notify_cq(p->cb, 1), "req_notify_cq failed");
	if (!send_flagged(p, 0))
		return false;
	CHECK(!cq_event(p, 200), "an event for an unsolicited completion");
	if (!send_flagged(p, IBV_SEND_SOLICITED))
		return false;
	CHECK(cq_event(p, 5000), "no event for a solicited completion");
	return pair_free(p);
}

static bool c_notify_once(void)
{
	struct pair *p = pair_up();

	if (!send_flagged(p, 0))
		return false;
	CHECK(!cq_event(p, 100), "an event though not armed");
	CHECK(!ibv_req_notify_cq(p->cb, 0), "req_notify_cq failed");
	if (!send_flagged(p, 0))
		return false;
	CHECK(cq_event(p, 5000), "no event");
	if (!send_flagged(p, IBV_SEND_SOLICITED))
		return false;
	CHECK(!cq_event(p, 100), "a second event for one arming");
	return pair_free(p);
}

/* an error completion counts as solicited */
static bool c_notify_error(void)
{
	struct pair *p = pair_up();

	recv_one(p->b, 1, p->dst, 100, p->dst_mr->lkey);
	CHECK(!ibv_req_notify_cq(p->cb, 1), "req_notify_cq failed");
	qp_to_state(p->b, IBV_QPS_ERR);
	CHECK(cq_event(p, 5000), "no event for a flush");
	if (!expect_flush(p->cb, 1, 1))
		return false;
	return pair_free(p);
}

/* ---- READ and atomic depth ---- */

static bool read_depth(int initiator, int responder, bool fence)
{
	struct pair *p = pair_make();
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int i;

	p->ra.rd_atomic = initiator;
	p->rb.dest_rd_atomic = responder;
	pair_connect(p);
	rnd_fill(p->dst, BUF_LEN, 5);
	for (i = 0; i < 32; i++) {
		sge = sge_of(p->src + i * 2000, 2000, p->src_mr->lkey);
		wr = remote_wr(p, R, &sge, ADDR(p, i * 2000), p->dst_mr->rkey);
		wr.send_flags |= fence && i % 2 ? IBV_SEND_FENCE : 0;
		CHECK(!post_one(p->a, &wr), "post_send refused it");
	}
	for (i = 0; i < 32; i++)
		if (!expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS))
			return false;
	CHECK(!memcmp(p->src, p->dst, 32 * 2000), "wrong data");
	return pair_free(p);
}

static bool c_read_depth_1(void) { return read_depth(1, 1, false); }
static bool c_read_depth_1_of_16(void) { return read_depth(1, 16, false); }
static bool c_read_depth_16(void) { return read_depth(16, 16, false); }
static bool c_read_depth_fence(void) { return read_depth(16, 16, true); }

/* ---- UD ---- */

struct ud {
	struct pair *p;
	struct ibv_qp *tx, *rx;
	struct ibv_ah *ah;
	uint32_t qkey;
};

static struct ibv_ah *new_ah(struct ibv_pd *pd, int index)
{
	struct ibv_ah_attr a = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = index, .hop_limit = 64 },
	};

	return ibv_create_ah(pd, &a);
}

static struct ud make_ud(void)
{
	struct ud u = { .p = pair_make(), .qkey = 0x1234 };

	u.tx = new_qp(u.p->pd, u.p->ca, IBV_QPT_UD);
	u.rx = new_qp(u.p->pd, u.p->cb, IBV_QPT_UD);
	ud_up(u.tx, u.qkey, 7);
	ud_up(u.rx, u.qkey, 7);
	u.ah = new_ah(u.p->pd, gid_index);
	if (!u.ah)
		die("create_ah: %s", strerror(errno));
	return u;
}

static bool ud_free(struct ud *u)
{
	CHECK(!ibv_destroy_ah(u->ah), "destroy_ah failed");
	CHECK(!ibv_destroy_qp(u->tx) && !ibv_destroy_qp(u->rx), "destroy_qp failed");
	return pair_free(u->p);
}

static int ud_send(struct ud *u, uint32_t len, uint32_t qkey, int flags)
{
	struct ibv_sge sge = sge_of(u->p->src, len, u->p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	wr.send_flags |= flags;
	wr.wr.ud.ah = u->ah;
	wr.wr.ud.remote_qpn = u->rx->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	return post_one(u->tx, &wr);
}

/* The GRH slot holds a GRH, or in its last 20 bytes an IPv4 header. */
static bool check_grh(const uint8_t *grh)
{
	bool v4 = !memcmp(gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);

	if (v4 && grh[20] == 0x45)
		return !memcmp(grh + 32, gid.raw + 12, 4) && !memcmp(grh + 36, gid.raw + 12, 4);
	return grh[0] >> 4 == 6 && !memcmp(grh + 8, gid.raw, 16) && !memcmp(grh + 24, gid.raw, 16);
}

static bool c_ud_send(void)
{
	struct ud u = make_ud();
	struct ibv_wc wc;

	recv_one(u.rx, 5, u.p->dst, 1000 + 40, u.p->dst_mr->lkey);
	CHECK(!ud_send(&u, 1000, u.qkey, 0), "post_send refused it");
	CHECK(wait_wc(u.p->cb, &wc) && wc.status == IBV_WC_SUCCESS, "not received");
	CHECK(wc.byte_len == 1040, "byte_len %u, expected 1040", wc.byte_len);
	CHECK(wc.src_qp == u.tx->qp_num, "src_qp %u, expected %u", wc.src_qp, u.tx->qp_num);
	CHECK(wc.wc_flags & IBV_WC_GRH, "no IBV_WC_GRH");
	CHECK(check_grh(u.p->dst), "the GRH does not tell who sent it");
	CHECK(!memcmp(u.p->dst + 40, u.p->src, 1000), "wrong data");
	if (!expect_status(u.p->ca, IBV_WC_SUCCESS, 0))
		return false;
	return ud_free(&u);
}

static bool c_ud_reply(void)
{
	struct ud u = make_ud();
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct ibv_sge sge = sge_of(u.p->src, 50, u.p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	recv_one(u.rx, 5, u.p->dst, 1040, u.p->dst_mr->lkey);
	recv_one(u.tx, 6, u.p->dst + 2048, 1040, u.p->dst_mr->lkey);
	CHECK(!ud_send(&u, 100, u.qkey, 0), "post_send refused it");
	CHECK(wait_wc(u.p->cb, &wc) && wc.status == IBV_WC_SUCCESS, "not received");
	if (!expect_status(u.p->ca, IBV_WC_SUCCESS, 0))
		return false;
	ah = ibv_create_ah_from_wc(u.p->pd, &wc, (struct ibv_grh *)u.p->dst, 1);
	CHECK(ah, "create_ah_from_wc: %s", strerror(errno));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = wc.src_qp;
	wr.wr.ud.remote_qkey = u.qkey;
	CHECK(!post_one(u.rx, &wr), "post_send refused the reply");
	if (!expect_status(u.p->ca, IBV_WC_SUCCESS, 0) || !expect_status(u.p->cb, IBV_WC_SUCCESS, 0))
		return false;
	ibv_destroy_ah(ah);
	return ud_free(&u);
}

static bool ud_dropped(struct ud *u, uint32_t qkey)
{
	struct ibv_wc wc;

	recv_one(u->rx, 5, u->p->dst, 1040, u->p->dst_mr->lkey);
	CHECK(!ud_send(u, 100, qkey, 0), "post_send refused it");
	if (!expect_status(u->p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!wait_wc_ms(u->p->cb, &wc, 300), "it was received");
	/* and the next good one still is */
	CHECK(!ud_send(u, 100, u->qkey, 0), "post_send refused it");
	if (!expect_status(u->p->cb, IBV_WC_SUCCESS, 0))
		return false;
	return ud_free(u);
}

static bool c_ud_wrong_qkey(void)
{
	struct ud u = make_ud();

	return ud_dropped(&u, u.qkey + 1);
}

/* a Q_Key with its top bit set means: use the queue pair's own [10.2.5] */
static bool c_ud_controlled_qkey(void)
{
	struct ud u = make_ud();

	recv_one(u.rx, 5, u.p->dst, 1040, u.p->dst_mr->lkey);
	CHECK(!ud_send(&u, 100, 0x80000000, 0), "post_send refused it");
	if (!expect_status(u.p->cb, IBV_WC_SUCCESS, 0))
		return false;
	return ud_free(&u);
}

/* must not claim success: refused at the post, or an error completion */
static bool c_ud_oversize(void)
{
	struct ud u = make_ud();
	struct ibv_wc wc;

	recv_one(u.rx, 5, u.p->dst, BUF_LEN, u.p->dst_mr->lkey);
	if (!ud_send(&u, mtu_bytes(port.active_mtu) + 1, u.qkey, 0)) {
		CHECK(wait_wc(u.p->ca, &wc), "no completion");
		CHECK(wc.status == IBV_WC_LOC_LEN_ERR, "completed with %s",
		      ibv_wc_status_str(wc.status));
	}
	CHECK(!wait_wc_ms(u.p->cb, &wc, 100), "it was received");
	return ud_free(&u);
}

static bool c_ud_full_mtu(void)
{
	struct ud u = make_ud();
	uint32_t len = mtu_bytes(port.active_mtu);

	recv_one(u.rx, 5, u.p->dst, len + 40, u.p->dst_mr->lkey);
	CHECK(!ud_send(&u, len, u.qkey, 0), "post_send refused it");
	if (!expect_status(u.p->cb, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(u.p->dst + 40, u.p->src, len), "wrong data");
	return ud_free(&u);
}

static bool c_ud_no_recv(void)
{
	struct ud u = make_ud();

	CHECK(!ud_send(&u, 100, u.qkey, 0), "post_send refused it");
	if (!expect_status(u.p->ca, IBV_WC_SUCCESS, 0))
		return false;
	recv_one(u.rx, 5, u.p->dst, 1040, u.p->dst_mr->lkey);
	CHECK(!ud_send(&u, 100, u.qkey, 0), "post_send refused it");
	if (!expect_status(u.p->cb, IBV_WC_SUCCESS, 0))
		return false;
	return ud_free(&u);
}

static bool c_ud_bad_opcode(void)
{
	struct ud u = make_ud();
	struct ibv_sge sge = sge_of(u.p->src, 8, u.p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(u.p, W, &sge, ADDR(u.p, 0), u.p->dst_mr->rkey);
	struct ibv_wc wc;

	wr.wr.ud.ah = u.ah;
	if (!post_one(u.tx, &wr)) {
		CHECK(wait_wc(u.p->ca, &wc), "no completion");
		CHECK(wc.status != IBV_WC_SUCCESS, "a WRITE on UD succeeded");
	}
	return ud_free(&u);
}

static bool c_ah_bad_gid_index(void)
{
	struct pair *p = pair_make();
	struct ibv_ah *ah = new_ah(p->pd, port.gid_tbl_len);

	CHECK(!ah, "an AH with GID index %d", port.gid_tbl_len);
	ah = new_ah(p->pd, port.gid_tbl_len - 1);
	CHECK(!ah, "an AH with an empty GID");
	return pair_free(p);
}

static bool c_ah_no_grh(void)
{
	struct pair *p = pair_make();
	struct ibv_ah_attr a = { .dlid = 1, .port_num = 1 };

	CHECK(!ibv_create_ah(p->pd, &a), "an AH without GRH on RoCE");
	return pair_free(p);
}

/* ---- modify and query ---- */

static bool c_modify_transitions(void)
{
	static const enum ibv_qp_state st[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR,
	};
	/* by state to go to: only these, from the state of the row, given the attributes alone */
	static const bool allowed[6][6] = {
		{ 1, 0, 0, 0, 0, 0 }, { 1, 1, 0, 0, 0, 1 }, { 1, 0, 0, 0, 0, 1 },
		{ 1, 0, 0, 1, 1, 1 }, { 1, 0, 0, 1, 1, 1 }, { 1, 0, 0, 0, 0, 1 },
	};
	struct pair *p = pair_make();
	struct addr a = addr_of(p->a), b = addr_of(p->b);
	unsigned int from, to;

	for (from = 0; from < 6; from++) {
		for (to = 0; to < 6; to++) {
			bool bad;

			CHECK(!qp_to_state(p->a, IBV_QPS_RESET), "state %d to RESET failed",
			      qp_state(p->a));
			bad = (from >= 1 && from <= 4 && rc_to_init(p->a, &p->ra)) ||
			      (from >= 2 && from <= 4 && rc_to_rtr(p->a, &p->ra, &b)) ||
			      (from >= 3 && from <= 4 && rc_to_rts(p->a, &p->ra, a.psn)) ||
			      (from == 4 && qp_to_state(p->a, IBV_QPS_SQD)) ||
			      (from == 5 && (rc_to_init(p->a, &p->ra) ||
					      qp_to_state(p->a, IBV_QPS_ERR)));
			CHECK(!bad, "cannot reach state %d: %s", st[from], strerror(errno));
			CHECK(qp_state(p->a) == st[from], "state is not %d", st[from]);
			bad = qp_to_state(p->a, st[to]);
			CHECK(bad == !allowed[from][to], "state %d to %d with no attributes %s",
			      st[from], st[to], bad ? "refused" : "went through");
			CHECK(!bad || qp_state(p->a) == st[from],
			      "a refused change from %d to %d changed the state", st[from], st[to]);
		}
	}
	return pair_free(p);
}

static bool c_modify_missing_attr(void)
{
	static const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct pair *p = pair_make();
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = p->b->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 } },
	};
	int bit;

	CHECK(!rc_to_init(p->a, &p->ra), "to INIT failed");
	for (bit = 2; bit <= rtr; bit <<= 1)
		if (bit & rtr)
			CHECK(ibv_modify_qp(p->a, &a, rtr & ~bit), "RTR without attribute 0x%x",
			      bit);
	CHECK(ibv_modify_qp(p->a, &a, rtr | IBV_QP_QKEY), "RTR with a Q_Key on RC");
	CHECK(ibv_modify_qp(p->a, &a, rtr | IBV_QP_RETRY_CNT), "RTR with a retry count");
	CHECK(!ibv_modify_qp(p->a, &a, rtr), "RTR with all of them refused: %s", strerror(errno));
	return pair_free(p);
}

static bool rtr_refused(struct pair *p, const char *what)
{
	struct addr b = addr_of(p->b);

	CHECK(rc_to_rtr(p->a, &p->ra, &b), "RTR accepted %s", what);
	p->ra = rc_attr(gid_index);
	return true;
}

static bool c_modify_bad_values(void)
{
	struct pair *p = pair_make();
	struct addr b = addr_of(p->b);

	p->ra.pkey_index = port.pkey_tbl_len;
	CHECK(rc_to_init(p->a, &p->ra), "INIT accepted P_Key index %d", port.pkey_tbl_len);
	p->ra.pkey_index = 0;
	CHECK(!rc_to_init(p->a, &p->ra), "to INIT failed");
	p->ra.gid_index = port.gid_tbl_len;
	if (!rtr_refused(p, "a GID index beyond the table"))
		return false;
	p->ra.gid_index = port.gid_tbl_len - 1;
	if (!rtr_refused(p, "the index of an empty GID"))
		return false;
	p->ra.mtu = 6;
	if (!rtr_refused(p, "path MTU 6"))
		return false;
	if (port.active_mtu < IBV_MTU_4096) {
		p->ra.mtu = port.active_mtu + 1;
		if (!rtr_refused(p, "a path MTU above the active one"))
			return false;
	}
	if (dev.max_qp_rd_atom < 255) {
		p->ra.dest_rd_atomic = dev.max_qp_rd_atom + 1;
		if (!rtr_refused(p, "more READs than max_qp_rd_atom"))
			return false;
	}
	CHECK(!rc_to_rtr(p->a, &p->ra, &b), "to RTR failed");
	if (dev.max_qp_init_rd_atom < 255) {
		p->ra.rd_atomic = dev.max_qp_init_rd_atom + 1;
		CHECK(rc_to_rts(p->a, &p->ra, 1), "RTS accepted more than max_qp_init_rd_atom");
	}
	return pair_free(p);
}

static bool c_modify_bad_port(void)
{
	struct pair *p = pair_make();
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 2 };

	CHECK(ibv_modify_qp(p->a, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS), "INIT accepted port 2");
	return pair_free(p);
}

static bool c_modify_cur_state(void)
{
	struct pair *p = pair_up();
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQD };

	CHECK(ibv_modify_qp(p->a, &a, IBV_QP_STATE | IBV_QP_CUR_STATE),
	      "a wrong current state was accepted");
	return pair_free(p);
}

static bool c_query_qp(void)
{
	struct pair *p = pair_make();
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr q;

	p->ra.mtu = IBV_MTU_512;
	p->ra.rd_atomic = 3;
	p->ra.dest_rd_atomic = 5;
	p->ra.timeout = 17;
	p->ra.retry = 6;
	p->ra.rnr_retry = 5;
	p->ra.min_rnr_timer = 13;
	p->ra.traffic_class = 0x28;
	p->ra.hop_limit = 9;
	p->ra.sl = 3;
	pair_connect(p);
	CHECK(!ibv_query_qp(p->a, &q, 0x1fffff, &ia), "query_qp failed");
	CHECK(q.qp_state == IBV_QPS_RTS && q.cur_qp_state == IBV_QPS_RTS, "state");
	CHECK(q.path_mtu == IBV_MTU_512, "path_mtu %d", q.path_mtu);
	CHECK(q.dest_qp_num == p->b->qp_num, "dest_qp_num");
	CHECK(q.rq_psn == (p->b->qp_num & 0xffffff), "rq_psn 0x%x", q.rq_psn);
	CHECK(q.sq_psn == (p->a->qp_num & 0xffffff), "sq_psn 0x%x", q.sq_psn);
	CHECK(q.max_rd_atomic == 3, "max_rd_atomic %d", q.max_rd_atomic);
	CHECK(q.max_dest_rd_atomic == 5, "max_dest_rd_atomic %d", q.max_dest_rd_atomic);
	CHECK(q.timeout == 17 && q.retry_cnt == 6 && q.rnr_retry == 5 && q.min_rnr_timer == 13,
	      "timeout %d retry %d rnr_retry %d min_rnr_timer %d", q.timeout, q.retry_cnt,
	      q.rnr_retry, q.min_rnr_timer);
	CHECK((int)q.qp_access_flags == p->ra.access, "access flags 0x%x", q.qp_access_flags);
	CHECK(q.port_num == 1 && q.ah_attr.port_num == 1, "port_num");
	CHECK(q.ah_attr.is_global && !memcmp(&q.ah_attr.grh.dgid, &gid, 16), "dgid");
	CHECK(q.ah_attr.grh.sgid_index == gid_index, "sgid_index %d", q.ah_attr.grh.sgid_index);
	/* the RDMA core replaces hop_limit by the route's, unless it is link-local */
	CHECK(q.ah_attr.grh.hop_limit == 9 || gid.raw[0] != 0xfe, "hop_limit %d",
	      q.ah_attr.grh.hop_limit);
	CHECK(q.ah_attr.grh.traffic_class == 0x28, "traffic_class");
	CHECK(q.ah_attr.sl == 3, "sl %d", q.ah_attr.sl);
	CHECK(q.cap.max_send_wr >= DEPTH && q.cap.max_recv_wr >= DEPTH &&
	      q.cap.max_send_sge >= 4 && q.cap.max_inline_data >= 64, "cap");
	CHECK(ia.qp_type == IBV_QPT_RC && ia.cap.max_send_wr >= DEPTH, "init_attr");
	return pair_free(p);
}

/* send requests need RTS (or SQD, or ERR) */
static bool c_post_before_rts(void)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_wc wc;

	CHECK(post_one(p->a, &wr), "post_send in RESET accepted");
	rc_to_init(p->a, &p->ra);
	CHECK(post_one(p->a, &wr), "post_send in INIT accepted");
	CHECK(!wait_wc_ms(p->ca, &wc, 50), "it completed");
	return pair_free(p);
}

/* Posts more than fit; each must be refused for the state, not for want of room */
static bool post_refused(struct pair *p, const char *state)
{
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	int i, err;

	wr.wr_id = 77;
	for (i = 0; i < 4 * DEPTH; i++) {
		err = post_one(p->a, &wr);
		CHECK(err == EINVAL, "post %d in %s: %s", i, state, strerror(err));
	}
	return true;
}

/* what was refused is neither executed nor completed when the queue pair comes up */
static bool c_post_refused_forgotten(void)
{
	static const uint8_t zero[8];
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 100), p->dst_mr->rkey);
	struct addr a = addr_of(p->a), b = addr_of(p->b);
	struct ibv_wc wc;
	int i;

	rc_up(p->b, &p->rb, b.psn, &a);
	if (!post_refused(p, "RESET"))
		return false;
	CHECK(!rc_to_init(p->a, &p->ra), "to INIT failed");
	if (!post_refused(p, "INIT"))
		return false;
	CHECK(!rc_to_rtr(p->a, &p->ra, &b), "to RTR failed");
	if (!post_refused(p, "RTR"))
		return false;
	CHECK(!rc_to_rts(p->a, &p->ra, a.psn), "to RTS failed");
	for (i = 0; i < 5; i++) {
		wr.wr_id = 200 + i;
		CHECK(!post_one(p->a, &wr), "post %d in RTS refused", i);
	}
	for (i = 0; i < 5; i++) {
		CHECK(wait_wc(p->ca, &wc), "no completion %d", i);
		CHECK(wc.wr_id == 200u + i && !wc.status, "completion of %d: %s",
		      (int)wc.wr_id, ibv_wc_status_str(wc.status));
	}
	CHECK(!wait_wc_ms(p->ca, &wc, 50), "one more completion, of %d", (int)wc.wr_id);
	CHECK(!memcmp(p->dst, zero, 8), "what was refused has changed the peer's memory");
	CHECK(!memcmp(p->dst + 100, p->src, 8), "what was posted in RTS is missing");
	return pair_free(p);
}

/* what is posted in SQD is accepted, and is sent in RTS */
static bool c_post_sqd_kept(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_wc wc;

	CHECK(!qp_to_state(p->a, IBV_QPS_SQD), "to SQD failed");
	CHECK(!post_one(p->a, &wr), "post in SQD refused");
	CHECK(!wait_wc_ms(p->ca, &wc, 50), "sent in SQD");
	CHECK(!qp_to_state(p->a, IBV_QPS_RTS), "to RTS failed");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(p->dst, p->src, 8), "not written");
	return pair_free(p);
}

/* ---- flags ---- */

/* inline bytes that look like an SGE must not be taken for one */
static bool inline_refused(enum ibv_wr_opcode op)
{
	struct pair *p = pair_up();
	struct ibv_sge victim = sge_of(p->src + 4096, 8, p->src_mr->lkey);
	uint32_t len = op == R ? sizeof(victim) : 8;
	struct ibv_sge sge = sge_of(&victim, len, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, op, &sge, ADDR(p, 0), p->dst_mr->rkey);
	uint8_t before[8];

	memcpy(before, p->src + 4096, 8);
	wr.send_flags |= IBV_SEND_INLINE;
	if (!post_one(p->a, &wr) &&
	    (!expect_status(p->ca, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR) ||
	     !expect_state(p->a, IBV_QPS_ERR)))
		return false;
	CHECK(!memcmp(before, p->src + 4096, 8), "data went to an address made of payload");
	return pair_free(p);
}

static bool c_inline_read(void) { return inline_refused(R); }
static bool c_inline_atomic(void) { return inline_refused(A); }

static bool flag_refused(enum ibv_wr_opcode op, unsigned int flag)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(p, op, &sge, ADDR(p, 0), p->dst_mr->rkey);

	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	wr.send_flags |= flag;
	if (!post_one(p->a, &wr) &&
	    (!expect_status(p->ca, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR) ||
	     !expect_state(p->a, IBV_QPS_ERR)))
		return false;
	return pair_free(p);
}

static bool c_flags_unknown(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, W, R, A };
	static const unsigned int flags[] = { IBV_SEND_IP_CSUM, 1u << 8, 1u << 31 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_LEN(ops); i++)
		for (k = 0; k < ARRAY_LEN(flags); k++)
			if (!flag_refused(ops[i], flags[k]))
				return false;
	return true;
}

/* programs set these on anything, where they mean nothing */
static bool c_flags_harmless(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, W, R, A };
	struct pair *p = pair_up();
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
		struct ibv_send_wr wr = remote_wr(p, ops[i], &sge, ADDR(p, 0),
						  p->dst_mr->rkey);

		recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
		wr.send_flags |= IBV_SEND_FENCE | IBV_SEND_SOLICITED;
		CHECK(!post_one(p->a, &wr), "post_send refused it");
		if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
			return false;
	}
	return pair_free(p);
}

/* ---- limits ---- */

static struct ibv_qp *try_qp(struct pair *p, uint32_t swr, uint32_t rwr, uint32_t ssge,
			     uint32_t rsge, uint32_t inl, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = p->ca, .recv_cq = p->ca, .qp_type = type,
		.cap = { swr, rwr, ssge, rsge, inl },
	};

	errno = 0;
	return ibv_create_qp(p->pd, &ia);
}

#define REFUSED(obj, ...) do { \
	CHECK(!(obj), "accepted " __VA_ARGS__); \
	CHECK(errno, "no errno for " __VA_ARGS__); } while (0)

static bool c_limit_qp(void)
{
	struct pair *p = pair_make();
	struct ibv_qp *qp;

	REFUSED(try_qp(p, dev.max_qp_wr + 1, 1, 1, 1, 0, IBV_QPT_RC), "max_qp_wr+1 sends");
	REFUSED(try_qp(p, 1, dev.max_qp_wr + 1, 1, 1, 0, IBV_QPT_RC), "max_qp_wr+1 receives");
	REFUSED(try_qp(p, 1, 1, dev.max_sge + 1, 1, 0, IBV_QPT_RC), "max_sge+1 send SGEs");
	REFUSED(try_qp(p, 1, 1, 1, dev.max_sge + 1, 0, IBV_QPT_RC), "max_sge+1 receive SGEs");
	REFUSED(try_qp(p, 1, 1, 1, 1, 1 << 20, IBV_QPT_RC), "1 MiB inline");
	REFUSED(try_qp(p, 1, 1, 1, 1, 0, 77), "QP type 77");
	REFUSED(try_qp(p, 1, 1, 1, 1, 0, IBV_QPT_RAW_PACKET), "a raw packet QP");
	qp = try_qp(p, 16, 16, dev.max_sge, dev.max_sge, 0, IBV_QPT_RC);
	CHECK(qp, "max_sge itself refused: %s", strerror(errno));
	ibv_destroy_qp(qp);
	qp = try_qp(p, dev.max_qp_wr, 1, 1, 1, 0, IBV_QPT_RC);
	CHECK(qp, "max_qp_wr itself refused: %s", strerror(errno));
	ibv_destroy_qp(qp);
	return pair_free(p);
}

static bool c_limit_cq(void)
{
	struct pair *p = pair_make();
	struct ibv_cq *cq;

	errno = 0;
	REFUSED(ibv_create_cq(ctx, dev.max_cqe + 1, NULL, NULL, 0), "max_cqe+1");
	REFUSED(ibv_create_cq(ctx, 0, NULL, NULL, 0), "a CQ of 0");
	REFUSED(ibv_create_cq(ctx, 10, NULL, NULL, ctx->num_comp_vectors),
		"completion vector num_comp_vectors");
	cq = ibv_create_cq(ctx, 10, NULL, NULL, ctx->num_comp_vectors - 1);
	CHECK(cq, "the last completion vector refused: %s", strerror(errno));
	ibv_destroy_cq(cq);
	return pair_free(p);
}

static bool c_limit_mr(void)
{
	struct pair *p = pair_make();
	void *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	errno = 0;
	REFUSED(ibv_reg_mr(p->pd, hole, 8192, IBV_ACCESS_LOCAL_WRITE), "memory without access");
	REFUSED(ibv_reg_mr(p->pd, ro, 4096, IBV_ACCESS_LOCAL_WRITE), "read-only memory for write");
	REFUSED(ibv_reg_mr(p->pd, p->src, 4096, IBV_ACCESS_REMOTE_WRITE),
		"REMOTE_WRITE without LOCAL_WRITE");
	REFUSED(ibv_reg_mr(p->pd, p->src, 4096, IBV_ACCESS_REMOTE_ATOMIC),
		"REMOTE_ATOMIC without LOCAL_WRITE");
	REFUSED(ibv_reg_mr(p->pd, p->src, ~0ull - 4096, IBV_ACCESS_LOCAL_WRITE),
		"nearly 2^64 bytes");
	mr = ibv_reg_mr(p->pd, p->src + 13, 77, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr, "an unaligned MR refused: %s", strerror(errno));
	ibv_dereg_mr(mr);
	munmap(hole, 8192);
	munmap(ro, 4096);
	return pair_free(p);
}

static bool c_limit_post(void)
{
	struct pair *p = pair_make();
	struct ibv_sge sge[64];
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, sge, 1);
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr q;
	uint32_t i;

	pair_connect(p);
	CHECK(!ibv_query_qp(p->a, &q, IBV_QP_CAP, &ia), "query_qp failed");
	for (i = 0; i < 64; i++)
		sge[i] = sge_of(p->src, 8, p->src_mr->lkey);
	wr.num_sge = q.cap.max_send_sge + 1;
	CHECK(post_one(p->a, &wr), "more SGEs than max_send_sge accepted");
	wr.num_sge = 1;
	wr.send_flags |= IBV_SEND_INLINE;
	sge[0].length = q.cap.max_inline_data + 1;
	CHECK(post_one(p->a, &wr), "more inline data than max_inline_data accepted");
	wr.send_flags = IBV_SEND_SIGNALED;
	sge[0].length = 8;
	for (i = 0; i < 100000 && !post_one(p->a, &wr); i++)
		;			/* RNR holds them */
	CHECK(i >= q.cap.max_send_wr, "only %u of %u sends fit", i, q.cap.max_send_wr);
	CHECK(i < 100000, "a send queue without end");
	for (i = 0; i < 100000 && !recv_one(p->a, i, p->src, 8, p->src_mr->lkey); i++)
		;
	CHECK(i >= q.cap.max_recv_wr, "only %u of %u receives fit", i, q.cap.max_recv_wr);
	CHECK(i < 100000, "a receive queue without end");
	qp_to_state(p->a, IBV_QPS_ERR);
	return pair_free(p);
}

/* objects in use can't be destroyed */
static bool c_busy_objects(void)
{
	struct pair *p = pair_up();

	CHECK(ibv_destroy_cq(p->ca), "a CQ with a QP on it was destroyed");
	CHECK(ibv_dealloc_pd(p->pd), "a PD with objects in it was deallocated");
	return pair_free(p);
}

/* The kernel has it, the provider hasn't */
static int rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		    int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr cmd;
	} req = {
		.hdr = { .command = IB_USER_VERBS_CMD_REREG_MR, .in_words = sizeof(req) / 4,
			 .out_words = sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp, .mr_handle = mr->handle, .flags = flags,
			 .start = (uintptr_t)addr, .length = length, .hca_va = (uintptr_t)addr,
			 .pd_handle = pd ? pd->handle : 0, .access_flags = access },
	};

	if (write(ctx->cmd_fd, &req, sizeof(req)) != sizeof(req))
		return errno;
	mr->lkey = resp.lkey;
	mr->rkey = resp.rkey;
	return 0;
}

/* a right that was taken away is gone, the others are there [11.2.7.5] */
static bool c_rereg_mr(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr;
	int rc;

	rc = rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
		      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(!rc, "rereg_mr: %s", strerror(rc));
	wr = remote_wr(p, R, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	return refused(p, W, 8, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

/* zero bytes of a zero-length region, as the source and as the target */
static bool use_empty_mr(struct pair *p, struct ibv_mr *mr, void *addr)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, W, R };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		struct ibv_sge sge = sge_of(addr, 0, mr->lkey);
		struct ibv_send_wr wr = wr_of(ops[i], &sge, 1);

		wr.wr.rdma.remote_addr = (uintptr_t)addr;
		wr.wr.rdma.rkey = mr->rkey;
		recv_one(p->b, 9, addr, 0, mr->lkey);
		CHECK(!post_one(p->a, &wr), "post_send refused it");
		if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
			return false;
	}
	return true;
}

static bool c_mr_empty(void)
{
	struct pair *p = pair_up();
	void *addr[] = { p->src, p->src + 13, NULL, (void *)0x1000, (void *)~0ul };
	struct ibv_mr *mr;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(addr); i++) {
		mr = ibv_reg_mr(p->pd, addr[i], 0, ALL_ACCESS);
		CHECK(mr, "0 bytes at %p: %s", addr[i], strerror(errno));
		if (!use_empty_mr(p, mr, addr[i]))
			return false;
		CHECK(!ibv_dereg_mr(mr), "dereg_mr: %s", strerror(errno));
	}
	return pair_free(p);
}

/* nothing is in it: a byte of it is one too many */
static bool c_mr_empty_one_past(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd, p->dst, 0, ALL_ACCESS);
	return refused(p, W, 1, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

static bool c_mr_empty_rereg(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr;

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd2, p->dst, 0, 0);
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS),
	      "other rights: %s", strerror(errno));
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_PD, p->pd, NULL, 0, 0),
	      "other PD: %s", strerror(errno));
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p->dst, BUF_LEN, 0),
	      "some bytes: %s", strerror(errno));
	wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p->dst, 0, 0),
	      "no bytes: %s", strerror(errno));
	return refused(p, W, 1, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

/* ---- changes under load ---- */

struct load {
	struct pair *p;
	volatile bool stop;
	volatile uint64_t sent, taken;
};

/* As many as the CQ takes; a completion's wr_id says how many were before it */
static void *post_load(void *arg)
{
	struct load *l = arg;
	struct ibv_sge sge = sge_of(l->p->src, 8, l->p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(l->p, W, &sge, ADDR(l->p, 0), l->p->dst_mr->rkey);

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

/* completions that come while a CQ changes its size are neither lost nor doubled */
static bool c_resize_load(void)
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

/* once rereg_mr has taken a right away, nobody uses it any more */
static bool c_rereg_load(void)
{
	static uint8_t after[BUF_LEN];
	int i;

	for (i = 0; i < 20; i++) {
		struct pair *p = pair_up();
		struct ibv_sge sge = sge_of(p->src, BUF_LEN, p->src_mr->lkey);
		struct ibv_send_wr wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
		struct ibv_wc wc;
		int n;

		for (n = 0; n < DEPTH; n++) {
			p->src[n * 1000] += n;
			CHECK(!post_one(p->a, &wr), "post_send refused it");
		}
		CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				IBV_ACCESS_LOCAL_WRITE), "rereg_mr failed");
		memcpy(after, p->dst, BUF_LEN);
		rnd_fill(p->src, BUF_LEN, i);
		while (wait_wc_ms(p->ca, &wc, 200))
			;
		CHECK(!memcmp(after, p->dst, BUF_LEN), "written after it, in round %d", i);
		if (!pair_free(p))
			return false;
	}
	return true;
}

/* the responder's MTU is smaller than what comes: refused or dropped, never taken */
/* within one device there needn't be packets, whose size could be wrong */
static bool c_mtu_mismatch(void)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 1000, p->src_mr->lkey);
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	p->rb.mtu = IBV_MTU_256;
	p->ra.timeout = 10;
	pair_connect(p);
	wr = remote_wr(p, W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	CHECK(wait_wc(p->ca, &wc), "no completion");
	CHECK(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_RETRY_EXC_ERR ||
	      (wc.status == IBV_WC_SUCCESS && !memcmp(p->src, p->dst, 1000)),
	      "completed with %s", ibv_wc_status_str(wc.status));
	return pair_free(p);
}

/*
 * packets of a queue pair that isn't the connected one are nobody's business
 * [9.6.1.5]
 */
static bool c_wrong_source_qp(void)
{
	struct pair *p = pair_up();
	struct pair *x = pair_make();
	struct addr a = addr_of(x->a), b = addr_of(p->b);
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	/* a second connection to b with a stale PSN half the space away */
	x->ra.timeout = 8;
	rc_up(x->a, &x->ra, (p->a->qp_num + 0x600000) & 0xffffff, &b);
	(void)a;
	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	sge.lkey = p->src_mr->lkey;
	sge = sge_of(x->src, 100, x->src_mr->lkey);
	CHECK(!post_one(x->a, &wr), "post_send refused it");
	if (!expect_status(x->ca, IBV_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR))
		return false;
	/* the real connection lives on */
	sge = sge_of(p->src, 100, p->src_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0) || !expect_status(p->cb, IBV_WC_SUCCESS, 0))
		return false;
	return pair_free(x) && pair_free(p);
}

#define CASE(n) { #n, c_ ## n }

static const struct { const char *name; bool (*fn)(void); } cases[] = {
	CASE(write_bad_rkey), CASE(read_bad_rkey), CASE(atomic_bad_rkey), CASE(write_stale_rkey),
	CASE(write_deregistered), CASE(write_no_access), CASE(read_no_access),
	CASE(atomic_no_access), CASE(write_qp_no_access), CASE(read_qp_no_access),
	CASE(atomic_qp_no_access), CASE(write_one_past), CASE(write_one_past_long),
	CASE(read_one_past), CASE(write_one_before), CASE(atomic_past), CASE(write_wraps),
	CASE(read_wraps), CASE(write_other_pd), CASE(read_other_pd), CASE(atomic_other_pd),
	CASE(atomic_unaligned), CASE(responder_event), CASE(write_zero), CASE(read_zero),
	CASE(send_bad_lkey), CASE(write_bad_lkey), CASE(send_lkey_past), CASE(send_other_pd),
	CASE(read_into_readonly), CASE(atomic_into_readonly), CASE(recv_too_long),
	CASE(recv_too_long_multi), CASE(recv_bad_lkey), CASE(recv_readonly), CASE(recv_exact_fit),
	CASE(rnr_0), CASE(rnr_3), CASE(rnr_write_imm), CASE(rnr_7), CASE(dead_peer_7),
	CASE(dead_peer_0), CASE(dead_peer_read), CASE(dead_peer_no_timer), CASE(peer_in_init),
	CASE(wrong_source_qp), CASE(mtu_mismatch),
	CASE(flush_sends), CASE(flush_unsignalled), CASE(flush_recvs),
	CASE(flush_posted_in_error), CASE(flush_after_error), CASE(reset_and_reuse),
	CASE(sqd_drain), CASE(sqd_idle), CASE(sqd_new_address),
	CASE(switched_off_between), CASE(switched_on_between), CASE(cq_full),
	CASE(notify_solicited), CASE(notify_once), CASE(notify_error),
	CASE(read_depth_1), CASE(read_depth_1_of_16), CASE(read_depth_16), CASE(read_depth_fence),
	CASE(ud_send), CASE(ud_reply), CASE(ud_wrong_qkey), CASE(ud_controlled_qkey),
	CASE(ud_oversize), CASE(ud_full_mtu), CASE(ud_no_recv), CASE(ud_bad_opcode),
	CASE(ah_bad_gid_index), CASE(ah_no_grh),
	CASE(modify_transitions), CASE(modify_missing_attr), CASE(modify_bad_values),
	CASE(modify_bad_port), CASE(modify_cur_state), CASE(query_qp), CASE(post_before_rts),
	CASE(limit_qp), CASE(limit_cq), CASE(limit_mr), CASE(limit_post), CASE(busy_objects),
	CASE(rereg_mr),
	CASE(post_refused_forgotten), CASE(post_sqd_kept), CASE(write_imm_bad_rkey),
	CASE(inline_read), CASE(inline_atomic), CASE(flags_unknown), CASE(flags_harmless),
	CASE(flush_recv_late), CASE(flush_recv_notify), CASE(flush_many), CASE(resize_load),
	CASE(rereg_load), CASE(mr_empty), CASE(mr_empty_one_past), CASE(mr_empty_rereg),
};

static bool wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strncmp(name, *names, strlen(*names)))
			return true;
	return false;
}

/* "read_depth_1" is known outside as "read-depth-1" */
static const char *case_name(unsigned int i)
{
	static char name[64];
	char *p;

	snprintf(name, sizeof(name), "%s", cases[i].name);
	for (p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	return name;
}

static void run_case(unsigned int i)
{
	drain_events();
	if (cases[i].fn())
		case_ok(this_case);
}

static const char usage[] =
"usage: verbs_err [-d DEV] [-g GID_INDEX] [CASE...]\n"
"Error paths of the verbs on one device; a CASE is a prefix of names.\n"
"  -d, --dev DEV     device (the first one)\n"
"  -g, --gid N       GID index (the first v2 one)\n"
"  -l, --list        names of the cases\n"
"  -h, --help        this text\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "gid", 1, NULL, 'g' }, { "list", 0, NULL, 'l' },
	{ "help", 0, NULL, 'h' }, {},
};

int main(int argc, char **argv)
{
	const char *name = NULL;
	unsigned int i;
	int o;

	while ((o = getopt_long(argc, argv, "d:g:lh", options, NULL)) != -1) {
		switch (o) {
		case 'd': name = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'l':
			for (i = 0; i < ARRAY_LEN(cases); i++)
				puts(case_name(i));
			return 0;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	}
	ctx = open_device(name);
	if (gid_index < 0)
		gid_index = find_gid(ctx, "v2");
	if (ibv_query_device(ctx, &dev) || ibv_query_port(ctx, 1, &port) ||
	    ibv_query_gid(ctx, 1, gid_index, &gid))
		die("query failed");
	fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK);
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		this_case = case_name(i);
		if (wanted(this_case, argv + optind))
			run_case(i);
	}
	ibv_close_device(ctx);
	return !!cases_failed;
}
