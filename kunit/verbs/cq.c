// SPDX-License-Identifier: GPL-2.0
/*
 * verbs/cq.c and cq_event.c, as a kernel consumer uses them. Completions are polled in order. An
 * armed CQ calls its handler once, with no lock held, for the completions that it was armed for.
 * Moderation delays this call. An overflow raises an event, unless the CQ ignores overruns, and
 * posted completions stay. Resizing loses none. A destroyed QP leaves none.
 * Arming flushes a bounded number of QPs in ERR.
 */
#include <linux/delay.h>
#include <linux/string.h>
#include <rxe/qp.h>
#include <rxe/verbs.h>
#include "../util.h"

#define CQE	10

struct ctx {
	struct rxe_dev rxe;
	struct rxe_cq cq;
	struct ib_qp qp, other;
	u32 events;		/* calls of the handler */
	u32 polled;		/* completions that the handler took */
	bool rearm;
	u32 errors;		/* IB_EVENT_CQ_ERR */
};

static void handler(struct ib_cq *ibcq, void *context)
{
	struct ctx *c = context;
	struct ib_wc wc;

	c->events++;
	if (!c->rearm)
		return;
	/* this would deadlock if a lock of the CQ were held */
	while (rxe_poll_cq(ibcq, 1, &wc) == 1)
		c->polled++;
	rxe_req_notify_cq(ibcq, IB_CQ_NEXT_COMP);
}

static void on_event(struct ib_event *event, void *context)
{
	struct ctx *c = context;

	c->errors += event->event == IB_EVENT_CQ_ERR;
}

static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct ib_cq_init_attr attr = { .cqe = CQE };

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->rxe.ibdev.num_comp_vectors = 1;
	xa_init_flags(&c->rxe.qps, XA_FLAGS_ALLOC);
	c->cq.ibcq.device = &c->rxe.ibdev;
	c->cq.ibcq.comp_handler = handler;
	c->cq.ibcq.event_handler = on_event;
	c->cq.ibcq.cq_context = c;
	KUNIT_ASSERT_EQ(test, rxe_create_cq(&c->cq.ibcq, &attr, NULL), 0);
	test->priv = c;
	return 0;
}

static void ctx_exit(struct kunit *test)
{
	struct ctx *c = test->priv;

	if (c)
		rxe_destroy_cq(&c->cq.ibcq, NULL);
}

/* The handler may run on another CPU, and later */
static void wait_handler(struct kunit *test)
{
	struct ctx *c = test->priv;
	unsigned long deadline = jiffies + 5 * HZ;

	while (atomic_read(&c->cq.kicked) ||
	       test_bit(TASKLET_STATE_SCHED, &c->cq.tasklet.state) ||
	       test_bit(TASKLET_STATE_RUN, &c->cq.tasklet.state)) {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, deadline));
		usleep_range(50, 100);
	}
}

/* Post a completion of @qp, as transport/ does */
static void post_of(struct kunit *test, struct ib_qp *qp, u64 wr_id, enum ib_wc_status status,
		    bool solicited)
{
	struct ctx *c = test->priv;
	struct ib_wc wc = { .wr_id = wr_id, .status = status, .qp = qp };

	local_bh_disable();
	rxe_cq_post(&c->cq, &wc, solicited);
	rxe_cq_event(&c->cq);
	local_bh_enable();
	wait_handler(test);
}

static void post(struct kunit *test, u64 wr_id, enum ib_wc_status status, bool solicited)
{
	struct ctx *c = test->priv;

	post_of(test, &c->qp, wr_id, status, solicited);
}

static void expect(struct kunit *test, u64 wr_id)
{
	struct ctx *c = test->priv;
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, rxe_poll_cq(&c->cq.ibcq, 1, &wc), 1);
	KUNIT_ASSERT_EQ(test, wc.wr_id, wr_id);
}

