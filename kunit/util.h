/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the suites: memory that ends before an unmapped page, reproducible random numbers,
 * and knobs that are restored.
 */
#ifndef RXE_KUNIT_UTIL_H
#define RXE_KUNIT_UTIL_H

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>
#include <rxe/knobs.h>

/*
 * Memory whose last byte is followed by an unmapped page: reading or writing
 * one byte too many is an Oops, with and without KASAN.
 */
struct edge {
	u8 *page;
};

static inline void edge_init(struct kunit *test, struct edge *edge)
{
	edge->page = vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, edge->page);
}

static inline void edge_free(struct edge *edge)
{
	vfree(edge->page);
}

/* Return: @len bytes, which end at the edge */
static inline u8 *edge_buf(const struct edge *edge, u32 len)
{
	return edge->page + PAGE_SIZE - len;
}

/* A generator with a fixed seed, so that a failure can be repeated */
static inline struct rnd_state rnd_init(u64 seed)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, seed);
	return rnd;
}

static inline u32 rnd_below(struct rnd_state *rnd, u32 limit)
{
	return prandom_u32_state(rnd) % limit;
}

static inline u64 rnd_u64(struct rnd_state *rnd)
{
	return (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);
}

/* A pattern that differs everywhere */
static inline void rnd_fill(void *p, u32 len, u64 seed)
{
	struct rnd_state rnd = rnd_init(seed);

	prandom_bytes_state(&rnd, p, len);
}

/*
 * kunit_suite.init and .exit of a suite that sets knobs. fake_init() and fake_exit() call them,
 * too. One case runs at a time, so there is one copy.
 */
int knobs_save(struct kunit *test);
void knobs_restore(struct kunit *test);

/* Set a knob until the end of the case */
#define knob_set(name, value)	WRITE_ONCE(rxe_knobs[RXE_KNOB_##name], value)

#endif /* RXE_KUNIT_UTIL_H */
