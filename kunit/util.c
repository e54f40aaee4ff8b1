// SPDX-License-Identifier: GPL-2.0
/*
 * See util.h. This file has no test cases.
 */
#include "util.h"

static u64 saved_knobs[RXE_NUM_KNOBS];

int knobs_save(struct kunit *test)
{
	memcpy(saved_knobs, rxe_knobs, sizeof(saved_knobs));
	return 0;
}

void knobs_restore(struct kunit *test)
{
	memcpy(rxe_knobs, saved_knobs, sizeof(saved_knobs));
}
