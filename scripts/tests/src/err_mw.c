// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: memory windows [10.6.7]. A bound window can be used by the right queue pair, for
 * the access that it was bound for, until it is unbound, invalidated or bound again. A bind that
 * isn't allowed is refused.
 */
#include "verbs_err.h"

#define WIN_OFF		1000	/* offset of the window in its region */
#define WIN_LEN		5000
#define BIND_ERR	IBV_WC_MW_BIND_ERR
#define OK		IBV_WC_SUCCESS
#define REM_WRITE	IBV_ACCESS_REMOTE_WRITE

/* Side b has the region and the windows, side a uses them */
static struct pair *mw_pair_of(enum ibv_qp_type type)
{
	struct pair *p = pair_make_of(type);

	pair_connect(p);
	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd_b, p->dst, BUF_LEN, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	return p;
}

static struct pair *mw_pair(void)
{
	return mw_pair_of(IBV_QPT_RC);
}

static struct ibv_mw *new_mw(struct pair *p, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(p->pd_b, type);

	if (!mw)
		die("alloc_mw: %s", strerror(errno));
	return mw;
}

static struct ibv_mw_bind_info window_of(struct pair *p, int access)
{
	return (struct ibv_mw_bind_info) {
		.mr = p->dst_mr, .addr = ADDR(p, WIN_OFF), .length = WIN_LEN,
		.mw_access_flags = access,
	};
}

/* A window of type 2 is bound by a work request, of type 1 by a verb. Return: 0 or an errno */
static int post_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind bind = {
		.wr_id = 77, .send_flags = IBV_SEND_SIGNALED, .bind_info = info,
	};
	struct ibv_send_wr wr = {
		.wr_id = 77, .send_flags = IBV_SEND_SIGNALED, .opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = info },
	};
	int err;

	if (mw->type == IBV_MW_TYPE_1)
		return ibv_bind_mw(qp, mw, &bind);
	err = post_one(qp, &wr);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}

static bool bind_is(struct pair *p, struct ibv_mw *mw, struct ibv_mw_bind_info info,
		    enum ibv_wc_status want)
{
	CHECK(!post_bind(p->b, mw, info), "the bind is refused when it is posted");
	return expect_status(p->cb, want, want);
}

static bool write_is(struct pair *p, uint64_t addr, uint32_t len, uint32_t rkey,
		     enum ibv_wc_status want)
{
	struct ibv_sge sge = sge_of(p->src, len, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, addr, rkey);

	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, want, want);
}

static bool mw_free(struct pair *p, struct ibv_mw *mw)
{
	CHECK(!ibv_dealloc_mw(mw), "dealloc_mw failed");
	return pair_free(p);
}

static bool write_whole(struct pair *p, uint32_t rkey)
{
	if (!write_is(p, ADDR(p, WIN_OFF), WIN_LEN, rkey, OK))
		return false;
	CHECK(!memcmp(p->dst + WIN_OFF, p->src, WIN_LEN), "wrong bytes in the window");
	CHECK(!p->dst[WIN_OFF - 1] && !p->dst[WIN_OFF + WIN_LEN], "bytes beside the window");
	return true;
}

static bool use_window(enum ibv_mw_type type)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, type);

	return bind_is(p, mw, window_of(p, REM_WRITE), OK) && write_whole(p, mw->rkey) &&
	       mw_free(p, mw);
}

bool c_mw_type1(void) { return use_window(IBV_MW_TYPE_1); }
bool c_mw_type2(void) { return use_window(IBV_MW_TYPE_2); }

/* The region has all rights, and more bytes than the window */
static bool refused_by_window(int access, uint64_t off, uint32_t len)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);

	return bind_is(p, mw, window_of(p, access), OK) &&
	       write_is(p, ADDR(p, off), len, mw->rkey, REM_ACC) && mw_free(p, mw);
}

