// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues (sections 10.5.3, 11.2.8, 11.4.2).
 *
 * A completion is written under the CQ's lock. cq_event.c calls the consumer's handler later.
 *
 * Context: poll and arm in any context but NMI, since kernel consumers poll with interrupts
 * off. Post with bottom halves off. Create, resize and destroy in process context.
 */
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include <rdma/uverbs_ioctl.h>
#include <rxe/verbs.h>
#include <rxe/work.h>
#include <verbs/cq.h>

static const struct rxe_cq_ops *rxe_cq_ops;

/**
 * rxe_cq_set_ops - set the functions that CQs call
 * @ops: functions of the QPs
 */
void rxe_cq_set_ops(const struct rxe_cq_ops *ops)
{
	rxe_cq_ops = ops;
}

/* IBV_WC_WITH_INV of user space; the kernel's enum ib_wc_flags differs */
#define USER_WC_WITH_INV	BIT(3)

/* Translate the kernel's flags to those of user space, which has only some of them */
static u32 wc_flags_to_user(u32 flags)
{
	u32 same = flags & (IB_WC_GRH | IB_WC_WITH_IMM);

	return flags & IB_WC_WITH_INVALIDATE ? same | USER_WC_WITH_INV : same;
}

static void wc_to_user(struct ib_uverbs_wc *dst, const struct ib_wc *wc)
{
	*dst = (struct ib_uverbs_wc) {
		.wr_id		= wc->wr_id,
		.status		= wc->status,
		.opcode		= wc->opcode,
		.vendor_err	= wc->vendor_err,
		.byte_len	= wc->byte_len,
		.ex.imm_data	= wc->ex.imm_data,
		.qp_num		= wc->qp->qp_num,
		.src_qp		= wc->src_qp,
		.wc_flags	= wc_flags_to_user(wc->wc_flags),
		.pkey_index	= wc->pkey_index,
		.slid		= wc->slid,
		.sl		= wc->sl,
		.dlid_path_bits	= wc->dlid_path_bits,
		.port_num	= wc->port_num,
		.reserved	= 0,
	};
}

/*
 * Publish new completions to the consumer. If the CQ is armed for one of them (section
 * 11.4.2.2), an event is due.
 */
static __always_inline void cq_publish(struct rxe_cq *cq)
{
	rxe_ring_publish(cq->ring);
	if (cq->armed & cq->wakes)
		rxe_cq_raise(cq);
	cq->wakes = 0;
}

/*
 * A QP that uses a dead CQ goes to ERR with the first completion that it loses [11.6.3.4].
 * Exception: a flushed completion, since its QP has stopped already. The first loss stops all
 * QPs of the CQ, in a work, behind IB_EVENT_CQ_ERR. Later losses concern QPs that were created
 * or reset since then: only the QP that loses is stopped.
 *
 * Return: true if the caller must stop the QP, without the lock.
 */
static bool cq_lose(struct rxe_cq *cq, enum ib_wc_status status)
{
	lockdep_assert_held(&cq->lock);
	if (cq->may_lose)
		return false;
	if (cq->overflow)
		return cq->told && status != IB_WC_WR_FLUSH_ERR;
	WRITE_ONCE(cq->overflow, true);
	queue_work(rxe_wq, &cq->overflow_work);
	return false;
}

/**
 * rxe_cq_post - write a completion
 * @cq: completion queue
 * @wc: the completion
 * @solicited: it completes a receive of a message with the solicited event bit
 *
 * The caller calls rxe_cq_event() after the batch, without locks. If the CQ is full, the
 * completion is lost. Then the consumer gets IB_EVENT_CQ_ERR, and the CQ's QPs go to ERR,
 * unless the CQ was created with IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN.
 *
 * Context: bottom halves off, interrupts on; sq.lock may be held. Takes cq->lock.
 */