/* Completions are polled in the order in which they came [11.4.2] */
static void in_order(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ib_wc wc[CQE];
	u32 round, i, n;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < CQE; i++)
			post(test, round * CQE + i, IB_WC_SUCCESS, false);
		n = rxe_poll_cq(&c->cq.ibcq, round % CQE, wc);
		KUNIT_ASSERT_EQ(test, n, round % CQE);
		n += rxe_poll_cq(&c->cq.ibcq, CQE - n, wc + n);
		KUNIT_ASSERT_EQ(test, n, CQE);
		for (i = 0; i < CQE; i++)
			KUNIT_ASSERT_EQ(test, wc[i].wr_id, round * CQE + i);
		KUNIT_ASSERT_EQ(test, rxe_poll_cq(&c->cq.ibcq, 1, wc), 0);
	}
	KUNIT_EXPECT_EQ(test, c->events, 0u);
}

/* One event for each request [11.4.2.2] */
static void armed_once(struct kunit *test)
{
	struct ctx *c = test->priv;

	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_NEXT_COMP);
	KUNIT_EXPECT_EQ(test, c->events, 0u);
	post(test, 1, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, c->events, 1u);
	post(test, 2, IB_WC_SUCCESS, true);
	KUNIT_EXPECT_EQ(test, c->events, 1u);
}

/* A request for solicited events only [11.4.2.2] */
static void solicited(struct kunit *test)
{
	struct ctx *c = test->priv;

	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_SOLICITED);
	post(test, 1, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, c->events, 0u);
	post(test, 2, IB_WC_SUCCESS, true);
	KUNIT_EXPECT_EQ(test, c->events, 1u);
	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_SOLICITED);
	post(test, 3, IB_WC_WR_FLUSH_ERR, false);
	KUNIT_EXPECT_EQ(test, c->events, 2u);
	/* a weaker request doesn't replace a stronger one */
	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_NEXT_COMP);
	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_SOLICITED);
	post(test, 4, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, c->events, 3u);
}

static void missed(struct kunit *test)
{
	struct ctx *c = test->priv;
	int flags = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;

	KUNIT_EXPECT_EQ(test, rxe_req_notify_cq(&c->cq.ibcq, flags), 0);
	post(test, 1, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_GT(test, rxe_req_notify_cq(&c->cq.ibcq, flags), 0);
	expect(test, 1);
	KUNIT_EXPECT_EQ(test, rxe_req_notify_cq(&c->cq.ibcq, flags), 0);
}

static void handler_polls_and_arms(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i;

	c->rearm = true;
	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_NEXT_COMP);
	for (i = 0; i < 100; i++)
		post(test, i, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, c->events, 100u);
	KUNIT_EXPECT_EQ(test, c->polled, 100u);
}

static const struct rxe_cq_ops normal_ops = {
	.failed = rxe_qp_cq_error, .armed = rxe_qp_cq_armed,
};

static u32 num_failed;

static void count_failed(struct ib_qp *ibqp)
{
	num_failed++;
}

static const struct rxe_cq_ops failed_ops = { .failed = count_failed };

static void overflow(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 fit = c->cq.ibcq.cqe, i;
	struct ib_wc wc;

	rxe_cq_set_ops(&failed_ops);
	KUNIT_ASSERT_GE(test, fit, CQE);
	for (i = 0; i < fit; i++)
		post(test, i, IB_WC_SUCCESS, false);
	flush_work(&c->cq.overflow_work);
	KUNIT_EXPECT_EQ(test, c->errors, 0u);
	for (; i < fit + 5; i++)
		post(test, i, IB_WC_SUCCESS, false);
	flush_work(&c->cq.overflow_work);
	KUNIT_EXPECT_EQ(test, c->errors, 1u);
	for (i = 0; i < fit; i++)
		expect(test, i);
	KUNIT_EXPECT_EQ(test, rxe_poll_cq(&c->cq.ibcq, 1, &wc), 0);
	rxe_cq_set_ops(&normal_ops);
}

/*
 * The first loss stops the QPs of the CQ. A later loss stops only its QP, at once, unless the work
 * request was flushed. The event isn't repeated
 */
