// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: UD queue pairs and address handles: datagrams are delivered, dropped or refused.
 */
#include "verbs_err.h"

struct ud {
	struct pair *p;
	struct ibv_qp *tx, *rx;
	struct ibv_ah *ah;
	uint32_t qkey;
};

/* To side b */
static struct ibv_ah *new_ah(struct ibv_pd *pd, int index)
{
	struct ibv_ah_attr a = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = place[1].gid, .sgid_index = index, .hop_limit = 64 },
	};

	return ibv_create_ah(pd, &a);
}

static struct ud make_ud(void)
{
	struct ud u = { .p = pair_make(), .qkey = 0x1234 };

	u.tx = new_qp(u.p->pd, u.p->ca, IBV_QPT_UD);
	u.rx = new_qp(u.p->pd_b, u.p->cb, IBV_QPT_UD);
	ud_up(u.tx, u.qkey, 7);
	ud_up(u.rx, u.qkey, 7);
	u.ah = new_ah(u.p->pd, place[0].gid_index);
	if (!u.ah)
		die("create_ah: %s", strerror(errno));
	return u;
}

static bool free_ud(struct ud *u)
{
	CHECK(!ibv_destroy_ah(u->ah), "destroy_ah failed");
	CHECK(!ibv_destroy_qp(u->tx) && !ibv_destroy_qp(u->rx), "destroy_qp failed");
	return pair_free(u->p);
}

