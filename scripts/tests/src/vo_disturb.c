// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_odp: the pages of the memory are moved or taken back during traffic. The bytes stay the
 * same.
 */
#define _GNU_SOURCE
#include "vo.h"

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE	101
#endif

/* The child writes to its copy. The parent's memory must not change */
static void fork_and_write(struct end *e)
{
	pid_t pid = fork();
	uint32_t i;

	if (!pid) {
		for (i = 0; i < BYTES; i += PAGE)
			e->buf[i] ^= 0xff;
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* The kernel moves all pages that can be moved together. Not each kernel can */
static void compact_memory(void)
{
	int fd = open("/proc/sys/vm/compact_memory", O_WRONLY);

	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0 || write(fd, "1", 1) != 1)
		die("compact_memory: %s", strerror(errno));
	close(fd);
}

/* A page that is taken out of use is copied to another one, which takes its place */
bool replace_page(uint8_t *p)
{
	return !madvise(p, PAGE, MADV_SOFT_OFFLINE);
}

/* Replaces few pages only, since the kernel never uses the old ones again */
static void replace_some_page(uint8_t *p)
{
	static int left = 32;

	if (left && replace_page(p))
		left--;
}

bool is_swap_there(void)
{
	char line[256];
	int lines = 0;
	FILE *f = fopen("/proc/swaps", "r");

	while (f && fgets(line, sizeof(line), f))
		lines++;
	if (f)
		fclose(f);
	return lines > 1;
}

/*
 * Writes all pages to swap, so that none is in memory. A page that is being written, or that was
 * used meanwhile, is still in memory. It is mapped again. If it isn't changed, the next try swaps
 * it out.
 */
bool swap_out(struct end *e)
{
	uint64_t end = now_ms() + 60000, i, left;
	unsigned char in[BYTES / PAGE];

	do {
		if (madvise(e->buf, BYTES, MADV_PAGEOUT) || mincore(e->buf, BYTES, in))
			die("MADV_PAGEOUT: %s", strerror(errno));
		for (left = 0, i = 0; i < BYTES / PAGE; i++) {
			if (!(in[i] & 1))
				continue;
			(void)*(volatile uint8_t *)(e->buf + i * PAGE);
			left++;
		}
		if (!left)
			return true;
		compact_memory();	/* empties the kernel's per-CPU lists of new pages */
	} while (now_ms() < end);
	return false;
}

static void disturb_once(struct disturber *d, uint64_t *s)
{
	struct end *e = &d->e[rnd(s) & 1];
	uint64_t first = rnd_range(s, 0, BYTES / PAGE - 1);
	uint64_t num = rnd_range(s, 1, BYTES / PAGE - first);
	uint8_t *p = e->buf + first * PAGE;

	switch (rnd_range(s, 0, 6)) {
	case 0:
		if (d->backing == SHARED)
			madvise(p, num * PAGE, MADV_DONTNEED);
		else
			fork_and_write(e);
		break;
	case 1:
		if (d->backing == SHARED &&
		    mmap(p, num * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, e->fd,
			 first * PAGE) != p)
			die("remap: %s", strerror(errno));
		break;
	case 2:
		madvise(p, num * PAGE, MADV_PAGEOUT);
		break;
	case 3:
		madvise(p, num * PAGE, d->backing == SHARED ? MADV_DONTNEED : MADV_MERGEABLE);
		break;
	case 4:
		/* Allow or forbid huge pages. MADV_COLLAPSE makes them, and moves the data */
		madvise(p, num * PAGE, rnd(s) & 1 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		madvise(p, num * PAGE, 25 /* MADV_COLLAPSE */);
		break;
	case 5:
		replace_some_page(p);
		break;
	case 6:
		if (!rnd_range(s, 0, 9))
			compact_memory();
		break;
	}
}

static void *disturb(void *arg)
{
	struct disturber *d = arg;
	uint64_t s = 42;

	while (!d->stop) {
		disturb_once(d, &s);
		usleep(rnd_range(&s, 1, 2000));
	}
	return NULL;
}

void start_disturber(struct disturber *d, struct end e[2], enum backing backing)
{
	*d = (struct disturber) { .backing = backing, .e = e };
	if (pthread_create(&d->thread, NULL, disturb, d))
		die("pthread_create");
}

void stop_disturber(struct disturber *d)
{
	d->stop = true;
	pthread_join(d->thread, NULL);
}
