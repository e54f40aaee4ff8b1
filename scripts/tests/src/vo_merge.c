// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_odp: pages with equal bytes are merged (KSM), until one of them is written.
 */
#define _GNU_SOURCE
#include "vo.h"

#define KSM	"/sys/kernel/mm/ksm/"
#define SAME	16ul		/* number of equal pages of an end, its first ones */
#define TURNS	4

/* Return: the number; -1: the kernel has no such file */
long read_number(const char *file)
{
	FILE *f = fopen(file, "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static void write_number(const char *file, long n)
{
	FILE *f = fopen(file, "w");

	if (!f || fprintf(f, "%ld", n) < 0 || fclose(f))
		die("%s: %s", file, strerror(errno));
}

static bool all_merged(void)
{
	uint64_t end = now_ms() + 120000;

	while (now_ms() < end) {
		if (read_number("/proc/self/ksm_merging_pages") >= (long)(2 * SAME))
			return true;
		usleep(10000);
	}
	FAIL("%ld of %lu pages are merged", read_number("/proc/self/ksm_merging_pages"), 2 * SAME);
}

/* Fills all pages with the same bytes, those of the peer by WRITEs */
static bool fill(struct end e[2], const uint8_t *bytes)
{
	uint64_t i;
	int got;

	for (i = 0; i < SAME; i++) {
		memcpy(e[0].buf + i * PAGE, bytes, PAGE);
		got = transfer(e, IBV_WR_RDMA_WRITE, sge(&e[0], i * PAGE, PAGE), i * PAGE);
		CHECK(!got, "write: status %d", got);
	}
	return true;
}

/* Are all pages unchanged, except for one of the peer? A READ must return the peer's bytes */
static bool others_same(struct end e[2], const uint8_t *bytes, uint64_t but)
{
	uint8_t *copy = e[0].buf + SAME * PAGE;
	uint64_t i;
	int got;

	got = transfer(e, IBV_WR_RDMA_READ, sge(&e[0], SAME * PAGE, SAME * PAGE), 0);
	CHECK(!got, "read: status %d", got);
	for (i = 0; i < SAME; i++) {
		CHECK(!memcmp(e[0].buf + i * PAGE, bytes, PAGE), "page %lu here has changed", i);
		CHECK(!memcmp(copy + i * PAGE, e[1].buf + i * PAGE, PAGE), "page %lu read wrong",
		      i);
		CHECK(i == but || !memcmp(e[1].buf + i * PAGE, bytes, PAGE),
		      "page %lu has changed, too", i);
	}
	return true;
}

/* A message changes some bytes of one page only */
static bool change_one(struct end e[2], uint8_t *bytes, enum ibv_wr_opcode op)
{
	uint64_t page = rnd_range(&seed, 0, SAME - 1), at = 8 * rnd_range(&seed, 0, 500), new;
	uint32_t len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : rnd_range(&seed, 1, PAGE - at);
	uint64_t from = 2 * SAME * PAGE;
	uint8_t want[PAGE];
	int got;

	memcpy(want, bytes, PAGE);
	rnd_fill(e[0].buf + from, PAGE, rnd(&seed));
	memcpy(want + at, e[0].buf + from, len);
	memcpy(&new, bytes + at, 8);
	new++;
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		memcpy(want + at, &new, 8);
	if (op == IBV_WR_SEND)
		post_recv(&e[1], sge(&e[1], page * PAGE + at, len));
	got = transfer(e, op, sge(&e[0], from, len), page * PAGE + at);
	CHECK(!got, "opcode %d: status %d", op, got);
	CHECK(!memcmp(e[1].buf + page * PAGE, want, PAGE), "opcode %d: page %lu differs", op, page);
	return others_same(e, bytes, page);
}

static bool change_merged(struct end e[2])
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE,
	};
	uint8_t bytes[PAGE];
	int i;

	for (i = 0; i < TURNS; i++) {
		rnd_fill(bytes, PAGE, rnd(&seed));
		if (!fill(e, bytes) || !all_merged() || !others_same(e, bytes, SAME) ||
		    !change_one(e, bytes, ops[i]))
			return false;
	}
	return true;
}

bool ksm(void)
{
	struct disturber d;
	struct end e[2];
	bool good;
	int i;

	if (read_number("/proc/self/ksm_merging_pages") < 0) {
		case_skip(this_case, "the kernel doesn't merge pages");
		return false;
	}
	make(e, IBV_QPT_RC, ANON, false);
	for (i = 0; i < 2; i++)
		if (madvise(e[i].buf, BYTES, MADV_MERGEABLE))
			die("MADV_MERGEABLE: %s", strerror(errno));
	if (!access(KSM "smart_scan", W_OK))	/* smart_scan skips pages for a while */
		write_number(KSM "smart_scan", 0);
	write_number(KSM "sleep_millisecs", 5);
	write_number(KSM "pages_to_scan", 1000);
	write_number(KSM "run", 1);
	good = change_merged(e);
	start_disturber(&d, e, ANON);
	good = good && traffic(e, rounds / 4);
	stop_disturber(&d);
	write_number(KSM "run", 2);	/* unmerge the pages */
	return good && traffic(e, 2) && finish(e);
}
