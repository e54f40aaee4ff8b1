// SPDX-License-Identifier: GPL-2.0
/*
 * MADs that aren't sent again, since their destination has refused them (net/unreach.c).
 *
 * If a MAD can't be sent again, the RDMA core tells its sender at once that the answer timed out.
 * A completion with an error has no such effect since Linux 6.14.
 *
 * A peer can guess the transaction IDs of later MADs, and forge errors for them in advance. So the
 * last MADs are remembered: one that is sent for the first time is never refused.
 *
 * Context: rxe_qp.post_sq_lock of the GSI held.
 */
#include <rdma/ib_mad.h>
#include <rxe/transport.h>
#include <qp/qp.h>

/* Remember a MAD. Return: true if it was sent before */
static bool remember_mad(struct rxe_mads *mads, const struct ib_mad_hdr *mad)
{
	const struct rxe_mad_id id = { .tid = mad->tid, .attr_id = mad->attr_id };
	u32 i;

	for (i = 0; i < RXE_MADS; i++)
		if (mads->ids[i].tid == id.tid && mads->ids[i].attr_id == id.attr_id)
			return true;
	mads->ids[mads->next] = id;
	mads->next = (mads->next + 1) % RXE_MADS;
	return false;
}

/* The header of a MAD, which the RDMA core passes by its kernel address */
static const struct ib_mad_hdr *find_mad(const struct rxe_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_sge *sge = wr->sg_list;

	if (wr->opcode != IB_WR_SEND || !ud_wr(wr)->ah || wr->num_sge < 1 ||
	    sge->lkey != qp->ibqp.pd->local_dma_lkey || sge->length < sizeof(struct ib_mad_hdr))
		return NULL;
	return (const void *)(uintptr_t)sge->addr;
}

/**
 * rxe_mad_refused - was a MAD sent before, and refused by its destination?
 * @qp: the GSI
 * @wr: the MAD
 *
 * Return: true if it isn't to be sent.
 */
bool rxe_mad_refused(struct rxe_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_mad_hdr *mad = find_mad(qp, wr);
	struct rxe_ah_ref *ah;
	bool refused;

	if (!mad || !remember_mad(&qp->rxe->mads, mad))
		return false;
	ah = rxe_ah_hold(ud_wr(wr)->ah);
	refused = rxe_unreach_refused(qp->rxe, &ah->path, mad);
	rxe_ah_put(ah);
	return refused;
}
