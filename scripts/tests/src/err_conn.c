// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: the two ends of a connection: a peer that isn't ready or doesn't answer, ends that
 * don't agree on a size, a depth or a queue pair, and a path that changes under them.
 */
#include "verbs_err.h"

static bool exceed_rnr(enum ibv_wr_opcode op, int rnr_retry)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr;

	p->ra.rnr_retry = rnr_retry;
	pair_connect(p);
	wr = remote_wr(op, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR) &&
	       expect_state(p->a, IBV_QPS_ERR) && pair_free(p);
}

bool c_rnr_0(void) { return exceed_rnr(IBV_WR_SEND, 0); }
bool c_rnr_3(void) { return exceed_rnr(IBV_WR_SEND, 3); }
bool c_rnr_write_imm(void) { return exceed_rnr(IBV_WR_RDMA_WRITE_WITH_IMM, 0); }

/*
 * 7 is for ever: many times the 0.64 ms timer later the receive appears, and all is well
 * [9.7.5.2.8]
 */
bool c_rnr_7(void)
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

/* Timeout 10 is 4 ms: all retries take 34 ms, or a few seconds with backoff */
static bool reset_peer(int retry, enum ibv_wr_opcode op)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr;
	uint64_t start;

	p->ra.retry = retry;
	p->ra.timeout = 10;
	pair_connect(p);
	CHECK(!qp_to_state(p->b, IBV_QPS_RESET), "cannot reset the peer");
	wr = remote_wr(op, &sge, ADDR(p, 0), p->dst_mr->rkey);
	start = now_ms();
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR) ||
	    !expect_state(p->a, IBV_QPS_ERR))
		return false;
	CHECK(now_ms() - start < 20000, "took %d ms", (int)(now_ms() - start));
	return pair_free(p);
}

bool c_dead_peer_7(void) { return reset_peer(7, IBV_WR_SEND); }
bool c_dead_peer_0(void) { return reset_peer(0, IBV_WR_SEND); }
bool c_dead_peer_read(void) { return reset_peer(7, R); }

/* With timeout 0, there is no timer */
bool c_dead_peer_no_timer(void)
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
	return expect_status(p->ca, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR) && pair_free(p);
}

/* A queue pair that isn't in RTR or beyond drops all packets */
bool c_peer_in_init(void)
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
	return expect_status(p->ca, IBV_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR) && pair_free(p);
}

/*
 * Packets are larger than the responder's MTU: they are refused or dropped, and never executed.
 * Within one device, the WRITE may succeed, since it needs no packets.
 */
bool c_mtu_mismatch(void)
{
	struct pair *p = pair_make();
	struct ibv_sge sge = sge_of(p->src, 1000, p->src_mr->lkey);
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	p->rb.mtu = IBV_MTU_256;
	p->ra.timeout = 10;
	pair_connect(p);
	wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	CHECK(wait_wc(p->ca, &wc), "no completion");
	CHECK(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_RETRY_EXC_ERR ||
	      (wc.status == IBV_WC_SUCCESS && !memcmp(p->src, p->dst, 1000)),
	      "completed with %s", ibv_wc_status_str(wc.status));
	return pair_free(p);
}

/* Packets of another queue pair than the connected one are dropped [9.6.1.5] */
bool c_wrong_source_qp(void)
{
	struct pair *p = pair_up();
	struct pair *x = pair_make();
	struct addr b = addr_of(p->b);
	struct ibv_sge sge = sge_of(x->src, 100, x->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	/* A second connection to b with a stale PSN half the space away */
	x->ra.timeout = 8;
	rc_up(x->a, &x->ra, (p->a->qp_num + 0x600000) & 0xffffff, &b);
	recv_one(p->b, 9, p->dst, BUF_LEN, p->dst_mr->lkey);
	CHECK(!post_one(x->a, &wr), "post_send refused it");
	if (!expect_status(x->ca, IBV_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR))
		return false;
	/* The real connection still works */
	sge = sge_of(p->src, 100, p->src_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, IBV_WC_SUCCESS, 0) && expect_status(p->cb, IBV_WC_SUCCESS, 0) &&
	       pair_free(x) && pair_free(p);
}

static bool read_at_depth(int initiator, int responder, bool fence)
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
		wr = remote_wr(R, &sge, ADDR(p, i * 2000), p->dst_mr->rkey);
		wr.send_flags |= fence && i % 2 ? IBV_SEND_FENCE : 0;
		CHECK(!post_one(p->a, &wr), "post_send refused it");
	}
	for (i = 0; i < 32; i++)
		if (!expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS))
			return false;
	CHECK(!memcmp(p->src, p->dst, 32 * 2000), "wrong data");
	return pair_free(p);
}

