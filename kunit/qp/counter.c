// SPDX-License-Identifier: GPL-2.0
/*
 * qp/counter.c: a QP counts either for its port or for the counter that it is bound to,
 * and several may share one.
 */
#include "../fake.h"

static void make_counter(struct kunit *test, struct rdma_counter *counter)
{
	counter->device = &fake(test)->rxe->ibdev;
	counter->port = 1;
	mutex_init(&counter->lock);
	counter->stats = rxe_counter_alloc_stats(counter);
	KUNIT_ASSERT_NOT_NULL(test, counter->stats);
	KUNIT_ASSERT_EQ(test, rxe_counter_bind(counter, &fake(test)->qp->ibqp), 0);
	KUNIT_EXPECT_NE(test, counter->id, 0u);
	KUNIT_EXPECT_PTR_EQ(test, fake(test)->qp->ibqp.counter, counter);
}

static void drop_counter(struct kunit *test, struct rdma_counter *counter)
{
	KUNIT_EXPECT_EQ(test, rxe_counter_dealloc(counter), 0);
	/* older cores may still read it; it has no values any more */
	KUNIT_EXPECT_EQ(test, rxe_counter_update(counter), 0);
	kfree(counter->stats);
}

/* WRITE @n arrives from the peer */
static void write_comes(struct kunit *test, u32 n)
{
	struct rxe_pkt pkt = {
		.opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY,
		.psn = rxe_psn_add(FAKE_RQ_PSN, n),
		.ack_req = true,
	};

	fake_inject(test, &pkt, NULL, 0);
	fake_settle(test);
}

static void expect_writes(struct kunit *test, struct rdma_counter *counter, u64 bound,
			  u64 port)
{
	KUNIT_EXPECT_EQ(test, rxe_counter_update(counter), 0);
	KUNIT_EXPECT_EQ(test, counter->stats->value[RXE_CNT_RX_WRITE_REQ], bound);
	KUNIT_EXPECT_EQ(test, rxe_count_sum(fake(test)->rxe, RXE_CNT_RX_WRITE_REQ), port);
}

static void bound_and_unbound(struct kunit *test)
{
	struct rdma_counter counter = {};

	write_comes(test, 0);
	make_counter(test, &counter);
	expect_writes(test, &counter, 0, 1);
	write_comes(test, 1);
	write_comes(test, 2);
	expect_writes(test, &counter, 2, 1);
	KUNIT_EXPECT_EQ(test, rxe_counter_unbind(&fake(test)->qp->ibqp), 0);
	KUNIT_EXPECT_PTR_EQ(test, fake(test)->qp->ibqp.counter, NULL);
	write_comes(test, 3);
	expect_writes(test, &counter, 2, 2);
	drop_counter(test, &counter);
}

/* The next QP of a counter shares its values */
static void shared(struct kunit *test)
{
	struct rdma_counter counter = {};
	u32 id;

	make_counter(test, &counter);
	id = counter.id;
	write_comes(test, 0);
	rxe_counter_unbind(&fake(test)->qp->ibqp);
	KUNIT_EXPECT_EQ(test, rxe_counter_bind(&counter, &fake(test)->qp->ibqp), 0);
	KUNIT_EXPECT_EQ(test, counter.id, id);
	write_comes(test, 1);
	expect_writes(test, &counter, 2, 0);
	rxe_counter_unbind(&fake(test)->qp->ibqp);
	drop_counter(test, &counter);
}

/* A counter to which no QP was ever bound */
static void empty(struct kunit *test)
{
	struct rdma_counter counter = { .device = &fake(test)->rxe->ibdev };

	mutex_init(&counter.lock);
	KUNIT_EXPECT_EQ(test, rxe_counter_dealloc(&counter), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bound_and_unbound),
	KUNIT_CASE(shared),
	KUNIT_CASE(empty),
	{}
};

static struct kunit_suite suite = {
	.name = "qp-counter",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