bool c_mw_one_before(void) { return refused_by_window(REM_WRITE, WIN_OFF - 1, 8); }
bool c_mw_one_past(void) { return refused_by_window(REM_WRITE, WIN_OFF + 1, WIN_LEN); }
bool c_mw_no_access(void) { return refused_by_window(IBV_ACCESS_REMOTE_READ, WIN_OFF, 8); }

bool c_mw_unbound(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_1);

	return write_is(p, ADDR(p, WIN_OFF), 8, mw->rkey, REM_ACC) && mw_free(p, mw);
}

bool c_mw_zero_based(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);

	if (!bind_is(p, mw, window_of(p, REM_WRITE | IBV_ACCESS_ZERO_BASED), OK) ||
	    !write_is(p, 0, WIN_LEN, mw->rkey, OK))
		return false;
	CHECK(!memcmp(p->dst + WIN_OFF, p->src, WIN_LEN), "wrong bytes in the window");
	return write_is(p, 1, WIN_LEN, mw->rkey, REM_ACC) && mw_free(p, mw);
}

/* A window of type 1 that is bound again has a new R_Key. The old R_Key becomes invalid */
bool c_mw_anew(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_1);
	uint32_t old;

	if (!bind_is(p, mw, window_of(p, REM_WRITE), OK))
		return false;
	old = mw->rkey;
	return bind_is(p, mw, window_of(p, REM_WRITE), OK) && write_whole(p, mw->rkey) &&
	       write_is(p, ADDR(p, WIN_OFF), 8, old, REM_ACC) && mw_free(p, mw);
}

/* Binding zero bytes unbinds a window of type 1. Then its region can be freed */
bool c_mw_unbind(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_1);
	struct ibv_mw_bind_info info = window_of(p, REM_WRITE);

	if (!bind_is(p, mw, info, OK))
		return false;
	CHECK(ibv_dereg_mr(p->dst_mr) == EBUSY, "dereg_mr of a bound region isn't EBUSY");
	info.length = 0;
	if (!bind_is(p, mw, info, OK))
		return false;
	CHECK(!ibv_dereg_mr(p->dst_mr), "dereg_mr of an unbound region failed");
	p->dst_mr = new_mr(p->pd_b, p->src, 64, 0);
	return write_is(p, ADDR(p, WIN_OFF), 8, mw->rkey, REM_ACC) && mw_free(p, mw);
}

bool c_mw_dealloc_bound(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);
	uint32_t rkey;

	if (!bind_is(p, mw, window_of(p, REM_WRITE), OK))
		return false;
	rkey = mw->rkey;
	CHECK(!ibv_dealloc_mw(mw), "dealloc_mw of a bound window failed");
	return refused(p, W, 8, ADDR(p, WIN_OFF), rkey, REM_ACC);
}

/* Only the QP that bound a window of type 2B may use it, not others of its PD */
bool c_mw_other_qp(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);
	struct ibv_sge sge = sge_of(p->dst, 8, p->dst_mr->lkey);
	struct ibv_send_wr wr;

	if (!bind_is(p, mw, window_of(p, REM_WRITE), OK))
		return false;
	wr = remote_wr(W, &sge, ADDR(p, WIN_OFF), mw->rkey);	/* b posts it, a executes it */
	CHECK(!post_one(p->b, &wr), "post_send refused it");
	return expect_status(p->cb, REM_ACC, REM_ACC) && mw_free(p, mw);
}

bool c_mw_type2_twice(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);

	return bind_is(p, mw, window_of(p, REM_WRITE), OK) &&
	       bind_is(p, mw, window_of(p, REM_WRITE), BIND_ERR) &&
	       expect_state(p->b, IBV_QPS_ERR) && mw_free(p, mw);
}

static bool bind_refused(struct pair *p, struct ibv_mw_bind_info info)
{
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);

	return bind_is(p, mw, info, BIND_ERR) && expect_state(p->b, IBV_QPS_ERR) &&
	       mw_free(p, mw);
}