/* As many READs are in flight as the device allows, and as many wait behind them */
bool c_read_depth_most(void)
{
	enum { LEN = 200 };
	struct pair *p = pair_make();
	int most = dev.max_qp_rd_atom, i;
	struct ibv_qp_init_attr ia = {
		.send_cq = p->ca, .recv_cq = p->ca, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * most, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	CHECK(most == dev.max_qp_init_rd_atom && 2 * most * LEN <= BUF_LEN, "%d at once", most);
	ibv_destroy_qp(p->a);
	p->a = ibv_create_qp(p->pd, &ia);
	CHECK(p->a, "create_qp: %s", strerror(errno));
	p->ra.rd_atomic = p->rb.dest_rd_atomic = most;
	pair_connect(p);
	rnd_fill(p->dst, BUF_LEN, 5);
	for (i = 0; i < 2 * most; i++) {
		sge = sge_of(p->src + i * LEN, LEN, p->src_mr->lkey);
		wr = remote_wr(R, &sge, ADDR(p, i * LEN), p->dst_mr->rkey);
		CHECK(!post_one(p->a, &wr), "post_send refused it");
	}
	for (i = 0; i < 2 * most; i++)
		if (!expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS))
			return false;
	CHECK(!memcmp(p->src, p->dst, 2 * most * LEN), "wrong data");
	return pair_free(p);
}

bool c_read_depth_1(void) { return read_at_depth(1, 1, false); }
bool c_read_depth_1_of_16(void) { return read_at_depth(1, 16, false); }
bool c_read_depth_16(void) { return read_at_depth(16, 16, false); }
bool c_read_depth_fence(void) { return read_at_depth(16, 16, true); }

/* A switch or counter of the device */
static bool access_sysfs(const char *name, const char *mode, uint64_t *value)
{
	char path[512];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", place[0].ctx->device->ibdev_path, name);
	file = fopen(path, mode);
	if (!file)
		return false;
	ok = *mode == 'w' ? fprintf(file, "%lu", *value) > 0 : fscanf(file, "%lu", value) == 1;
	return !fclose(file) && ok;
}

/* The switch changes after one end is connected, and before the other: they still agree */
static bool turn_switch(uint64_t first)
{
	struct pair *p = pair_make();
	struct addr a = addr_of(p->a), b = addr_of(p->b);
	uint64_t second = !first, on = 1;
	struct ibv_sge sge = sge_of(p->src, 30000, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_wc wc;
	int err;

	CHECK(access_sysfs("same_device", "w", &first), "no such switch");
	err = rc_to_init(p->a, &p->ra) ?: rc_to_rtr(p->a, &p->ra, &b);
	access_sysfs("same_device", "w", &second);
	err = err ?: rc_to_init(p->b, &p->rb) ?: rc_to_rtr(p->b, &p->rb, &a) ?:
	      rc_to_rts(p->b, &p->rb, b.psn) ?: rc_to_rts(p->a, &p->ra, a.psn);
	access_sysfs("same_device", "w", &on);
	CHECK(!err, "connecting: %s", strerror(err));
	CHECK(!post_one(p->a, &wr) && wait_wc(p->ca, &wc), "nothing came of it");
	CHECK(wc.status == IBV_WC_SUCCESS, "WRITE: %s", ibv_wc_status_str(wc.status));
	CHECK(!memcmp(p->src, p->dst, 30000), "other bytes");
	wr.opcode = R;
	CHECK(!post_one(p->a, &wr) && wait_wc(p->ca, &wc), "nothing came of it");
	CHECK(wc.status == IBV_WC_SUCCESS, "READ: %s", ibv_wc_status_str(wc.status));
	return pair_free(p);
}

bool c_switched_off_between(void)
{
	return turn_switch(1);
}

bool c_switched_on_between(void)
{
	return turn_switch(0);
}

/* From this device to the wire, with no path MTU given: packets are as long as the wire has them */
bool c_sqd_new_address(void)
{
	static const char sent[] = "ports/1/hw_counters/sent_pkts";
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8192, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_SQD,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .sgid_index = place[0].gid_index, .hop_limit = 1 } },
	};
	uint64_t before, now, end = now_ms() + 5000;

	CHECK(!qp_to_sqd(p->a), "to SQD failed");
	CHECK(wait_event(IBV_EVENT_SQ_DRAINED, 20000), "no IBV_EVENT_SQ_DRAINED");
	a.ah_attr.grh.dgid = addr_of(p->a).gid;
	a.ah_attr.grh.dgid.raw[15] ^= 0x40;	/* an address that no host has */
	CHECK(!ibv_modify_qp(p->a, &a, IBV_QP_STATE | IBV_QP_AV), "SQD to SQD failed");
	CHECK(!qp_to_state(p->a, IBV_QPS_RTS), "back to RTS failed");
	CHECK(access_sysfs(sent, "r", &before), "no counter");
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	do {
		usleep(20000);	/* the RDMA core reads counters again after 10 ms */
		CHECK(access_sysfs(sent, "r", &now), "no counter");
	} while (now - before < 8 && now_ms() < end);
	CHECK(now - before >= 8, "%lu packets for 8 KiB", now - before);
	return pair_free(p);
}