void rxe_cq_post(struct rxe_cq *cq, const struct ib_wc *wc, bool solicited)
{
	unsigned long flags;
	void *place;

	spin_lock_irqsave(&cq->lock, flags);
	place = cq->overflow ? NULL : rxe_ring_get_space(cq->ring);
	if (unlikely(!place)) {
		bool stop = cq_lose(cq, wc->status);

		spin_unlock_irqrestore(&cq->lock, flags);
		if (stop)
			rxe_cq_ops->failed(wc->qp);
		return;
	}
	if (cq->is_user)
		wc_to_user(place, wc);
	else
		*(struct ib_wc *)place = *wc;
	rxe_ring_advance(cq->ring);
	cq->wakes |= IB_CQ_NEXT_COMP;
	if (solicited || wc->status != IB_WC_SUCCESS)
		cq->wakes |= IB_CQ_SOLICITED;
	if (!cq->moving)
		cq_publish(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * rxe_cq_count_flushable - how many flushed work requests may complete now
 * @cq: completion queue
 *
 * Kernel consumers share CQs (ib_cq_pool) whose size counts signalled completions only. Flushed
 * work requests all complete, signalled or not. They leave a quarter of the CQ to QPs that work.
 * A process sizes its CQs itself.
 *
 * Context: any; takes cq->lock.
 *
 * Return: completions; 0 if the consumer must poll first.
 */
u32 rxe_cq_count_flushable(struct rxe_cq *cq)
{
	unsigned long flags;
	u32 space, keep;

	if (cq->is_user || cq->may_lose || rxe_cq_is_dead(cq))
		return U32_MAX;
	spin_lock_irqsave(&cq->lock, flags);
	space = rxe_ring_count_space(cq->ring);
	keep = rxe_ring_get_capacity(cq->ring) / 4;
	spin_unlock_irqrestore(&cq->lock, flags);
	return space > keep ? space - keep : 0;
}

/**
 * rxe_cq_add_user - a QP begins to use a CQ
 * @cq: the CQ
 * @user: its entry, zeroed
 * @ibqp: the QP, in RESET
 *
 * Context: process.
 */
void rxe_cq_add_user(struct rxe_cq *cq, struct rxe_cq_user *user, struct ib_qp *ibqp)
{
	user->cq = cq;
	user->ibqp = ibqp;
	mutex_lock(&cq->users_lock);
	list_add_tail(&user->link, &cq->users);
	mutex_unlock(&cq->users_lock);
}

/**
 * rxe_cq_remove_user - a QP is destroyed
 * @user: its entry; nothing is done if it uses no CQ
 *
 * On return, cq_raise_overflow() doesn't use the QP any more.
 *
 * Context: process.
 */
void rxe_cq_remove_user(struct rxe_cq_user *user)
{
	if (!user->cq)
		return;
	mutex_lock(&user->cq->users_lock);
	list_del(&user->link);
	mutex_unlock(&user->cq->users_lock);
}

static void cq_stop_users(struct rxe_cq *cq)
{
	struct rxe_cq_user *user;

	mutex_lock(&cq->users_lock);
	list_for_each_entry(user, &cq->users, link) {
		rxe_cq_ops->failed(user->ibqp);
		cond_resched();	/* there may be many */
	}
	mutex_unlock(&cq->users_lock);
}

/* A loss that sees that @told isn't set comes before cq_stop_users(), which stops the QP */
static void cq_raise_overflow(struct work_struct *work)
{
	struct rxe_cq *cq = container_of(work, struct rxe_cq, overflow_work);
	struct rxe_dev *rxe = to_rxe_dev(cq->ibcq.device);
	struct ib_event event = {
		.device		= &rxe->ibdev,
		.element.cq	= &cq->ibcq,
		.event		= IB_EVENT_CQ_ERR,
	};

	if (!cq->is_user)
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "a kernel consumer's CQ of %u overflowed, its QPs go to the error state\n",
				       rxe_ring_get_capacity(cq->ring));
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	spin_lock_irq(&cq->lock);
	cq->told = true;
	spin_unlock_irq(&cq->lock);
	cq_stop_users(cq);
}

static struct rxe_ring *cq_ring_create(bool is_user, u32 cqe,
				       struct ib_udata *udata)
{
	struct rxe_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct rxe_ucontext, ibuc);

	if (is_user)
		return rxe_ring_create(&uctx->ibuc, cqe,
				       sizeof(struct ib_uverbs_wc));
	return rxe_ring_create(NULL, cqe, sizeof(struct ib_wc));
}

