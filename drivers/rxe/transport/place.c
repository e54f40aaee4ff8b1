// SPDX-License-Identifier: GPL-2.0
/*
 * FLUSH and ATOMIC WRITE (annex A19): the responder's part.
 *
 * Both are answered by a READ response without data, so that the requester knows when
 * they have been executed. A duplicate gets the answer again, and isn't executed again.
 *
 * FLUSH: the CPU executes the requests before it, in order, and the CPU's caches are
 * coherent. So the data of these requests is globally visible as soon as a barrier has
 * ordered it before the answer. A persistent FLUSH writes the caches back first, at most
 * RXE_PERSIST_STEP bytes per run of the task, so that others get the CPU in between.
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

/*
 * Do the next step of a persistent FLUSH. The first step waits for the next run, so that a run
 * does at most one step, however many such requests came. Return: 0, or RXE_UNFINISHED.
 */
static u8 persist(struct rxe_rq *rq, const struct rxe_key *key, u64 va, u64 len)
{
	struct rxe_persist *p = &rq->persist;
	u32 step;

	if (p->seq != rq->seq) {
		*p = (struct rxe_persist){ .seq = rq->seq };
		return RXE_UNFINISHED;
	}
	p->done = min(p->done, len);	/* a retry may ask for less */
	step = min_t(u64, len - p->done, RXE_PERSIST_STEP);
	rxe_key_persist(key, va + p->done, step);
	p->done += step;
	return p->done < len ? RXE_UNFINISHED : 0;
}

static u8 flush_key(struct rxe_rq *rq, const struct rxe_pkt *pkt, const struct rxe_key *key)
{
	if (!(flush_types(pkt) & IB_FLUSH_PERSISTENT)) {
		smp_mb();	/* earlier writes are visible before the answer is */
		return 0;
	}
	if (flush_level(pkt) == IB_FLUSH_MR)
		return persist(rq, key, key->iova, key->length);
	return persist(rq, key, pkt->va, pkt->dma_len);
}

/**
 * rxe_flush_execute - execute a FLUSH [A19.4.1]
 * @qp: the QP
 * @pkt: the request
 *
 * Return: 0; the syndrome of a NAK; or RXE_UNFINISHED: it is to be called again.
 */
u8 rxe_flush_execute(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_key *key;
	int err;
	u8 res;

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
	res = flush_key(&qp->rq, pkt, key);
	rxe_key_put(key);
	return res;
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
	err = rxe_key_use(qp->ibqp.pd, &qp->ibqp, pkt->rkey, IB_ACCESS_REMOTE_WRITE,
			  pkt->va, len, len, qp->requests.fault, &rq->write.key);
	if (err)
		return err == -EAGAIN ? RXE_WAITS : RXE_NAK_REM_ACCESS;
	p = rxe_key_run(rq->write.key, pkt->va, &len);
	if ((uintptr_t)p & 7)
		return RXE_NAK_INV_REQ;
	if (!rxe_data_read(data, &value, sizeof(value)))
		return RXE_NAK_REM_OP;
	smp_store_release(p, value);	/* after all earlier writes */
	return 0;
}