static void overflow_again(struct kunit *test)
{
	struct rxe_cq_user users[3] = {};
	struct ctx *c = test->priv;
	u32 i;

	rxe_cq_set_ops(&failed_ops);
	num_failed = 0;
	for (i = 0; i < ARRAY_SIZE(users); i++)
		rxe_cq_add_user(&c->cq, &users[i], &c->qp);
	rxe_cq_remove_user(&users[1]);
	for (i = 0; i <= c->cq.ibcq.cqe; i++)
		post(test, i, IB_WC_SUCCESS, false);
	flush_work(&c->cq.overflow_work);
	KUNIT_EXPECT_EQ(test, num_failed, 2u);
	post(test, i, IB_WC_WR_FLUSH_ERR, false);
	KUNIT_EXPECT_EQ(test, num_failed, 2u);
	post(test, i, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, num_failed, 3u);
	KUNIT_EXPECT_FALSE(test, flush_work(&c->cq.overflow_work));
	KUNIT_EXPECT_EQ(test, num_failed, 3u);
	KUNIT_EXPECT_EQ(test, c->errors, 1u);
	rxe_cq_set_ops(&normal_ops);
}

#define LONG_US	U16_MAX

static void arm_and_moderate(struct kunit *test, u16 count, u16 period)
{
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, rxe_modify_cq(&c->cq.ibcq, count, period), 0);
	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_NEXT_COMP);
}

/* The timer is stopped, so that only the number raises the event */
static void moderated_by_count(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i;

	arm_and_moderate(test, 3, LONG_US);
	for (i = 1; i < 3; i++) {
		post(test, i, IB_WC_SUCCESS, false);
		hrtimer_cancel(&c->cq.timer);
		KUNIT_EXPECT_EQ(test, c->events, 0u);
	}
	post(test, 3, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, c->events, 1u);
	post(test, 4, IB_WC_SUCCESS, false);	/* not armed any more */
	KUNIT_EXPECT_EQ(test, c->events, 1u);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&c->cq.timer));
	/* the count starts at 0, and includes only completions that the CQ is armed for */
	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_SOLICITED);
	for (i = 0; i < 5; i++)
		post(test, 5, IB_WC_SUCCESS, i & 1);
	hrtimer_cancel(&c->cq.timer);
	KUNIT_EXPECT_EQ(test, c->events, 1u);
	post(test, 6, IB_WC_SUCCESS, true);
	KUNIT_EXPECT_EQ(test, c->events, 2u);
}

/* With count 0 only the period counts, from the first completion on */
static void moderated_by_time(struct kunit *test)
{
	struct ctx *c = test->priv;
	unsigned long deadline = jiffies + 5 * HZ;
	ktime_t start = ktime_get();

	arm_and_moderate(test, 0, 20000);
	post(test, 1, IB_WC_SUCCESS, false);
	post(test, 2, IB_WC_SUCCESS, false);
	while (!READ_ONCE(c->events) && time_before(jiffies, deadline))
		usleep_range(500, 1000);
	KUNIT_EXPECT_EQ(test, c->events, 1u);
	KUNIT_EXPECT_GE(test, ktime_us_delta(ktime_get(), start), 20000LL);
	wait_handler(test);
	KUNIT_EXPECT_EQ(test, c->events, 1u);
}

static void not_moderated(struct kunit *test)
{
	static const u16 off[][2] = { { 0, 0 }, { 5, 0 }, { 1, LONG_US } };
	struct ctx *c = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(off); i++) {
		arm_and_moderate(test, off[i][0], off[i][1]);
		post(test, i, IB_WC_SUCCESS, false);
		KUNIT_EXPECT_EQ(test, c->events, i + 1);
	}
}

/* New settings, and destroying the CQ, leave no event and no timer behind */
static void moderation_changes(struct kunit *test)
{
	struct ctx *c = test->priv;

	arm_and_moderate(test, 5, LONG_US);
	post(test, 1, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, rxe_modify_cq(&c->cq.ibcq, 5, LONG_US), 0);
	wait_handler(test);
	KUNIT_EXPECT_EQ(test, c->events, 1u);
	rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_NEXT_COMP);
	post(test, 2, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&c->cq.timer));
}

static struct completion work_started;
static bool work_ended;

