// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues (sections 10.2.9, 11.2.3): receive work requests for many QPs.
 *
 * The queue itself is a struct rxe_sharedq, which the QPs take from. A process posts to
 * its ring without a system call, as it does to a QP's.
 *
 * Context: post in any context but NMI; the others in process context.
 */
#include <linux/uaccess.h>
#include <rdma/rdma_user_rxe.h>
#include <rdma/uverbs_ioctl.h>
#include <rxe/srq.h>
#include <rxe/verbs.h>

/* IB_EVENT_SRQ_LIMIT_REACHED, once each time the limit is set [11.6.3.1] */
static void srq_raise_limit(struct work_struct *work)
{
	struct rxe_srq *srq = container_of(work, struct rxe_srq, shared.low);
	struct ib_event event = {
		.device		= srq->ibsrq.device,
		.element.srq	= &srq->ibsrq,
		.event		= IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

static struct ib_ucontext *srq_get_uctx(struct ib_udata *udata)
{
	struct rxe_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct rxe_ucontext, ibuc);

	return uctx ? &uctx->ibuc : NULL;
}

static int srq_init(struct rxe_srq *srq, struct ib_srq_attr *attr,
		    struct ib_udata *udata)
{
	struct ib_qp_cap cap = {
		.max_recv_wr	= attr->max_wr,
		.max_recv_sge	= attr->max_sge,
	};
	int err;

	srq->is_user = udata;
	mutex_init(&srq->modify);
	INIT_WORK(&srq->shared.low, srq_raise_limit);
	err = rxe_recvq_init(&srq->shared.q, srq_get_uctx(udata), &cap);
	attr->max_wr = cap.max_recv_wr;
	return err;
}

/* Return the ring's mmap information to user space. Only XRC has SRQ numbers. */
static int srq_copy_response(const struct rxe_srq *srq, struct ib_udata *udata)
{
	struct rxe_create_srq_resp resp = {};

	if (!udata)
		return 0;
	rxe_ring_mminfo(srq->shared.q.ring, &resp.mi);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static int check_srq_init(const struct ib_srq_init_attr *init,
			  const struct ib_udata *udata)
{
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > RXE_MAX_SRQ_WR ||
	    init->attr.max_sge > RXE_MAX_SGE)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct rxe_create_srq_resp))
		return -EINVAL;
	return 0;
}

/**
 * rxe_create_srq - make a shared receive queue
 * @ibsrq: memory from the RDMA core, zeroed
 * @init: type, number of work requests and of their SGEs; out: how many fit. A limit is
 *	ignored, as it can only be set later [11.2.3.1]
 * @udata: of the process; NULL for a kernel consumer
 *
 * Return: 0; -EOPNOTSUPP for another type than the basic one; -EINVAL for a size beyond the
 * device's limits; -ENOMEM if there are RXE_MAX_SRQ already or memory is short.
 */
int rxe_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		   struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibsrq->device);
	struct rxe_srq *srq = to_rxe_srq(ibsrq);
	int err;

	err = check_srq_init(init, udata);
	if (err)
		return err;
	if (!rxe_limit_get(&rxe->num_srq, RXE_MAX_SRQ, udata))
		return -ENOMEM;
	err = srq_init(srq, &init->attr, udata);
	if (!err)
		err = srq_copy_response(srq, udata);
	if (err) {
		rxe_recvq_free(&srq->shared.q);
		atomic_dec(&rxe->num_srq);
	}
	return err;
}

/* Make a ring of another size, and return its mmap information to user space */
static struct rxe_ring *create_resized_ring(const struct rxe_srq *srq, u32 max_wr,
					    struct ib_udata *udata)
{
	struct rxe_modify_srq_cmd cmd;
	struct mminfo mi = {};
	struct rxe_ring *ring;

	if (udata && udata->inlen < sizeof(cmd))
		return ERR_PTR(-EINVAL);
	if (udata && ib_copy_from_udata(&cmd, udata, sizeof(cmd)))
		return ERR_PTR(-EFAULT);
	ring = rxe_ring_create(srq_get_uctx(udata), max_wr,
			       rxe_recvq_get_wqe_size(srq->shared.q.max_sge));
	if (IS_ERR(ring) || !udata)
		return ring;
	rxe_ring_mminfo(ring, &mi);
	if (copy_to_user(u64_to_user_ptr(cmd.mmap_info_addr), &mi, sizeof(mi))) {
		rxe_ring_destroy(ring);
		return ERR_PTR(-EFAULT);
	}
	return ring;
}

