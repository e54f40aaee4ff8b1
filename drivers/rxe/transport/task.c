// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks: a QP's send and receive work; each task runs on one CPU at a time.
 *
 * A caller that has work for a task runs it directly, with bottom halves off. If the task
 * runs on another CPU already, that CPU does the work. A run ends when its budget is spent.
 * Then a process yields and continues; in any other context the CPU's tasklet continues. No other
 * file of transport/ depends on tasklets.
 *
 * A pass of the tasklet runs the tasks that were queued when it began, with bottom halves off. A
 * process can have tens of thousands of queue pairs. After RXE_TASK_PASS tasks, the rest is left to
 * the next pass, before which a CPU under load runs other threads.
 *
 * A task for which others wait, on any CPU, runs before the queued ones
 * (rxe_task_schedule_first()). These tasks are few, and a pass doesn't count them.
 */
#include <rxe/transport.h>

/*
 * If the peer is on the same device, tasks run one another directly. RXE_TASK_DEPTH is
 * enough for a request, its execution and its acknowledgment. Deeper than that, the
 * tasklet takes over: a chain of QPs must not use up the stack.
 */
static DEFINE_PER_CPU(u32, task_depth);

/**
 * struct task_queue - tasks of a CPU that wait for its tasklet
 * @first: tasks that run before all others, the last one first; any context adds
 * @fresh: tasks that were queued since the last pass began, the last one first; any context adds
 * @tasks: tasks that were queued before, in order; only the tasklet uses them
 * @end: where the next one of @tasks goes
 * @tasklet: runs a pass
 * @behind: tasks are left to the next pass
 */
struct task_queue {
	struct llist_head	first;
	struct llist_head	fresh;
	struct llist_node	*tasks;
	struct llist_node	**end;
	struct tasklet_struct	tasklet;
	bool			behind;
};

static DEFINE_PER_CPU(struct task_queue, task_queue);

/*
 * The caller has set RXE_TASK_QUEUED. Context: preemption off since then. Until the task is in the
 * list, others take it for queued.
 */
static void queue_task(struct rxe_task *task)
{
	struct task_queue *queue = this_cpu_ptr(&task_queue);

	if (llist_add(&task->node, &queue->fresh))
		tasklet_schedule(&queue->tasklet);
}

/**
 * rxe_task_is_behind - is this CPU behind with its tasks?
 *
 * Context: bottom halves off.
 *
 * Return: true if tasks are left to the next pass of its tasklet.
 */
bool rxe_task_is_behind(void)
{
	return __this_cpu_read(task_queue.behind);
}

/**
 * rxe_task_init - set up a task, paused
 * @task: the task
 * @qp: argument of @fn
 * @fn: one budget of work
 * @end: the end of a run; NULL if rxe_task_end() isn't called for this task
 */
void rxe_task_init(struct rxe_task *task, struct rxe_qp *qp,
		   bool (*fn)(struct rxe_qp *qp), bool (*end)(struct rxe_qp *qp))
{
	atomic_set(&task->state, RXE_TASK_PAUSED);
	task->qp = qp;
	task->fn = fn;
	task->end = end;
}

/*
 * Start a task that isn't idle, or request a run. @state: its state a moment ago. The barrier makes
 * the caller's work visible to the CPU that takes the request. Return: true if it runs on this CPU
 * now.
 */
static noinline bool task_start_or_request(struct rxe_task *task, int state, bool must)
{
	int busy;

	do {
		busy = state & (RXE_TASK_RUNNING | RXE_TASK_PAUSED);
		if (busy && !must)
			return false;
	} while (!atomic_try_cmpxchg(&task->state, &state,
				     busy ? state | RXE_TASK_AGAIN :
					    (state & RXE_TASK_LISTED) | RXE_TASK_RUNNING));
	return !busy;
}

/* Mark the task as running on this CPU. @must: a task that runs already runs once more */
static bool task_start(struct rxe_task *task, bool must)
{
	int state = 0;

	if (!atomic_try_cmpxchg_acquire(&task->state, &state, RXE_TASK_RUNNING) &&
	    !task_start_or_request(task, state, must))
		return false;
	__this_cpu_inc(task_depth);
	return true;
}

/*
 * The task ends a run. A paused task remembers that there is more to do. Otherwise, with @queued
 * RXE_TASK_QUEUED, a task that has more to do is queued in the same step: once it neither runs nor
 * is queued, it may be freed any time. With @queued 0, the caller continues. Return: as task_stop()
 */
static noinline bool task_stop_any(struct rxe_task *task, bool more, int queued)
{
	int next, state = atomic_read(&task->state);

	do {
		more |= !!(state & RXE_TASK_AGAIN);
		next = state & (RXE_TASK_PAUSED | RXE_TASK_LISTED);
		if (more)
			next |= next & RXE_TASK_PAUSED ? RXE_TASK_AGAIN : queued;
	} while (!atomic_try_cmpxchg(&task->state, &state, next));
	if (next & ~state & RXE_TASK_QUEUED)
		queue_task(task);
	return more && !(next & RXE_TASK_PAUSED);
}

