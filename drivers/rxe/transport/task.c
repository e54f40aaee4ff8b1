// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks: a QP's send and receive work; each task runs on one CPU at a time.
 *
 * A caller that has work for a task runs it directly, with bottom halves off. If the task
 * runs on another CPU already, that CPU does the work. A run ends when its budget is spent.
 * Then a process yields and continues; in any other context a tasklet continues. The runs of a
 * CPU's tasklets in one go are limited, too. No other file of transport/ depends on tasklets.
 */
#include <rxe/transport.h>

/*
 * If the peer is on the same device, tasks run one another directly. RXE_TASK_DEPTH is
 * enough for a request, its execution and its acknowledgment. Deeper than that, the
 * tasklet takes over: a chain of QPs must not use up the stack.
 */
static DEFINE_PER_CPU(u32, task_depth);

/**
 * struct task_pass - a CPU's pass over its tasklets
 * @runs: runs of tasks in it, and in earlier passes if none was deferred since
 * @deferring: tasks are left to the next pass
 * @next: a tasklet that begins the next pass
 */
struct task_pass {
	u32			runs;
	bool			deferring;
	struct tasklet_struct	next;
};

static DEFINE_PER_CPU(struct task_pass, task_pass);

static void begin_pass(struct tasklet_struct *t)
{
	struct task_pass *pass = container_of(t, struct task_pass, next);

	pass->runs = 0;
	pass->deferring = false;
}

/*
 * May one more tasklet run a task in this pass? A pass runs all tasklets that are scheduled on a
 * CPU, with bottom halves off, and a process can have tens of thousands of queue pairs. After
 * RXE_TASK_PASS runs, the rest is left to the next pass, before which a CPU under load runs other
 * threads.
 */
static bool is_in_pass(struct task_pass *pass)
{
	if (pass->runs < RXE_TASK_PASS) {
		pass->runs++;
		return true;
	}
	if (!pass->deferring) {
		pass->deferring = true;
		tasklet_schedule(&pass->next);
	}
	return false;
}

static void run_tasklet(struct tasklet_struct *t)
{
	if (likely(is_in_pass(this_cpu_ptr(&task_pass))))
		rxe_task_run(container_of(t, struct rxe_task, tasklet));
	else
		tasklet_schedule(t);
}

/**
 * rxe_task_is_behind - is this CPU behind with its tasks?
 *
 * Context: bottom halves off.
 *
 * Return: true if tasks are left to the next pass over its tasklets.
 */
bool rxe_task_is_behind(void)
{
	return __this_cpu_read(task_pass.deferring);
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
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_setup(&per_cpu(task_pass, cpu).next, begin_pass);
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
		tasklet_kill(&per_cpu(task_pass, cpu).next);
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
	tasklet_setup(&task->tasklet, run_tasklet);
}

/*
 * Start a task that isn't idle, or request a run. Return: true if it runs on this CPU now. The
 * barrier makes the caller's work visible to the CPU that takes the request.
 */
static noinline bool task_start_or_request(struct rxe_task *task, bool must)
{
	int busy, state = atomic_read(&task->state);

	do {
		busy = state & (RXE_TASK_RUNNING | RXE_TASK_PAUSED);
		if (busy && !must)
			return false;
	} while (!atomic_try_cmpxchg(&task->state, &state,
				     busy ? state | RXE_TASK_AGAIN : RXE_TASK_RUNNING));
	return !busy;
}

/* Mark the task as running on this CPU. @must: a task that runs already runs once more */
static bool task_start(struct rxe_task *task, bool must)
{
	int idle = 0;

	if (!atomic_try_cmpxchg_acquire(&task->state, &idle, RXE_TASK_RUNNING) &&
	    !task_start_or_request(task, must))
		return false;
	__this_cpu_inc(task_depth);
	return true;
}

/*
 * The task ends a run, in which it was paused, or another run was requested. A paused task
 * remembers that there is more to do. Return: as task_stop()
 */
static noinline bool task_stop_requested(struct rxe_task *task, bool more)
{
	int paused, state = atomic_read(&task->state);

	do {
		paused = state & RXE_TASK_PAUSED;
		more |= !!(state & RXE_TASK_AGAIN);
	} while (!atomic_try_cmpxchg(&task->state, &state,
				     paused && more ? paused | RXE_TASK_AGAIN : paused));
	return more && !paused;
}

/* Return: true if the task must run once more */
static bool task_stop(struct rxe_task *task, bool more)
{
	int running = RXE_TASK_RUNNING;

	__this_cpu_dec(task_depth);
	if (likely(atomic_try_cmpxchg_release(&task->state, &running, 0)))
		return more;
	return task_stop_requested(task, more);
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
static bool task_take_turn(struct rxe_task *task)
{
	bool more;

	if (!task_start(task, true))
		return false;
	more = task->fn(task->qp);
	if (!more && task_take_request(task))
		more = task->fn(task->qp);
	return task_stop(task, more);
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

/**
 * rxe_task_schedule - do the task's work soon
 * @task: the task
 *
 * Context: any.
 */
void rxe_task_schedule(struct rxe_task *task)
{
	tasklet_schedule(&task->tasklet);
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
	tasklet_schedule(&task->tasklet);
}

/**
 * rxe_task_kill - stop a task for good
 * @task: the task
 *
 * Context: process; no reference to the QP is left that could run the task again.
 */
void rxe_task_kill(struct rxe_task *task)
{
	rxe_task_pause(task);
	tasklet_kill(&task->tasklet);
}