/* Return the ring's mmap information to user space; the same for create and resize */
static int cq_copy_response(const struct rxe_ring *ring, struct ib_udata *udata)
{
	struct rxe_create_cq_resp resp = {};

	BUILD_BUG_ON(sizeof(resp) != sizeof(struct rxe_resize_cq_resp));
	if (!udata)
		return 0;
	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	rxe_ring_mminfo(ring, &resp.mi);
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void cq_init(struct rxe_cq *cq, u32 vector)
{
	cq->ibcq.cqe = rxe_ring_get_capacity(cq->ring);
	cq->ibcq.comp_vector = vector;
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize);
	mutex_init(&cq->users_lock);
	INIT_LIST_HEAD(&cq->flushing);
	INIT_LIST_HEAD(&cq->users);
	INIT_WORK(&cq->overflow_work, cq_raise_overflow);
	rxe_cq_events_init(cq);
}

/**
 * rxe_create_cq - make a completion queue [11.2.8]
 * @ibcq: memory from the RDMA core
 * @attr: number of completions, completion vector, flags
 * @udata: of the process; NULL for a kernel consumer
 *
 * There are no timestamps, since struct ib_uverbs_wc has no room for them.
 *
 * Context: process.
 *
 * Return: 0; -EINVAL for a size or vector beyond the device's limits; -EOPNOTSUPP for
 * flags other than IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN; -ENOMEM if there are RXE_MAX_CQ
 * already or memory is short.
 */
int rxe_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct ib_udata *udata)
{
	struct rxe_dev *rxe = to_rxe_dev(ibcq->device);
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	int err;

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RXE_MAX_CQE ||
	    attr->comp_vector >= ibcq->device->num_comp_vectors)
		return -EINVAL;
	if (!rxe_limit_get(&rxe->num_cq, RXE_MAX_CQ, udata))
		return -ENOMEM;
	cq->is_user = udata;
	cq->may_lose = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	cq->ring = cq_ring_create(cq->is_user, attr->cqe, udata);
	if (IS_ERR(cq->ring)) {
		err = PTR_ERR(cq->ring);
		goto err_limit;
	}
	err = cq_copy_response(cq->ring, udata);
	if (err)
		goto err_ring;
	cq_init(cq, attr->comp_vector);
	return 0;

err_ring:
	rxe_ring_destroy(cq->ring);
err_limit:
	atomic_dec(&rxe->num_cq);
	return err;
}

/* Read the consumer's index. A process may write any value, so it is masked. */
static u32 cq_get_cons(const struct rxe_ring *ring)
{
	/* Pairs with the release in rxe_poll_cq() or in the process */
	return smp_load_acquire(&ring->buf->consumer_index) & ring->mask;
}

/*
 * Direct new completions to @new, behind places for completions that aren't polled yet. The
 * consumer doesn't see new completions before cq_move_end(). @cons: out: index in the old ring
 * of the first completion that isn't polled. Return: number of completions that aren't polled;
 * -EINVAL if they don't fit.
 */
