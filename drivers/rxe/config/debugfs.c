// SPDX-License-Identifier: GPL-2.0
/*
 * The file rdma_rxe/knobs in debugfs: a line for each number of rxe/knobs.h. Writing
 * "NAME VALUE" to the file sets a knob. The folder cc_params has a file for each number of
 * congestion control by ECN.
 *
 * Context: process.
 */
#include <linux/debugfs.h>
#include <linux/kstrtox.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <rxe/knobs.h>
#include <config/config.h>

/* Longer than any valid line */
#define KNOB_LINE	128

static struct dentry *debugfs_root;

static int show_knobs(struct seq_file *file, void *unused)
{
	const struct rxe_constant_row *constant;
	const struct rxe_knob_row *row = rxe_knob_rows;
	int i;

	seq_puts(file, "# name value  default least most  what\n");
	for (i = 0; i < RXE_NUM_KNOBS; i++, row++)
		seq_printf(file, "%s %llu  %llu %llu %llu  %s\n", row->name,
			   READ_ONCE(rxe_knobs[i]), row->value, row->least,
			   row->most, row->what);
	seq_puts(file, "# fixed\n");
	for (constant = rxe_constant_rows; constant->name; constant++)
		seq_printf(file, "%s %u  %s\n", constant->name,
			   constant->value, constant->what);
	return 0;
}

static int open_knobs(struct inode *inode, struct file *file)
{
	return single_open(file, show_knobs, NULL);
}

/* @text: what was written as the value; NULL: nothing */
static int set_knob(const struct rxe_knob_row *row, char *text)
{
	u64 value;

	text = text ? strim(text) : "nothing";
	if (!kstrtou64(text, 0, &value) && !rxe_knob_set(row - rxe_knob_rows, value))
		return 0;
	pr_warn_ratelimited("rdma_rxe: %s must be %llu to %llu, not %s\n",
			    row->name, row->least, row->most, text);
	return -EINVAL;
}

static int parse_knob(char *line)
{
	char *name = strsep(&line, " \t");
	int index = rxe_knob_find(name);

	if (index < 0) {
		pr_warn_ratelimited("rdma_rxe: no knob '%s': the file knobs lists them\n",
				    name);
		return index;
	}
	return set_knob(&rxe_knob_rows[index], line);
}

/* The file of a knob takes its value, and the file knobs, which has no row, a line with the name */
static ssize_t write_knob(struct file *file, const char __user *buf,
			  size_t len, loff_t *off)
{
	const struct rxe_knob_row *row = file_inode(file)->i_private;
	char *line;
	int err;

	if (len >= KNOB_LINE) {
		pr_warn_ratelimited("rdma_rxe: write less than %d bytes\n", KNOB_LINE);
		return -EINVAL;
	}
	line = memdup_user_nul(buf, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = row ? set_knob(row, line) : parse_knob(strim(line));
	kfree(line);
	return err ?: len;
}

static const struct file_operations knobs_fops = {
	.owner		= THIS_MODULE,
	.open		= open_knobs,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.write		= write_knob,
	.release	= single_release,
};

static int show_cc_param(struct seq_file *file, void *unused)
{
	const struct rxe_knob_row *row = file->private;

	seq_printf(file, "%llu\n", READ_ONCE(rxe_knobs[row - rxe_knob_rows]));
	return 0;
}

static int open_cc_param(struct inode *inode, struct file *file)
{
	return single_open(file, show_cc_param, inode->i_private);
}

static const struct file_operations cc_param_fops = {
	.owner		= THIS_MODULE,
	.open		= open_cc_param,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.write		= write_knob,
	.release	= single_release,
};

/* The folder and the names are those of mlx5, for its tools */
static void make_cc_params(void)
{
	struct dentry *dir = debugfs_create_dir("cc_params", debugfs_root);
	int i;

	for (i = RXE_KNOB_np_min_time_between_cnps; i <= RXE_KNOB_rp_initial_alpha_value; i++)
		debugfs_create_file(rxe_knob_rows[i].name, 0600, dir,
				    (void *)&rxe_knob_rows[i], &cc_param_fops);
}

/**
 * rxe_debugfs_start - make the module's files in debugfs
 *
 * Errors are ignored: the module works without debugfs.
 */
void rxe_debugfs_start(void)
{
	debugfs_root = debugfs_create_dir("rdma_rxe", NULL);
	debugfs_create_file("knobs", 0600, debugfs_root, NULL, &knobs_fops);
	make_cc_params();
}

/**
 * rxe_debugfs_stop - remove the files, and wait until none of their functions runs
 */
void rxe_debugfs_stop(void)
{
	debugfs_remove_recursive(debugfs_root);
}
