// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: creation, query, destruction. The state machine is in modify.c.
 *
 * Context: process.
 */
#include <rxe/memory.h>
#include <rxe/srq.h>
#include <rxe/transport.h>
#include <rxe/window.h>
#include <qp/qp.h>

/*
 * The RDMA core allocates struct rxe_qp with kmalloc(), whose next size is 4 KiB. Members that
 * sending and receiving don't use belong into struct rxe_qp_slow. Checked with W=1 only: a later
 * kernel, or one with lock debugging, may have larger members, and must still build.
 */
#ifdef RXE_CHECK_SIZES
static_assert(sizeof(struct rxe_qp) <= SZ_2K);
#endif

static struct kmem_cache *slow_cache;

/**
 * rxe_qp_start - create the cache of struct rxe_qp_slow, at module load
 *
 * Return: 0, or -ENOMEM.
 */
int __init rxe_qp_start(void)
{
	slow_cache = KMEM_CACHE(rxe_qp_slow, 0);
	rxe_tasks_start();
	return slow_cache ? 0 : -ENOMEM;
}

/**
 * rxe_qp_stop - undo rxe_qp_start(); no QP is left
 */
void rxe_qp_stop(void)
{
	rxe_tasks_stop();
	kmem_cache_destroy(slow_cache);
}

/* With an SRQ, the QP has no receive queue: capabilities of a receive queue are ignored */
static int check_cap(struct rxe_dev *rxe, const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (cap->max_send_wr > RXE_MAX_QP_WR ||
	    cap->max_send_sge > RXE_MAX_SGE ||
	    cap->max_inline_data > RXE_MAX_INLINE ||
	    (!init->srq && (cap->max_recv_wr > RXE_MAX_QP_WR ||
			    cap->max_recv_sge > RXE_MAX_SGE))) {
		ibdev_dbg(&rxe->ibdev, "QP capabilities exceed the device's\n");
		return -EINVAL;
	}
	return 0;
}

static int check_qp_init(struct rxe_dev *rxe, const struct ib_qp_init_attr *init,
			 const struct ib_udata *udata)
{
	const struct rxe_service *service = rxe_service_find(init->qp_type);

	if (!service || init->create_flags)
		return -EOPNOTSUPP;
	if (service->kernel_only && (udata || init->port_num != 1 || init->srq))
		return -EINVAL;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct rxe_create_qp_resp))
		return -EINVAL;
	return check_cap(rxe, init);
}

static void destroy_queues(struct rxe_qp *qp)
{
	rxe_tx_destroy(qp->sq.sender.tx);
	rxe_tx_destroy(qp->rq.reply.tx);
	kfree(qp->sq.sender.segs);
	kfree(qp->rq.recv.wqe.sge);
	rxe_sendq_free(&qp->sq.q);
	rxe_recvq_free(&qp->rq.recv.q);
}

/* Senders and buffers that the tasks need */
static int create_tools(struct rxe_qp *qp)
{
	struct rxe_sender *sender = &qp->sq.sender;
	struct rxe_rq *rq = &qp->rq;
	u32 recv_sge = rq->recv.shared ? rq->recv.shared->q.max_sge : qp->slow->cap.max_recv_sge;

	sender->tx = rxe_tx_create(qp->rxe->txq, &qp->send_task);
	rq->reply.tx = rxe_tx_create(qp->rxe->txq, &qp->recv_task);
	sender->segs = kcalloc(max(qp->slow->cap.max_send_sge, 1U),
			       sizeof(*sender->segs), RXE_GFP_USER);
	rq->recv.wqe.sge = kcalloc(max(recv_sge, 1U),
				   sizeof(*rq->recv.wqe.sge), RXE_GFP_USER);
	return sender->tx && rq->reply.tx && sender->segs && rq->recv.wqe.sge ? 0 : -ENOMEM;
}

static int create_sendq(struct rxe_qp *qp, struct ib_ucontext *uctx)
{
	const struct rxe_service *service = qp->service;

	return rxe_sendq_init(&qp->sq.q, uctx, uctx ? service->wrs : service->kernel_wrs,
			      service->datagram ? &qp->rxe->active_mtu : NULL, &qp->slow->cap);
}

static int create_queues(struct rxe_qp *qp, struct ib_qp_init_attr *init,
			 struct ib_udata *udata)
{
	struct ib_ucontext *uctx = udata ? qp->ibqp.pd->uobject->context : NULL;
	int err;