static int resize_srq(struct rxe_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	struct rxe_ring *new, *old;

	new = create_resized_ring(srq, max_wr, udata);
	if (IS_ERR(new))
		return PTR_ERR(new);
	old = rxe_sharedq_move(&srq->shared, new);
	rxe_ring_destroy(IS_ERR(old) ? new : old);
	return PTR_ERR_OR_ZERO(old);
}

/* A limit that is set together with a size must not exceed it */
static int check_modify(const struct rxe_srq *srq, const struct ib_srq_attr *attr,
			int mask)
{
	u32 room = rxe_ring_get_capacity(srq->shared.q.ring);

	if (mask & IB_SRQ_MAX_WR) {
		if (!attr->max_wr || attr->max_wr > RXE_MAX_SRQ_WR)
			return -EINVAL;
		room = attr->max_wr;
	}
	return (mask & IB_SRQ_LIMIT) && attr->srq_limit > room ? -EINVAL : 0;
}

static int change_srq(struct rxe_srq *srq, const struct ib_srq_attr *attr, int mask,
		      struct ib_udata *udata)
{
	int err = check_modify(srq, attr, mask);

	if (!err && (mask & IB_SRQ_MAX_WR))
		err = resize_srq(srq, attr->max_wr, udata);
	if (!err && (mask & IB_SRQ_LIMIT))
		err = rxe_sharedq_arm(&srq->shared, attr->srq_limit);
	return err;
}

/**
 * rxe_modify_srq - change the size, or set the limit for the event
 * @ibsrq: the SRQ
 * @attr: new values
 * @mask: which of them: IB_SRQ_MAX_WR, IB_SRQ_LIMIT
 * @udata: of the process; NULL for a kernel consumer
 *
 * Work requests may be posted and taken meanwhile.
 *
 * Return: 0; -EINVAL for a size beyond the device's limit, or too small for the posted work
 * requests, or for a limit above the size; -EFAULT; -ENOMEM. On errors nothing has changed.
 */
int rxe_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rxe_srq *srq = to_rxe_srq(ibsrq);
	int err;

	if ((mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT)) || srq->is_user != !!udata)
		return -EINVAL;
	mutex_lock(&srq->modify);
	err = change_srq(srq, attr, mask, udata);
	mutex_unlock(&srq->modify);
	return err;
}

/**
 * rxe_query_srq - query the size and the limit
 * @ibsrq: the SRQ
 * @attr: out: size and limit; the limit is 0 once its event was raised
 *
 * Return: 0.
 */
int rxe_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct rxe_srq *srq = to_rxe_srq(ibsrq);

	mutex_lock(&srq->modify);
	attr->max_wr = rxe_ring_get_capacity(srq->shared.q.ring);
	attr->max_sge = srq->shared.q.max_sge;
	attr->srq_limit = READ_ONCE(srq->shared.limit);
	mutex_unlock(&srq->modify);
	return 0;
}

/**
 * rxe_destroy_srq - free a shared receive queue
 * @ibsrq: no QP uses it any more
 * @udata: of the process; NULL for a kernel consumer
 *
 * On return, no handler of the consumer runs any more.
 *
 * Return: 0.
 */
int rxe_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct rxe_srq *srq = to_rxe_srq(ibsrq);

	cancel_work_sync(&srq->shared.low);
	rxe_recvq_free(&srq->shared.q);
	atomic_dec(&to_rxe_dev(ibsrq->device)->num_srq);
	return 0;
}

/**
 * rxe_post_srq_recv - ib_device_ops.post_srq_recv
 * @ibsrq: the SRQ
 * @wr: work requests of a kernel consumer; user space writes its ring itself
 * @bad_wr: out: the first that was refused
 *
 * Return: 0, -EINVAL for a work request that doesn't fit, -ENOMEM if the queue is full,
 * -EOPNOTSUPP if user space passes work requests this way.
 */
int rxe_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr)
{
	struct rxe_srq *srq = to_rxe_srq(ibsrq);

	*bad_wr = wr;
	if (srq->is_user)
		return -EOPNOTSUPP;
	return rxe_recvq_post(&srq->shared.q, wr, bad_wr);
}
