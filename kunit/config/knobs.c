// SPDX-License-Identifier: GPL-2.0
/*
 * config/knobs.c: each knob begins with its default, which is within the bounds. It accepts
 * any value within the bounds, and no other.
 */
#include <rxe/knobs.h>
#include <config/config.h>
#include "../util.h"

static void defaults(struct kunit *test)
{
	int i;

	for (i = 0; i < RXE_NUM_KNOBS; i++) {
		const struct rxe_knob_row *row = &rxe_knob_rows[i];

		KUNIT_EXPECT_EQ_MSG(test, rxe_knobs[i], row->value, "%s", row->name);
		KUNIT_EXPECT_LE_MSG(test, row->least, row->value, "%s", row->name);
		KUNIT_EXPECT_LE_MSG(test, row->value, row->most, "%s", row->name);
		KUNIT_EXPECT_EQ(test, rxe_knob_find(row->name), i);
	}
}

static void bounds(struct kunit *test)
{
	int i;

	for (i = 0; i < RXE_NUM_KNOBS; i++) {
		const struct rxe_knob_row *row = &rxe_knob_rows[i];
		u64 was = rxe_knobs[i];

		KUNIT_EXPECT_EQ(test, rxe_knob_set(i, row->most + 1), -ERANGE);
		KUNIT_EXPECT_EQ(test, rxe_knob_set(i, U64_MAX), -ERANGE);
		if (row->least)
			KUNIT_EXPECT_EQ(test, rxe_knob_set(i, row->least - 1),
					-ERANGE);
		KUNIT_EXPECT_EQ(test, rxe_knobs[i], was);
		KUNIT_EXPECT_EQ(test, rxe_knob_set(i, row->least), 0);
		KUNIT_EXPECT_EQ(test, rxe_knobs[i], row->least);
		KUNIT_EXPECT_EQ(test, rxe_knob_set(i, row->most), 0);
		KUNIT_EXPECT_EQ(test, rxe_knobs[i], row->most);
	}
}

static void names(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rxe_knob_find("held_qp_bytes"),
			RXE_KNOB_held_qp_bytes);
	KUNIT_EXPECT_EQ(test, rxe_knob_find("held"), -ENOENT);
	KUNIT_EXPECT_EQ(test, rxe_knob_find(""), -ENOENT);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(defaults),
	KUNIT_CASE(bounds),
	KUNIT_CASE(names),
	{}
};

static struct kunit_suite suite = {
	.name = "config-knobs",
	.init = knobs_save,
	.exit = knobs_restore,
	.test_cases = cases,
};

kunit_test_suite(suite);
