// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: queue pairs: limits at creation, state changes and their attributes, the query.
 */
#include "verbs_err.h"

bool c_modify_transitions(void)
{
	static const enum ibv_qp_state st[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR,
	};
	/*
	 * Row: old state. Column: new state. The allowed transitions, if only attributes are given
	 */
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

bool c_modify_missing_attr(void)
{
	static const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct pair *p = pair_make();
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = p->b->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = place[0].gid, .hop_limit = 1,
				      .sgid_index = place[0].gid_index } },
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

static bool refuse_rtr(struct pair *p, const char *what)
{
	struct addr b = addr_of(p->b);

	CHECK(rc_to_rtr(p->a, &p->ra, &b), "RTR accepted %s", what);
	p->ra = rc_attr(place[0].gid_index);
	return true;
}

bool c_modify_bad_values(void)
{
	struct pair *p = pair_make();
	struct addr b = addr_of(p->b);

	p->ra.pkey_index = port.pkey_tbl_len;
	CHECK(rc_to_init(p->a, &p->ra), "INIT accepted P_Key index %d", port.pkey_tbl_len);
	p->ra.pkey_index = 0;
	CHECK(!rc_to_init(p->a, &p->ra), "to INIT failed");
	p->ra.gid_index = port.gid_tbl_len;
	if (!refuse_rtr(p, "a GID index beyond the table"))
		return false;
	p->ra.gid_index = port.gid_tbl_len - 1;
	if (!refuse_rtr(p, "the index of an empty GID"))
		return false;
	p->ra.mtu = 6;
	if (!refuse_rtr(p, "path MTU 6"))
		return false;
	if (port.active_mtu < IBV_MTU_4096) {
		p->ra.mtu = port.active_mtu + 1;
		if (!refuse_rtr(p, "a path MTU above the active one"))
			return false;
	}
	if (dev.max_qp_rd_atom < 255) {
		p->ra.dest_rd_atomic = dev.max_qp_rd_atom + 1;
		if (!refuse_rtr(p, "more READs than max_qp_rd_atom"))
			return false;
	}
	CHECK(!rc_to_rtr(p->a, &p->ra, &b), "to RTR failed");
	if (dev.max_qp_init_rd_atom < 255) {
		p->ra.rd_atomic = dev.max_qp_init_rd_atom + 1;
		CHECK(rc_to_rts(p->a, &p->ra, 1), "RTS accepted more than max_qp_init_rd_atom");
	}
	return pair_free(p);
}

bool c_modify_bad_port(void)
{
	struct pair *p = pair_make();
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 2 };

	CHECK(ibv_modify_qp(p->a, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS), "INIT accepted port 2");
	return pair_free(p);
}

bool c_modify_cur_state(void)
{
	struct pair *p = pair_up();
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQD };

	CHECK(ibv_modify_qp(p->a, &a, IBV_QP_STATE | IBV_QP_CUR_STATE),
	      "a wrong current state was accepted");
	return pair_free(p);
}

bool c_query_qp(void)
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
	CHECK(q.ah_attr.is_global && !memcmp(&q.ah_attr.grh.dgid, &place[0].gid, 16), "dgid");
	CHECK(q.ah_attr.grh.sgid_index == place[0].gid_index, "sgid_index %d",
	      q.ah_attr.grh.sgid_index);
	/* The RDMA core replaces hop_limit by the route's, except for link-local addresses */
	CHECK(q.ah_attr.grh.hop_limit == 9 || place[0].gid.raw[0] != 0xfe, "hop_limit %d",
	      q.ah_attr.grh.hop_limit);
	CHECK(q.ah_attr.grh.traffic_class == 0x28, "traffic_class");
	CHECK(q.ah_attr.sl == 3, "sl %d", q.ah_attr.sl);
	CHECK(q.cap.max_send_wr >= DEPTH && q.cap.max_recv_wr >= DEPTH &&
	      q.cap.max_send_sge >= 4 && q.cap.max_inline_data >= 64, "cap");
	CHECK(ia.qp_type == IBV_QPT_RC && ia.cap.max_send_wr >= DEPTH, "init_attr");
	return pair_free(p);
}

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

bool c_limit_qp(void)
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
