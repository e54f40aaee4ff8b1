// SPDX-License-Identifier: GPL-2.0
/*
 * loss/gap.c: the patience applies to each missing packet. It doubles if the packet was only
 * late, halves if it was lost, and stays within its bounds.
 */
#include <loss/gap.h>
#include <rxe/knobs.h>
#include "../util.h"

#define NOW	((u64)NSEC_PER_SEC)

static void waits(struct kunit *test)
{
	u64 least = rxe_knob(reorder_ns);
	struct rxe_gap gap;

	rxe_gap_reset(&gap);
	KUNIT_EXPECT_EQ(test, rxe_gap_until(&gap, 7, NOW), NOW + least);
	/* the same packet is missing since NOW, another packet only since NOW + 5 */
	KUNIT_EXPECT_EQ(test, rxe_gap_until(&gap, 7, NOW + 5), NOW + least);
	KUNIT_EXPECT_EQ(test, rxe_gap_until(&gap, 8, NOW + 5), NOW + 5 + least);
}

/* Packets @psn to @psn + @count - 1 are requested again; they come twice if @late */
static void request(struct rxe_gap *gap, u32 psn, u32 count, bool late)
{
	for (; count--; psn++) {
		rxe_gap_until(gap, psn, NOW);
		rxe_gap_asked(gap);
		if (late)
			rxe_gap_late(gap, psn);
	}
}

static void learns(struct kunit *test)
{
	u64 least = rxe_knob(reorder_ns);
	struct rxe_gap gap;

	rxe_gap_reset(&gap);
	request(&gap, 1, 1, true);
	KUNIT_EXPECT_EQ(test, gap.patience, 2 * least);
	request(&gap, 2, 1, true);
	KUNIT_EXPECT_EQ(test, gap.patience, 4 * least);
	/* the third packet counts as lost once the fourth is requested */
	request(&gap, 3, 1, false);
	KUNIT_EXPECT_EQ(test, gap.patience, 4 * least);
	request(&gap, 4, 1, false);
	KUNIT_EXPECT_EQ(test, gap.patience, 2 * least);
	/* the same packet once more, or a packet that wasn't requested: nothing is learned */
	request(&gap, 4, 1, false);
	rxe_gap_late(&gap, 3);
	KUNIT_EXPECT_EQ(test, gap.patience, 2 * least);
}

static void bounds(struct kunit *test)
{
	struct rxe_gap gap;

	rxe_gap_reset(&gap);
	request(&gap, 1, 100, true);
	KUNIT_EXPECT_EQ(test, gap.patience, rxe_knob(reorder_max_ns));
	request(&gap, 101, 100, false);
	KUNIT_EXPECT_EQ(test, gap.patience, rxe_knob(reorder_ns));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(waits),
	KUNIT_CASE(learns),
	KUNIT_CASE(bounds),
	{}
};

static struct kunit_suite suite = {
	.name		= "loss-gap",
	.test_cases	= cases,
};

kunit_test_suite(suite);
