// SPDX-License-Identifier: GPL-2.0
/*
 * The QP state machine (section 10.3.1): modify_qp.
 *
 * All checks come before all changes. Both tasks are paused while attributes change, so they
 * read attributes without a lock.
 *
 * Context: process; rxe_qp_slow.mutex.
 */
#include <rdma/ib_cache.h>
#include <rxe/transport.h>
#include <qp/qp.h>

static int check_limits(const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_TIMEOUT) && attr->timeout > 31)
		return -EINVAL;
	if ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return -EINVAL;
	if ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7)
		return -EINVAL;
	if ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > RXE_MAX_RD_ATOM)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > RXE_MAX_RD_ATOM)
		return -EINVAL;
	return 0;
}

static bool is_mtu_ok(const struct rxe_qp *qp, enum ib_mtu mtu)
{
	int bytes = ib_mtu_enum_to_int(mtu);	/* -1 if there is no such MTU */

	return bytes > 0 && bytes <= (int)READ_ONCE(qp->rxe->active_mtu);
}

/*
 * Access flags aren't checked. Some programs set the same flags for all adapters, also for
 * operations that a QP type or device lacks, such as FLUSH.
 */
static int check_attr(const struct rxe_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	if (mask & (IB_QP_ALT_PATH | IB_QP_RATE_LIMIT | IB_QP_CAP))
		return -EOPNOTSUPP;
	/* without an alternate path, there is no other state */
	if ((mask & IB_QP_PATH_MIG_STATE) && attr->path_mig_state != IB_MIG_MIGRATED)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PORT) && attr->port_num != 1)
		return -EINVAL;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= RXE_PKEY_TBL_LEN)
		return -EINVAL;
	if ((mask & IB_QP_PATH_MTU) && !is_mtu_ok(qp, attr->path_mtu))
		return -EINVAL;
	if ((mask & IB_QP_DEST_QPN) && attr->dest_qp_num > RXE_QPN_MASK)
		return -EINVAL;
	if ((mask & IB_QP_AV) &&
	    rxe_gid_is_mcast(&rdma_ah_read_grh(&attr->ah_attr)->dgid))
		return -EINVAL;
	return check_limits(attr, mask);
}

static int check_states(const struct rxe_qp *qp, const struct ib_qp_attr *attr,
			int mask, u8 cur)
{
	u8 next = mask & IB_QP_STATE ? attr->qp_state : cur;

	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != cur)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(cur, next, qp->ibqp.qp_type, mask))
		return -EINVAL;
	return 0;
}

/* Serialises setting paths: the path of a QP may depend on that of its peer */
static DEFINE_MUTEX(path_lock);

/* The changes that may fail, made first: the new path and room for atomic replies */
struct prepared {
	struct rxe_path		path;
	struct rxe_replay	replay;
};

/* Is @peer already connected to @qp? @grh is the address that @qp will connect to. */
static bool is_peer(const struct rxe_qp *qp, const struct rxe_qp *peer,
		    const struct ib_global_route *grh)
{
	return peer != qp && peer->service == qp->service &&
	       rxe_qp_can_receive(peer) &&
	       peer->attr.dest_qp_num == rxe_qp_num(qp) && grh->sgid_attr &&
	       rxe_gid_equal(&peer->path.sgid, &grh->dgid) &&
	       rxe_gid_equal(&peer->path.dgid, &grh->sgid_attr->gid);
}

/*
 * May packets to the peer bypass the stack? Both ends must agree, since such packets
 * are longer. The end that is connected first decides by the switch, and the other
 * end follows. Context: path_lock.
 */
static bool uses_local_path(const struct rxe_qp *qp, const struct ib_qp_attr *attr,
			    u32 dqpn)
{
	bool same = READ_ONCE(qp->rxe->tune.same_device);
	struct rxe_qp *peer = rxe_qp_get(qp->rxe, dqpn);

	if (!peer)
		return same;
	if (is_peer(qp, peer, rdma_ah_read_grh(&attr->ah_attr)))
		same = peer->path.same_dev;
	rxe_qp_put(peer);
	return same;
}

/* Allocating may wait for the memory of a cgroup, so path_lock isn't held */
static int prepare_replay(const struct ib_qp_attr *attr, int mask, struct prepared *prep)
{
	prep->replay = (struct rxe_replay){};
	if (!(mask & IB_QP_MAX_DEST_RD_ATOMIC))
		return 0;
	return rxe_replay_init(&prep->replay, max_t(u32, attr->max_dest_rd_atomic, 1));
}

