// SPDX-License-Identifier: GPL-2.0
/*
 * Posting work requests.
 *
 * User space writes its rings itself, and only rings a doorbell: a call without work
 * requests. Work requests of kernel consumers are checked here, and put into rings of the
 * same kind.
 *
 * Context: any, for kernel consumers; post_sq_lock and rxe_recvq.lock order
 * them. doorbell/cork.c describes where and when work requests are sent.
 */
#include <rxe/transport.h>
#include <qp/qp.h>

static void copy_inline(const struct ib_send_wr *wr, struct rxe_swqe *wqe)
{
	u8 *p = wqe->data;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(p, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		p += wr->sg_list[i].length;
	}
	wqe->num_sge = 0;
}

static u64 get_wr_length(const struct ib_send_wr *wr)
{
	u64 length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

static int fill_ud(const struct ib_send_wr *wr, struct rxe_swqe *wqe)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	if (!ud->ah)
		return -EINVAL;
	wqe->remote_qpn = ud->remote_qpn & RXE_QPN_MASK;
	wqe->remote_qkey = ud->remote_qkey;
	wqe->ah = rxe_ah_hold(ud->ah);
	return 0;
}

static int fill_reg(const struct ib_send_wr *wr, struct rxe_swqe *wqe)
{
	if (wqe->opcode != IB_WR_REG_MR)
		return -EINVAL;
	wqe->rkey = reg_wr(wr)->key;
	wqe->access = reg_wr(wr)->access;
	return (wqe->rkey ^ reg_wr(wr)->mr->lkey) >> RXE_KEY_VARIANT_BITS ? -EINVAL : 0;
}

static int fill_atomic(const struct ib_send_wr *wr, struct rxe_swqe *wqe)
{
	wqe->raddr = atomic_wr(wr)->remote_addr;
	wqe->rkey = atomic_wr(wr)->rkey;
	rxe_wr_set_operands(wqe, atomic_wr(wr)->compare_add, atomic_wr(wr)->swap);
	return 0;
}

/* The kernel's API has no FLUSH. Its local work requests are REG_MR and LOCAL_INV */
static int fill_rc(const struct ib_send_wr *wr, struct rxe_swqe *wqe)
{
	const struct rxe_wr_type *type = rxe_wr_type(wqe);

	if (type->inv) {
		wqe->rkey = wr->ex.invalidate_rkey;
		return 0;
	}
	switch (type->kind) {
	case RXE_WR_DATA:
	case RXE_WR_READ:
	case RXE_WR_ATOMIC_WRITE:
		if (type->remote) {
			wqe->raddr = rdma_wr(wr)->remote_addr;
			wqe->rkey = rdma_wr(wr)->rkey;
		}
		return 0;
	case RXE_WR_ATOMIC:
		return fill_atomic(wr, wqe);
	case RXE_WR_LOCAL:
		return fill_reg(wr, wqe);
	default:
		return -EINVAL;
	}
}

/* RDS asks for masked atomics. With masks that change nothing, they are the plain ones */
static u32 get_opcode(const struct ib_send_wr *wr)
{
	if (unlikely(wr->opcode == IB_WR_MASKED_ATOMIC_CMP_AND_SWP) &&
	    !~atomic_wr(wr)->compare_add_mask && !~atomic_wr(wr)->swap_mask)
		return IB_WR_ATOMIC_CMP_AND_SWP;
	if (unlikely(wr->opcode == IB_WR_MASKED_ATOMIC_FETCH_AND_ADD) &&
	    !atomic_wr(wr)->compare_add_mask)
		return IB_WR_ATOMIC_FETCH_AND_ADD;
	return wr->opcode;
}

/* Return: -EINVAL for an immediate error [11.4.1.1] */
static int fill_wqe(struct rxe_qp *qp, const struct ib_send_wr *wr,
		    struct rxe_swqe *wqe)
{
	const struct rxe_wr_rules *rules = &qp->sq.q.rules;
	u32 opcode = get_opcode(wr);