static void slow_work(struct work_struct *work)
{
	complete(&work_started);
	msleep(50);
	WRITE_ONCE(work_ended, true);
}

/* While a CQ is being destroyed, it calls no handler, even if an event is due */
static void closed(struct kunit *test)
{
	struct ctx *c = test->priv;

	arm_and_moderate(test, 5, LONG_US);
	post(test, 1, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, rxe_pre_destroy_cq(&c->cq.ibcq), 0);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&c->cq.timer));
	arm_and_moderate(test, 0, 0);
	post(test, 2, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, c->events, 0u);
}

/* The RDMA core frees the CQ after this, so its work mustn't run any more */
static void work_cancelled(struct kunit *test)
{
	struct ctx *c = test->priv;

	init_completion(&work_started);
	work_ended = false;
	c->cq.ibcq.poll_ctx = IB_POLL_WORKQUEUE;
	INIT_WORK(&c->cq.ibcq.work, slow_work);
	schedule_work(&c->cq.ibcq.work);
	wait_for_completion(&work_started);
	schedule_work(&c->cq.ibcq.work);	/* as the handler may do at any time */
	test->priv = NULL;
	rxe_destroy_cq(&c->cq.ibcq, NULL);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(work_ended));
	KUNIT_EXPECT_EQ(test, work_busy(&c->cq.ibcq.work), 0u);
	cancel_work_sync(&c->cq.ibcq.work);
}

static void overrun_ignored(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 fit = c->cq.ibcq.cqe, round, i;

	c->cq.may_lose = true;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < fit + 5; i++)
			post(test, i, IB_WC_SUCCESS, false);
		for (i = 0; i < fit; i++)
			expect(test, i);
	}
	flush_work(&c->cq.overflow_work);
	KUNIT_EXPECT_EQ(test, c->errors, 0u);
}

static void resize(struct kunit *test)
{
	static const u32 sizes[] = { 1000, 7, 64, 20, 5, 300 };
	struct ctx *c = test->priv;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < 5; k++)
			post(test, 10 * i + k, IB_WC_SUCCESS, false);
		KUNIT_ASSERT_EQ(test, rxe_resize_cq(&c->cq.ibcq, sizes[i], NULL),
				0);
		KUNIT_ASSERT_GE(test, c->cq.ibcq.cqe, (int)sizes[i]);
		for (k = 0; k < 5; k++)
			expect(test, 10 * i + k);
	}
}

static void resize_refused(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, cqe = c->cq.ibcq.cqe;

	for (i = 0; i < CQE; i++)
		post(test, i, IB_WC_SUCCESS, false);
	KUNIT_EXPECT_NE(test, rxe_resize_cq(&c->cq.ibcq, 0, NULL), 0);
	KUNIT_EXPECT_NE(test, rxe_resize_cq(&c->cq.ibcq, 3, NULL), 0);
	KUNIT_EXPECT_NE(test, rxe_resize_cq(&c->cq.ibcq, RXE_MAX_CQE + 1, NULL),
			0);
	KUNIT_EXPECT_EQ(test, (u32)c->cq.ibcq.cqe, cqe);
	for (i = 0; i < CQE; i++)
		expect(test, i);
}

/* Sizes, vectors and flags that the device lacks [11.2.8] */
static void create_refused(struct kunit *test)
{
	static const struct ib_cq_init_attr bad[] = {
		{ .cqe = 0 }, { .cqe = RXE_MAX_CQE + 1 },
		{ .cqe = 1, .comp_vector = 1 }, { .cqe = 1, .flags = BIT(7) },
	};
	struct ctx *c = test->priv;
	struct rxe_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);
	struct ib_cq_init_attr stamps = {
		.cqe = 1, .flags = IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION,
	};
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	cq->ibcq.device = &c->rxe.ibdev;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_NE(test, rxe_create_cq(&cq->ibcq, &bad[i], NULL), 0);
	KUNIT_EXPECT_EQ(test, rxe_create_cq(&cq->ibcq, &stamps, NULL), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->rxe.num_cq), 1);
}

/* A QP in ERR, which counts how often it is flushed */
struct flushed {
	struct list_head link;
	u32 num;
};