/* Return: true if the task must run once more */
static bool task_stop(struct rxe_task *task, bool more)
{
	int listed = atomic_read(&task->state) & RXE_TASK_LISTED;
	int running = RXE_TASK_RUNNING | listed;

	__this_cpu_dec(task_depth);
	if (likely(atomic_try_cmpxchg_release(&task->state, &running, listed)))
		return more;
	return task_stop_any(task, more, 0);
}

/**
 * rxe_task_enter - enter a task unless it runs already
 * @task: the task
 *
 * The caller does the task's work, then calls rxe_task_end(). If it did nothing that needs
 * rxe_task.end, it calls rxe_task_leave(). Context: bottom halves off.
 *
 * Return: false if the task runs or is paused, or too many tasks have been entered on
 * this CPU already.
 */
bool rxe_task_enter(struct rxe_task *task)
{
	return __this_cpu_read(task_depth) < RXE_TASK_DEPTH &&
	       task_start(task, false);
}

/**
 * rxe_task_leave - leave a task that rxe_task_enter() entered
 * @task: the task
 * @more: there is more to do for it
 */
void rxe_task_leave(struct rxe_task *task, bool more)
{
	if (task_stop(task, more))
		rxe_task_schedule(task);
}

/**
 * rxe_task_end - end a run of an entered task, and leave the task
 * @task: the task
 * @more: there is more to do for it
 */
void rxe_task_end(struct rxe_task *task, bool more)
{
	more |= task->end(task->qp);
	rxe_task_leave(task, more);
}

/* Has another run been requested meanwhile? Acquire: the work for it is visible */
static bool task_take_request(struct rxe_task *task)
{
	return (atomic_read(&task->state) & RXE_TASK_AGAIN) &&
	       (atomic_fetch_andnot_acquire(RXE_TASK_AGAIN, &task->state) & RXE_TASK_AGAIN);
}

/*
 * Run the task. If more work is requested meanwhile, it runs once more, but only once, so
 * that others get this CPU. Return: true if there is more to do.
 */
static __always_inline bool task_run_once(struct rxe_task *task)
{
	return task->fn(task->qp) || (task_take_request(task) && task->fn(task->qp));
}

/* The same for a task that may be busy or paused. It then runs later */
static bool task_take_turn(struct rxe_task *task)
{
	return task_start(task, true) && task_stop(task, task_run_once(task));
}

/**
 * rxe_task_run - do the task's work, here if possible
 * @task: the task
 *
 * Context: bottom halves off, no locks of the QP held.
 */
void rxe_task_run(struct rxe_task *task)
{
	if (__this_cpu_read(task_depth) >= RXE_TASK_DEPTH || task_take_turn(task))
		rxe_task_schedule(task);
}

/**
 * rxe_task_work - do the task's work, and yield the CPU after each budget
 * @task: the task
 *
 * Received packets and other threads then wait for one budget, not for a long message.
 *
 * Context: process, may sleep.
 *
 * Return: true if there is more to do after RXE_TASK_TURNS.
 */
bool rxe_task_work(struct rxe_task *task)
{
	u32 turns = RXE_TASK_TURNS;
	bool more;

	do {
		local_bh_disable();
		more = task_take_turn(task);
		local_bh_enable();
		if (more)
			cond_resched();
	} while (more && --turns);
	return more;
}

/**
 * rxe_task_kick - do the task's work, here if possible, else soon
 * @task: the task
 *
 * Context: any, no locks of the QP held.
 */
void rxe_task_kick(struct rxe_task *task)
{
	if (in_hardirq() || irqs_disabled()) {
		rxe_task_schedule(task);
		return;
	}
	local_bh_disable();
	rxe_task_run(task);
	local_bh_enable();
}

/*
 * Mark the task as being in a list: @list is RXE_TASK_QUEUED or RXE_TASK_FIRST. Return: true if the
 * caller must add it. Context: preemption off until then.
 */
static bool task_mark_listed(struct rxe_task *task, int list)
{
	int next, state = atomic_read(&task->state);

	do {
		/* rxe_task_resume() schedules a paused task */
		next = state | (state & RXE_TASK_PAUSED ? RXE_TASK_AGAIN : list);
	} while (!atomic_try_cmpxchg(&task->state, &state, next));
	return next & ~state & list;
}

/**
 * rxe_task_schedule - do the task's work soon
 * @task: the task
 *
 * Context: any.
 */
void rxe_task_schedule(struct rxe_task *task)
{
	preempt_disable();
	if (task_mark_listed(task, RXE_TASK_QUEUED))
		queue_task(task);
	preempt_enable();
}

/**
 * rxe_task_schedule_first - do the task's work before that of queued tasks
 * @task: the task, which may be queued
 *
 * For a task that holds up others. There may be a great many queued tasks, also of this one's
 * owner.
 *
 * Context: any.
 */
void rxe_task_schedule_first(struct rxe_task *task)
{
	struct task_queue *queue;

	preempt_disable();
	queue = this_cpu_ptr(&task_queue);
	if (task_mark_listed(task, RXE_TASK_FIRST) && llist_add(&task->first, &queue->first))
		tasklet_schedule(&queue->tasklet);
	preempt_enable();
}