/* The region lacks a right that the window needs */
static bool bind_without(int right)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd_b, p->dst, BUF_LEN,
			   (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND) & ~right);
	return bind_refused(p, window_of(p, REM_WRITE));
}

bool c_mw_bind_no_right(void) { return bind_without(IBV_ACCESS_MW_BIND); }
bool c_mw_bind_no_write(void) { return bind_without(IBV_ACCESS_LOCAL_WRITE); }

bool c_mw_bind_past(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw_bind_info info = window_of(p, REM_WRITE);

	info.length = BUF_LEN - WIN_OFF + 1;
	return bind_refused(p, info);
}

/* Window and region have the same PD, but the QP has another. The provider can't check that */
bool c_mw_bind_other_pd(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw_bind_info info;

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd2_b, p->dst, BUF_LEN, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	info = window_of(p, REM_WRITE);
	return bind_refused(p, info);
}

static struct ibv_send_wr inv_wr(enum ibv_wr_opcode op, uint32_t rkey)
{
	struct ibv_send_wr wr = wr_of(op, NULL, 0);

	wr.invalidate_rkey = rkey;
	return wr;
}

static bool inv_is(struct pair *p, uint32_t rkey, enum ibv_wc_status want)
{
	struct ibv_send_wr wr = inv_wr(IBV_WR_LOCAL_INV, rkey);

	CHECK(!post_one(p->b, &wr), "post_send refused it");
	return expect_status(p->cb, want, want);
}

bool c_mw_invalidate(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);

	return bind_is(p, mw, window_of(p, REM_WRITE), OK) && inv_is(p, mw->rkey, OK) &&
	       write_is(p, ADDR(p, WIN_OFF), 8, mw->rkey, REM_ACC) && mw_free(p, mw);
}

/* Windows of type 1, and regions of reg_mr, can't be invalidated [10.6.5] */
bool c_mw_invalidate_type1(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_1);

	return bind_is(p, mw, window_of(p, REM_WRITE), OK) && inv_is(p, mw->rkey, BIND_ERR) &&
	       mw_free(p, mw);
}

bool c_mw_invalidate_mr(void)
{
	struct pair *p = mw_pair();

	return inv_is(p, p->dst_mr->rkey, BIND_ERR) && pair_free(p);
}

/* SEND with Invalidate, of 100 bytes */
static int post_send_inv(struct pair *p, uint32_t rkey)
{
	struct ibv_sge sge = sge_of(p->src, 100, p->src_mr->lkey);
	struct ibv_send_wr wr = inv_wr(IBV_WR_SEND_WITH_INV, rkey);

	wr.sg_list = &sge;
	wr.num_sge = 1;
	return post_one(p->a, &wr);
}

static bool recv_inv(struct pair *p, uint32_t rkey)
{
	struct ibv_wc wc;

	CHECK(wait_wc(p->cb, &wc), "no completion of the receive");
	CHECK(wc.status == OK, "receive: %s", ibv_wc_status_str(wc.status));
	CHECK(wc.wc_flags & IBV_WC_WITH_INV, "no IBV_WC_WITH_INV: flags %#x", wc.wc_flags);
	CHECK(wc.invalidated_rkey == rkey, "invalidated %#x", wc.invalidated_rkey);
	return true;
}

bool c_mw_invalidate_remote(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);

	if (!bind_is(p, mw, window_of(p, REM_WRITE), OK))
		return false;
	recv_one(p->b, 9, p->dst, 100, p->dst_mr->lkey);
	CHECK(!post_send_inv(p, mw->rkey), "post_send refused it");
	return expect_status(p->ca, OK, OK) && recv_inv(p, mw->rkey) &&
	       write_is(p, ADDR(p, WIN_OFF), 8, mw->rkey, REM_ACC) && mw_free(p, mw);
}

