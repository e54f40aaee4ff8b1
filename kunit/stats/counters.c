// SPDX-License-Identifier: GPL-2.0
/*
 * stats/counters.c: each counter has its name, and mlx5's name for it shows the same value.
 */
#include <linux/string.h>
#include "../fake.h"

/* Each counter has a value of its own */
static void set_all(struct kunit *test)
{
	u64 *cnt = per_cpu_ptr(fake(test)->rxe->stats, 0)->cnt;
	int i;

	for (i = 0; i < RXE_NUM_COUNTERS; i++)
		cnt[i] = 100 + i;
}

static u64 shown(struct kunit *test, const struct rdma_hw_stats *stats, const char *name)
{
	int i, found = 0;
	u64 value = 0;

	for (i = 0; i < stats->num_counters; i++) {
		if (strcmp(stats->descs[i].name, name))
			continue;
		value = stats->value[i];
		found++;
	}
	KUNIT_EXPECT_EQ_MSG(test, found, 1, "%s", name);
	return value;
}

#define NAME(e, n) { #n, RXE_CNT_##e },
static const struct { const char *name; enum rxe_counter counter; } all_names[] = {
	RXE_COUNTERS(NAME)
	RXE_COUNTER_ALIASES(NAME)
};

static void names(struct kunit *test)
{
	struct ib_device *ibdev = &fake(test)->rxe->ibdev;
	struct rdma_hw_stats *stats = rxe_alloc_hw_port_stats(ibdev, 1);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, stats);
	set_all(test);
	KUNIT_EXPECT_EQ(test, rxe_get_hw_stats(ibdev, stats, 1, 0), stats->num_counters);
	KUNIT_EXPECT_EQ(test, stats->num_counters, (int)ARRAY_SIZE(all_names));
	for (i = 0; i < ARRAY_SIZE(all_names); i++)
		KUNIT_EXPECT_EQ_MSG(test, shown(test, stats, all_names[i].name),
				    100ull + all_names[i].counter, "%s", all_names[i].name);
	KUNIT_EXPECT_EQ(test, rxe_get_hw_stats(ibdev, stats, 0, 0), -EINVAL);
	kfree(stats);
}

/* A QP's own counter has the same names, and older values stay in place */
static void bound(struct kunit *test)
{
	struct rdma_counter counter = { .device = &fake(test)->rxe->ibdev, .port = 1 };

	mutex_init(&counter.lock);
	counter.stats = rxe_counter_alloc_stats(&counter);
	KUNIT_ASSERT_NOT_NULL(test, counter.stats);
	KUNIT_ASSERT_EQ(test, rxe_counter_bind(&counter, &fake(test)->qp->ibqp), 0);
	local_bh_disable();
	rxe_count_add(fake(test)->qp, RETRY_EXCEEDED, 3);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, rxe_counter_update(&counter), 0);
	KUNIT_EXPECT_EQ(test, shown(test, counter.stats, "retry_exceeded_err"), 3ull);
	KUNIT_EXPECT_EQ(test, shown(test, counter.stats, "req_transport_retries_exceeded"), 3ull);
	rxe_counter_unbind(&fake(test)->qp->ibqp);
	rxe_counter_dealloc(&counter);
	kfree(counter.stats);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(names),
	KUNIT_CASE(bound),
	{}
};

static struct kunit_suite suite = {
	.name = "stats-counters",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