/*
 * Take a task out of the queue, or the list of first tasks: @list is its flag. Return: true if it
 * runs on this CPU now. Otherwise, it may be freed any time.
 */
static bool task_start_listed(struct rxe_task *task, int list)
{
	int busy, rest, state = atomic_read(&task->state);

	do {
		busy = state & (RXE_TASK_RUNNING | RXE_TASK_PAUSED);
		rest = state & RXE_TASK_LISTED & ~list;
	} while (!atomic_try_cmpxchg(&task->state, &state,
				     busy ? (state & ~list) | RXE_TASK_AGAIN :
					    rest | RXE_TASK_RUNNING));
	return !busy;
}

static void run_listed(struct rxe_task *task, int list)
{
	bool more;

	if (!task_start_listed(task, list))
		return;
	__this_cpu_inc(task_depth);
	more = task_run_once(task);
	__this_cpu_dec(task_depth);
	task_stop_any(task, more, RXE_TASK_QUEUED);
}

/* The task that was queued last is the first in @fresh, and the last in @tasks */
static void take_fresh(struct task_queue *queue)
{
	struct llist_node *last = llist_del_all(&queue->fresh);

	if (!last)
		return;
	*queue->end = llist_reverse_order(last);
	queue->end = &last->next;
}

/* Return: the task, which may be freed as soon as it isn't queued any more */
static struct rxe_task *take_task(struct task_queue *queue)
{
	struct llist_node *node = queue->tasks;

	queue->tasks = node->next;
	if (!queue->tasks)
		queue->end = &queue->tasks;
	return llist_entry(node, struct rxe_task, node);
}

/* Does another CPU run the task, and nobody wait for it to pause? */
static bool is_elsewhere(const struct rxe_task *task)
{
	int state = atomic_read(&task->state);

	return (state & (RXE_TASK_RUNNING | RXE_TASK_PAUSED)) == RXE_TASK_RUNNING;
}

/*
 * A task may be freed, or be in the list again, as soon as it was run. A task that runs on another
 * CPU stays in the list until that run ends: the other CPU would run it once more in its place in
 * the queue.
 */
static void run_first(struct task_queue *queue)
{
	struct llist_node *nodes = llist_del_all(&queue->first);
	struct rxe_task *task, *next;

	llist_for_each_entry_safe(task, next, llist_reverse_order(nodes), first) {
		if (!is_elsewhere(task))
			run_listed(task, RXE_TASK_FIRST);
		else if (llist_add(&task->first, &queue->first))
			tasklet_schedule(&queue->tasklet);
	}
}

/* The queue may be that of a CPU that went offline */
static void run_pass(struct tasklet_struct *tasklet)
{
	struct task_queue *queue = container_of(tasklet, struct task_queue, tasklet);
	u32 left = RXE_TASK_PASS;

	take_fresh(queue);
	for (; left && queue->tasks; left--) {
		if (unlikely(!llist_empty(&queue->first)))
			run_first(queue);
		run_listed(take_task(queue), RXE_TASK_QUEUED);
	}
	run_first(queue);
	queue->behind = queue->tasks;
	if (queue->behind || !llist_empty(&queue->fresh))
		tasklet_schedule(tasklet);
}

/**
 * rxe_tasks_start - at module load, before the first task
 *
 * Not by static initializers: older kernels (6.12) don't relocate addresses in the per-CPU data of
 * a module.
 *
 * Context: process.
 */
void __init rxe_tasks_start(void)
{
	struct task_queue *queue;
	int cpu;

	for_each_possible_cpu(cpu) {
		queue = per_cpu_ptr(&task_queue, cpu);
		queue->end = &queue->tasks;
		tasklet_setup(&queue->tasklet, run_pass);
	}
}

/**
 * rxe_tasks_stop - at module unload; no task is left
 *
 * Context: process.
 */
void rxe_tasks_stop(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu(task_queue, cpu).tasklet);
}

/**
 * rxe_task_pause - stop a task and wait until it has stopped
 * @task: the task
 *
 * Work that comes meanwhile is remembered. Context: process.
 */
void rxe_task_pause(struct rxe_task *task)
{
	while (atomic_fetch_or(RXE_TASK_PAUSED, &task->state) & RXE_TASK_RUNNING)
		cond_resched();
}

/**
 * rxe_task_resume - let a paused task run
 * @task: the task
 */
void rxe_task_resume(struct rxe_task *task)
{
	atomic_fetch_andnot_release(RXE_TASK_PAUSED, &task->state);
	rxe_task_schedule(task);
}

/**
 * rxe_task_kill - stop a task for good
 * @task: the task
 *
 * Context: process, may sleep; no reference to the QP is left that could run the task again.
 */
void rxe_task_kill(struct rxe_task *task)
{
	rxe_task_pause(task);
	/* The pass of some CPU still finds it, and doesn't run it */
	while (atomic_read_acquire(&task->state) & RXE_TASK_LISTED)
		usleep_range(50, 100);
}
