// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: requests that a responder refuses: keys, bounds and rights of WRITEs, READs and
 * atomics.
 */
#include "verbs_err.h"

static bool refuse_bad_rkey(enum ibv_wr_opcode op)
{
	struct pair *p = pair_up();

	return refused(p, op, 8, ADDR(p, 0), p->dst_mr->rkey ^ 0x5500, REM_ACC);
}

bool c_write_bad_rkey(void) { return refuse_bad_rkey(W); }
bool c_read_bad_rkey(void) { return refuse_bad_rkey(R); }
bool c_atomic_bad_rkey(void) { return refuse_bad_rkey(A); }

/* The low byte is the consumer's part of a key: an old value is as wrong as another index */
bool c_write_stale_rkey(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 8, ADDR(p, 0), p->dst_mr->rkey ^ 1, REM_ACC);
}

bool c_write_deregistered(void)
{
	struct pair *p = pair_up();
	uint32_t rkey = p->dst_mr->rkey;

	CHECK(!ibv_dereg_mr(p->dst_mr), "dereg_mr failed");
	p->dst_mr = new_mr(p->pd_b, p->src, 64, 0);
	return refused(p, W, 8, ADDR(p, 0), rkey, REM_ACC);
}

static bool refuse_mr_access(enum ibv_wr_opcode op, int access)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd_b, p->dst, BUF_LEN, IBV_ACCESS_LOCAL_WRITE | access);
	return refused(p, op, 8, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

bool c_write_no_access(void)
{
	return refuse_mr_access(W, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

bool c_read_no_access(void)
{
	return refuse_mr_access(R, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}

bool c_atomic_no_access(void)
{
	return refuse_mr_access(A, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

/* The queue pair doesn't allow the operation. Devices answer with either of two NAK codes */
static bool refuse_qp_access(enum ibv_wr_opcode op)
{
	struct pair *p = pair_make();

	p->rb.access = 0;
	pair_connect(p);
	return refused_or(p, op, 8, ADDR(p, 0), p->dst_mr->rkey, IBV_WC_REM_INV_REQ_ERR, REM_ACC);
}

bool c_write_qp_no_access(void) { return refuse_qp_access(W); }
bool c_read_qp_no_access(void) { return refuse_qp_access(R); }
bool c_atomic_qp_no_access(void) { return refuse_qp_access(A); }

bool c_write_one_past(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 100, ADDR(p, BUF_LEN - 99), p->dst_mr->rkey, REM_ACC);
}

bool c_write_one_past_long(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 10000, ADDR(p, BUF_LEN - 9999), p->dst_mr->rkey, REM_ACC);
}

bool c_read_one_past(void)
{
	struct pair *p = pair_up();

	return refused(p, R, 100, ADDR(p, BUF_LEN - 99), p->dst_mr->rkey, REM_ACC);
}

bool c_write_one_before(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 100, ADDR(p, -1), p->dst_mr->rkey, REM_ACC);
}

bool c_atomic_past(void)
{
	struct pair *p = pair_up();

	return refused(p, A, 8, ADDR(p, BUF_LEN), p->dst_mr->rkey, REM_ACC);
}

bool c_write_wraps(void)
{
	struct pair *p = pair_up();

	return refused(p, W, 100, ~0ull - 10, p->dst_mr->rkey, REM_ACC);
}

bool c_read_wraps(void)
{
	struct pair *p = pair_up();

	return refused(p, R, 4096, ~0ull - 4094, p->dst_mr->rkey, REM_ACC);
}

static bool refuse_other_pd(enum ibv_wr_opcode op)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd2_b, p->dst, BUF_LEN, ACCESS_ALL);
	return refused(p, op, 8, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

bool c_write_other_pd(void) { return refuse_other_pd(W); }
bool c_read_other_pd(void) { return refuse_other_pd(R); }
bool c_atomic_other_pd(void) { return refuse_other_pd(A); }

/* The provider may refuse to post it */
bool c_atomic_unaligned(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(A, &sge, ADDR(p, 4), p->dst_mr->rkey);

	if (post_one(p->a, &wr))
		return pair_free(p);
	pair_free(p);
	p = pair_up();
	return refused(p, A, 8, ADDR(p, 4), p->dst_mr->rkey, IBV_WC_REM_INV_REQ_ERR);
}

/* An error that no completion reports is an event [10.10.2] */
bool c_responder_event(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), 0x12345678);

	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, REM_ACC, REM_ACC) && expect_state(p->b, IBV_QPS_ERR) &&
	       expect_qp_event(p->b, IBV_EVENT_QP_ACCESS_ERR) && pair_free(p);
}

/*
 * The receive that the immediate data would have completed completes with an error
 * [11.6.2]
 */
bool c_write_imm_bad_rkey(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(IBV_WR_RDMA_WRITE_WITH_IMM, &sge, ADDR(p, 0),
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
	return expect_qp_event(p->b, 0) && pair_free(p);
}

/* The key and the address of a zero-length request aren't checked [C9-88] */
static bool accept_zero_len(enum ibv_wr_opcode op)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 0, 0x77777777);
	struct ibv_send_wr wr = remote_wr(op, &sge, 0xdead, 0xdeadbeef);

	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS) && pair_free(p);
}

bool c_write_zero(void) { return accept_zero_len(W); }
bool c_read_zero(void) { return accept_zero_len(R); }

/* A WRITE of three packets on UC is dropped without an error on either side [9.9.3] */
bool c_uc_bad_rkey(void)
{
	struct pair *p = pair_make_of(IBV_QPT_UC);
	struct ibv_sge sge = sge_of(p->src, 3000, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey ^ 0x5500);
	int i;

	p->ra.access = p->rb.access = IBV_ACCESS_REMOTE_WRITE;
	pair_connect(p);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS))
		return false;
	/* The connection still works: the next message behind the refused one arrives */
	wr.wr.rdma.rkey = p->dst_mr->rkey;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.wr.rdma.remote_addr += BUF_LEN / 2;
	recv_one(p->b, 9, p->dst, 0, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->cb, IBV_WC_SUCCESS, IBV_WC_SUCCESS))
		return false;
	for (i = 0; i < 3000; i++)
		CHECK(!p->dst[i], "the target was written");
	return pair_free(p);
}
