// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: local keys, rights and lengths of the memory of sends and receives.
 */
#include "verbs_err.h"

static bool refuse_local(struct pair *p, enum ibv_wr_opcode op, struct ibv_sge sge)
{
	struct ibv_send_wr wr = remote_wr(op, &sge, ADDR(p, 0), p->dst_mr->rkey);

	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR) &&
	       expect_state(p->a, IBV_QPS_ERR) && pair_free(p);
}

bool c_send_bad_lkey(void)
{
	struct pair *p = pair_up();

	return refuse_local(p, IBV_WR_SEND, sge_of(p->src, 100, p->src_mr->lkey ^ 0x5500));
}

bool c_write_bad_lkey(void)
{
	struct pair *p = pair_up();

	return refuse_local(p, W, sge_of(p->src, 100, p->src_mr->lkey ^ 0x5500));
}

bool c_send_lkey_past(void)
{
	struct pair *p = pair_up();

	return refuse_local(p, IBV_WR_SEND,
			    sge_of(p->src + BUF_LEN - 99, 100, p->src_mr->lkey));
}

bool c_send_other_pd(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->src_mr);
	p->src_mr = new_mr(p->pd2, p->src, BUF_LEN, IBV_ACCESS_LOCAL_WRITE);
	return refuse_local(p, IBV_WR_SEND, sge_of(p->src, 100, p->src_mr->lkey));
}

bool c_read_into_readonly(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->src_mr);
	p->src_mr = new_mr(p->pd, p->src, BUF_LEN, 0);
	return refuse_local(p, R, sge_of(p->src, 100, p->src_mr->lkey));
}

bool c_atomic_into_readonly(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->src_mr);
	p->src_mr = new_mr(p->pd, p->src, BUF_LEN, 0);
	return refuse_local(p, A, sge_of(p->src, 8, p->src_mr->lkey));
}

/*
 * The responder can't place a SEND. @here: status of its receive. @there: status of the
 * requester
 */
static bool refuse_recv(struct pair *p, uint32_t len, uint32_t room, uint32_t lkey,
			enum ibv_wc_status here, enum ibv_wc_status there)
{
	struct ibv_sge sge = sge_of(p->src, len, p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	recv_one(p->b, 9, p->dst, room, lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->cb, here, here) && expect_status(p->ca, there, there) &&
	       expect_state(p->a, IBV_QPS_ERR) && expect_state(p->b, IBV_QPS_ERR) &&
	       expect_qp_event(p->b, 0) && pair_free(p);
}

bool c_recv_too_long(void)
{
	struct pair *p = pair_up();

	return refuse_recv(p, 101, 100, p->dst_mr->lkey, IBV_WC_LOC_LEN_ERR,
			   IBV_WC_REM_INV_REQ_ERR);
}

bool c_recv_too_long_multi(void)
{
	struct pair *p = pair_up();

	return refuse_recv(p, 10001, 10000, p->dst_mr->lkey, IBV_WC_LOC_LEN_ERR,
			   IBV_WC_REM_INV_REQ_ERR);
}

bool c_recv_bad_lkey(void)
{
	struct pair *p = pair_up();

	return refuse_recv(p, 100, 100, p->dst_mr->lkey ^ 0x5500, IBV_WC_LOC_PROT_ERR,
			   IBV_WC_REM_OP_ERR);
}

bool c_recv_readonly(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd_b, p->dst, BUF_LEN, 0);
	return refuse_recv(p, 100, 100, p->dst_mr->lkey, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
}

bool c_recv_exact_fit(void)
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
