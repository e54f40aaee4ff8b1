// SPDX-License-Identifier: GPL-2.0
/*
 * Stopping a QP: flushing and draining (section 10.3.1).
 */
#include <rxe/work.h>
#include <transport/common.h>

/* Complete posted work requests that were never imported; copies only the completion's fields */
static bool flush_posted(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	const void *elem = rxe_ring_get_head(sq->q.ring);
	struct rxe_swqe wqe;

	if (!elem)
		return false;
	if (qp->is_user)
		rxe_import_flushed(elem, &wqe);
	else
		memcpy(&wqe, elem, sizeof(wqe));
	rxe_ring_advance(sq->q.ring);
	sq->q.head++;
	rxe_count_send_error(qp, IB_WC_WR_FLUSH_ERR);
	rxe_sq_finish(qp, &wqe, IB_WC_WR_FLUSH_ERR);
	return true;
}

/*
 * How many work requests may a run flush to a CQ? If a kernel consumer has to poll it first, a
 * delayed work runs the task again, less and less often.
 */
static u32 get_flush_room(struct rxe_qp *qp, struct rxe_cq *cq)
{
	u32 room = min_t(u32, rxe_cq_count_flushable(cq), RXE_FLUSH_MOST);

	if (!room)
		queue_delayed_work(rxe_flush_wq, &qp->slow->flush_work,
				   msecs_to_jiffies(qp->slow->flush_ms));
	return room;
}

/**
 * rxe_sq_flush - complete the queued sends with an error
 * @qp: the QP, in ERR or SQE
 *
 * Context: bottom halves off; the task that completes the send queue, or both tasks paused.
 *
 * Return: true if there may be more.
 */
bool rxe_sq_flush(struct rxe_qp *qp)
{
	u32 most = get_flush_room(qp, rxe_scq(qp)), left = most;
	struct rxe_sq *sq = &qp->sq;
	u8 status;

	spin_lock(&sq->lock);
	rxe_key_restore(&qp->ibqp, &sq->memops.ending);
	rxe_rto_cancel(&qp->sq.rto);
	for (; left && sq->q.tail != sq->q.head; left--) {
		status = sq->stop.failed ?: IB_WC_WR_FLUSH_ERR;
		rxe_count_send_error(qp, status);
		rxe_sq_finish(qp, rxe_sendq_get_wqe(&sq->q, sq->q.tail), status);
		sq->stop.failed = 0;
	}
	while (left && flush_posted(qp))
		left--;
	sq->q.cur = sq->q.tail;
	sq->rnr.state = RXE_RNR_READY;
	sq->stop.stalled = false;
	spin_unlock(&sq->lock);
	return most && !left;
}

/*
 * If send_task is copying data, have it run this task at the end of its run.
 * Return: false if no data is being copied.
 */
static bool await_sender(struct rxe_sq *sq)
{
	bool busy;

	spin_lock(&sq->lock);
	busy = sq->reading.busy;
	sq->reading.awaited |= busy;
	spin_unlock(&sq->lock);
	return busy;
}

/*
 * Flush the sends of an acknowledged service, unless send_task runs: it may still read the
 * data of a work request. Return: true if there may be more.
 */
static bool flush_acked(struct rxe_qp *qp)
{
	bool more;

	if (!rxe_task_enter(&qp->send_task))
		return !await_sender(&qp->sq);
	more = rxe_sq_flush(qp);
	rxe_task_leave(&qp->send_task, false);
	return more;
}

/* Receives in an SRQ don't belong to the QP, except for the one in use */
static bool take_flushed_recv(struct rxe_qp *qp)
{
	return qp->rq.recv.shared ? qp->rq.recv.wqe.valid : rxe_rq_next(qp);
}

/* Does a process post receives without a doorbell, to a queue of the QP? */
static bool has_silent_recvs(const struct rxe_qp *qp)
{
	return qp->is_user && !qp->rq.recv.shared;
}

/* No completion comes from a dead CQ, so there is no need to flush */
static bool is_flushed_in_vain(const struct rxe_qp *qp)
{
	return has_silent_recvs(qp) && rxe_cq_is_dead(rxe_rcq(qp));
}