static int send_ud(struct ud *u, uint32_t len, uint32_t qkey, int flags)
{
	struct ibv_sge sge = sge_of(u->p->src, len, u->p->src_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	wr.send_flags |= flags;
	wr.wr.ud.ah = u->ah;
	wr.wr.ud.remote_qpn = u->rx->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	return post_one(u->tx, &wr);
}

/* The GRH slot holds a GRH, or in its last 20 bytes an IPv4 header [A17.4.5.1] */
static bool check_grh(const uint8_t *grh)
{
	bool v4 = !memcmp(place[0].gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);

	if (v4 && grh[20] == 0x45)
		return !memcmp(grh + 32, place[0].gid.raw + 12, 4) &&
		       !memcmp(grh + 36, place[1].gid.raw + 12, 4);
	return grh[0] >> 4 == 6 && !memcmp(grh + 8, place[0].gid.raw, 16) &&
	       !memcmp(grh + 24, place[1].gid.raw, 16);
}

/* [9.8.3] */
bool c_ud_send(void)
{
	struct ud u = make_ud();
	struct ibv_wc wc;

	recv_one(u.rx, 5, u.p->dst, 1000 + 40, u.p->dst_mr->lkey);
	CHECK(!send_ud(&u, 1000, u.qkey, 0), "post_send refused it");
	CHECK(wait_wc(u.p->cb, &wc) && wc.status == IBV_WC_SUCCESS, "not received");
	CHECK(wc.byte_len == 1040, "byte_len %u, expected 1040", wc.byte_len);
	CHECK(wc.src_qp == u.tx->qp_num, "src_qp %u, expected %u", wc.src_qp, u.tx->qp_num);
	CHECK(wc.wc_flags & IBV_WC_GRH, "no IBV_WC_GRH");
	CHECK(check_grh(u.p->dst), "the GRH does not tell who sent it");
	CHECK(!memcmp(u.p->dst + 40, u.p->src, 1000), "wrong data");
	if (!expect_status(u.p->ca, IBV_WC_SUCCESS, 0))
		return false;
	return free_ud(&u);
}

bool c_ud_reply(void)
{
	struct ud u = make_ud();
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct ibv_sge sge = sge_of(u.p->dst, 50, u.p->dst_mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	recv_one(u.rx, 5, u.p->dst, 1040, u.p->dst_mr->lkey);
	recv_one(u.tx, 6, u.p->src + 2048, 1040, u.p->src_mr->lkey);
	CHECK(!send_ud(&u, 100, u.qkey, 0), "post_send refused it");
	CHECK(wait_wc(u.p->cb, &wc) && wc.status == IBV_WC_SUCCESS, "not received");
	if (!expect_status(u.p->ca, IBV_WC_SUCCESS, 0))
		return false;
	ah = ibv_create_ah_from_wc(u.p->pd_b, &wc, (struct ibv_grh *)u.p->dst, 1);
	CHECK(ah, "create_ah_from_wc: %s", strerror(errno));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = wc.src_qp;
	wr.wr.ud.remote_qkey = u.qkey;
	CHECK(!post_one(u.rx, &wr), "post_send refused the reply");
	if (!expect_status(u.p->ca, IBV_WC_SUCCESS, 0) ||
	    !expect_status(u.p->cb, IBV_WC_SUCCESS, 0))
		return false;
	ibv_destroy_ah(ah);
	return free_ud(&u);
}

/* Datagrams with a wrong Q_Key are dropped, and the sender gets no error [9.8.3.2] */
static bool drop_ud(struct ud *u, uint32_t qkey)
{
	struct ibv_wc wc;

	recv_one(u->rx, 5, u->p->dst, 1040, u->p->dst_mr->lkey);
	CHECK(!send_ud(u, 100, qkey, 0), "post_send refused it");
	if (!expect_status(u->p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!wait_wc_ms(u->p->cb, &wc, 300), "it was received");
	/* The next good datagram is still received */
	CHECK(!send_ud(u, 100, u->qkey, 0), "post_send refused it");
	if (!expect_status(u->p->cb, IBV_WC_SUCCESS, 0))
		return false;
	return free_ud(u);
}

bool c_ud_wrong_qkey(void)
{
	struct ud u = make_ud();

	return drop_ud(&u, u.qkey + 1);
}

/* If the top bit of a Q_Key is set, the queue pair's Q_Key is sent instead [10.2.5] */
bool c_ud_controlled_qkey(void)
{
	struct ud u = make_ud();

	recv_one(u.rx, 5, u.p->dst, 1040, u.p->dst_mr->lkey);
	CHECK(!send_ud(&u, 100, 0x80000000, 0), "post_send refused it");
	if (!expect_status(u.p->cb, IBV_WC_SUCCESS, 0))
		return false;
	return free_ud(&u);
}

/* A datagram that is too long is refused when it is posted, or completes with an error */
bool c_ud_oversize(void)
{
	struct ud u = make_ud();
	struct ibv_wc wc;

	recv_one(u.rx, 5, u.p->dst, BUF_LEN, u.p->dst_mr->lkey);
	if (!send_ud(&u, mtu_bytes(port.active_mtu) + 1, u.qkey, 0)) {
		CHECK(wait_wc(u.p->ca, &wc), "no completion");
		CHECK(wc.status == IBV_WC_LOC_LEN_ERR, "completed with %s",
		      ibv_wc_status_str(wc.status));
	}
	CHECK(!wait_wc_ms(u.p->cb, &wc, 100), "it was received");
	return free_ud(&u);
}

bool c_ud_full_mtu(void)
{
	struct ud u = make_ud();
	uint32_t len = mtu_bytes(port.active_mtu);

	recv_one(u.rx, 5, u.p->dst, len + 40, u.p->dst_mr->lkey);
	CHECK(!send_ud(&u, len, u.qkey, 0), "post_send refused it");
	if (!expect_status(u.p->cb, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(u.p->dst + 40, u.p->src, len), "wrong data");
	return free_ud(&u);
}

bool c_ud_no_recv(void)
{
	struct ud u = make_ud();

	CHECK(!send_ud(&u, 100, u.qkey, 0), "post_send refused it");
	if (!expect_status(u.p->ca, IBV_WC_SUCCESS, 0))
		return false;
	recv_one(u.rx, 5, u.p->dst, 1040, u.p->dst_mr->lkey);
	CHECK(!send_ud(&u, 100, u.qkey, 0), "post_send refused it");
	if (!expect_status(u.p->cb, IBV_WC_SUCCESS, 0))
		return false;
	return free_ud(&u);
}

bool c_ud_bad_opcode(void)
{
	struct ud u = make_ud();
	struct ibv_sge sge = sge_of(u.p->src, 8, u.p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(u.p, 0), u.p->dst_mr->rkey);
	struct ibv_wc wc;

	wr.wr.ud.ah = u.ah;
	if (!post_one(u.tx, &wr)) {
		CHECK(wait_wc(u.p->ca, &wc), "no completion");
		CHECK(wc.status != IBV_WC_SUCCESS, "a WRITE on UD succeeded");
	}
	return free_ud(&u);
}

/* [11.2.2] */
bool c_ah_bad_gid_index(void)
{
	struct pair *p = pair_make();
	struct ibv_ah *ah = new_ah(p->pd, port.gid_tbl_len);

	CHECK(!ah, "an AH with GID index %d", port.gid_tbl_len);
	ah = new_ah(p->pd, port.gid_tbl_len - 1);
	CHECK(!ah, "an AH with an empty GID");
	return pair_free(p);
}

/* [11.2.2] */
bool c_ah_no_grh(void)
{
	struct pair *p = pair_make();
	struct ibv_ah_attr a = { .dlid = 1, .port_num = 1 };

	CHECK(!ibv_create_ah(p->pd, &a), "an AH without GRH on RoCE");
	return pair_free(p);
}
