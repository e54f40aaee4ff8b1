// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of one packet that are answered by one packet: atomics [9.4.5], FLUSH and ATOMIC
 * WRITE (annex A19).
 *
 * Such a request is executed once. A duplicate gets the answer again: the kept result of an
 * atomic; for the others, a READ response without data.
 *
 * FLUSH: the CPU has executed the requests before it, in order, and CPU caches are coherent.
 * A barrier that orders their data before the answer makes it globally visible. A persistent
 * FLUSH first writes the caches back, at most RXE_PERSIST_STEP bytes per run of the task, so
 * that others get the CPU in between.
 *
 * Context: recv_task; rxe_single_request(): send_task.
 */
#include <rxe/transport.h>

/*
 * Atomic with respect to all devices and all CPUs of this machine. Return: as
 * rxe_single_execute(); @orig: the memory's former value
 */
static u8 apply_atomic(atomic64_t *word, const struct rxe_pkt *pkt, u64 *orig)
{
	switch (pkt->opcode) {
	case IB_OPCODE_RC_FETCH_ADD:
		*orig = atomic64_fetch_add(pkt->swap_add, word);
		return 0;
	case IB_OPCODE_RC_COMPARE_SWAP:
		*orig = atomic64_cmpxchg(word, pkt->compare, pkt->swap_add);
		return 0;
	}
	return RXE_NAK_INV_REQ;
}

/*
 * The memory of a dma-buf may be mapped without caches. Only x86 has atomic operations on such
 * memory; an arm64 CPU may take a fault.
 */
static bool has_cpu_atomics(const struct rxe_region *region)
{
	return IS_ENABLED(CONFIG_X86) || !region->mapped;
}

static DEFINE_SPINLOCK(uncached_lock);

/* As apply_atomic(), but not with respect to CPUs. More isn't promised: IB_ATOMIC_HCA */
static u8 apply_atomic_uncached(u64 *word, const struct rxe_pkt *pkt, u64 *orig)
{
	u8 res = 0;

	smp_mb();	/* after what earlier requests wrote and read, as apply_atomic() */
	spin_lock(&uncached_lock);
	*orig = READ_ONCE(*word);
	switch (pkt->opcode) {
	case IB_OPCODE_RC_FETCH_ADD:
		WRITE_ONCE(*word, *orig + pkt->swap_add);
		break;
	case IB_OPCODE_RC_COMPARE_SWAP:
		if (*orig == pkt->compare)
			WRITE_ONCE(*word, pkt->swap_add);
		break;
	default:
		res = RXE_NAK_INV_REQ;
	}
	spin_unlock(&uncached_lock);
	return res;
}

/*
 * Find the eight bytes of memory that the request names, if it has @access. Return: as
 * rxe_single_execute()
 */
static u8 find_word(struct rxe_qp *qp, const struct rxe_pkt *pkt, int access, u64 **word)
{
	struct rxe_rq *rq = &qp->rq;
	u32 len = sizeof(u64);
	int err;

	if (pkt->va & 7)
		return RXE_NAK_INV_REQ;
	err = rxe_key_use(qp->ibqp.pd, &qp->ibqp, pkt->rkey, access, pkt->va, len, len,
			  &qp->requests.pager, &rq->write.key);
	if (err)
		return err == -EAGAIN ? RXE_WAITS : RXE_NAK_REM_ACCESS;
	*word = rxe_key_run(rq->write.key, pkt->va, &len);
	return (uintptr_t)*word & 7 ? RXE_NAK_INV_REQ : 0;
}

/* Return: as rxe_single_execute(); @orig: the memory's former value */
static u8 execute_atomic(struct rxe_qp *qp, const struct rxe_pkt *pkt, u64 *orig)
{
	u64 *word;
	u8 res = find_word(qp, pkt, IB_ACCESS_REMOTE_ATOMIC, &word);

	if (res)
		return res;
	if (has_cpu_atomics(qp->rq.write.key->region))
		res = apply_atomic((atomic64_t *)word, pkt, orig);
	else
		res = apply_atomic_uncached(word, pkt, orig);
	if (res)
		return res;
	rxe_count(qp, RX_ATOMIC_REQ);
	rxe_replay_keep(&qp->rq.replay, qp->rq.expect.seq, *orig);
	return 0;
}