/* How many receives may be flushed now? See rxe_qp_slow.flush_left */
static u32 get_allowance(struct rxe_qp_slow *slow)
{
	u32 more = xchg(&slow->flush_more, 0);

	if (slow->flush_late && slow->flush_left < more)
		slow->flush_left = more;
	return slow->flush_left;
}

/* Return: true if there may be more that may be flushed */
static bool spend_allowance(struct rxe_qp_slow *slow, u32 num, bool more)
{
	slow->flush_left -= num;
	if (!slow->flush_left)
		WRITE_ONCE(slow->flush_late, true);
	return more && slow->flush_left;
}

static bool flush_rq(struct rxe_qp *qp)
{
	struct rxe_rq *rq = &qp->rq;
	bool silent = has_silent_recvs(qp);
	u32 most = get_flush_room(qp, rxe_rcq(qp)), left;

	rxe_read_stop(&rq->read);
	rxe_key_restore(&qp->ibqp, &rq->recv.ending);
	if (is_flushed_in_vain(qp))
		return false;
	if (silent)
		most = min(most, get_allowance(qp->slow));
	for (left = most; left && take_flushed_recv(qp); left--) {
		struct ib_wc wc = {
			.status = IB_WC_WR_FLUSH_ERR,
			.opcode = IB_WC_RECV,
		};

		rxe_count_recv_error(qp, wc.status);
		rxe_recv_done(qp, &wc, true);
	}
	return silent ? spend_allowance(qp->slow, most - left, !left) : most && !left;
}

/*
 * A receive that a process posts on a QP in ERR must complete, though posting rings no
 * doorbell: programs drain a QP by waiting for a last receive. A delayed work looks for new
 * receives, less and less often while there are none. When the process arms the CQ
 * (rxe_req_notify_cq()), the QP is flushed at once, unless RXE_FLUSH_ARMED other QPs come
 * first.
 *
 * A process can post a ring full of receives by one store, again and again. Therefore only two
 * rings full (those posted before ERR, and as many in ERR), or RXE_FLUSH_LATE receives if that is
 * more, are flushed promptly. After that, the interval also grows while receives come, and an
 * interval flushes RXE_FLUSH_LATE receives.
 */
static void watch_rq(struct rxe_qp *qp)
{
	struct rxe_qp_slow *slow = qp->slow;
	struct rxe_cq *cq = rxe_rcq(qp);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (list_empty(&slow->flushing))
		list_add_tail(&slow->flushing, &cq->flushing);
	spin_unlock_irqrestore(&cq->lock, flags);
	queue_delayed_work(rxe_flush_wq, &slow->flush_work, msecs_to_jiffies(slow->flush_ms));
}

static void look_for_recvs(struct work_struct *work)
{
	struct rxe_qp_slow *slow = container_of(to_delayed_work(work), struct rxe_qp_slow,
						flush_work);
	struct rxe_qp *qp = slow->qp;

	if (has_silent_recvs(qp) && rxe_ring_count_pending(qp->rq.recv.q.ring) &&
	    !READ_ONCE(slow->flush_late))
		slow->flush_ms = RXE_FLUSH_MIN_MS;
	else
		slow->flush_ms = min_t(u32, 2 * slow->flush_ms, RXE_FLUSH_MAX_MS);
	WRITE_ONCE(slow->flush_more, RXE_FLUSH_LATE);
	if (!qp->service->acked)
		rxe_task_schedule(&qp->send_task);
	/* Flushes, and queues this work again */
	if (rxe_task_work(&qp->recv_task))
		rxe_task_schedule(&qp->recv_task);
}

/**
 * rxe_flush_armed - a process asks for an event: flush the receives that it posted in ERR
 * @qp: the QP
 *
 * Context: any, under the CQ's lock.
 */
void rxe_flush_armed(struct rxe_qp *qp)
{
	cmpxchg(&qp->slow->flush_more, 0, RXE_FLUSH_MOST);
	rxe_task_schedule(&qp->recv_task);
}