	qp->slow->cap = init->cap;
	err = create_tools(qp);
	if (!err)
		err = create_sendq(qp, uctx);
	if (!err && !qp->rq.recv.shared)
		err = rxe_recvq_init(&qp->rq.recv.q, uctx, &qp->slow->cap);
	if (err) {
		destroy_queues(qp);
		return err;
	}
	init->cap = qp->slow->cap;
	rxe_qp_reset(qp);
	return 0;
}

/* A QP with an SRQ has no receive queue of its own, whatever capabilities were requested */
static void init_rq(struct rxe_qp *qp, struct ib_qp_init_attr *init)
{
	struct rxe_rq *rq = &qp->rq;

	rq->recv.pd = qp->ibqp.pd;
	if (!init->srq)
		return;
	rq->recv.shared = &to_rxe_srq(init->srq)->shared;
	rq->recv.pd = init->srq->pd;
	init->cap.max_recv_wr = 0;
	init->cap.max_recv_sge = 0;
}

static void init_slow(struct rxe_qp *qp)
{
	struct rxe_qp_slow *slow = qp->slow;

	slow->qp = qp;
	init_completion(&slow->idle);
	mutex_init(&slow->mutex);
	rxe_gap_timer_init(qp);
	rxe_pace_init(qp);
	rxe_cork_init(qp);
	rxe_flush_init(qp);
	rxe_qp_event_init(qp);
	rxe_windows_init(&slow->windows);
}

/* Also for kernel consumers: RDS registers memory of processes for on-demand paging */
static void init_pagers(struct rxe_qp *qp)
{
	rxe_pager_init(&qp->sq.sender.source.pager, &qp->send_task);
	rxe_pager_init(&qp->requests.pager, &qp->recv_task);
	rxe_pager_init(&qp->responses.pager, &qp->recv_task);
}

static void init_qp(struct rxe_qp *qp, struct rxe_dev *rxe,
		    const struct ib_qp_init_attr *init, bool user)
{
	qp->rxe = rxe;
	qp->stats = rxe->stats;
	qp->service = rxe_service_find(init->qp_type);
	qp->is_user = user;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->state = IB_QPS_RESET;
	qp->mtu = rxe->active_mtu;
	spin_lock_init(&qp->state_lock);
	spin_lock_init(&qp->post_sq_lock);
	spin_lock_init(&qp->sq.lock);
	init_slow(qp);
	rxe_inq_init(&qp->requests);
	rxe_inq_init(&qp->responses);
	qp->sq.sender.source.pd = qp->ibqp.pd;
	qp->sq.sender.source.is_user = user;
	init_pagers(qp);
	rxe_timer_init(qp);
	rxe_task_init(&qp->send_task, qp, rxe_requester, NULL);
	rxe_task_init(&qp->recv_task, qp, rxe_recv_run, rxe_recv_end);
}

/* If a CQ overflows, the QP is stopped */
static void join_cqs(struct rxe_qp *qp)
{
	rxe_cq_add_user(rxe_scq(qp), &qp->slow->sends, &qp->ibqp);
	if (rxe_rcq(qp) != rxe_scq(qp))
		rxe_cq_add_user(rxe_rcq(qp), &qp->slow->recvs, &qp->ibqp);
}

static void leave_cqs(struct rxe_qp *qp)
{
	rxe_cq_remove_user(&qp->slow->sends);
	rxe_cq_remove_user(&qp->slow->recvs);
}

/* Enter the QP into the table of QP numbers: from here on packets find it */
static int publish_qp(struct rxe_qp *qp)
{
	struct rxe_dev *rxe = qp->rxe;
	struct rxe_qpn *entry = kzalloc(sizeof(*entry), RXE_GFP_USER);
	u32 qpn = qp->service->qpn;
	int err;

	if (!entry)
		return -ENOMEM;
	kref_init(&entry->ref);
	entry->qp = qp;
	qp->entry = entry;
	if (qpn)
		err = xa_insert(&rxe->qps, qpn, entry, RXE_GFP_USER);
	else
		err = rxe_alloc_cyclic(&rxe->qps, &qpn, entry,
				       XA_LIMIT(RXE_MIN_QPN, IB_MULTICAST_QPN - 1),
				       &rxe->next_qpn);
	if (err) {
		kfree(entry);
		return err;
	}
	qp->ibqp.qp_num = qpn;
	entry->num = qpn;
	rxe_recent_add(&rxe->recent_qps, qpn, entry);
	return 0;
}

