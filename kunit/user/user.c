// SPDX-License-Identifier: GPL-2.0
/*
 * user/user.c: a user is found again until the last reference is dropped. Charged bytes are missing
 * in the user's budget, exactly, and in no other's. This also holds for threads that charge at the
 * same time.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <user/user.h>
#include "../util.h"

#define A	KUIDT_INIT(70001)
#define B	KUIDT_INIT(70002)
#define BUDGET	30000u

static struct rxe_user *get(struct kunit *test, kuid_t uid)
{
	struct rxe_user *user = rxe_user_get(uid);

	KUNIT_ASSERT_NOT_NULL(test, user);
	return user;
}

static int set_budget(struct kunit *test)
{
	knobs_save(test);
	knob_set(user_ring_bytes, BUDGET);
	return 0;
}

static void found(struct kunit *test)
{
	struct rxe_user *a = get(test, A), *b = get(test, B);

	KUNIT_EXPECT_PTR_NE(test, a, b);
	KUNIT_EXPECT_PTR_EQ(test, get(test, A), a);
	KUNIT_EXPECT_EQ(test, a->refs, 2u);
	rxe_user_put(a);
	KUNIT_EXPECT_EQ(test, a->refs, 1u);
	a->processes = 1;
	rxe_user_put(a);
	a = get(test, A);	/* added anew */
	KUNIT_EXPECT_EQ(test, a->processes, 0u);
	KUNIT_EXPECT_EQ(test, a->refs, 1u);
	rxe_user_put(a);
	rxe_user_put(b);
	rxe_user_put(NULL);
}

static void charged(struct kunit *test)
{
	struct rxe_user *a = get(test, A);

	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, BUDGET + 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, U64_MAX), -ENOMEM);
	KUNIT_EXPECT_EQ(test, a->bytes, 0ull);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, BUDGET - 10), 0);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, 11), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, U64_MAX), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, 10), 0);
	KUNIT_EXPECT_EQ(test, a->bytes, (u64)BUDGET);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, 1), -ENOMEM);
	rxe_user_uncharge(a, 5);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, 6), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, 5), 0);
	rxe_user_uncharge(a, BUDGET);
	KUNIT_EXPECT_EQ(test, a->bytes, 0ull);
	rxe_user_put(a);
}

static void two_users(struct kunit *test)
{
	struct rxe_user *a = get(test, A), *b = get(test, B);

	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, BUDGET), 0);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(b, NULL, BUDGET), 0);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, 1), -ENOMEM);
	rxe_user_uncharge(b, BUDGET);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, 1), -ENOMEM);
	rxe_user_uncharge(a, BUDGET);
	rxe_user_put(a);
	rxe_user_put(b);
}

/*
 * After a budget was lowered, all is refused until enough is uncharged. A NULL user has no limit.
 */
static void budgets(struct kunit *test)
{
	u64 part = (u64)(totalram_pages() / RXE_USER_PART) << PAGE_SHIFT;
	struct rxe_user *a = get(test, A);

	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, BUDGET), 0);
	knob_set(user_ring_bytes, BUDGET / 2);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, 1), -ENOMEM);
	rxe_user_uncharge(a, BUDGET);
	knob_set(user_ring_bytes, U64_MAX);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, part + 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, part), 0);
	knob_set(user_ring_bytes, 0);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(a, NULL, part), 0);
	rxe_user_uncharge(a, 2 * part);
	knob_set(user_ring_bytes, 1);
	KUNIT_EXPECT_EQ(test, rxe_user_charge(NULL, NULL, BUDGET), 0);
	rxe_user_uncharge(NULL, BUDGET);
	rxe_user_put(a);
}

struct thread {
	struct completion done;
	u32 charged;
};

/* Charges byte after byte until none is left. Each has its own reference */
static int charge_all(void *arg)
{
	struct thread *thread = arg;
	struct rxe_user *user;

	for (;;) {
		user = rxe_user_get(A);
		if (!user || rxe_user_charge(user, NULL, 1))
			break;
		thread->charged++;
		cond_resched();
	}
	rxe_user_put(user);
	complete(&thread->done);
	return 0;
}

static void threads(struct kunit *test)
{
	struct thread thread[2] = {};
	struct rxe_user *a;
	int i;

	for (i = 0; i < 2; i++) {
		init_completion(&thread[i].done);
		KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(charge_all, &thread[i], "kunit")));
	}
	for (i = 0; i < 2; i++)
		wait_for_completion(&thread[i].done);
	KUNIT_EXPECT_EQ(test, thread[0].charged + thread[1].charged, BUDGET);
	a = get(test, A);
	KUNIT_EXPECT_EQ(test, a->bytes, (u64)BUDGET);
	KUNIT_EXPECT_EQ(test, a->refs, BUDGET + 1);
	rxe_user_uncharge(a, BUDGET);
	for (i = 0; i <= BUDGET; i++)
		rxe_user_put(a);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(found),
	KUNIT_CASE(charged),
	KUNIT_CASE(two_users),
	KUNIT_CASE(budgets),
	KUNIT_CASE(threads),
	{}
};

static struct kunit_suite suite = {
	.name = "user",
	.init = set_budget,
	.exit = knobs_restore,
	.test_cases = cases,
};

kunit_test_suite(suite);