/* The QP takes no more receives from its SRQ, and all it took have completed [11.6.3.1] */
static void tell_last_wqe(struct rxe_qp *qp)
{
	if (qp->last_wqe || qp->rq.recv.wqe.valid)
		return;
	qp->last_wqe = true;
	rxe_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/**
 * rxe_flush_init - set up the work that looks for receives posted in ERR
 * @qp: the QP
 */
void rxe_flush_init(struct rxe_qp *qp)
{
	struct rxe_qp_slow *slow = qp->slow;

	INIT_LIST_HEAD(&slow->flushing);
	INIT_DELAYED_WORK(&slow->flush_work, look_for_recvs);
	slow->flush_ms = RXE_FLUSH_MIN_MS;
}

/**
 * rxe_flush_reset - stop looking for receives posted in ERR
 * @qp: the QP, both tasks paused
 *
 * Context: process.
 */
void rxe_flush_reset(struct rxe_qp *qp)
{
	struct rxe_cq *cq = rxe_rcq(qp);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	list_del_init(&qp->slow->flushing);
	spin_unlock_irqrestore(&cq->lock, flags);
	cancel_delayed_work_sync(&qp->slow->flush_work);
	qp->slow->flush_ms = RXE_FLUSH_MIN_MS;
	qp->slow->flush_left = max_t(u32, 2 * qp->slow->cap.max_recv_wr, RXE_FLUSH_LATE);
	qp->slow->flush_late = false;
}

/**
 * rxe_qp_flush - complete queued work requests with an error [10.8.3.4]
 * @qp: the QP, in ERR or SQE
 *
 * A run completes at most RXE_FLUSH_MOST work requests per queue. Sends come first, so that a
 * consumer with one CQ sees the reason before the flushed receives. Exception: with an SRQ, kernel
 * consumers may wait for their last send only, and then destroy the QP. The one receive in use then
 * comes before the sends, unless a send has failed.
 *
 * Context: recv_task; an unacknowledged service's send queue is flushed by send_task
 * (rxe_sq_flush()).
 *
 * Return: true if there may be more.
 */
bool rxe_qp_flush(struct rxe_qp *qp)
{
	bool recv_first = qp->rq.recv.shared && !READ_ONCE(qp->sq.stop.failed);
	bool more = false;

	if (qp->service->acked && !recv_first)
		more = flush_acked(qp);
	if (READ_ONCE(qp->state) == IB_QPS_ERR) {
		smp_mb();	/* pairs with rxe_post_recv() */
		rxe_early_drop(qp->rxe, &qp->requests.early, RXE_DROP_QP_STATE);
		rxe_early_drop(qp->rxe, &qp->responses.early, RXE_DROP_QP_STATE);
		more |= flush_rq(qp);
		if (qp->rq.recv.shared)
			tell_last_wqe(qp);
		else if (qp->is_user && !is_flushed_in_vain(qp))
			watch_rq(qp);
	}
	if (qp->service->acked && recv_first)
		more |= flush_acked(qp);
	return more;
}

/**
 * rxe_sq_check_drained - raise IB_EVENT_SQ_DRAINED in SQD once nothing is in flight
 * @qp: the QP
 *
 * [10.3.1.5]. Context: the task that completes the send queue, and recv_task.
 */
void rxe_sq_check_drained(struct rxe_qp *qp)
{
	struct rxe_sq *sq = &qp->sq;
	bool drained = false;

	if (READ_ONCE(qp->state) != IB_QPS_SQD || READ_ONCE(sq->stop.drained))
		return;
	spin_lock(&sq->lock);
	if (!sq->stop.drained && (sq->q.tail == sq->q.head ||
				  !rxe_sendq_get_wqe(&sq->q, sq->q.tail)->started)) {
		sq->stop.drained = true;
		drained = true;
	}
	spin_unlock(&sq->lock);
	if (drained && qp->attr.en_sqd_async_notify)
		rxe_qp_event(qp, IB_EVENT_SQ_DRAINED);
}