static void unpublish_qp(struct rxe_qp *qp)
{
	xa_erase(&qp->rxe->qps, rxe_qp_num(qp));
	rxe_recent_remove(&qp->rxe->recent_qps, rxe_qp_num(qp), qp->entry);
	rxe_qp_put(qp);
	wait_for_completion(&qp->slow->idle);
}

static int copy_response(const struct rxe_qp *qp, struct ib_udata *udata)
{
	struct rxe_create_qp_resp resp = {};

	if (!qp->rq.recv.shared)
		rxe_ring_mminfo(qp->rq.recv.q.ring, &resp.rq_mi);
	rxe_ring_mminfo(qp->sq.q.ring, &resp.sq_mi);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/**
 * rxe_create_qp - ib_device_ops.create_qp
 * @ibqp: the QP, zeroed
 * @init: requested attributes; out: actual capabilities
 * @udata: user space's, or NULL
 *
 * Return: 0, -EINVAL beyond a limit, -EOPNOTSUPP for a type or flag that isn't
 * offered, -ENOMEM.
 */
int rxe_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		  struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibqp->device);
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	int err;

	err = check_qp_init(rxe, init, udata);
	if (err)
		return err;
	if (!rxe_limit_get(&rxe->num_qp, RXE_MAX_QP, udata))
		return -ENOMEM;
	err = -ENOMEM;
	qp->slow = kmem_cache_zalloc(slow_cache, RXE_GFP_USER);
	if (!qp->slow)
		goto out_limit;
	init_qp(qp, rxe, init, udata);
	init_rq(qp, init);
	err = create_queues(qp, init, udata);
	if (err)
		goto out_slow;
	err = publish_qp(qp);
	if (err)
		goto out_rings;
	err = udata ? copy_response(qp, udata) : 0;
	if (err)
		goto out_unpublish;
	join_cqs(qp);
	return 0;

out_unpublish:
	unpublish_qp(qp);
out_rings:
	destroy_queues(qp);
out_slow:
	kmem_cache_free(slow_cache, qp->slow);
out_limit:
	atomic_dec(&rxe->num_qp);
	return err;
}

/* There is one port and one P_Key. Context: rxe_qp_slow.mutex */
static void fill_attr(const struct rxe_qp *qp, struct ib_qp_attr *attr)
{
	u8 state = READ_ONCE(qp->state);

	*attr = (struct ib_qp_attr) {
		.qp_state		= state,
		.cur_qp_state		= state,
		.path_mtu		= qp->attr.path_mtu,
		.path_mig_state		= IB_MIG_MIGRATED,
		.qkey			= qp->attr.qkey,
		.rq_psn			= qp->rq.expect.psn,
		.sq_psn			= qp->sq.flight.psn,
		.dest_qp_num		= qp->attr.dest_qp_num,
		.qp_access_flags	= qp->attr.qp_access_flags,
		.cap			= qp->slow->cap,
		.ah_attr		= qp->slow->ah_attr,
		.en_sqd_async_notify	= qp->attr.en_sqd_async_notify,
		.sq_draining		= state == IB_QPS_SQD && !qp->sq.stop.drained,
		.max_rd_atomic		= qp->attr.max_rd_atomic,
		.max_dest_rd_atomic	= qp->attr.max_dest_rd_atomic,
		.min_rnr_timer		= qp->attr.min_rnr_timer,
		.port_num		= 1,
		.timeout		= qp->attr.timeout,
		.retry_cnt		= qp->attr.retry_cnt,
		.rnr_retry		= qp->attr.rnr_retry,
	};
}

/*
 * The RDMA core of early point releases of some kernels lets netlink query a QP whose
 * destruction has begun. What @ibqp points to is there as long as the QP can be found.
 */
static struct rxe_qp *hold_qp(struct ib_qp *ibqp)
{
	struct rxe_qp *found = rxe_qp_get(to_rxe_dev(ibqp->device), ibqp->qp_num);

	if (found == to_rxe_qp(ibqp))
		return found;
	if (found)
		rxe_qp_put(found);
	return NULL;
}

