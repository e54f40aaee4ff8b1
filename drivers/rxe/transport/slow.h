/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of a QP that sending and receiving don't use.
 */
#ifndef RXE_TRANSPORT_SLOW_H
#define RXE_TRANSPORT_SLOW_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <cc/np.h>
#include <rxe/verbs.h>
#include <rxe/window.h>

struct rxe_qp;

/**
 * struct rxe_persist - the persistent FLUSH in progress
 * @seq: rxe_expect.seq of the request
 * @done: bytes that earlier runs of recv_task have written back
 */
struct rxe_persist {
	u64			seq;
	u64			done;
};

/**
 * struct rxe_ended - a READ whose response was sent completely while the rate was limited
 * @at: when, ns; 0: there was none, or a READ request has come since
 * @psn: PSN behind its last packet
 */
struct rxe_ended {
	u64			at;
	u32			psn;
};

/**
 * struct rxe_qp_slow - what a QP needs only outside the fast path
 * @qp: the QP
 * @idle: completed when rxe_qp.entry has no reference left
 * @mutex: one modify_qp at a time
 * @cap: queue sizes as created
 * @ah_attr: the address as modify_qp set it; without the GID's attribute, which the path holds
 * @sends: in the send CQ's list of users
 * @recvs: in the receive CQ's list, if that is another CQ
 * @events: pending events for the owner, a bit for each enum ib_event_type
 * @event_work: calls the owner's event handler
 * @gap_timer: runs recv_task when it has waited long enough for a missing packet
 * @pace_timer: fires in softirq, when the next packet may leave; see struct rxe_pace
 * @cork_timer: fires when messages have waited for cork_ns
 * @cork_work: a worker sends corked and large messages
 * @long_work: a worker goes on with what @cork_work didn't finish
 * @flushing: in ERR, QP of a process: link in rxe_cq.flushing
 * @flush_work: in ERR: looks for receives that a process posted, or flushes what had to wait for
 *	room in a kernel consumer's CQ
 * @flush_ms: delay of @flush_work
 * @flush_left: in ERR, QP of a process: receives that may be flushed now; only recv_task uses it
 * @flush_late: @flush_left was 0 once: receives are flushed in intervals, or if the CQ is armed
 * @flush_more: lifts @flush_left to this number if @flush_late; then it is 0
 * @persist: the persistent FLUSH in progress; only recv_task uses it
 * @windows: memory windows of type 2B that are bound on it
 * @np: CNPs for ECN marks on requests and responses; only recv_task uses it
 * @ended: measures how soon a READ request follows a READ response; only recv_task uses it
 *
 * It has a cache of its own: the RDMA core allocates struct rxe_qp with kmalloc(), which has no
 * size between 2 and 4 KiB.
 */
struct rxe_qp_slow {
	struct rxe_qp		*qp;
	struct completion	idle;
	struct mutex		mutex;	/* modify_qp */
	struct ib_qp_cap	cap;
	struct rdma_ah_attr	ah_attr;
	struct rxe_cq_user	sends;
	struct rxe_cq_user	recvs;
	unsigned long		events;
	struct work_struct	event_work;
	struct hrtimer		gap_timer;
	struct hrtimer		pace_timer;
	struct hrtimer		cork_timer;
	struct work_struct	cork_work;
	struct work_struct	long_work;
	struct list_head	flushing;
	struct delayed_work	flush_work;
	u32			flush_ms;
	u32			flush_left;
	bool			flush_late;
	u32			flush_more;
	struct rxe_persist	persist;
	struct rxe_windows	windows;
	struct rxe_np		np;
	struct rxe_ended	ended;
};

/* A new connection: no READ was answered */
static inline void rxe_ended_reset(struct rxe_ended *ended)
{
	*ended = (struct rxe_ended){};
}

/* Forget the FLUSH in progress */
static inline void rxe_persist_reset(struct rxe_persist *persist)
{
	*persist = (struct rxe_persist){};
}

#endif /* RXE_TRANSPORT_SLOW_H */
