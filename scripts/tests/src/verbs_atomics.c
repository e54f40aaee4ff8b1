// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_atomics: two queue pairs and a processor change one word at the same time, by atomic
 * operations. No change may be lost.
 *
 * The word is in pinned memory, or in on-demand memory whose pages are taken back meanwhile.
 * Prints "ok NAME" or "fail NAME why" per case.
 */
#define _GNU_SOURCE
#include "vo.h"

#define QPS	2
#define DEEP	4		/* work requests in flight */

static uint32_t changes = 2000;	/* per queue pair */

struct actor {
	pthread_t thread;
	struct end e[2];
	uint64_t *olds;			/* values that its atomics have returned */
	uint64_t word_at;
	int status;
};

struct processor {
	pthread_t thread;
	uint64_t *word, changes;
	bool swaps;
	volatile bool stop;
};

static void *change_here(void *arg)
{
	struct processor *p = arg;
	uint64_t old;

	while (!p->stop) {
		old = *(volatile uint64_t *)p->word;
		if (!p->swaps)
			__atomic_fetch_add(p->word, 1, __ATOMIC_RELAXED);
		else if (!__atomic_compare_exchange_n(p->word, &old, old + 1, false,
						      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		p->changes++;
		if (p->swaps && !(p->changes & 63))
			usleep(1);	/* let the others' compare-and-swaps succeed sometimes */
	}
	return NULL;
}

static uint64_t *answer(struct actor *a, uint32_t i)
{
	return (uint64_t *)a->e[0].buf + i % DEEP;
}

/*
 * Several fetch-and-adds are in flight, and are answered in order. Their SGEs have more room than
 * an answer needs.
 */
static void *add(void *arg)
{
	struct actor *a = arg;
	uint32_t i, posted = 0;

	for (i = 0; i < changes; i++) {
		for (; posted < changes && posted < i + DEEP; posted++)
			post(a->e, IBV_WR_ATOMIC_FETCH_AND_ADD,
			     sge(&a->e[0], posted % DEEP * 8, 16), a->word_at);
		a->status = status_of(&a->e[0]);
		if (a->status)
			break;
		a->olds[i] = *(volatile uint64_t *)answer(a, i);
	}
	return NULL;
}

/* Counts up by compare-and-swap. After a failure, the next one compares with the returned value */
static void *swap(void *arg)
{
	struct actor *a = arg;
	uint64_t guess = 0, old;
	uint32_t i = 0;

	while (i < changes) {
		struct ibv_sge s = sge(&a->e[0], 0, 8);
		struct ibv_send_wr *bad, wr = {
			.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
			.wr.atomic = { (uintptr_t)a->e[1].buf + a->word_at, guess, guess + 1,
				       a->e[1].mr->rkey },
		};

		if (ibv_post_send(a->e[0].qp, &wr, &bad))
			die("post_send");
		a->status = status_of(&a->e[0]);
		if (a->status)
			break;
		old = *(volatile uint64_t *)answer(a, 0);
		if (old == guess)
			a->olds[i++] = old;
		guess = old == guess ? guess + 1 : old;
	}
	return NULL;
}

/* The responder of the second end uses the memory of the first */
static void share_memory(struct end *to, const struct end *from)
{
	if (ibv_dereg_mr(to->mr) || munmap(to->buf, BYTES) || close(to->fd))
		die("cannot free memory");
	to->fd = dup(from->fd);
	to->buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, to->fd, 0);
	if (to->buf == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	to->mr = new_mr(to->pd, to->buf, BYTES, ACCESS | on_demand);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Has each change of the queue pairs found another value, and is the sum that of all changes? */
static bool all_counted(struct actor a[QPS], const struct processor *p)
{
	uint64_t *olds = calloc(QPS * changes, sizeof(*olds)), sum = *p->word;
	uint32_t i;

	for (i = 0; i < QPS; i++) {
		CHECK(!a[i].status, "queue pair %u: status %d", i, a[i].status);
		memcpy(olds + i * changes, a[i].olds, changes * sizeof(*olds));
	}
	CHECK(sum == p->changes + QPS * changes, "%lu, not %lu + %u * %u", sum, p->changes, QPS,
	      changes);
	qsort(olds, QPS * changes, sizeof(*olds), compare);
	for (i = 1; i < QPS * changes; i++)
		CHECK(olds[i] != olds[i - 1], "two changes of %lu", olds[i]);
	CHECK(olds[i - 1] < sum, "a change of %lu, where %lu is all", olds[i - 1], sum);
	fprintf(stderr, "%s: %lu changes by the processor, %u by queue pairs, from %lu to %lu\n",
		this_case, p->changes, QPS * changes, olds[0], olds[i - 1]);
	free(olds);
	return true;
}

static bool run(bool swaps, bool paged)
{
	struct disturber d;
	struct processor p = { .swaps = swaps };
	struct actor a[QPS] = {};
	bool good;
	int i;

	on_demand = paged ? IBV_ACCESS_ON_DEMAND : 0;
	for (i = 0; i < QPS; i++) {
		make(a[i].e, IBV_QPT_RC, SHARED, false);
		a[i].olds = calloc(changes, sizeof(*a[i].olds));
		a[i].word_at = 5 * PAGE + 64;
	}
	share_memory(&a[1].e[1], &a[0].e[1]);
	p.word = (uint64_t *)(a[0].e[1].buf + a[0].word_at);
	if (paged)
		start_disturber(&d, a[0].e, SHARED);
	pthread_create(&p.thread, NULL, change_here, &p);
	for (i = 0; i < QPS; i++)
		pthread_create(&a[i].thread, NULL, swaps ? swap : add, &a[i]);
	for (i = 0; i < QPS; i++)
		pthread_join(a[i].thread, NULL);
	p.stop = true;
	pthread_join(p.thread, NULL);
	if (paged)
		stop_disturber(&d);
	good = all_counted(a, &p);
	for (i = 0; i < QPS; i++) {
		good &= finish(a[i].e);
		free(a[i].olds);
	}
	return good;
}

static bool add_pinned(void) { return run(false, false); }
static bool swap_pinned(void) { return run(true, false); }
static bool add_paged(void) { return run(false, true); }
static bool swap_paged(void) { return run(true, true); }

static const struct test_case all[] = {
	{ "add-pinned", add_pinned }, { "swap-pinned", swap_pinned },
	{ "add-paged", add_paged }, { "swap-paged", swap_paged },
};

int main(int argc, char **argv)
{
	char *none = NULL;
	int c;

	while ((c = getopt(argc, argv, "d:g:D:G:n:")) != -1) {
		if (place_option(c))
			continue;
		if (c != 'n')
			die("usage: %s -d DEV -g GID [-D DEV -G GID] [-n CHANGES]", argv[0]);
		changes = atoi(optarg);
	}
	complete_places();
	run_cases(all, ARRAY_LEN(all), &none);
	return cases_failed > 0;
}
