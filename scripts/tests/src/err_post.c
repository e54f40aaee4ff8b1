// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: posting in states that don't send, with wrong flags, and more than there is room for.
 */
#include "verbs_err.h"

/* Sends may be posted only in RTS, SQD and ERR */
bool c_post_before_rts(void)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_wc wc;

	CHECK(post_one(p->a, &wr), "post_send in RESET accepted");
	rc_to_init(p->a, &p->ra);
	CHECK(post_one(p->a, &wr), "post_send in INIT accepted");
	CHECK(!wait_wc_ms(p->ca, &wc, 50), "it completed");
	return pair_free(p);
}

/* Posts more than fit. Each must be refused for the state, and not because there is no room */
static bool refuse_posts(struct pair *p, const char *state)
{
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	int i, err;

	wr.wr_id = 77;
	for (i = 0; i < 4 * DEPTH; i++) {
		err = post_one(p->a, &wr);
		CHECK(err == EINVAL, "post %d in %s: %s", i, state, strerror(err));
	}
	return true;
}

/* Refused work requests are neither executed nor completed when the queue pair comes up */
bool c_post_refused_forgotten(void)
{
	static const uint8_t zero[8];
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 100), p->dst_mr->rkey);
	struct addr a = addr_of(p->a), b = addr_of(p->b);
	struct ibv_wc wc;
	int i;

	rc_up(p->b, &p->rb, b.psn, &a);
	if (!refuse_posts(p, "RESET"))
		return false;
	CHECK(!rc_to_init(p->a, &p->ra), "to INIT failed");
	if (!refuse_posts(p, "INIT"))
		return false;
	CHECK(!rc_to_rtr(p->a, &p->ra, &b), "to RTR failed");
	if (!refuse_posts(p, "RTR"))
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

/* Inline bytes that look like an SGE aren't used as an SGE */
static bool refuse_inline(enum ibv_wr_opcode op)
{
	struct pair *p = pair_up();
	struct ibv_sge victim = sge_of(p->src + 4096, 8, p->src_mr->lkey);
	uint32_t len = op == R ? sizeof(victim) : 8;
	struct ibv_sge sge = sge_of(&victim, len, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(op, &sge, ADDR(p, 0), p->dst_mr->rkey);
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

bool c_inline_read(void) { return refuse_inline(R); }
bool c_inline_atomic(void) { return refuse_inline(A); }

static bool refuse_flag(enum ibv_wr_opcode op, unsigned int flag)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(op, &sge, ADDR(p, 0), p->dst_mr->rkey);

	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	wr.send_flags |= flag;
	if (!post_one(p->a, &wr) &&
	    (!expect_status(p->ca, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR) ||
	     !expect_state(p->a, IBV_QPS_ERR)))
		return false;
	return pair_free(p);
}

bool c_flags_unknown(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, W, R, A };
	static const unsigned int flags[] = { IBV_SEND_IP_CSUM, 1u << 8, 1u << 31 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_LEN(ops); i++)
		for (k = 0; k < ARRAY_LEN(flags); k++)
			if (!refuse_flag(ops[i], flags[k]))
				return false;
	return true;
}

/* Programs set these flags on any work request, also where they have no meaning */
bool c_flags_harmless(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, W, R, A };
	struct pair *p = pair_up();
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
		struct ibv_send_wr wr = remote_wr(ops[i], &sge, ADDR(p, 0),
						  p->dst_mr->rkey);

		recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
		wr.send_flags |= IBV_SEND_FENCE | IBV_SEND_SOLICITED;
		CHECK(!post_one(p->a, &wr), "post_send refused it");
		if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
			return false;
	}
	return pair_free(p);
}

bool c_limit_post(void)
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
		;			/* they wait after an RNR NAK */
	CHECK(i >= q.cap.max_send_wr, "only %u of %u sends fit", i, q.cap.max_send_wr);
	CHECK(i < 100000, "a send queue without end");
	for (i = 0; i < 100000 && !recv_one(p->a, i, p->src, 8, p->src_mr->lkey); i++)
		;
	CHECK(i >= q.cap.max_recv_wr, "only %u of %u receives fit", i, q.cap.max_recv_wr);
	CHECK(i < 100000, "a receive queue without end");
	qp_to_state(p->a, IBV_QPS_ERR);
	return pair_free(p);
}
