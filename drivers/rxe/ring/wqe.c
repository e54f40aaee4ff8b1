// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests: from a ring that the process can change at any time to a copy
 * that only the kernel can.
 *
 * Each field is read once. Only the copy is checked, only the copy is used;
 * whatever the process scribbles becomes an error completion of its own QP.
 * Kernel consumers post struct rxe_swqe, checked when it was posted.
 *
 * Context: bottom halves off; sq.lock for sends, recv_task for receives.
 */
#include <rxe/transport.h>

/*
 * Flags that a work request may have. Programs set FENCE and SOLICITED on any,
 * also where they mean nothing; the others are refused, since they would change
 * what the work request does.
 */
#define FETCH_FLAGS	(IB_SEND_SIGNALED | IB_SEND_FENCE | IB_SEND_SOLICITED)
#define DATA_FLAGS	(FETCH_FLAGS | IB_SEND_INLINE)

#define RC		RXE_WR_FOR_RC
#define EVERY		(RXE_WR_FOR_RC | RXE_WR_FOR_UD)

/* What each work request is and which services take it [10.8.2.1] */
static const struct {
	u8	services;
	u8	flags;
	u8	wc;
} wr_info[] = {
	[IB_WR_SEND]			= { EVERY, DATA_FLAGS, IB_WC_SEND },
	[IB_WR_SEND_WITH_IMM]		= { EVERY, DATA_FLAGS, IB_WC_SEND },
	[IB_WR_RDMA_WRITE]		= { RC, DATA_FLAGS, IB_WC_RDMA_WRITE },
	[IB_WR_RDMA_WRITE_WITH_IMM]	= { RC, DATA_FLAGS, IB_WC_RDMA_WRITE },
	[IB_WR_RDMA_READ]		= { RC, FETCH_FLAGS, IB_WC_RDMA_READ },
	[IB_WR_ATOMIC_CMP_AND_SWP]	= { RC, FETCH_FLAGS, IB_WC_COMP_SWAP },
	[IB_WR_ATOMIC_FETCH_AND_ADD]	= { RC, FETCH_FLAGS, IB_WC_FETCH_ADD },
};

/**
 * rxe_wc_opcode - the completion opcode of a send work request
 * @wr_opcode: enum ib_wr_opcode
 *
 * Return: IB_WC_SEND also for what can't be sent.
 */
enum ib_wc_opcode rxe_wc_opcode(u8 wr_opcode)
{
	if (wr_opcode >= ARRAY_SIZE(wr_info))
		return IB_WC_SEND;
	return wr_info[wr_opcode].wc;
}

/**
 * rxe_wr_offered - does a QP take this kind of work request?
 * @qp: the QP
 * @opcode: enum ib_wr_opcode, as posted
 * @flags: enum ib_send_flags, as posted
 *
 * Return: false also for flags that the opcode doesn't have.
 */
bool rxe_wr_offered(const struct rxe_qp *qp, u32 opcode, u32 flags)
{
	return opcode < ARRAY_SIZE(wr_info) &&
	       (wr_info[opcode].services & qp->service->wrs) &&
	       !(flags & ~wr_info[opcode].flags);
}

/* Return: enum ib_wc_status of a work request that can't be sent */
static u8 check_send(const struct rxe_qp *qp, const struct rxe_swqe *wqe,
		     u64 length)
{
	bool datagram = qp->service->datagram;
	u32 max = datagram ? READ_ONCE(qp->rxe->active_mtu) : RXE_MAX_MSG;

	if (!(wqe->flags & IB_SEND_INLINE) &&
	    wqe->num_sge > qp->cap.max_send_sge)
		return IB_WC_LOC_QP_OP_ERR;
	if ((wqe->flags & IB_SEND_INLINE) && length > qp->cap.max_inline_data)
		return IB_WC_LOC_LEN_ERR;
	if (length > max ||
	    (rxe_is_atomic(wqe->opcode) && length != sizeof(u64)))
		return IB_WC_LOC_LEN_ERR;
	if (datagram && !wqe->ah)
		return IB_WC_LOC_QP_OP_ERR;
	return IB_WC_SUCCESS;
}

static void import_ud(struct rxe_qp *qp, const struct rxe_send_wr *wr,
		      struct rxe_swqe *wqe)
{
	wqe->remote_qpn = READ_ONCE(wr->wr.ud.remote_qpn) & RXE_QPN_MASK;
	wqe->remote_qkey = READ_ONCE(wr->wr.ud.remote_qkey);
	wqe->ah = rxe_ah_get(qp->rxe, READ_ONCE(wr->wr.ud.ah_num), qp->ibqp.pd);
}

