// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_odp: operations that only extended queue pairs have: ATOMIC WRITE, FLUSH.
 */
#define _GNU_SOURCE
#include "vo.h"

#if HAVE_FLUSH
#define OPS	(IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_FLUSH)
#else
#define OPS	IBV_QP_EX_WITH_ATOMIC_WRITE
#endif

struct ibv_qp *new_extended_qp(struct end *e, const struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ia = {
		.send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .srq = attr->srq,
		.qp_type = attr->qp_type, .sq_sig_all = attr->sq_sig_all, .cap = attr->cap,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = e->pd, .send_ops_flags = OPS,
	};

	return ibv_create_qp_ex(e->ctx, &ia);
}

static struct ibv_qp_ex *start(struct end *e)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(e->qp);

	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	return qp;
}

static void complete(struct ibv_qp_ex *qp)
{
	if (ibv_wr_complete(qp))
		die("wr_complete: %s", strerror(errno));
}

/* ATOMIC WRITE: eight bytes, which the work request has itself */
bool atomic_write(struct end e[2])
{
	uint64_t to = rnd_range(&seed, 0, BYTES / 8 - 1) * 8, want = rnd(&seed), got;
	struct ibv_qp_ex *qp = start(&e[0]);
	int status;

	ibv_wr_atomic_write(qp, e[1].mr->rkey, (uintptr_t)e[1].buf + to, &want);
	complete(qp);
	status = status_of(&e[0]);
	CHECK(!status, "atomic write: status %d", status);
	memcpy(&got, e[1].buf + to, 8);
	CHECK(got == want, "atomic write left %lx, not %lx", got, want);
	return true;
}

#if HAVE_FLUSH
/* A WRITE, and a FLUSH of its bytes or of all of the region */
bool flush(struct end e[2])
{
	uint32_t len = rnd_range(&seed, 1, BYTES / 4);
	uint64_t from = rnd_range(&seed, 0, BYTES - len), to = rnd_range(&seed, 0, BYTES - len);
	uint8_t level = rnd(&seed) & 1 ? IBV_FLUSH_RANGE : IBV_FLUSH_MR;
	struct ibv_qp_ex *qp;
	int status, i;

	rnd_fill(e[0].buf + (from & ~7ul), len & ~7ul, rnd(&seed));
	post(e, IBV_WR_RDMA_WRITE, sge(&e[0], from, len), to);
	qp = start(&e[0]);
	ibv_wr_flush(qp, e[1].mr->rkey, (uintptr_t)e[1].buf + to, len, IBV_FLUSH_GLOBAL, level);
	complete(qp);
	for (i = 0; i < 2; i++) {
		status = status_of(&e[0]);
		CHECK(!status, "%s: status %d", i ? "flush" : "write before a flush", status);
	}
	CHECK(!memcmp(e[0].buf + from, e[1].buf + to, len), "%u flushed bytes differ", len);
	return true;
}
#else
bool flush(struct end e[2])
{
	(void)e;
	return true;
}
#endif
