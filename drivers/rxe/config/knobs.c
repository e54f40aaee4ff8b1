// SPDX-License-Identifier: GPL-2.0
/*
 * The values of the knobs in rxe/knobs.h, and setting them.
 *
 * Context: any; a knob is read without a lock.
 */
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <rxe/knobs.h>
#include <config/config.h>

u64 rxe_knobs[RXE_NUM_KNOBS] __read_mostly = {
#define KNOB(name, value, least, most, what) value,
	RXE_KNOBS(KNOB)
#undef KNOB
};

const struct rxe_knob_row rxe_knob_rows[RXE_NUM_KNOBS] = {
#define KNOB(name, value, least, most, what) { #name, value, least, most, what },
	RXE_KNOBS(KNOB)
#undef KNOB
};

const struct rxe_constant_row rxe_constant_rows[] = {
#define CONSTANT(name, value, what) { #name, value, what },
	RXE_CONSTANTS(CONSTANT)
#undef CONSTANT
	{}
};

/**
 * rxe_knob_find - find a knob by its name
 * @name: name of the knob
 *
 * Return: its index, or -ENOENT.
 */
int rxe_knob_find(const char *name)
{
	int i;

	for (i = 0; i < RXE_NUM_KNOBS; i++)
		if (!strcmp(rxe_knob_rows[i].name, name))
			return i;
	return -ENOENT;
}

/**
 * rxe_knob_set - set a knob
 * @index: index of the knob
 * @value: new value, in the unit that the name ends with
 *
 * Return: 0; -ERANGE if it is out of bounds, and nothing changes.
 */
int rxe_knob_set(int index, u64 value)
{
	const struct rxe_knob_row *row = &rxe_knob_rows[index];

	if (value < row->least || value > row->most)
		return -ERANGE;
	WRITE_ONCE(rxe_knobs[index], value);
	return 0;
}
