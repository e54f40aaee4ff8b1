/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tables of rxe/knobs.h and rxe/constants.h as arrays of rows.
 */
#ifndef RXE_CONFIG_CONFIG_H
#define RXE_CONFIG_CONFIG_H

#include <rxe/knobs.h>

/**
 * struct rxe_knob_row - a knob
 * @name: its name
 * @value: default
 * @least: lower bound
 * @most: upper bound
 * @what: description
 */
struct rxe_knob_row {
	const char	*name;
	u64		value;
	u64		least;
	u64		most;
	const char	*what;
};

/**
 * struct rxe_constant_row - a number that is fixed
 * @name: its name
 * @value: its value
 * @what: description
 */
struct rxe_constant_row {
	const char	*name;
	u32		value;
	const char	*what;
};

extern const struct rxe_knob_row rxe_knob_rows[RXE_NUM_KNOBS];

/* Ends with a row without a name */
extern const struct rxe_constant_row rxe_constant_rows[];

/* knobs.c */
int rxe_knob_find(const char *name);
int rxe_knob_set(int index, u64 value);

#endif /* RXE_CONFIG_CONFIG_H */