static void import_rc(const struct rxe_send_wr *wr, struct rxe_swqe *wqe)
{
	if (rxe_is_atomic(wqe->opcode)) {
		wqe->raddr = READ_ONCE(wr->wr.atomic.remote_addr);
		wqe->rkey = READ_ONCE(wr->wr.atomic.rkey);
		wqe->compare_add = READ_ONCE(wr->wr.atomic.compare_add);
		wqe->swap = READ_ONCE(wr->wr.atomic.swap);
	} else {
		wqe->raddr = READ_ONCE(wr->wr.rdma.remote_addr);
		wqe->rkey = READ_ONCE(wr->wr.rdma.rkey);
	}
}

/* Copy the SGEs; the sum is over the copy */
static u64 import_sges(const struct rxe_qp *qp, const struct rxe_sge *src,
		       struct rxe_swqe *wqe)
{
	u32 i, num = min(wqe->num_sge, qp->cap.max_send_sge);
	u64 length = 0;

	for (i = 0; i < num; i++) {
		wqe->sge[i].addr = READ_ONCE(src[i].addr);
		wqe->sge[i].length = READ_ONCE(src[i].length);
		wqe->sge[i].lkey = READ_ONCE(src[i].lkey);
		length += wqe->sge[i].length;
	}
	return length;
}

/* Return: bytes of payload */
static u64 import_data(const struct rxe_qp *qp, const struct rxe_dma_info *dma,
		       struct rxe_swqe *wqe)
{
	u64 length;

	if (!(wqe->flags & IB_SEND_INLINE))
		return import_sges(qp, dma->sge, wqe);
	wqe->num_sge = 0;	/* whatever the process left there */
	length = READ_ONCE(dma->length);
	memcpy(wqe->data, dma->inline_data,
	       min_t(u64, length, qp->cap.max_inline_data));
	return length;
}

/**
 * rxe_import_send - copy and check a user's send work request
 * @qp: the QP
 * @elem: struct rxe_send_wqe in shared memory
 * @wqe: the copy; its @status says whether it may be sent
 *
 * Of one that isn't offered, nothing is looked at but what its completion needs.
 */
void rxe_import_send(struct rxe_qp *qp, const void *elem,
		     struct rxe_swqe *wqe)
{
	const struct rxe_send_wqe *shared = elem;
	const struct rxe_send_wr *wr = &shared->wr;
	u32 opcode = READ_ONCE(wr->opcode);
	u32 flags = READ_ONCE(wr->send_flags);
	u32 num_sge = READ_ONCE(shared->dma.num_sge);
	u64 length;

	wqe->wr_id = READ_ONCE(wr->wr_id);
	wqe->opcode = min_t(u32, opcode, U8_MAX);
	wqe->flags = flags & DATA_FLAGS;
	wqe->imm = READ_ONCE(wr->ex.imm_data);
	wqe->num_sge = min_t(u32, num_sge, RXE_MAX_SGE + 1);
	wqe->started = false;
	wqe->ah = NULL;
	if (!rxe_wr_offered(qp, opcode, flags)) {
		wqe->status = IB_WC_LOC_QP_OP_ERR;
		wqe->length = 0;
		return;
	}
	if (qp->service->datagram)
		import_ud(qp, wr, wqe);
	else
		import_rc(wr, wqe);
	length = import_data(qp, &shared->dma, wqe);
	wqe->status = check_send(qp, wqe, length);
	wqe->length = length;
}

/**
 * rxe_import_recv - copy and check a receive work request
 * @qp: the QP
 * @elem: struct rxe_recv_wqe in shared memory
 * @wqe: the copy
 *
 * Return: false if it has more SGEs than the QP was created for.
 */
bool rxe_import_recv(struct rxe_qp *qp, const void *elem,
		     struct rxe_rwqe *wqe)
{
	const struct rxe_recv_wqe *shared = elem;
	u32 i;

	wqe->wr_id = READ_ONCE(shared->wr_id);
	wqe->num_sge = READ_ONCE(shared->dma.num_sge);
	wqe->length = 0;
	wqe->valid = true;
	if (wqe->num_sge > qp->cap.max_recv_sge) {
		wqe->num_sge = 0;
		return false;
	}
	for (i = 0; i < wqe->num_sge; i++) {
		wqe->sge[i].addr = READ_ONCE(shared->dma.sge[i].addr);
		wqe->sge[i].length = READ_ONCE(shared->dma.sge[i].length);
		wqe->sge[i].lkey = READ_ONCE(shared->dma.sge[i].lkey);
		wqe->length += wqe->sge[i].length;
	}
	return true;
}
