// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: UC queue pairs, an AH for which a neighbour's MAC address is looked up, and modify_qp
 * that changes the path of a connection. The new path leads through another netdev.
 */
#include "nth.h"

#define UC_LEN 8

static struct ibv_qp *uc;
static struct ibv_ah *ah;

/* ---- UC ---- */

static int make_uc(void)
{
	uc = new_qp(IBV_QPT_UC, NULL);
	return made(uc);
}

static int destroy_uc(void)
{
	return ibv_destroy_qp(uc);
}

static int to_reset(void)
{
	return qp_to_state(uc, IBV_QPS_RESET);
}

static int to_init(void)
{
	struct rc_attr attr = rc_attrs;

	attr.access = IBV_ACCESS_REMOTE_WRITE;
	return rc_to_init(uc, &attr);
}

/* connected to itself */
static int to_rtr(void)
{
	struct addr self = { .qpn = uc->qp_num, .psn = 7, .gid = ah_attr.grh.dgid };

	return rc_to_rtr(uc, &rc_attrs, &self);
}

static int to_rts(void)
{
	return rc_to_rts(uc, &rc_attrs, 7);
}

static int back_to_init(void) { return to_reset() ?: to_init(); }
static int back_to_rtr(void) { return back_to_init() ?: to_rtr(); }

static const char *state_is(enum ibv_qp_state state)
{
	return qp_state(uc) == state ? NULL : "the queue pair is in a wrong state";
}

static const char *after_init(int err) { return state_is(err ? IBV_QPS_RESET : IBV_QPS_INIT); }
static const char *after_rtr(int err) { return state_is(err ? IBV_QPS_INIT : IBV_QPS_RTR); }
static const char *after_rts(int err) { return state_is(err ? IBV_QPS_RTR : IBV_QPS_RTS); }

static int post_send(void)
{
	struct ibv_sge sge = { (uintptr_t)from, UC_LEN, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_send(uc, &wr, &bad);
}

static int uc_send(void)
{
	struct ibv_sge sge = { (uintptr_t)to, UC_LEN, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	rnd_fill(from, UC_LEN, now_ns());
	return ibv_post_recv(uc, &wr, &bad) ?: post_send();
}

/* Another message comes in place of the first if that is lost; else it finds no receive */
static const char *after_uc_send(int err)
{
	int sends = 2 - !!err, receives = 1;
	struct ibv_wc wc;

	if (post_send())
		return "the next send is refused";
	while (sends || receives) {
		if (!wait_wc(cq, &wc))
			return sends ? "a send doesn't complete" : "the next message is lost";
		if (wc.status)
			return ibv_wc_status_str(wc.status);
		*(wc.opcode & IBV_WC_RECV ? &receives : &sends) -= 1;
	}
	return memcmp(from, to, UC_LEN) ? "wrong bytes" : NULL;
}

/* ---- other netdevs and neighbours ---- */

static int make_ah(void)
{
	ah = ibv_create_ah(pd, &far_attr);
	return made(ah);
}

static int destroy_ah(void)
{
	return ibv_destroy_ah(ah);
}

/* The path of a connection can be changed when its sends have stopped */
static void begin(void)
{
	if (qp_to_state(rc, IBV_QPS_SQD))
		die("cannot stop the sends: %s", strerror(errno));
}

static void end(void)
{
	connect_self(rc);
}

static int change_path(const struct ibv_ah_attr *path, uint8_t rd_atomic)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .ah_attr = *path,
				 .max_dest_rd_atomic = rd_atomic };

	return ibv_modify_qp(rc, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_MAX_DEST_RD_ATOMIC);
}

static int go_far(void) { return change_path(&far_attr, 8); }
static int come_back(void) { return change_path(&ah_attr, 4); }

static const char *path_is(const struct ibv_ah_attr *path, uint8_t rd_atomic)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;

	if (ibv_query_qp(rc, &a, IBV_QP_AV | IBV_QP_STATE, &ia))
		return "it can't be queried";
	if (a.qp_state != IBV_QPS_SQD || a.max_dest_rd_atomic != rd_atomic ||
	    a.ah_attr.grh.sgid_index != path->grh.sgid_index ||
	    memcmp(&a.ah_attr.grh.dgid, &path->grh.dgid, sizeof(union ibv_gid)))
		return "path, state or number of atomics are wrong";
	return NULL;
}

static const char *after_far(int err)
{
	return path_is(err ? &ah_attr : &far_attr, err ? 4 : 8);
}

static const char *after_back(int err)
{
	return path_is(err ? &far_attr : &ah_attr, err ? 8 : 4);
}

static const struct call calls[] = {
	{ "uc", make_uc, destroy_uc, .own = true },
	{ "uc-init", to_init, to_reset, .after = after_init },
	{ "uc-rtr", to_rtr, back_to_init, .after = after_rtr, .also = no_route },
	{ "uc-rts", to_rts, back_to_rtr, .after = after_rts },
	{ "uc-send", uc_send, .after = after_uc_send },
	{ "destroy-uc", destroy_uc, make_uc, .own = false },
	{ "far-ah", make_ah, destroy_ah, .own = true, .also = no_route },
	{ "destroy-far-ah", destroy_ah, make_ah, .own = false },
	{ "path", go_far, come_back, .own = true, .after = after_far, .also = no_route },
	{ "path-back", come_back, go_far, .own = true, .after = after_back, .also = no_route },
	{}
};

const struct group nth_path = { .calls = calls, .begin = begin, .end = end };