static int cq_move_begin(struct rxe_cq *cq, struct rxe_ring *new, u32 *cons)
{
	struct rxe_ring *old = cq->ring;
	u32 num;

	spin_lock_irq(&cq->lock);
	*cons = cq_get_cons(old);	/* read once: a process may change it at any time */
	num = (old->index - *cons) & old->mask;
	if (num <= rxe_ring_get_capacity(new)) {
		new->index = num;
		cq->moving = true;
		/* Pairs with rxe_cq_next() */
		smp_store_release(&cq->ring, new);
		cq->ibcq.cqe = rxe_ring_get_capacity(new);
	}
	spin_unlock_irq(&cq->lock);
	return num <= rxe_ring_get_capacity(new) ? num : -EINVAL;
}

static void cq_move_end(struct rxe_cq *cq)
{
	spin_lock_irq(&cq->lock);
	cq->moving = false;
	cq_publish(cq);
	spin_unlock_irq(&cq->lock);
	local_bh_disable();
	rxe_cq_event(cq);
	local_bh_enable();
}

/*
 * Change rings. The old ring is copied without the lock, since that may take long;
 * nothing is written to it meanwhile.
 */
static int cq_move_cqes(struct rxe_cq *cq, struct rxe_ring *new)
{
	const struct rxe_ring *old = cq->ring;
	u32 cons;
	int num = cq_move_begin(cq, new, &cons), i;

	if (num < 0)
		return num;
	for (i = 0; i < num; i++) {
		memcpy(rxe_ring_get_elem(new, i), rxe_ring_get_elem(old, cons + i),
		       1 << new->shift);
		cond_resched();
	}
	cq_move_end(cq);
	return 0;
}

/**
 * rxe_resize_cq - change how many completions fit
 * @ibcq: completion queue
 * @cqe: new size
 * @udata: of the process; NULL for a kernel consumer
 *
 * A process keeps its lock on the CQ until it has mapped the new ring: it polls nothing from
 * the old ring meanwhile.
 *
 * Context: process.
 *
 * Return: 0; -EINVAL for a size beyond the device's limit, or too small for the
 * completions that aren't polled yet; -ENOMEM. On errors nothing has changed.
 */
int rxe_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	struct rxe_ring *new, *unused;
	int err;

	if (!cqe || cqe > RXE_MAX_CQE || cq->is_user != !!udata)
		return -EINVAL;
	new = cq_ring_create(cq->is_user, cqe, udata);
	if (IS_ERR(new))
		return PTR_ERR(new);
	unused = new;
	err = cq_copy_response(new, udata);
	if (err)
		goto out;
	mutex_lock(&cq->resize);
	unused = cq->ring;
	err = cq_move_cqes(cq, new);
	if (err)
		unused = new;
	mutex_unlock(&cq->resize);
	synchronize_rcu();	/* rxe_cq_next() */
out:
	rxe_ring_destroy(unused);
	return err;
}

/**
 * rxe_destroy_cq - free a completion queue
 * @ibcq: no QP uses it any more
 * @udata: of the process; NULL for a kernel consumer
 *
 * On return, no handler of the consumer runs any more, and no work that it queued.
 *
 * Context: process.
 *
 * Return: 0.
 */
int rxe_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);

	cancel_work_sync(&cq->overflow_work);
	rxe_cq_events_end(cq);
	rxe_ring_destroy(cq->ring);
	atomic_dec(&to_rxe_dev(ibcq->device)->num_cq);
	return 0;
}

/**
 * rxe_poll_cq - take completions [11.4.2]
 * @ibcq: completion queue of a kernel consumer; processes poll the ring itself
 * @num: how many at most
 * @wc: out: the completions
 *
 * Context: any but NMI.
 *
 * Return: how many; -EINVAL for the CQ of a process.
 */
int rxe_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	unsigned long flags;
	u32 cons;
	int n = 0;

	if (cq->is_user)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, flags);
	cons = cq_get_cons(cq->ring);
	while (n < num && !cq->moving && cons != cq->ring->index) {
		wc[n++] = *(struct ib_wc *)rxe_ring_get_elem(cq->ring, cons);
		cons = (cons + 1) & cq->ring->mask;
	}
	/* Pairs with rxe_ring_get_space() */
	smp_store_release(&cq->ring->buf->consumer_index, cons);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/**
 * rxe_cq_forget - drop the completions of a QP that is destroyed
 * @cq: a completion queue of the QP
 * @ibqp: the QP; it posts no more
 *
 * A completion of a kernel consumer refers to its QP, whose memory the RDMA core frees. A process's
 * completions have only the QP's number.
 *
 * Context: process.
 */