/* Context: path_lock. Return: 0, or the error of rxe_path_init() */
static int prepare_path(struct rxe_qp *qp, const struct ib_qp_attr *attr, int mask,
			struct prepared *prep)
{
	u32 dqpn = mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
					   qp->attr.dest_qp_num;
	u16 sport = rdma_get_udp_sport(0, rxe_qp_num(qp), dqpn);
	int err;

	err = rxe_path_init(qp->rxe, &prep->path, &attr->ah_attr, sport,
			    uses_local_path(qp, attr, dqpn), qp->sq.cc.ops->ecn);
	if (!err && qp->is_user)
		rxe_path_unprivileged(qp->rxe, &prep->path,
				      rdma_ah_read_grh(&attr->ah_attr));
	return err;
}

/* Bytes of payload in a packet that isn't the last of its message */
static u32 get_packet_size(bool same_dev, enum ib_mtu path_mtu)
{
	return same_dev ? RXE_LOCAL_MTU : ib_mtu_enum_to_int(path_mtu);
}

/*
 * SQD to SQD: the address may change. If that changes the packet size, no message may be
 * partly sent or received. Context: both tasks paused.
 */
static int check_path(const struct rxe_qp *qp, int mask, const struct prepared *prep)
{
	const struct rxe_sq *sq = &qp->sq;

	if (!(mask & IB_QP_AV) || READ_ONCE(qp->state) != IB_QPS_SQD ||
	    get_packet_size(prep->path.same_dev, qp->attr.path_mtu) == qp->mtu)
		return 0;
	if ((sq->q.tail != sq->q.head && rxe_sendq_get_wqe(&sq->q, sq->q.tail)->started) ||
	    (qp->service->acked && qp->rq.expect.op_flags) || qp->rq.read.active)
		return -EBUSY;
	return 0;
}

static void follow_txq(struct rxe_qp *qp)
{
	rxe_tx_follow(&qp->sq.sender.tx, qp->path.txq);
	rxe_tx_follow(&qp->rq.reply.tx, qp->path.txq);
}

static void apply_path(struct rxe_qp *qp, const struct ib_qp_attr *attr,
		       int mask, struct prepared *prep)
{
	if (mask & IB_QP_AV) {
		if (qp->path_valid)
			rxe_path_destroy(&qp->path);
		qp->path = prep->path;
		follow_txq(qp);
		qp->sq.sender.out.l3_icrc.len = 0;
		qp->rq.reply.out.l3_icrc.len = 0;
		qp->path_valid = true;
		qp->slow->ah_attr = attr->ah_attr;
		qp->slow->ah_attr.grh.sgid_attr = NULL;	/* the path holds it */
	}
	if (mask & IB_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & (IB_QP_PATH_MTU | IB_QP_AV))
		qp->mtu = get_packet_size(qp->path.same_dev, qp->attr.path_mtu);
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
}

static void apply_requester(struct rxe_qp *qp, const struct ib_qp_attr *attr,
			    int mask)
{
	if (mask & IB_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		qp->attr.en_sqd_async_notify = attr->en_sqd_async_notify;
	if (mask & IB_QP_SQ_PSN)
		rxe_sq_set_psn(&qp->sq, attr->sq_psn & RXE_PSN_MASK);
}

static void apply_responder(struct rxe_qp *qp, const struct ib_qp_attr *attr,
			    int mask, struct prepared *prep)
{
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_QKEY)
		qp->attr.qkey = attr->qkey;
	if (mask & IB_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_RQ_PSN)
		rxe_rq_set_psn(&qp->rq, attr->rq_psn & RXE_PSN_MASK);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
		rxe_replay_move(&prep->replay, &qp->rq.replay);
		rxe_replay_free(&qp->rq.replay);
		qp->rq.replay = prep->replay;
	}
}

/*
 * SQE to RTS: work requests that the send task hasn't flushed yet are flushed, not sent
 * [10.3.1.6]. A process may go on posting, so this ends after about one ring of work requests.
 */
static void finish_sqe(struct rxe_qp *qp)
{
	u32 left = qp->slow->cap.max_send_wr / RXE_FLUSH_MOST + 2;
	bool more;

	do {
		local_bh_disable();
		more = rxe_sq_flush(qp);
		rxe_cq_event(rxe_scq(qp));
		local_bh_enable();
		cond_resched();
	} while (more && --left);
}

/* The event must be requested with each change to SQD [11.2.5.3] */
static void begin_drain(struct rxe_qp *qp, int mask)
{
	qp->sq.stop.drained = false;
	if (!(mask & IB_QP_EN_SQD_ASYNC_NOTIFY))
		qp->attr.en_sqd_async_notify = false;
}

