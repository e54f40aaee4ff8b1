// SPDX-License-Identifier: GPL-2.0
/*
 * The algorithms that an administrator can choose from.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <cc/cc.h>

const struct rxe_cc_ops *const rxe_cc_rows[] = {
	&rxe_cc_window,
	&rxe_cc_dcqcn,
	&rxe_cc_swift,
	NULL
};

/**
 * rxe_cc_find - find an algorithm
 * @name: its name, perhaps with a newline
 *
 * Return: its index in rxe_cc_rows, or -EINVAL.
 */
int rxe_cc_find(const char *name)
{
	int i;

	for (i = 0; rxe_cc_rows[i]; i++)
		if (sysfs_streq(name, rxe_cc_rows[i]->name))
			return i;
	return -EINVAL;
}
