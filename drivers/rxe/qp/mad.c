// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA_CM's MADs aren't sent again to a destination that refuses them (net/unreach.c).
 *
 * If a MAD can't be sent again, the RDMA core tells its sender at once that the answer timed out.
 * A completion with an error has no such effect since Linux 6.14.
 *
 * Anybody can forge a refusal, and guess the transaction IDs of later MADs. So the last MADs are
 * remembered. A refusal counts only if it is for one of them, and a MAD that isn't among them is
 * sent in any case. MADs of other classes are sent, too: the RDMA core logs each answer that it
 * can't send.
 *
 * Context: rxe_qp.post_sq_lock of the GSI held.
 */
#include <rdma/ib_mad.h>
#include <rxe/transport.h>
#include <qp/qp.h>

static bool was_sent(const struct rxe_mads *mads, const struct rxe_mad_id *id)
{
	const struct rxe_mad_id *sent;

	for (sent = mads->ids; sent < mads->ids + RXE_MADS; sent++)
		if (sent->tid == id->tid && sent->attr_id == id->attr_id &&
		    !memcmp(&sent->dgid, &id->dgid, sizeof(id->dgid)))
			return true;
	return false;
}

static void remember_mad(struct rxe_mads *mads, const struct rxe_mad_id *id)
{
	mads->ids[mads->next] = *id;
	mads->next = (mads->next + 1) % RXE_MADS;
}

/* Has a destination refused a MAD, which may be another connection's? Then the log says why */
static bool is_refused(struct rxe_dev *rxe, const struct rxe_path *path)
{
	struct rxe_mad_id id;
	char why[96];

	if (!rxe_unreach_refused(rxe, path, &id, why, sizeof(why)) || !was_sent(&rxe->mads, &id))
		return false;
	ibdev_warn_ratelimited(&rxe->ibdev, "no connection to %pI6c: %s\n", &path->dgid, why);
	return true;
}

/* RDMA_CM's MAD, which the RDMA core passes by its kernel address. Return: NULL for others */
static const struct ib_mad_hdr *find_cm_mad(const struct rxe_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_sge *sge = wr->sg_list;
	const struct ib_mad_hdr *mad;

	if (wr->opcode != IB_WR_SEND || !ud_wr(wr)->ah || wr->num_sge < 1 ||
	    sge->lkey != qp->ibqp.pd->local_dma_lkey || sge->length < sizeof(*mad))
		return NULL;
	mad = (const void *)(uintptr_t)sge->addr;
	if (mad->mgmt_class != IB_MGMT_CLASS_CM || mad->method != IB_MGMT_METHOD_SEND)
		return NULL;
	return mad;
}

/**
 * rxe_mad_refused - was a MAD sent before, and does its destination refuse it?
 * @qp: the GSI
 * @wr: the MAD
 *
 * Return: true if it isn't to be sent.
 */
bool rxe_mad_refused(struct rxe_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_mad_hdr *mad = find_cm_mad(qp, wr);
	struct rxe_mads *mads = &qp->rxe->mads;
	struct rxe_mad_id id;
	struct rxe_ah_ref *ah;
	bool refused = false;

	if (!mad)
		return false;
	ah = rxe_ah_hold(ud_wr(wr)->ah);
	id = (struct rxe_mad_id){ ah->path.dgid, mad->tid, mad->attr_id };
	if (was_sent(mads, &id))
		refused = is_refused(qp->rxe, &ah->path);
	else
		remember_mad(mads, &id);
	rxe_ah_put(ah);
	return refused;
}