/* A peer may invalidate only what its connection has bound */
static bool refuse_send_inv(struct pair *p, uint32_t rkey)
{
	recv_one(p->b, 9, p->dst, 100, p->dst_mr->lkey);
	CHECK(!post_send_inv(p, rkey), "post_send refused it");
	return expect_status(p->ca, REM_ACC, IBV_WC_REM_INV_REQ_ERR) &&
	       expect_state(p->b, IBV_QPS_ERR) && pair_free(p);
}

bool c_mw_invalidate_remote_mr(void)
{
	struct pair *p = mw_pair();

	return refuse_send_inv(p, p->dst_mr->rkey);
}

bool c_mw_invalidate_remote_stale(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);
	uint32_t rkey = mw->rkey;

	CHECK(!ibv_dealloc_mw(mw), "dealloc_mw failed");
	return refuse_send_inv(p, rkey);
}

/* A window's key isn't an L_Key */
bool c_mw_as_lkey(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_1);
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	if (!bind_is(p, mw, window_of(p, REM_WRITE | IBV_ACCESS_REMOTE_READ), OK))
		return false;
	sge = sge_of(p->dst + WIN_OFF, 8, mw->rkey);
	wr = wr_of(IBV_WR_SEND, &sge, 1);
	CHECK(!post_one(p->b, &wr), "post_send refused it");
	return expect_status(p->cb, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR) && mw_free(p, mw);
}

bool c_mw_bind_flushed(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);
	uint32_t rkey;

	qp_to_state(p->b, IBV_QPS_ERR);
	CHECK(!post_bind(p->b, mw, window_of(p, REM_WRITE)), "the bind is refused");
	rkey = mw->rkey;
	return expect_flush(p->cb, 77, 1) && !ibv_dealloc_mw(mw) &&
	       refused_or(p, W, 8, ADDR(p, WIN_OFF), rkey, IBV_WC_RETRY_EXC_ERR,
			  IBV_WC_RETRY_EXC_ERR);
}

/* UD has no windows */
bool c_mw_bind_ud(void)
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);
	struct ibv_qp *ud = new_qp(p->pd_b, p->cb, IBV_QPT_UD);

	ud_up(ud, 0x11111111, 0);
	CHECK(post_bind(ud, mw, window_of(p, REM_WRITE)), "accepted");
	CHECK(!ibv_destroy_qp(ud), "destroy_qp failed");
	return mw_free(p, mw);
}

/* One round of a storage protocol: bind, the peer writes, and invalidates the key */
static bool load_round(struct pair *p, struct ibv_mw *mw, int round)
{
	struct ibv_mw_bind_info info = window_of(p, REM_WRITE);
	uint32_t off = (uint32_t)round * 8 % 4000;
	struct ibv_sge sge = sge_of(p->src + off, WIN_LEN, p->src_mr->lkey);
	struct ibv_send_wr wr;

	recv_one(p->b, 9, p->dst, 100, p->dst_mr->lkey);
	if (!bind_is(p, mw, info, OK))
		return false;
	wr = remote_wr(W, &sge, info.addr, mw->rkey);
	wr.send_flags = 0;
	CHECK(!post_one(p->a, &wr) && !post_send_inv(p, mw->rkey), "post_send refused it");
	if (!recv_inv(p, mw->rkey) || !expect_status(p->ca, OK, OK))
		return false;
	CHECK(!memcmp(p->dst + WIN_OFF, p->src + off, WIN_LEN), "wrong bytes in round %d", round);
	return true;
}

static bool load_rounds(enum ibv_mw_type type, int num,
			bool (*load)(struct pair *p, struct ibv_mw *mw, int round))
{
	struct pair *p = mw_pair();
	struct ibv_mw *mw = new_mw(p, type);
	int i;

	for (i = 0; i < num; i++)
		if (!load(p, mw, i))
			return false;
	return mw_free(p, mw);
}

bool c_mw_rounds(void)
{
	return load_rounds(IBV_MW_TYPE_2, 1000, load_round);
}

