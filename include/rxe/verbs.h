/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verbs objects other than the QP and memory: PD, AH, CQ, user context.
 */
#ifndef RXE_VERBS_H
#define RXE_VERBS_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/smp.h>
#include <rdma/ib_verbs.h>
#include <rxe/dev.h>
#include <rxe/net.h>
#include <rxe/ring.h>

struct rxe_ucontext {
	struct ib_ucontext	ibuc;
};

struct rxe_pd {
	struct ib_pd		ibpd;
};

/**
 * struct rxe_ah - address handle
 * @ibah: the RDMA core's AH
 * @num: AH number that user space puts into its work requests; 0 for a kernel
 *	consumer's AH
 * @r: the part that sends hold; RCU, since modify_ah replaces it
 */
struct rxe_ah {
	struct ib_ah		ibah;
	u32			num;
	struct rxe_ah_ref __rcu	*r;
};

struct rxe_ah_ref *rxe_ah_get(struct rxe_dev *rxe, u32 num, struct ib_pd *pd);
struct rxe_ah_ref *rxe_ah_hold(struct ib_ah *ibah);

/**
 * struct rxe_cq_user - a QP that uses a CQ for its sends, its receives, or both
 * @link: in rxe_cq.users
 * @cq: the CQ; NULL: none
 * @ibqp: the QP
 */
struct rxe_cq_user {
	struct list_head	link;
	struct rxe_cq		*cq;
	struct ib_qp		*ibqp;
};

/**
 * struct rxe_cq - completion queue
 * @ibcq: the RDMA core's CQ
 * @lock: protects @ring, @armed, @wakes, @event_due, @overflow, @told, @moving, @count,
 *	@period_us, @held and @flushing; innermost lock of the driver, interrupts off
 * @ring: completions: struct ib_uverbs_wc (user) or struct ib_wc (kernel)
 * @is_user: a process polls it; false: a kernel consumer
 * @may_lose: IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN: a lost completion is no error
 * @armed: IB_CQ_NEXT_COMP, IB_CQ_SOLICITED or 0
 * @wakes: values of @armed for which the unpublished completions raise an event
 * @event_due: an armed completion came; the handler is yet to be called
 * @overflow: a completion was lost; the CQ is dead
 * @moving: a resize is copying the old ring's completions to the new @ring; new completions
 *	stay hidden from the consumer until then
 * @count: moderation: completions after which an event is raised; 0: only @period_us
 *	counts
 * @period_us: moderation: microseconds that an event may be held back; 0: no moderation
 * @held: moderation: completions whose event is held back
 * @resize: one resize at a time
 * @flushing: QPs of processes in ERR whose receives complete in this CQ. The next request for
 *	an event flushes the first of them, and moves them to the end
 * @users_lock: protects @users
 * @users: the QPs that use it, each once
 * @overflow_work: raises IB_EVENT_CQ_ERR and stops @users, once, in process context
 * @told: the work has raised the event. A QP that loses a completion now is stopped at once
 * @closing: the CQ is being destroyed; the handler isn't called any more
 * @cpu: CPU of the completion handler, from the completion vector
 * @kicked: the handler was requested on @cpu and hasn't run yet
 * @csd: sends the request to @cpu
 * @tasklet: runs the handler on @cpu
 * @timer: moderation: ends @period_us
 */
struct rxe_cq {
	struct ib_cq		ibcq;
	spinlock_t		lock;	/* see the list above */
	struct rxe_ring		*ring;
	bool			is_user;
	bool			may_lose;
	u8			armed;
	u8			wakes;
	bool			event_due;
	bool			overflow;
	bool			moving;
	u16			count;
	u16			period_us;
	u16			held;
	struct mutex		resize;	/* rxe_resize_cq() */
	struct list_head	flushing;
	struct mutex		users_lock;	/* users */
	struct list_head	users;
	struct work_struct	overflow_work;
	bool			told;
	bool			closing;
	int			cpu;
	atomic_t		kicked;
	call_single_data_t	csd;
	struct tasklet_struct	tasklet;
	struct hrtimer		timer;
};

static inline struct rxe_cq *to_rxe_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct rxe_cq, ibcq);
}

/* Has a completion been lost? Then none comes any more */
static inline bool rxe_cq_is_dead(const struct rxe_cq *cq)
{
	return READ_ONCE(cq->overflow);
}

/**
 * struct rxe_cq_ops - callbacks from CQs to QPs
 * @failed: a completion was lost: stops a QP that completes in the CQ; any context with
 *	interrupts on, sq.lock of the QP may be held
 * @armed: an event was requested: flushes the QP of this link in rxe_cq.flushing;
 *	CQ's lock held
 */
struct rxe_cq_ops {
	void (*failed)(struct ib_qp *ibqp);
	void (*armed)(struct list_head *link);
};

void rxe_cq_set_ops(const struct rxe_cq_ops *ops);
void rxe_cq_add_user(struct rxe_cq *cq, struct rxe_cq_user *user, struct ib_qp *ibqp);
void rxe_cq_remove_user(struct rxe_cq_user *user);
void rxe_cq_settle(struct rxe_cq *cq);
void rxe_cq_forget(struct rxe_cq *cq, const struct ib_qp *ibqp);
u32 rxe_cq_count_flushable(struct rxe_cq *cq);
void rxe_cq_post(struct rxe_cq *cq, const struct ib_wc *wc, bool solicited);
void rxe_cq_raise_event(struct rxe_cq *cq);
u32 rxe_cq_next(struct rxe_cq *cq, u32 *polled);

/* Call the completion handler if an event is due; context: as rxe_cq_raise_event() */
static inline void rxe_cq_event(struct rxe_cq *cq)
{
	if (READ_ONCE(cq->event_due))
		rxe_cq_raise_event(cq);
}

/*
 * ib_device_ops by object; compat/ops.h adapts prototypes that differ between
 * kernels.
 */
int rxe_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void rxe_dealloc_ucontext(struct ib_ucontext *ibuc);
void rxe_disassociate_ucontext(struct ib_ucontext *ibuc);

int rxe_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int rxe_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

int rxe_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
		  struct ib_udata *udata);
int rxe_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int rxe_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int rxe_destroy_ah(struct ib_ah *ibah, u32 flags);

int rxe_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct ib_udata *udata);
int rxe_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata);
int rxe_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int rxe_pre_destroy_cq(struct ib_cq *ibcq);
int rxe_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int rxe_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int rxe_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif /* RXE_VERBS_H */