static u32 get_flush_types(const struct rxe_pkt *pkt)
{
	return pkt->feth & RXE_FETH_TYPE_MASK;
}

/* The access that a FLUSH needs of the QP and of the R_Key [A19.4.3] */
static int get_flush_access(const struct rxe_pkt *pkt)
{
	u32 types = get_flush_types(pkt);

	return (types & IB_FLUSH_GLOBAL ? IB_ACCESS_FLUSH_GLOBAL : 0) |
	       (types & IB_FLUSH_PERSISTENT ? IB_ACCESS_FLUSH_PERSISTENT : 0);
}

static u32 get_flush_level(const struct rxe_pkt *pkt)
{
	return pkt->feth >> RXE_FETH_LEVEL_SHIFT & RXE_FETH_LEVEL_MASK;
}

static bool is_flush_valid(const struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	u32 level = get_flush_level(pkt);
	u32 types = get_flush_types(pkt);
	int access = get_flush_access(pkt);

	return types && !(types & ~(IB_FLUSH_GLOBAL | IB_FLUSH_PERSISTENT)) &&
	       (level == IB_FLUSH_RANGE || level == IB_FLUSH_MR) &&
	       (qp->attr.qp_access_flags & access) == access;
}

/*
 * Do the next step of a persistent FLUSH. The first step waits for the next run: a run then
 * does at most one step, however many such requests came. Return: 0, or RXE_UNFINISHED.
 */
static u8 persist_range(struct rxe_qp *qp, const struct rxe_key *key, u64 va, u64 len)
{
	struct rxe_persist *p = &qp->slow->persist;
	u32 step;

	if (p->seq != qp->rq.expect.seq) {
		*p = (struct rxe_persist){ .seq = qp->rq.expect.seq };
		return RXE_UNFINISHED;
	}
	p->done = min(p->done, len);	/* a retry may ask for less */
	step = min_t(u64, len - p->done, RXE_PERSIST_STEP);
	rxe_key_persist(key, va + p->done, step);
	p->done += step;
	return p->done < len ? RXE_UNFINISHED : 0;
}

static u8 flush_key(struct rxe_qp *qp, const struct rxe_pkt *pkt, const struct rxe_key *key)
{
	if (!(get_flush_types(pkt) & IB_FLUSH_PERSISTENT)) {
		smp_mb();	/* earlier writes are visible before the answer is */
		return 0;
	}
	if (get_flush_level(pkt) == IB_FLUSH_MR)
		return persist_range(qp, key, key->iova, key->length);
	return persist_range(qp, key, pkt->va, pkt->dma_len);
}

/* [A19.4.1] Return: as rxe_single_execute() */
static u8 execute_flush(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	struct rxe_key *key;
	int err;
	u8 res;

	if (!is_flush_valid(qp, pkt))
		return RXE_NAK_INV_REQ;
	if (get_flush_level(pkt) == IB_FLUSH_MR)
		err = rxe_key_get_all(qp->ibqp.pd, &qp->ibqp, pkt->rkey,
				      get_flush_access(pkt), &key);
	else if (pkt->dma_len)
		err = rxe_key_get(qp->ibqp.pd, &qp->ibqp, pkt->rkey,
				  get_flush_access(pkt), pkt->va, pkt->dma_len, &key);
	else
		return 0;	/* zero bytes need no key [C9-88] */
	if (err)
		return RXE_NAK_REM_ACCESS;
	res = flush_key(qp, pkt, key);
	rxe_key_put(key);
	return res;
}

