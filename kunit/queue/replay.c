// SPDX-License-Identifier: GPL-2.0
/*
 * Saved replies to atomics (queue/replay.c): the newest are kept, also when their number
 * changes.
 */
#include <kunit/test.h>
#include <queue/replay.h>

static void keep(struct rxe_replay *replay, u64 first, u64 last)
{
	for (; first <= last; first++)
		rxe_replay_keep(replay, first, 100 + first);
}

/* Of the replies 1 to 20, exactly @first to @last are saved */
static void expect(struct kunit *test, const struct rxe_replay *replay, u64 first, u64 last)
{
	u64 seq, orig;
	bool saved;

	for (seq = 1; seq <= 20; seq++) {
		orig = 0;
		saved = seq >= first && seq <= last;
		KUNIT_EXPECT_EQ(test, rxe_replay_find(replay, seq, &orig), saved);
		KUNIT_EXPECT_EQ(test, orig, saved ? 100 + seq : 0);
	}
}

static void newest(struct kunit *test)
{
	struct rxe_replay replay;

	KUNIT_ASSERT_EQ(test, rxe_replay_init(&replay, 4), 0);
	expect(test, &replay, 1, 0);
	keep(&replay, 1, 3);
	expect(test, &replay, 1, 3);
	keep(&replay, 4, 10);
	expect(test, &replay, 7, 10);
	rxe_replay_reset(&replay);
	expect(test, &replay, 1, 0);
	rxe_replay_free(&replay);
}

static void resized(struct kunit *test, u32 from, u32 to, u64 last)
{
	u64 kept = min_t(u64, min(from, to), last);
	struct rxe_replay old, replay;

	KUNIT_ASSERT_EQ(test, rxe_replay_init(&old, from), 0);
	KUNIT_ASSERT_EQ(test, rxe_replay_init(&replay, to), 0);
	keep(&old, 1, last);
	rxe_replay_move(&replay, &old);
	expect(test, &replay, last - kept + 1, last);
	keep(&replay, last + 1, last + 1);
	KUNIT_EXPECT_TRUE(test, rxe_replay_find(&replay, last + 1, &kept));
	rxe_replay_free(&replay);
	rxe_replay_free(&old);
}

static void other_number(struct kunit *test)
{
	resized(test, 8, 3, 5);
	resized(test, 8, 3, 11);
	resized(test, 3, 8, 11);
	resized(test, 4, 4, 2);
	resized(test, 1, 1, 1);
	resized(test, 1, 16, 7);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(newest),
	KUNIT_CASE(other_number),
	{}
};

static struct kunit_suite suite = {
	.name = "queue-replay",
	.test_cases = cases,
};

kunit_test_suite(suite);