static void count_flush(struct list_head *link)
{
	list_entry(link, struct flushed, link)->num++;
}

static const struct rxe_cq_ops count_ops = { .failed = rxe_qp_cq_error, .armed = count_flush };

static void request_events(struct ctx *c, u32 num)
{
	rxe_cq_set_ops(&count_ops);
	while (num--)
		rxe_req_notify_cq(&c->cq.ibcq, IB_CQ_NEXT_COMP);
	rxe_cq_set_ops(&normal_ops);
}

/* A request for an event flushes a few QPs, and the next request flushes the next few */
static void flush_in_turn(struct kunit *test)
{
	static const u32 nums[] = { 0, 1, 2, RXE_FLUSH_ARMED - 1, RXE_FLUSH_ARMED };
	const u32 calls = 3, total = RXE_FLUSH_ARMED * calls;
	struct ctx *c = test->priv;
	struct flushed *qps = kunit_kcalloc(test, total, sizeof(*qps), GFP_KERNEL);
	u32 i, n = 0;

	KUNIT_ASSERT_NOT_NULL(test, qps);
	for (i = 0; i < ARRAY_SIZE(nums); i++) {	/* each call flushes all of them once */
		for (; n < nums[i]; n++)
			list_add_tail(&qps[n].link, &c->cq.flushing);
		request_events(c, 1);
	}
	KUNIT_EXPECT_EQ(test, qps[0].num, 4u);
	KUNIT_EXPECT_EQ(test, qps[1].num, 3u);
	KUNIT_EXPECT_EQ(test, qps[n - 1].num, 1u);
	for (; n < total; n++)
		list_add_tail(&qps[n].link, &c->cq.flushing);
	for (i = 0; i < total; i++)
		qps[i].num = 0;
	request_events(c, calls - 1);
	KUNIT_EXPECT_EQ(test, qps[0].num, 1u);
	KUNIT_EXPECT_EQ(test, qps[total - 1].num, 0u);
	request_events(c, 1);
	for (i = 0; i < total; i++)
		KUNIT_EXPECT_EQ(test, qps[i].num, 1u);
}

/* The completions of a destroyed QP are gone; the others stay in order, wherever the ring begins */
static void forgotten(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ib_wc wc;
	u32 i, round;

	for (round = 0; round < 2 * CQE; round++) {
		for (i = 0; i < 8; i++)
			post_of(test, i % 3 ? &c->qp : &c->other, i, IB_WC_SUCCESS, false);
		expect(test, 0);
		rxe_cq_forget(&c->cq, &c->other);
		post(test, 8, IB_WC_SUCCESS, false);
		for (i = 1; i < 9; i++)
			if (i % 3 || i == 8)
				expect(test, i);
		KUNIT_EXPECT_EQ(test, rxe_poll_cq(&c->cq.ibcq, 1, &wc), 0);
	}
	post(test, 1, IB_WC_SUCCESS, false);
	rxe_cq_forget(&c->cq, &c->qp);
	KUNIT_EXPECT_EQ(test, rxe_poll_cq(&c->cq.ibcq, 1, &wc), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(in_order),
	KUNIT_CASE(armed_once),
	KUNIT_CASE(solicited),
	KUNIT_CASE(missed),
	KUNIT_CASE(handler_polls_and_arms),
	KUNIT_CASE(overflow),
	KUNIT_CASE(overflow_again),
	KUNIT_CASE(overrun_ignored),
	KUNIT_CASE(moderated_by_count),
	KUNIT_CASE(moderated_by_time),
	KUNIT_CASE(not_moderated),
	KUNIT_CASE(moderation_changes),
	KUNIT_CASE(closed),
	KUNIT_CASE(work_cancelled),
	KUNIT_CASE(resize),
	KUNIT_CASE(resize_refused),
	KUNIT_CASE(create_refused),
	KUNIT_CASE(flush_in_turn),
	KUNIT_CASE(forgotten),
	{}
};

static struct kunit_suite suite = {
	.name = "verbs-cq",
	.init = ctx_init,
	.exit = ctx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