/*
 * [A19.4.2] A reader sees either all of the old eight bytes or all of the new ones. If it sees
 * the new ones, it also sees everything that was written before. Return: as
 * rxe_single_execute()
 */
static u8 execute_atomic_write(struct rxe_qp *qp, const struct rxe_pkt *pkt,
			       struct rxe_data *data)
{
	u64 value, *word;
	u8 res;

	if (pkt->payload_len != sizeof(value) || pkt->dma_len != sizeof(value))
		return RXE_NAK_INV_REQ;
	res = find_word(qp, pkt, IB_ACCESS_REMOTE_WRITE, &word);
	if (res)
		return res;
	if (!rxe_data_read(data, &value, sizeof(value)))
		return RXE_NAK_REM_OP;
	smp_store_release(word, value);	/* ordered after all earlier writes */
	return 0;
}

/* The request was executed, and is answered next */
static void note_single_done(struct rxe_rq *rq)
{
	rxe_expect_advance(&rq->expect, 1);
	rq->expect.msn = (rq->expect.msn + 1) & RXE_MSN_MASK;
}

static void send_answer(struct rxe_qp *qp, const struct rxe_pkt *pkt, u64 orig)
{
	if (pkt->flags & RXE_OP_ATOMIC_REQ)
		rxe_send_atomic_ack(qp, pkt->psn, orig);
	else if (pkt->flags & (RXE_OP_FLUSH | RXE_OP_ATOMIC_WRITE))
		rxe_send_empty_response(qp, pkt->psn);
}

/**
 * rxe_single_execute - check an atomic, FLUSH or ATOMIC WRITE, execute and answer it
 * @qp: the QP
 * @pkt: the request, which the peer may send
 * @data: its payload
 *
 * Return: 0; the syndrome of a NAK; RXE_WAITS: it waits for a page; or RXE_UNFINISHED: to be
 * called again in another run.
 */
u8 rxe_single_execute(struct rxe_qp *qp, const struct rxe_pkt *pkt, struct rxe_data *data)
{
	u64 orig = 0;
	u8 res;

	if (pkt->flags & RXE_OP_ATOMIC_REQ)
		res = execute_atomic(qp, pkt, &orig);
	else if (pkt->flags & RXE_OP_FLUSH)
		res = execute_flush(qp, pkt);
	else if (pkt->flags & RXE_OP_ATOMIC_WRITE)
		res = execute_atomic_write(qp, pkt, data);
	else
		return RXE_NAK_INV_REQ;
	if (res)
		return res;
	rxe_send_due_ack(qp);
	note_single_done(&qp->rq);
	send_answer(qp, pkt, orig);
	return 0;
}

/**
 * rxe_single_again - answer a duplicate of an atomic, FLUSH or ATOMIC WRITE
 * @qp: the QP
 * @pkt: the request; its PSN is before the expected one
 *
 * An atomic whose result isn't kept any more gets no answer.
 */
void rxe_single_again(struct rxe_qp *qp, const struct rxe_pkt *pkt)
{
	u64 seq = qp->rq.expect.seq + rxe_psn_diff(pkt->psn, qp->rq.expect.psn), orig = 0;

	if ((pkt->flags & RXE_OP_ATOMIC_REQ) && !rxe_replay_find(&qp->rq.replay, seq, &orig))
		return;
	send_answer(qp, pkt, orig);
}

/**
 * rxe_single_request - set the fields that a READ request doesn't have
 * @wqe: the work request: an atomic, FLUSH or ATOMIC WRITE
 * @pkt: the request
 */
void rxe_single_request(const struct rxe_swqe *wqe, struct rxe_pkt *pkt)
{
	if (rxe_wr_type(wqe)->kind == RXE_WR_ATOMIC) {
		pkt->compare = wqe->compare;
		pkt->swap_add = wqe->swap_add;
	} else if (rxe_wr_type(wqe)->kind == RXE_WR_FLUSH) {
		pkt->dma_len = wqe->flush_len;
		pkt->feth = wqe->feth;
	}
}
