// SPDX-License-Identifier: GPL-2.0
/*
 * QP state used by all parts: lookup by number, whether it receives, the error state,
 * events for the owner.
 *
 * Context: any, unless noted. The table of QP numbers is read in RCU.
 */
#include <rxe/transport.h>
#include <rxe/work.h>

/**
 * rxe_qp_get_bh - find a QP by number, with bottom halves off
 * @rxe: the device
 * @qpn: QP number
 *
 * Context: bottom halves off, or RCU read side.
 * Return: the QP with a reference, or NULL.
 */
struct rxe_qp *rxe_qp_get_bh(struct rxe_dev *rxe, u32 qpn)
{
	struct rxe_qpn *entry = rxe_recent_peek(&rxe->recent_qps, qpn);

	if (unlikely(!entry || entry->num != qpn))
		entry = xa_load(&rxe->qps, qpn);
	if (!entry || !kref_get_unless_zero(&entry->ref))
		return NULL;
	return entry->qp;
}

/**
 * rxe_qp_get - find a QP by number
 * @rxe: the device
 * @qpn: QP number
 *
 * Context: any.
 * Return: the QP with a reference, or NULL.
 */
struct rxe_qp *rxe_qp_get(struct rxe_dev *rxe, u32 qpn)
{
	struct rxe_qp *qp;

	rcu_read_lock();
	qp = rxe_qp_get_bh(rxe, qpn);
	rcu_read_unlock();
	return qp;
}

static void release_qpn(struct kref *ref)
{
	struct rxe_qpn *entry = container_of(ref, struct rxe_qpn, ref);

	complete(&entry->qp->slow->idle);
	kfree_rcu(entry, rcu);
}

/**
 * rxe_qp_put - drop a reference that rxe_qp_get() took
 * @qp: the QP
 */
void rxe_qp_put(struct rxe_qp *qp)
{
	kref_put(&qp->entry->ref, release_qpn);
}

/**
 * rxe_qp_to_err - put a QP into the error state
 * @qp: the QP
 *
 * Context: any; the caller makes sure that the receive task runs, which flushes.
 *
 * Return: true if this call changed the state.
 */
bool rxe_qp_to_err(struct rxe_qp *qp)
{
	bool changed;

	spin_lock_bh(&qp->state_lock);
	changed = qp->state != IB_QPS_RESET && qp->state != IB_QPS_ERR;
	if (changed)
		WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_bh(&qp->state_lock);
	return changed;
}

/**
 * rxe_qp_to_sqe - a send of an unacknowledged service failed on this host
 * @qp: the QP
 *
 * Such an error stops only the send queue [10.3.1.6]. Context: send_task, which then flushes
 * the queue.
 */
void rxe_qp_to_sqe(struct rxe_qp *qp)
{
	spin_lock(&qp->state_lock);
	if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD)
		WRITE_ONCE(qp->state, IB_QPS_SQE);
	spin_unlock(&qp->state_lock);
}

static void raise_events(struct work_struct *work)
{
	struct rxe_qp_slow *slow = container_of(work, struct rxe_qp_slow, event_work);
	struct rxe_qp *qp = slow->qp;
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
	};
	unsigned long events = xchg(&slow->events, 0);
	u32 type;

	for_each_set_bit(type, &events, BITS_PER_LONG) {
		event.event = type;
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	}
}

/**
 * rxe_qp_event_init - set up a QP's events
 * @qp: the QP
 */
void rxe_qp_event_init(struct rxe_qp *qp)
{
	INIT_WORK(&qp->slow->event_work, raise_events);
}

/**
 * rxe_qp_event - raise an event for the owner, from a work item
 * @qp: the QP
 * @type: the event
 *
 * The handler can't be called here. A kernel consumer may be posting, on this QP or its peer,
 * and hold a lock that its handler takes. An event that is still pending isn't raised twice.
 * Context: any.
 */
void rxe_qp_event(struct rxe_qp *qp, enum ib_event_type type)
{
	BUILD_BUG_ON(IB_EVENT_SQ_DRAINED >= BITS_PER_LONG);
	if (!qp->ibqp.event_handler)
		return;
	set_bit(type, &qp->slow->events);
	queue_work(rxe_wq, &qp->slow->event_work);
}
