// SPDX-License-Identifier: GPL-2.0
/*
 * FLUSH and ATOMIC WRITE (annex A19): the responder's part.
 *
 * Both are answered by a READ response without data, so that the requester knows when
 * they have been executed. A duplicate gets the answer again, and isn't executed again.
 *
 * FLUSH: the requests before it are executed in order, by the CPU, and its caches are
 * coherent: so what they wrote is globally visible as soon as a barrier has ordered it
 * before the answer. Persistence isn't offered.
 *
 * Context: recv_task.
 */
#include <rxe/transport.h>

static u32 flush_types(const struct rxe_pkt *pkt)
{
	return pkt->feth & RXE_FETH_TYPE_MASK;
}

/* The access that a FLUSH needs of the QP and of the R_Key [A19.4.3] */
static int flush_access(const struct rxe_pkt *pkt)
{
	u32 types = flush_types(pkt);

	return (types & IB_FLUSH_GLOBAL ? IB_ACCESS_FLUSH_GLOBAL : 0) |
	       (types & IB_FLUSH_PERSISTENT ? IB_ACCESS_FLUSH_PERSISTENT : 0);
}

static u32 flush_level(const struct rxe_pkt *pkt)
{
	return pkt->feth >> RXE_FETH_LEVEL_SHIFT & RXE_FETH_LEVEL_MASK;
}

static bool flush_valid(const struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	u32 level = flush_level(pkt);
	u32 types = flush_types(pkt);
	int access = flush_access(pkt);

	return types && !(types & ~(IB_FLUSH_GLOBAL | IB_FLUSH_PERSISTENT)) &&
	       (level == IB_FLUSH_RANGE || level == IB_FLUSH_MR) &&
	       (qp->attr.qp_access_flags & access) == access;
}

/**
 * rxe_flush_execute - execute a FLUSH [A19.4.1]
 * @qp: the QP
 * @pkt: the request
 *
 * Return: 0, or the syndrome of a NAK.
 */
u8 rxe_flush_execute(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_key *key;
	int err;

	if (!flush_valid(qp, pkt))
		return RXE_NAK_INV_REQ;
	if (flush_level(pkt) == IB_FLUSH_MR)
		err = rxe_key_get_all(qp->ibqp.pd, &qp->ibqp, pkt->rkey,
				      flush_access(pkt), &key);
	else if (pkt->dma_len)
		err = rxe_key_get(qp->ibqp.pd, &qp->ibqp, pkt->rkey,
				  flush_access(pkt), pkt->va, pkt->dma_len, &key);
	else
		return 0;	/* zero bytes need no key [C9-88] */
	if (err)
		return RXE_NAK_REM_ACCESS;
	smp_mb();	/* earlier writes are visible before the answer is */
	rxe_key_put(key);
	return 0;
}

/**
 * rxe_atomic_write_execute - execute an ATOMIC WRITE [A19.4.2]
 * @qp: the QP
 * @pkt: the request
 * @data: its payload
 *
 * A reader sees either all of the old eight bytes or all of the new ones. If it sees the new
 * ones, it also sees everything that was written before.
 *
 * Return: 0, the syndrome of a NAK, or RXE_WAITS.
 */
u8 rxe_atomic_write_execute(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			    struct rxe_data *data)
{
	struct rxe_rq *rq = &qp->rq;
	u32 len = sizeof(u64);
	u64 value, *p;
	int err;

	if (pkt->payload_len != sizeof(u64) || pkt->dma_len != sizeof(u64) ||
	    (pkt->va & 7))
		return RXE_NAK_INV_REQ;
	if (rxe_key_keep(qp->ibqp.pd, &qp->ibqp, pkt->rkey, IB_ACCESS_REMOTE_WRITE,
			 pkt->va, sizeof(u64), &rq->write.key))
		return RXE_NAK_REM_ACCESS;
	err = rxe_key_ready(rq->write.key, true, pkt->va, len, len, qp->requests.fault);
	if (err)
		return err == -EAGAIN ? RXE_WAITS : RXE_NAK_REM_ACCESS;
	p = rxe_key_run(rq->write.key, pkt->va, &len);
	if ((uintptr_t)p & 7)
		return RXE_NAK_INV_REQ;
	if (!rxe_data_read(data, &value, sizeof(value)))
		return RXE_NAK_REM_OP;
	smp_store_release(p, value);	/* readers of what was written before */
	return 0;
}
