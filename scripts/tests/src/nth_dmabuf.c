// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: regions on a dma-buf of udmabuf.
 */
#define _GNU_SOURCE
#include "nth.h"

#include "dmabuf_util.h"

#define BYTES (16 * 4096)

static struct region region;
static int fd;

static void begin(void)
{
	fd = udmabuf_fd(BYTES);
	if (fd < 0)
		die("no udmabuf: %s", strerror(errno));
}

static void end(void)
{
	close(fd);
}

static const char *lacks(void)
{
	return access("/dev/udmabuf", F_OK) ? "no /dev/udmabuf (CONFIG_UDMABUF)" : NULL;
}

static int make_mr(void)
{
	return reg_in(pd, fd, 0, BYTES, ACCESS_ALL, &region);
}

static int destroy_mr(void)
{
	return dereg(&region);
}

static const struct call calls[] = {
	{ "dmabuf-mr", make_mr, destroy_mr, .own = true },
	{ "destroy-dmabuf-mr", destroy_mr, make_mr, .own = false },
	{}
};

const struct group nth_dmabuf = { .calls = calls, .begin = begin, .end = end, .lacks = lacks };
