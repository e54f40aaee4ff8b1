// SPDX-License-Identifier: GPL-2.0
/*
 * The table of congestion control algorithms. sysfs.c lets the administrator choose one.
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
 * rxe_cc_find - find an algorithm by its name
 * @name: the name; a newline at its end is ignored
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