/* The same with READs and type 1, whose key only another bind invalidates */
static bool load_round_type1(struct pair *p, struct ibv_mw *mw, int round)
{
	struct ibv_mw_bind_info info = window_of(p, REM_WRITE | IBV_ACCESS_REMOTE_READ);
	uint32_t off = (uint32_t)round * 8 % 4000;
	struct ibv_sge sge = sge_of(p->src + off, WIN_LEN, p->src_mr->lkey);
	struct ibv_sge back = sge_of(p->src + BUF_LEN / 2, WIN_LEN, p->src_mr->lkey);
	struct ibv_send_wr wr[2], *bad;

	if (!bind_is(p, mw, info, OK))
		return false;
	wr[0] = remote_wr(W, &sge, info.addr, mw->rkey);
	wr[1] = remote_wr(R, &back, info.addr, mw->rkey);
	wr[0].next = &wr[1];
	CHECK(!ibv_post_send(p->a, wr, &bad), "post_send refused it");
	if (!expect_status(p->ca, OK, OK) || !expect_status(p->ca, OK, OK))
		return false;
	CHECK(!memcmp(p->dst + WIN_OFF, p->src + off, WIN_LEN), "WRITE: wrong bytes, round %d",
	      round);
	CHECK(!memcmp(p->src + BUF_LEN / 2, p->src + off, WIN_LEN), "READ: wrong bytes, round %d",
	      round);
	return true;
}

bool c_mw_rounds_type1(void)
{
	return load_rounds(IBV_MW_TYPE_1, 300, load_round_type1);
}