void rxe_cq_forget(struct rxe_cq *cq, const struct ib_qp *ibqp)
{
	struct rxe_ring *ring;
	u32 from, to;

	if (cq->is_user)
		return;
	mutex_lock(&cq->resize);
	spin_lock_irq(&cq->lock);
	ring = cq->ring;
	from = cq_get_cons(ring);
	for (to = from; from != ring->index; from = (from + 1) & ring->mask) {
		const struct ib_wc *wc = rxe_ring_get_elem(ring, from);

		if (wc->qp == ibqp)
			continue;
		if (to != from)
			*(struct ib_wc *)rxe_ring_get_elem(ring, to) = *wc;
		to = (to + 1) & ring->mask;
	}
	ring->index = to;
	rxe_ring_publish(ring);
	spin_unlock_irq(&cq->lock);
	mutex_unlock(&cq->resize);
}

/**
 * rxe_cq_next - how far has a process polled, and of which QP is the next completion?
 * @cq: its completion queue
 * @polled: out: a number that changes when the process polls
 *
 * The process can write to the ring, so neither result can be trusted.
 *
 * Context: process or softirq.
 *
 * Return: number of the QP whose completion is next; 0 if there is none.
 */
u32 rxe_cq_next(struct rxe_cq *cq, u32 *polled)
{
	const struct ib_uverbs_wc *wc;
	const struct rxe_ring *ring;
	u32 qpn = 0;

	rcu_read_lock();	/* rxe_resize_cq() */
	ring = smp_load_acquire(&cq->ring);	/* cq_move_begin() */
	*polled = cq_get_cons(ring);
	wc = rxe_ring_get_elem(ring, *polled);
	if (*polled != READ_ONCE(ring->index))
		qpn = READ_ONCE(wc->qp_num);
	rcu_read_unlock();
	return qpn;
}

/*
 * Have the QPs at the head of the list flushed: at most RXE_FLUSH_ARMED, since the lock is held,
 * and a process decides how long the list is. The next call takes the next QPs. A QP whose turn
 * doesn't come is flushed by its own delayed work (watch_rq()).
 */
static void cq_flush_some(struct rxe_cq *cq)
{
	struct list_head *last = cq->flushing.prev, *link = &cq->flushing;
	u32 left = RXE_FLUSH_ARMED;

	lockdep_assert_held(&cq->lock);
	while (left-- && link != last) {
		link = cq->flushing.next;
		list_move_tail(link, &cq->flushing);
		rxe_cq_ops->armed(link);
	}
}

/**
 * rxe_req_notify_cq - ask for an event [11.4.2.2]
 * @ibcq: completion queue
 * @flags: IB_CQ_NEXT_COMP or IB_CQ_SOLICITED; with IB_CQ_REPORT_MISSED_EVENTS, report
 *	completions that are there already
 *
 * Receives that a process posts on a QP in ERR ring no doorbell. They are flushed when the
 * process asks for an event, for at most RXE_FLUSH_ARMED QPs per request.
 *
 * Context: any but NMI.
 *
 * Return: 0; 1 if asked to report and there are completions.
 */
int rxe_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct rxe_cq *cq = to_rxe_cq(ibcq);
	unsigned long irqflags;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irqflags);
	cq->armed |= flags & IB_CQ_SOLICITED_MASK;
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = cq_get_cons(cq->ring) != cq->ring->index;
	cq_flush_some(cq);
	spin_unlock_irqrestore(&cq->lock, irqflags);
	return missed;
}
