/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks of a QP (task.c). Each runs on one CPU at a time, in its caller's context or in the CPU's
 * tasklet.
 */
#ifndef RXE_TRANSPORT_TASK_H
#define RXE_TRANSPORT_TASK_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/sizes.h>

struct rxe_qp;

/**
 * enum rxe_task_flags - the state of a task; 0 if it is idle
 * @RXE_TASK_RUNNING: some CPU is in @fn
 * @RXE_TASK_AGAIN: a run was requested while running or paused
 * @RXE_TASK_PAUSED: must not start
 * @RXE_TASK_QUEUED: waits for a CPU's tasklet
 * @RXE_TASK_FIRST: waits for a CPU's tasklet in front of the queued tasks; it may be queued, too
 * @RXE_TASK_LISTED: one or both of these
 */
enum rxe_task_flags {
	RXE_TASK_RUNNING	= BIT(0),
	RXE_TASK_AGAIN		= BIT(1),
	RXE_TASK_PAUSED		= BIT(2),
	RXE_TASK_QUEUED		= BIT(3),
	RXE_TASK_FIRST		= BIT(4),
	RXE_TASK_LISTED		= RXE_TASK_QUEUED | RXE_TASK_FIRST,
};

/**
 * struct rxe_task - a function of a QP that never runs twice at a time
 * @state: enum rxe_task_flags. A CPU that requests a run sets a flag, or runs the task itself: in
 *	one word, so that no request is lost
 * @node: in the queue of a CPU, with RXE_TASK_QUEUED
 * @first: in its list of tasks that run first, with RXE_TASK_FIRST
 * @qp: argument of @fn
 * @fn: does one budget of work; returns true if there is more. Bottom halves
 *	are off.
 * @end: ends a run of a caller that works in place of @fn (rxe_task_end()). Bottom halves are
 *	off. NULL if no caller does
 */
struct rxe_task {
	atomic_t		state;
	struct llist_node	node;
	struct llist_node	first;
	struct rxe_qp		*qp;
	bool			(*fn)(struct rxe_qp *qp);
	bool			(*end)(struct rxe_qp *qp);
};

void rxe_task_init(struct rxe_task *task, struct rxe_qp *qp,
		   bool (*fn)(struct rxe_qp *qp), bool (*end)(struct rxe_qp *qp));
void rxe_tasks_start(void);
void rxe_tasks_stop(void);
bool rxe_task_is_behind(void);
bool rxe_task_enter(struct rxe_task *task);
void rxe_task_end(struct rxe_task *task, bool more);
void rxe_task_leave(struct rxe_task *task, bool more);
void rxe_task_run(struct rxe_task *task);
bool rxe_task_work(struct rxe_task *task);
void rxe_task_kick(struct rxe_task *task);
void rxe_task_schedule(struct rxe_task *task);
void rxe_task_schedule_first(struct rxe_task *task);
void rxe_task_pause(struct rxe_task *task);
void rxe_task_resume(struct rxe_task *task);
void rxe_task_kill(struct rxe_task *task);

/* A train or datagram of @bytes was sent or taken in */
static inline void rxe_task_spend(u32 *budget, u32 bytes)
{
	*budget -= min(*budget, max_t(u32, bytes, RXE_TRAIN_COST));
}

#endif /* RXE_TRANSPORT_TASK_H */