	if (!rxe_wr_offered(rules, opcode, wr->send_flags) || wr->num_sge < 0)
		return -EINVAL;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = opcode;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->ex.imm_data;
	wqe->num_sge = wr->num_sge;
	if (rxe_is_local(wqe) && wr->num_sge)
		return -EINVAL;
	if (rxe_wr_check(rules, wqe, get_wr_length(wr)))
		return -EINVAL;
	if (rules->datagram ? fill_ud(wr, wqe) : fill_rc(wr, wqe))
		return -EINVAL;
	if (wr->send_flags & IB_SEND_INLINE)
		copy_inline(wr, wqe);
	else
		memcpy(wqe->sge, wr->sg_list,
		       wr->num_sge * sizeof(*wr->sg_list));
	return 0;
}

static int post_one_send(struct rxe_qp *qp, const struct ib_send_wr *wr)
{
	struct rxe_swqe *wqe = rxe_ring_get_post_place(qp->sq.q.ring);
	int err;

	if (!wqe)
		return -ENOMEM;
	if (unlikely(qp->service->mads) && rxe_mad_refused(qp, wr))
		return -EHOSTUNREACH;
	err = fill_wqe(qp, wr, wqe);
	if (!err)
		rxe_ring_post(qp->sq.q.ring);
	return err;
}

static bool can_send(u8 state)
{
	return state == IB_QPS_RTS || state == IB_QPS_SQD ||
	       state == IB_QPS_SQE || state == IB_QPS_ERR;
}

/*
 * Posting isn't allowed in this state. Drop work requests that a process has put into its ring
 * anyway, so that they aren't sent later. Context: process, for a process's QP. Return: false if
 * the state has changed, and posting is allowed now.
 */
static bool drop_posted(struct rxe_qp *qp)
{
	bool refused;

	if (!qp->is_user)
		return true;
	mutex_lock(&qp->slow->mutex);
	refused = !can_send(READ_ONCE(qp->state));
	if (refused)
		rxe_qp_drop_posted(qp);
	mutex_unlock(&qp->slow->mutex);
	return refused;
}

/**
 * rxe_post_send - ib_device_ops.post_send
 * @ibqp: the QP
 * @wr: work requests of a kernel consumer; NULL is user space's doorbell
 * @bad_wr: out: the first that was refused; if none was, @wr, which RDS relies on
 *
 * Return: 0, -EINVAL for a work request or state that doesn't fit, -ENOMEM if
 * the queue is full, -EOPNOTSUPP if user space passes work requests this way, -EHOSTUNREACH for
 * a MAD that its destination has just refused.
 */
int rxe_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	unsigned long flags;
	int err = 0;

	*bad_wr = wr;
	if (qp->is_user && wr)
		return -EOPNOTSUPP;
	if (!can_send(READ_ONCE(qp->state)) && drop_posted(qp))
		return -EINVAL;
	if (!wr) {
		rxe_doorbell(qp);
		return 0;
	}
	spin_lock_irqsave(&qp->post_sq_lock, flags);
	for (; wr; wr = wr->next) {
		err = post_one_send(qp, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&qp->post_sq_lock, flags);
	rxe_sq_kick(qp);
	return err;
}

/**
 * rxe_post_recv - ib_device_ops.post_recv
 * @ibqp: the QP
 * @wr: work requests of a kernel consumer; user space writes its ring itself
 * @bad_wr: out: the first that was refused
 *
 * Return: as rxe_post_send().
 */
int rxe_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	int err;

	*bad_wr = wr;
	if (qp->is_user)
		return -EOPNOTSUPP;
	if (READ_ONCE(qp->state) == IB_QPS_RESET || qp->rq.recv.shared)
		return -EINVAL;
	err = rxe_recvq_post(&qp->rq.recv.q, wr, bad_wr);
	smp_mb();	/* pairs with rxe_qp_flush(): one side sees what the other wrote */
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		rxe_task_kick(&qp->recv_task);
	return err;
}
