// SPDX-License-Identifier: GPL-2.0
/*
 * transport/task.c: work is done in the caller's context, on one CPU at a time, and not while
 * the task is paused. No work is lost.
 */
#include <linux/delay.h>
#include <rxe/transport.h>
#include "../util.h"

struct ctx {
	struct rxe_qp qp;	/* an address for the task to pass on */
	struct rxe_task task;
	u32 runs;
	u32 ends;
	u32 more;		/* number of runs that report more work */
	u32 nested;		/* number of runs that request another run */
	bool inside;
	bool twice;
};

static struct ctx *the_ctx(struct rxe_qp *qp)
{
	return container_of(qp, struct ctx, qp);
}

static bool work(struct rxe_qp *qp)
{
	struct ctx *c = the_ctx(qp);

	if (c->inside)
		c->twice = true;
	c->inside = true;
	c->runs++;
	if (c->nested) {
		c->nested--;
		rxe_task_run(&c->task);
	}
	c->inside = false;
	if (!c->more)
		return false;
	c->more--;
	return true;
}

/* Has more to do */
static bool end_run(struct rxe_qp *qp)
{
	the_ctx(qp)->ends++;
	return true;
}

static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	rxe_task_init(&c->task, &c->qp, work, end_run);
	test->priv = c;
	return 0;
}

static void ctx_exit(struct kunit *test)
{
	struct ctx *c = test->priv;

	if (c)
		rxe_task_kill(&c->task);
}

static void run(struct ctx *c)
{
	local_bh_disable();
	rxe_task_run(&c->task);
	local_bh_enable();
}

static void wait_for(struct kunit *test, struct ctx *c)
{
	unsigned long deadline = jiffies + 5 * HZ;

	while (atomic_read(&c->task.state) & (RXE_TASK_RUNNING | RXE_TASK_LISTED)) {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, deadline));
		usleep_range(50, 100);
	}
}

static void settle(struct kunit *test)
{
	wait_for(test, test->priv);
}

static void resumed(struct kunit *test)
{
	struct ctx *c = test->priv;

	rxe_task_resume(&c->task);
	settle(test);
	c->runs = 0;
}

static void paused_at_first(struct kunit *test)
{
	struct ctx *c = test->priv;

	run(c);
	settle(test);
	KUNIT_EXPECT_EQ(test, c->runs, 0u);
	rxe_task_resume(&c->task);
	settle(test);
	KUNIT_EXPECT_EQ(test, c->runs, 1u);
}

/* The first run is in the caller's context. The tasklet does @more runs: others get their turn */
static void expect_runs(struct kunit *test, u32 more)
{
	struct ctx *c = test->priv;

	resumed(test);
	c->more = more;
	local_bh_disable();
	rxe_task_run(&c->task);
	KUNIT_EXPECT_EQ(test, c->runs, 1u);
	local_bh_enable();
	settle(test);
	KUNIT_EXPECT_EQ(test, c->runs, 1 + more);
}

static void where_it_stands(struct kunit *test)
{
	expect_runs(test, 0);
}

static void until_done(struct kunit *test)
{
	expect_runs(test, 9);
}

static void asked_while_running(struct kunit *test)
{
	struct ctx *c = test->priv;

	resumed(test);
	c->nested = 3;
	run(c);
	settle(test);
	KUNIT_EXPECT_EQ(test, c->runs, 4u);
	KUNIT_EXPECT_FALSE(test, c->twice);
}

static void remembered(struct kunit *test)
{
	struct ctx *c = test->priv;

	resumed(test);
	rxe_task_pause(&c->task);
	run(c);
	rxe_task_schedule(&c->task);
	settle(test);
	KUNIT_EXPECT_EQ(test, c->runs, 0u);
	rxe_task_resume(&c->task);
	settle(test);
	KUNIT_EXPECT_GE(test, c->runs, 1u);
}

/* A caller may do the task's work, and ends it as a run ends. A run does the rest of the work */
static void done_by_others(struct kunit *test)
{
	struct ctx *c = test->priv;

	resumed(test);
	local_bh_disable();
	KUNIT_ASSERT_TRUE(test, rxe_task_enter(&c->task));
	rxe_task_end(&c->task, false);
	KUNIT_EXPECT_EQ(test, c->ends, 1u);
	KUNIT_EXPECT_EQ(test, c->runs, 0u);
	KUNIT_ASSERT_TRUE(test, rxe_task_enter(&c->task));
	rxe_task_leave(&c->task, false);
	local_bh_enable();
	settle(test);
	KUNIT_EXPECT_EQ(test, c->ends, 1u);
	KUNIT_EXPECT_EQ(test, c->runs, 1u);
}

static void killed(struct kunit *test)
{
	struct ctx *c = test->priv;

	resumed(test);
	c->more = 1000000;
	run(c);
	rxe_task_kill(&c->task);
	c->runs = 0;
	run(c);
	settle(test);
	KUNIT_EXPECT_EQ(test, c->runs, 0u);
}

#define MANY	(2 * RXE_TASK_PASS)

struct pass {
	struct ctx ctx[MANY];
	struct tasklet_struct between;
	u32 runs;		/* when @between ran */
	u32 first;		/* of the last task, likewise */
	bool come;
};

static void count_runs(struct tasklet_struct *t)
{
	struct pass *p = container_of(t, struct pass, between);
	u32 i;

	for (i = 0; i < MANY; i++)
		p->runs += p->ctx[i].runs;
	p->first = p->ctx[MANY - 1].runs;
	p->come = true;
}

/*
 * A pass of the tasklet runs only some of many tasks. What else waits on this CPU comes next. A
 * task that holds up others doesn't wait for its place
 */
static void passes(struct kunit *test)
{
	struct pass *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	tasklet_setup(&p->between, count_runs);
	for (i = 0; i < MANY; i++) {
		rxe_task_init(&p->ctx[i].task, &p->ctx[i].qp, work, end_run);
		rxe_task_resume(&p->ctx[i].task);
		wait_for(test, &p->ctx[i]);
		p->ctx[i].runs = 0;
	}
	local_bh_disable();
	for (i = 0; i < MANY; i++)
		rxe_task_schedule(&p->ctx[i].task);
	rxe_task_schedule_first(&p->ctx[MANY - 1].task);
	tasklet_schedule(&p->between);
	local_bh_enable();
	for (i = 0; i < MANY; i++) {
		wait_for(test, &p->ctx[i]);
		KUNIT_EXPECT_EQ(test, p->ctx[i].runs, i == MANY - 1 ? 2u : 1u);
		rxe_task_kill(&p->ctx[i].task);
	}
	tasklet_kill(&p->between);
	KUNIT_EXPECT_TRUE(test, p->come);
	KUNIT_EXPECT_GT(test, p->runs, 0u);
	KUNIT_EXPECT_LE(test, p->runs, RXE_TASK_PASS + 1u);
	KUNIT_EXPECT_EQ(test, p->first, 1u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(paused_at_first),
	KUNIT_CASE(where_it_stands),
	KUNIT_CASE(until_done),
	KUNIT_CASE(asked_while_running),
	KUNIT_CASE(remembered),
	KUNIT_CASE(done_by_others),
	KUNIT_CASE(killed),
	KUNIT_CASE(passes),
	{}
};

static struct kunit_suite suite = {
	.name = "transport-task",
	.init = ctx_init,
	.exit = ctx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