/* As many as query_device says, and not one more. The last one of each type works */
bool c_mw_limit(void)
{
	struct ibv_mw **mw = calloc(dev.max_mw, sizeof(*mw)), *more;
	struct pair *p = mw_pair();
	int i, n;

	for (n = 0; n < dev.max_mw; n++) {
		mw[n] = ibv_alloc_mw(p->pd_b, n % 2 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		if (!mw[n])
			break;
	}
	errno = 0;
	more = n == dev.max_mw ? ibv_alloc_mw(p->pd_b, IBV_MW_TYPE_1) : NULL;
	CHECK(n == dev.max_mw && !more && errno == ENOMEM, "%d of %d windows%s: %s", n,
	      dev.max_mw, more ? ", and one more" : "", strerror(errno));
	for (i = n - 2; i < n; i++) {
		memset(p->dst, 0, BUF_LEN);
		if (!bind_is(p, mw[i], window_of(p, REM_WRITE), OK) || !write_whole(p, mw[i]->rkey))
			return false;
	}
	for (i = 0; i < n; i++)
		CHECK(!ibv_dealloc_mw(mw[i]), "dealloc_mw failed");
	free(mw);
	return pair_free(p);
}

/*
 * Unreliable connections have windows, too. A WRITE that is refused is dropped, and neither
 * side gets an error. So each has immediate data, and a receive shows whether it arrived.
 */
static int write_imm(struct pair *p, uint32_t n, uint32_t rkey)
{
	struct ibv_sge sge = sge_of(p->src + n, WIN_LEN, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(IBV_WR_RDMA_WRITE_WITH_IMM, &sge, ADDR(p, WIN_OFF), rkey);

	wr.imm_data = htonl(n);
	return post_one(p->a, &wr);
}

/* WRITE number n comes, and is in its place */
static bool came(struct pair *p, uint32_t n)
{
	struct ibv_wc wc;

	CHECK(wait_wc(p->cb, &wc), "WRITE %u didn't come", n);
	CHECK(wc.status == OK && (wc.wc_flags & IBV_WC_WITH_IMM) && ntohl(wc.imm_data) == n,
	      "WRITE %u: %s, immediate data %u", n, ibv_wc_status_str(wc.status),
	      ntohl(wc.imm_data));
	CHECK(!memcmp(p->dst + WIN_OFF, p->src + n, WIN_LEN), "WRITE %u: wrong bytes", n);
	return true;
}

/* A WRITE with that key is dropped. The next one, with the region's key, arrives */
static bool dropped(struct pair *p, uint32_t n, uint32_t rkey)
{
	CHECK(!write_imm(p, n, rkey) && !write_imm(p, n + 1, p->dst_mr->rkey),
	      "post_send refused it");
	return expect_status(p->ca, OK, OK) && expect_status(p->ca, OK, OK) && came(p, n + 1);
}

static struct pair *uc_pair(void)
{
	struct pair *p = mw_pair_of(IBV_QPT_UC);
	int i;

	for (i = 0; i < 4; i++)
		recv_one(p->b, i, p->dst, 8, p->dst_mr->lkey);
	return p;
}

static bool uc_window(enum ibv_mw_type type)
{
	struct pair *p = uc_pair();
	struct ibv_mw *mw = new_mw(p, type);
	uint32_t rkey;

	if (!bind_is(p, mw, window_of(p, REM_WRITE), OK))
		return false;
	rkey = mw->rkey;
	CHECK(!write_imm(p, 1, rkey), "post_send refused it");
	if (!expect_status(p->ca, OK, OK) || !came(p, 1))
		return false;
	if (type == IBV_MW_TYPE_2 ? !inv_is(p, rkey, OK) :
				    !bind_is(p, mw, window_of(p, REM_WRITE), OK))
		return false;
	return dropped(p, 2, rkey) && mw_free(p, mw);
}

bool c_uc_mw_type1(void) { return uc_window(IBV_MW_TYPE_1); }
bool c_uc_mw_type2(void) { return uc_window(IBV_MW_TYPE_2); }

/* A bind that is refused stops the send queue, not the queue pair [10.3.1.6] */
static bool bind_stops(struct pair *p, struct ibv_mw *mw)
{
	return bind_is(p, mw, window_of(p, REM_WRITE), BIND_ERR) &&
	       expect_state(p->b, IBV_QPS_SQE) && !qp_to_state(p->b, IBV_QPS_RTS);
}

bool c_uc_mw_twice(void)
{
	struct pair *p = uc_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);
	uint32_t rkey;

	if (!bind_is(p, mw, window_of(p, REM_WRITE), OK))
		return false;
	rkey = mw->rkey;
	if (!bind_stops(p, mw))
		return false;
	CHECK(!write_imm(p, 1, rkey), "post_send refused it");
	return came(p, 1) && inv_is(p, rkey, OK) && mw_free(p, mw);
}

bool c_uc_mw_no_write(void)
{
	struct pair *p = uc_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd_b, p->dst, BUF_LEN, IBV_ACCESS_MW_BIND);
	return bind_stops(p, mw) && mw_free(p, mw);
}

/* Only the QP that bound a window of type 2B may use it */
bool c_uc_mw_other_qp(void)
{
	struct pair *p = uc_pair();
	struct ibv_mw *mw = new_mw(p, IBV_MW_TYPE_2);
	struct ibv_qp *own = new_qp(p->pd_b, p->cb, IBV_QPT_UC);
	struct addr a = addr_of(p->a);

	rc_up(own, &p->rb, a.psn, &a);
	if (post_bind(own, mw, window_of(p, REM_WRITE)) || !expect_status(p->cb, OK, OK))
		FAIL("the other queue pair can't bind it");
	if (!dropped(p, 1, mw->rkey))
		return false;
	CHECK(!ibv_destroy_qp(own), "destroy_qp failed");
	return mw_free(p, mw);
}

/* Only reliable services have SEND with Invalidate [9.4.1.1] */
bool c_uc_send_inv(void)
{
	struct pair *p = uc_pair();
	struct ibv_wc wc;

	if (!post_send_inv(p, p->dst_mr->rkey)) {
		CHECK(wait_wc(p->ca, &wc), "no completion");
		CHECK(wc.status != OK, "a SEND with Invalidate on UC succeeded");
	}
	return pair_free(p);
}
