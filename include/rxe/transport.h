/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of a QP: requester, responder, completer (chapter 9).
 *
 * Contexts. Two tasks per QP, each of which runs on one CPU at a time (task.c),
 * with bottom halves off:
 *   - send_task: the requester. Imports work requests, builds and sends trains.
 *   - recv_task: received packets. The completer (responses to this QP's
 *     requests), the responder (requests of the peer), timeouts, flushing.
 * State that both tasks use is in struct rxe_sq under its lock. State of one task
 * needs no lock. Exception: an SRQ, from which the recv_tasks of many QPs take work
 * requests (rxe_recvq.lock). modify_qp and destroy_qp pause the tasks.
 *
 * Lock order: sq.lock, then rxe_key.lock, state_lock, cq.lock, rxe_routes.lock or the stack's
 * locks for routes and neighbours; rxe_key.lock, then rxe_windows.lock. Other locks (post_sq_lock,
 * rxe_recvq.lock, rxe_txq.lock) nest with none of these. With a lock held, nothing is sent, and no
 * consumer's handler is called.
 */
#ifndef RXE_TRANSPORT_H
#define RXE_TRANSPORT_H

#include <linux/kref.h>
#include <doorbell/cork.h>
#include <payload/payload.h>
#include <queue/inq.h>
#include <rxe/dev.h>
#include <rxe/net.h>
#include <rxe/ring.h>
#include <rxe/service.h>
#include <rxe/verbs.h>
#include <rxe/wire.h>
#include <transport/flush.h>
#include <transport/gap.h>
#include <transport/local.h>
#include <transport/outlet.h>
#include <transport/pace.h>
#include <transport/receive.h>
#include <transport/responder.h>
#include <transport/requester.h>
#include <transport/slow.h>
#include <transport/state.h>
#include <transport/task.h>

/**
 * struct rxe_qpn - a QP's entry in the table of QP numbers
 * @ref: one for the table, one for each user of a lookup
 * @rcu: frees it after the last lookup
 * @num: the QP number
 * @qp: valid while a reference is held
 *
 * Separate from the QP, since the RDMA core frees the QP's memory right after
 * destroy_qp.
 */
struct rxe_qpn {
	struct kref		ref;
	struct rcu_head		rcu;
	u32			num;
	struct rxe_qp		*qp;
};

/**
 * struct rxe_qp_attr - the attributes that the tasks use; see struct ib_qp_attr
 * @qkey: Q_Key
 * @dest_qp_num: QP number of the peer
 * @qp_access_flags: enum ib_access_flags: operations that the peer may use
 * @path_mtu: enum ib_mtu
 * @timeout: code of the retransmission timeout
 * @retry_cnt: retries without an answer
 * @rnr_retry: retries after RNR NAKs
 * @min_rnr_timer: code of the time that an RNR NAK asks for
 * @max_rd_atomic: READs and atomics in flight, as requester
 * @max_dest_rd_atomic: READs and atomics in flight, as responder
 * @en_sqd_async_notify: raise IB_EVENT_SQ_DRAINED
 */
struct rxe_qp_attr {
	u32			qkey;
	u32			dest_qp_num;
	u32			qp_access_flags;
	u8			path_mtu;
	u8			timeout;
	u8			retry_cnt;
	u8			rnr_retry;
	u8			min_rnr_timer;
	u8			max_rd_atomic;
	u8			max_dest_rd_atomic;
	bool			en_sqd_async_notify;
};

/**
 * struct rxe_qp - queue pair
 * @ibqp: the RDMA core's QP
 * @rxe: the device
 * @stats: its counters: the device's, or a counter of `rdma statistic`. May change at any
 *	time; the old counters are freed after a grace period
 * @service: operations of its type
 * @entry: its entry in the table of QP numbers
 * @slow: parts that the fast path doesn't use
 * @state: enum ib_qp_state, read locklessly; written with both tasks paused, or in any
 *	context to ERR, or by send_task to SQE
 * @state_lock: orders writers of @state
 * @is_user: rings are in user memory
 * @sig_all: every send completion is signalled
 * @attr: as modify_qp set them
 * @mtu: path MTU, bytes (UD: the port's)
 * @path: RC, UC: to the peer
 * @path_valid: @path is initialised
 * @comm_est: IB_EVENT_COMM_EST was raised
 * @last_wqe: IB_EVENT_QP_LAST_WQE_REACHED was raised; only recv_task uses it
 * @post_sq_lock: one kernel poster of sends at a time
 * @send_task: the requester
 * @recv_task: the responder and the completer
 * @requests: received requests
 * @responses: received responses
 * @pace: waiting for a limited rate
 * @cork: lets small sends of a process wait for more
 * @sq: the requester's and the completer's state
 * @rq: the responder's state
 */
struct rxe_qp {
	struct ib_qp		ibqp;
	struct rxe_dev		*rxe;
	struct rxe_stats __percpu *stats;
	const struct rxe_service *service;
	struct rxe_qpn		*entry;
	struct rxe_qp_slow	*slow;
	spinlock_t		state_lock;	/* writers of state */
	u8			state;
	bool			is_user;
	bool			sig_all;
	bool			path_valid;
	bool			comm_est;
	bool			last_wqe;
	struct rxe_pace		pace;
	u32			mtu;
	struct rxe_qp_attr	attr;
	struct rxe_path		path;
	spinlock_t		post_sq_lock;	/* kernel posters of sends */
	struct rxe_task		send_task;
	struct rxe_task		recv_task;
	struct rxe_inq		requests;
	struct rxe_inq		responses;
	struct rxe_cork		cork;
	struct rxe_sq		sq;
	struct rxe_rq		rq;
};

static inline struct rxe_qp *to_rxe_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct rxe_qp, ibqp);
}

static inline struct rxe_cq *rxe_scq(const struct rxe_qp *qp)
{
	return to_rxe_cq(qp->ibqp.send_cq);
}

static inline struct rxe_cq *rxe_rcq(const struct rxe_qp *qp)
{
	return to_rxe_cq(qp->ibqp.recv_cq);
}

/* Must recv_task flush the send queue? If the service isn't acknowledged, send_task flushes it */
static inline bool rxe_sq_is_in_flush(const struct rxe_qp *qp)
{
	return qp->service->acked && READ_ONCE(qp->state) == IB_QPS_ERR;
}

/* Does the QP's state allow receiving? */
static inline bool rxe_qp_can_receive(const struct rxe_qp *qp)
{
	const u32 states = BIT(IB_QPS_RTR) | BIT(IB_QPS_RTS) | BIT(IB_QPS_SQD) | BIT(IB_QPS_SQE);

	return BIT(READ_ONCE(qp->state)) & states;
}

static inline u32 rxe_qp_num(const struct rxe_qp *qp)
{
	return qp->ibqp.qp_num;
}

#endif /* RXE_TRANSPORT_H */
