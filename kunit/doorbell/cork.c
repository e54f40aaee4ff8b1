// SPDX-License-Identifier: GPL-2.0
/*
 * doorbell/cork.c: which doorbells are corked, and when a worker sends.
 */
#include <rxe/transport.h>
#include "../util.h"

#define STEP_NS	(20 * NSEC_PER_USEC)

/* Ring @n doorbells after @polled completions. Return: number of doorbells that wait */
static u32 ring(struct rxe_cork *cork, ktime_t *now, u32 n, u32 polled, u64 step)
{
	u32 waits = 0;

	while (n--) {
		*now = ktime_add_ns(*now, step);
		waits += rxe_cork_fits(cork, polled, false, 0, *now);
	}
	return waits;
}

/* A process that posts without polling waits from the third doorbell on */
static void stream(struct kunit *test)
{
	struct rxe_cork cork = {};
	ktime_t now = NSEC_PER_SEC;

	KUNIT_EXPECT_EQ(test, ring(&cork, &now, rxe_knob(cork_row), 7, STEP_NS), 0u);
	KUNIT_EXPECT_EQ(test, ring(&cork, &now, 1000, 7, STEP_NS), 1000u);
}

/* A process that polls, or gets a request, before each doorbell never waits */
static void ping_pong(struct kunit *test)
{
	struct rxe_cork cork = {};
	ktime_t now = NSEC_PER_SEC;
	u32 polled, waits = 0;

	for (polled = 0; polled < 1000; polled++)
		waits += ring(&cork, &now, rxe_knob(cork_row), polled, STEP_NS);
	KUNIT_EXPECT_EQ(test, waits, 0u);
}

/* A poll ends the row: the next message is sent at once */
static void poll(struct kunit *test)
{
	struct rxe_cork cork = {};
	ktime_t now = NSEC_PER_SEC;

	ring(&cork, &now, 10, 0, STEP_NS);
	KUNIT_EXPECT_EQ(test, ring(&cork, &now, rxe_knob(cork_row), 1, STEP_NS), 0u);
	KUNIT_EXPECT_EQ(test, ring(&cork, &now, 1, 1, STEP_NS), 1u);
}

/* In a stream, the second doorbell after a poll waits, but never the first */
static void window(struct kunit *test)
{
	struct rxe_cork cork = { .stream = true };
	ktime_t now = NSEC_PER_SEC;
	u32 polled;

	ring(&cork, &now, 1, 0, STEP_NS);
	for (polled = 1; polled < 100; polled++) {
		KUNIT_EXPECT_EQ(test, ring(&cork, &now, 1, polled, STEP_NS), 0u);
		KUNIT_EXPECT_EQ(test, ring(&cork, &now, 15, polled, STEP_NS), 15u);
	}
	cork.stream = false;
	KUNIT_EXPECT_EQ(test, ring(&cork, &now, rxe_knob(cork_row), polled, STEP_NS), 0u);
}

/* A process that polls completions one by one, and has more to poll, waits */
static void drain(struct kunit *test)
{
	struct rxe_cork cork = {};
	ktime_t now = NSEC_PER_SEC;
	u32 polled, asked, waits = 0;

	for (polled = 1; polled <= 100; polled++) {
		now = ktime_add_ns(now, STEP_NS);
		waits += rxe_cork_fits(&cork, polled, polled < 100, 0, now);
	}
	KUNIT_EXPECT_EQ(test, waits, 99 - rxe_knob(cork_row));
	for (asked = waits = 0; asked < 100; asked++) {
		now = ktime_add_ns(now, STEP_NS);
		waits += rxe_cork_fits(&cork, polled++, true, asked, now);
	}
	KUNIT_EXPECT_EQ(test, waits, 0u);
}

/* A pause ends the row, too */
static void pause(struct kunit *test)
{
	struct rxe_cork cork = {};
	ktime_t now = NSEC_PER_SEC;

	ring(&cork, &now, 10, 0, STEP_NS);
	KUNIT_EXPECT_EQ(test, ring(&cork, &now, 100, 0, rxe_knob(cork_gap_ns)), 0u);
	KUNIT_EXPECT_EQ(test, ring(&cork, &now, 100, 0, rxe_knob(cork_gap_ns) - 1),
			101u - rxe_knob(cork_row));
}

/* If corks gather few messages, a slow poster waits only in occasional trials */
static void vain(struct kunit *test)
{
	struct rxe_cork cork = {};
	ktime_t now = NSEC_PER_SEC;
	u32 i, waits;

	ring(&cork, &now, rxe_knob(cork_row), 0, STEP_NS);
	for (i = 0; i < rxe_knob(cork_vain); i++) {
		KUNIT_EXPECT_EQ(test, ring(&cork, &now, 1, 0, STEP_NS), 1u);
		rxe_cork_late(&cork, rxe_knob(cork_few) - 1);
	}
	for (i = waits = 0; i < 10 * (rxe_knob(cork_skip) + 1); i++)
		if (ring(&cork, &now, 1, 0, STEP_NS)) {
			rxe_cork_late(&cork, 1);
			waits++;
		}
	KUNIT_EXPECT_EQ(test, waits, 10u);
	KUNIT_EXPECT_EQ(test, ring(&cork, &now, rxe_knob(cork_skip), 0, STEP_NS), 0u);
	rxe_cork_late(&cork, rxe_knob(cork_few));
	KUNIT_EXPECT_EQ(test, ring(&cork, &now, 100, 0, STEP_NS), 100u);
}

/* Works may take each CPU once. A single CPU is the poster's */
static void few_workers(struct kunit *test)
{
	u32 cpus;

	KUNIT_EXPECT_FALSE(test, rxe_cork_has_worker(0, 1));
	for (cpus = 2; cpus < 100; cpus++) {
		KUNIT_ASSERT_TRUE(test, rxe_cork_has_worker(cpus - 1, cpus));
		KUNIT_ASSERT_FALSE(test, rxe_cork_has_worker(cpus, cpus));
		KUNIT_ASSERT_FALSE(test, rxe_cork_has_worker(1000, cpus));
	}
}

/* A worker goes on until too many small messages wait. It begins for large messages */
static void slow_worker(struct kunit *test)
{
	struct rxe_cork cork = {};
	u32 most = rxe_knob(cork_most);

	KUNIT_EXPECT_FALSE(test, rxe_cork_needs_worker(&cork, 1, false, true));
	KUNIT_EXPECT_FALSE(test, rxe_cork_needs_worker(&cork, 1, true, false));
	KUNIT_EXPECT_TRUE(test, rxe_cork_needs_worker(&cork, 1, true, true));
	cork.working = true;
	KUNIT_EXPECT_TRUE(test, rxe_cork_needs_worker(&cork, 1, false, false));
	KUNIT_EXPECT_TRUE(test, rxe_cork_needs_worker(&cork, most - 1, false, false));
	KUNIT_EXPECT_FALSE(test, rxe_cork_needs_worker(&cork, most, false, false));
	KUNIT_EXPECT_TRUE(test, rxe_cork_needs_worker(&cork, most, true, false));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(stream),
	KUNIT_CASE(ping_pong),
	KUNIT_CASE(poll),
	KUNIT_CASE(window),
	KUNIT_CASE(drain),
	KUNIT_CASE(pause),
	KUNIT_CASE(vain),
	KUNIT_CASE(few_workers),
	KUNIT_CASE(slow_worker),
	{}
};

static struct kunit_suite suite = {
	.name = "doorbell-cork",
	.test_cases = cases,
};

kunit_test_suite(suite);
