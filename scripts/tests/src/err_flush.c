// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: queues that stop: flushed in the error state, drained in SQD, used again after RESET.
 */
#include "verbs_err.h"

bool c_flush_sends(void)
{
	struct pair *p = pair_up();

	post_n(p, 100, 20, true);	/* no receive: the sends wait after an RNR NAK */
	qp_to_state(p->a, IBV_QPS_ERR);
	return expect_flush(p->ca, 100, 20) && pair_free(p);
}

/* Flushed requests complete even if they weren't signalled */
bool c_flush_unsignalled(void)
{
	struct pair *p = pair_up();

	post_n(p, 100, 20, false);
	qp_to_state(p->a, IBV_QPS_ERR);
	return expect_flush(p->ca, 100, 20) && pair_free(p);
}

bool c_flush_recvs(void)
{
	struct pair *p = pair_up();
	int i;

	for (i = 0; i < 20; i++)
		recv_one(p->b, 100 + i, p->dst, 100, p->dst_mr->lkey);
	qp_to_state(p->b, IBV_QPS_ERR);
	return expect_flush(p->cb, 100, 20) && pair_free(p);
}

bool c_flush_posted_in_error(void)
{
	struct pair *p = pair_up();
	int i;

	qp_to_state(p->a, IBV_QPS_ERR);
	post_n(p, 100, 5, true);
	if (!expect_flush(p->ca, 100, 5))
		return false;
	for (i = 0; i < 5; i++)
		recv_one(p->a, 200 + i, p->src, 100, p->src_mr->lkey);
	return expect_flush(p->ca, 200, 5) && pair_free(p);
}

/* A receive has no doorbell. It is flushed, even if nothing else happens for a long time */
bool c_flush_recv_late(void)
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

/* An event comes for flushed receives, without a poll of the CQ */
bool c_flush_recv_notify(void)
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
	CHECK(wait_cq_event(p, 5000), "no event");
	CHECK(wait_wc_ms(p->ca, &wc, 0), "an event, but no completion");
	CHECK(wc.wr_id == 200 && wc.status == IBV_WC_WR_FLUSH_ERR, "receive %d: %s",
	      (int)wc.wr_id, ibv_wc_status_str(wc.status));
	printf("# after %d ms\n", (int)(now_ms() - t));
	return pair_free(p);
}

/* Flushing takes several runs of the task: each work request is flushed once, in order */
bool c_flush_many(void)
{
	const int num = 5000;
	struct pair *p = pair_make();
	struct ibv_cq *cq = ibv_create_cq(place[0].ctx, 2 * num, NULL, NULL, 0);
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

/* The failed request completes with its error. Later requests are flushed in order [10.8.3.4] */
bool c_flush_after_error(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr[3], *bad;

	wr[0] = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	wr[1] = remote_wr(W, &sge, ADDR(p, 0), 0x12345678);
	wr[2] = wr[0];
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	wr[2].wr_id = 100;
	CHECK(!ibv_post_send(p->a, wr, &bad), "post_send refused it");
	return expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS) &&
	       expect_status(p->ca, REM_ACC, REM_ACC) && expect_flush(p->ca, 100, 1) &&
	       pair_free(p);
}

bool c_reset_and_reuse(void)
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
	return expect_status(p->ca, IBV_WC_SUCCESS, 0) && expect_status(p->cb, IBV_WC_SUCCESS, 0) &&
	       pair_free(p);
}

/* The event comes when all that was in flight has ended [10.3.1.5] */
bool c_sqd_drain(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 30000, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 4; i++)
		CHECK(!post_one(p->a, &wr), "post_send refused it");
	CHECK(!qp_to_sqd(p->a), "to SQD failed");
	CHECK(wait_event(IBV_EVENT_SQ_DRAINED, 20000), "no IBV_EVENT_SQ_DRAINED");
	/* Messages that had begun are complete. A request that is posted now waits for RTS */
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

bool c_sqd_idle(void)
{
	struct pair *p = pair_up();

	CHECK(!qp_to_sqd(p->a), "to SQD failed");
	CHECK(wait_event(IBV_EVENT_SQ_DRAINED, 5000), "no IBV_EVENT_SQ_DRAINED");
	return pair_free(p);
}

/* Work requests that are posted in SQD are accepted, and sent in RTS */
bool c_post_sqd_kept(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
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
