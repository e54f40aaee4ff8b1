// SPDX-License-Identifier: GPL-2.0
/*
 * Local work requests (section 10.6): Fast Register, Bind Memory Window, Local
 * Invalidate. They change keys of this device, and send nothing.
 *
 * A local work request is executed when the send task reaches it, before the work requests
 * behind it are sent. It completes in the order of the queue (rxe_sq_finish_memops()). It waits
 * for earlier work requests to complete only if it has the fence indicator. A consumer that
 * invalidates a key in use by earlier work requests must set the fence [10.8.3.3].
 *
 * Context: send_task, sq.lock held.
 */
#include <rxe/transport.h>
#include <rxe/window.h>

static int bind_window(struct rxe_qp *qp, const struct rxe_swqe *wqe)
{
	const struct rxe_bind bind = {
		.mw_rkey	= wqe->rkey,
		.new_rkey	= wqe->new_rkey,
		.mr_lkey	= wqe->mr_lkey,
		.access		= wqe->access,
		.addr		= wqe->raddr,
		.length		= wqe->bind_len,
	};

	return rxe_window_bind(&qp->ibqp, &qp->slow->windows, &bind);
}

static int execute_memop(struct rxe_qp *qp, const struct rxe_swqe *wqe)
{
	switch (wqe->opcode) {
	case IB_WR_REG_MR:
		return rxe_mr_register(&qp->ibqp, wqe->rkey, wqe->access);
	case IB_WR_BIND_MW:
		return bind_window(qp, wqe);
	case IB_WR_LOCAL_INV:
		return rxe_key_invalidate(&qp->ibqp, false, wqe->rkey);
	}
	return -EINVAL;
}

static bool memop_may_start(const struct rxe_qp *qp, const struct rxe_swqe *wqe)
{
	const struct rxe_sq *sq = &qp->sq;

	/* All complete in one go, when the work request before them completes */
	if (READ_ONCE(qp->state) == IB_QPS_SQD || sq->memops.executed >= RXE_FLUSH_MOST)
		return false;
	return !(wqe->flags & IB_SEND_FENCE) || sq->q.cur == sq->q.tail;
}

/**
 * rxe_memop - execute a local work request
 * @qp: the QP
 * @wqe: the work request, the next to be sent
 *
 * Return: true once it has been executed. False if it must wait, or has failed with
 * @wqe->status.
 */
bool rxe_memop(struct rxe_qp *qp, struct rxe_swqe *wqe)
{
	struct rxe_sq *sq = &qp->sq;
	int err;

	if (!memop_may_start(qp, wqe))
		return false;
	rxe_key_drop(&sq->sender.source.key);
	err = execute_memop(qp, wqe);
	if (err == -EAGAIN) {	/* a task on another CPU uses the memory, for one run */
		sq->memops.ending = wqe->rkey;
		rxe_task_schedule(&qp->send_task);
		return false;
	}
	if (err) {
		rxe_key_restore(&qp->ibqp, &sq->memops.ending);
		wqe->status = IB_WC_MW_BIND_ERR;
		return false;
	}
	sq->memops.ending = 0;
	wqe->first_psn = sq->flight.psn;
	wqe->last_psn = rxe_psn_add(sq->flight.psn, -1);
	wqe->started = true;
	sq->memops.executed++;
	return true;
}

/**
 * rxe_memops_reset - forget the local work requests
 * @memops: those of a send queue; send_task is paused
 * @qp: the QP
 *
 * Context: sq.lock held.
 */
void rxe_memops_reset(struct rxe_memops *memops, const struct ib_qp *qp)
{
	rxe_key_restore(qp, &memops->ending);
	memops->executed = 0;
}
