// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of an I/O of a block device: asynchronous, sequential reads or writes that
 * bypass the page cache, DEPTH of them outstanding.  Prints what rc_cost prints, without the time
 * that the processor was idle.
 *
 * usage: disk_cost read|write DEVICE SIZE DEPTH COUNT
 */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include "cost.h"

#define MAX_DEPTH 64

static aio_context_t ctx;
static struct iocb iocbs[MAX_DEPTH];
static uint64_t disk_size, offset;

static void submit(struct iocb *iocb)
{
	iocb->aio_offset = offset;
	offset += iocb->aio_nbytes;
	if (offset + iocb->aio_nbytes > disk_size)
		offset = 0;
	if (syscall(SYS_io_submit, ctx, 1, &iocb) != 1)
		die("io_submit: %m");
}

/* Takes completions, and begins another I/O for each, until @count have begun. */
static void run(unsigned int depth, unsigned int count)
{
	struct io_event events[MAX_DEPTH];
	unsigned int begun = 0, done = 0;
	long i, n;

	while (begun < depth && begun < count)
		submit(&iocbs[begun++]);
	while (done < count) {
		n = syscall(SYS_io_getevents, ctx, 1, MAX_DEPTH, events, NULL);
		if (n < 0)
			die("io_getevents: %m");
		for (i = 0; i < n; i++) {
			struct iocb *iocb = (struct iocb *)(uintptr_t)events[i].obj;

			if (events[i].res != (int64_t)iocb->aio_nbytes)
				die("an I/O failed: %lld", (long long)events[i].res);
			done++;
			if (begun < count) {
				submit(iocb);
				begun++;
			}
		}
	}
}

static void prepare(int fd, bool writes, size_t size, unsigned int depth)
{
	unsigned int i;

	for (i = 0; i < depth; i++) {
		iocbs[i].aio_fildes = fd;
		iocbs[i].aio_lio_opcode = writes ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
		iocbs[i].aio_buf = (uintptr_t)new_pages(size);
		iocbs[i].aio_nbytes = size;
		rnd_fill((void *)(uintptr_t)iocbs[i].aio_buf, size, i);
	}
	if (syscall(SYS_io_setup, depth, &ctx))
		die("io_setup: %m");
}

int main(int argc, char **argv)
{
	unsigned int depth, count;
	uint64_t start;
	int fd;

	if (argc != 6)
		die("usage: %s read|write DEVICE SIZE DEPTH COUNT", argv[0]);
	depth = atoi(argv[4]);
	count = atoi(argv[5]);
	fd = open(argv[2], O_RDWR | O_DIRECT);
	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &disk_size))
		die("%s: %m", argv[2]);
	if (!depth || depth > MAX_DEPTH || !count)
		die("%u outstanding, %u I/Os", depth, count);
	prepare(fd, !strcmp(argv[1], "write"), atoi(argv[3]), depth);
	cost_without_idle = true;
	run(depth, count / 8 + 2 * depth);
	start = cost_start();
	run(depth, count);
	cost_stop(start, count);
	return 0;
}