/**
 * rxe_query_qp - ib_device_ops.query_qp
 * @ibqp: the QP
 * @attr: out: attributes
 * @mask: requested attributes; ignored, as all are returned
 * @init: out: creation attributes
 *
 * Return: 0; -EINVAL if the QP is being destroyed.
 */
int rxe_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct rxe_qp *qp = hold_qp(ibqp);

	if (!qp)
		return -EINVAL;
	mutex_lock(&qp->slow->mutex);
	fill_attr(qp, attr);
	mutex_unlock(&qp->slow->mutex);

	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->cap = qp->slow->cap;
	rxe_qp_put(qp);
	return 0;
}

/*
 * The RDMA core destroys the QP of MADs before the CQ. The CQ's work may still handle
 * completions, and post a receive for each: wait for it.
 */
static void settle_mads(struct rxe_qp *qp)
{
	rxe_cq_settle(rxe_scq(qp));
	if (rxe_rcq(qp) != rxe_scq(qp))
		rxe_cq_settle(rxe_rcq(qp));
}

/**
 * rxe_destroy_qp - ib_device_ops.destroy_qp
 * @ibqp: the QP
 * @udata: user space's, or NULL
 *
 * After the return, no packet, timer, task or handler uses the QP, and no completion in a kernel
 * consumer's CQ refers to it.
 *
 * Return: 0.
 */
int rxe_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);

	leave_cqs(qp);
	unpublish_qp(qp);
	rxe_task_pause(&qp->send_task);
	rxe_task_pause(&qp->recv_task);
	rxe_qp_reset(qp);
	rxe_task_kill(&qp->send_task);
	rxe_task_kill(&qp->recv_task);
	if (qp->service->kernel_only)
		settle_mads(qp);
	rxe_cq_forget(rxe_scq(qp), ibqp);
	if (rxe_rcq(qp) != rxe_scq(qp))
		rxe_cq_forget(rxe_rcq(qp), ibqp);
	cancel_work_sync(&qp->slow->event_work);
	rxe_windows_leave(&qp->slow->windows);
	if (qp->path_valid)
		rxe_path_destroy(&qp->path);
	rxe_replay_free(&qp->rq.replay);
	destroy_queues(qp);
	kmem_cache_free(slow_cache, qp->slow);
	atomic_dec(&qp->rxe->num_qp);
	return 0;
}

/**
 * rxe_visit_qps - call a function for each QP of a device
 * @rxe: the device
 * @fn: the function; the QP doesn't go away meanwhile
 * @arg: its second argument
 *
 * Context: any in which @fn may be called.
 */
void rxe_visit_qps(struct rxe_dev *rxe, rxe_qp_fn fn, void *arg)
{
	struct rxe_qpn *entry;
	unsigned long qpn;

	xa_for_each(&rxe->qps, qpn, entry) {
		struct rxe_qp *qp = rxe_qp_get(rxe, qpn);

		if (!qp)
			continue;
		fn(qp, arg);
		rxe_qp_put(qp);
	}
}

/**
 * rxe_qp_cq_error - a CQ lost a completion: stop a QP that uses it
 * @ibqp: the QP; nothing is done in RESET or ERR
 *
 * [11.6.3.4]. Context: any with interrupts on; sq.lock may be held.
 */
void rxe_qp_cq_error(struct ib_qp *ibqp)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);

	if (!rxe_qp_to_err(qp))
		return;
	rxe_qp_event(qp, IB_EVENT_QP_FATAL);
	rxe_task_schedule(&qp->recv_task);
}

static void suspect_path(struct rxe_qp *qp, void *unused)
{
	rxe_path_suspect(qp);
}

/**
 * rxe_qps_rerouted - rxe_net_ops.rerouted: packets in flight may be lost
 * @rxe: the device
 *
 * Context: any but hard interrupt.
 */
void rxe_qps_rerouted(struct rxe_dev *rxe)
{
	rxe_visit_qps(rxe, suspect_path, NULL);
}

/**
 * rxe_qp_cq_armed - a CQ was armed: flush the receives that were posted in ERR
 * @link: rxe_qp_slow.flushing
 *
 * Context: any, under the CQ's lock.
 */
void rxe_qp_cq_armed(struct list_head *link)
{
	rxe_flush_armed(list_entry(link, struct rxe_qp_slow, flushing)->qp);
}
