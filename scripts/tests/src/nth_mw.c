// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: memory windows: allocating, and work requests that bind, use and invalidate one.
 */
#include "nth.h"

static struct ibv_mw *mw[2];	/* types 1 and 2B */

static int make_1(void)
{
	mw[0] = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	return made(mw[0]);
}

static int make_2(void)
{
	mw[1] = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	return made(mw[1]);
}

static int destroy_1(void) { return ibv_dealloc_mw(mw[0]); }
static int destroy_2(void) { return ibv_dealloc_mw(mw[1]); }

static struct ibv_mw_bind_info whole(void)
{
	return (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)from, .length = 2 * DATA_LEN,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
}

static void must_complete(const char *what)
{
	struct ibv_wc wc;

	if (!wait_wc(cq, &wc) || wc.status)
		die("%s: %s", what, ibv_wc_status_str(wc.status));
}

static int post(struct ibv_send_wr wr, const char *what)
{
	struct ibv_send_wr *bad;
	int err = ibv_post_send(rc, &wr, &bad);

	if (!err)
		must_complete(what);
	return err;
}

/* Bound again each time */
static int bind_1(void)
{
	struct ibv_mw_bind bind = { .bind_info = whole() };
	int err = ibv_bind_mw(rc, mw[0], &bind);

	if (err)
		return err;
	must_complete("bind of type 1");
	return transfer(rc, NULL, IBV_WR_RDMA_WRITE, mw[0]->rkey);
}

static int bind_2(void)
{
	struct ibv_send_wr bind = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw[1], .rkey = ibv_inc_rkey(mw[1]->rkey), .bind_info = whole() },
	};
	struct ibv_send_wr inv = {
		.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = bind.bind_mw.rkey,
	};
	int err = post(bind, "bind of type 2B");

	if (err)
		return err;
	mw[1]->rkey = bind.bind_mw.rkey;
	return transfer(rc, NULL, IBV_WR_RDMA_WRITE, mw[1]->rkey) ?: post(inv, "invalidate");
}

static const struct call calls[] = {
	{ "mw-1", make_1, destroy_1, .own = true },
	{ "mw-2b", make_2, destroy_2, .own = true },
	{ "bind-1", bind_1, .undo = NULL },
	{ "bind-2b", bind_2, .undo = NULL },
	{ "destroy-mw-2b", destroy_2, make_2, .own = false },
	{ "destroy-mw-1", destroy_1, make_1, .own = false },
	{}
};

const struct group nth_mw = { .calls = calls };