static void apply_state(struct rxe_qp *qp, const struct ib_qp_attr *attr,
			int mask)
{
	u8 state = READ_ONCE(qp->state);

	if (!(mask & IB_QP_STATE))
		return;
	if (state != IB_QPS_SQD && attr->qp_state == IB_QPS_SQD)
		begin_drain(qp, mask);
	if (state == IB_QPS_SQE && attr->qp_state == IB_QPS_RTS)
		finish_sqe(qp);
	spin_lock_bh(&qp->state_lock);
	/* If a CQ's error has set ERR since the check, keep ERR [11.6.3.4] */
	if (qp->state != IB_QPS_ERR || attr->qp_state == IB_QPS_RESET)
		WRITE_ONCE(qp->state, attr->qp_state);
	spin_unlock_bh(&qp->state_lock);
	/* Packets are no longer queued in this state, so the reset is complete */
	if (attr->qp_state == IB_QPS_RESET)
		rxe_qp_reset(qp);
}

/*
 * A paused sender couldn't use its turn at the queues below, and all other senders would wait for
 * it. So its place is given up. When the tasks resume, they queue up again if they must.
 */
static void pause_tasks(struct rxe_qp *qp)
{
	rxe_task_pause(&qp->send_task);
	rxe_task_pause(&qp->recv_task);
	rxe_tx_leave(qp->sq.sender.tx);
	rxe_tx_leave(qp->rq.reply.tx);
}

static void resume_tasks(struct rxe_qp *qp)
{
	if (READ_ONCE(qp->state) == IB_QPS_RESET)
		return;		/* nothing to do before INIT */
	rxe_task_resume(&qp->recv_task);
	rxe_task_resume(&qp->send_task);
}

static int apply_changes(struct rxe_qp *qp, const struct ib_qp_attr *attr, int mask,
			 struct prepared *prep)
{
	int err;

	pause_tasks(qp);
	err = check_states(qp, attr, mask, READ_ONCE(qp->state));
	if (!err)
		err = check_path(qp, mask, prep);
	if (!err) {
		apply_path(qp, attr, mask, prep);
		apply_requester(qp, attr, mask);
		apply_responder(qp, attr, mask, prep);
		apply_state(qp, attr, mask);
	}
	resume_tasks(qp);
	return err;
}

static int change_path(struct rxe_qp *qp, const struct ib_qp_attr *attr, int mask,
		       struct prepared *prep)
{
	int err;

	mutex_lock(&path_lock);
	err = prepare_path(qp, attr, mask, prep);
	if (!err) {
		err = apply_changes(qp, attr, mask, prep);
		if (err)
			rxe_path_destroy(&prep->path);
	}
	mutex_unlock(&path_lock);
	return err;
}

static int change_qp(struct rxe_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct prepared prep;
	int err;

	err = check_attr(qp, attr, mask) ?: prepare_replay(attr, mask, &prep);
	if (err)
		return err;
	if (mask & IB_QP_AV)
		err = change_path(qp, attr, mask, &prep);
	else
		err = apply_changes(qp, attr, mask, &prep);
	if (err)
		rxe_replay_free(&prep.replay);
	return err;
}

/**
 * rxe_modify_qp - ib_device_ops.modify_qp
 * @ibqp: the QP
 * @attr: new attributes
 * @mask: enum ib_qp_attr_mask, which of them
 * @udata: user space's, or NULL
 *
 * Return: 0, -EINVAL for a transition or value that isn't allowed,
 * -EOPNOTSUPP for an attribute that isn't offered, -ENOMEM, -EBUSY for an address
 * with another packet size while messages are under way, or the error of
 * rxe_path_init().
 */
int rxe_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct rxe_qp *qp = to_rxe_qp(ibqp);
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mutex_lock(&qp->slow->mutex);
	err = change_qp(qp, attr, mask);
	mutex_unlock(&qp->slow->mutex);
	return err;
}

static void follow_class(struct rxe_qp *qp, void *unused)
{
	mutex_lock(&qp->slow->mutex);
	if (qp->path_valid) {
		pause_tasks(qp);
		rxe_path_class(qp->rxe, &qp->path, &qp->slow->ah_attr.grh);
		rxe_path_choose_txq(qp->rxe, &qp->path);
		follow_txq(qp);
		resume_tasks(qp);
	}
	mutex_unlock(&qp->slow->mutex);
}

/**
 * rxe_qp_class_changed - apply new traffic classes or a new TTL of the administrator
 * @rxe: the device
 *
 * The paths of connected QPs change. AHs that exist keep their path, as on hardware.
 *
 * Context: process.
 */
void rxe_qp_class_changed(struct rxe_dev *rxe)
{
	rxe_visit_qps(rxe, follow_class, NULL);
}
