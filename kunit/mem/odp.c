// SPDX-License-Identifier: GPL-2.0
/*
 * mem/odp.c: only present pages are used, and only writable ones are written. A page that is
 * taken back is marked dirty if it may have been written. A contiguous run ends before a page
 * that isn't present. A fault goes on while other pages are taken back.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <mem/key.h>
#include <mem/odp.h>
#include "../util.h"

#define ORDER	2u			/* four pages a chunk */
#define PAGES	8u
#define START	(0x7f0000000ull << PAGE_SHIFT)
#define OFFSET	0x123u			/* offset of the first byte in its page */
#define IOVA	0x1000000ull
#define LENGTH	(PAGES * PAGE_SIZE - OFFSET)

struct ctx {
	struct rxe_mr mr;
	struct rxe_odp odp;
	struct rxe_odp_chunk chunks[PAGES >> ORDER];
	unsigned long slots[PAGES];
	struct page *run;		/* PAGES contiguous pages */
};

/* The state after reg_user_mr and two faults, but without a process */
static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->run = alloc_pages(GFP_KERNEL, ilog2(PAGES));
	KUNIT_ASSERT_NOT_NULL(test, c->run);
	split_page(c->run, ilog2(PAGES));
	rxe_region_init(&c->mr.region);
	c->mr.region.odp = &c->odp;
	c->mr.key.region = &c->mr.region;
	c->mr.key.paged = true;
	c->mr.key.iova = IOVA;
	c->mr.key.start = START + OFFSET;
	c->mr.key.length = LENGTH;
	c->odp.mr = &c->mr;
	mutex_init(&c->odp.own.grace);
	c->odp.windows = &c->odp.own;
	c->odp.first = START >> PAGE_SHIFT;
	c->odp.num = PAGES;
	c->odp.order = ORDER;
	xa_init(&c->odp.chunks);
	for (i = 0; i < ARRAY_SIZE(c->chunks); i++) {
		struct rxe_odp_chunk *chunk = &c->chunks[i];

		mutex_init(&chunk->lock);
		INIT_LIST_HEAD(&chunk->batches);
		chunk->odp = &c->odp;
		chunk->first = c->odp.first + (i << ORDER);
		chunk->num = 1 << ORDER;
		chunk->pages = c->slots + (i << ORDER);
		xa_store(&c->odp.chunks, i, chunk, GFP_KERNEL);
	}
	return 0;
}

static void ctx_exit(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i;

	if (!c || !c->run)
		return;
	xa_destroy(&c->odp.chunks);
	for (i = 0; i < PAGES; i++) {
		ClearPageDirty(c->run + i);
		__free_page(c->run + i);
	}
}

static void set_page(struct ctx *c, u32 i, bool write)
{
	struct rxe_odp_chunk *chunk = &c->chunks[i >> ORDER];

	mutex_lock(&chunk->lock);
	rxe_odp_set(chunk, c->odp.first + i, page_address(c->run + i), write);
	mutex_unlock(&chunk->lock);
}

static void drop_pages(struct ctx *c, u32 chunk, u32 first, u32 end)
{
	mutex_lock(&c->chunks[chunk].lock);
	rxe_odp_drop(&c->chunks[chunk], first, end);
	mutex_unlock(&c->chunks[chunk].lock);
}

static int ready(struct ctx *c, bool write, u64 off, u64 len)
{
	return rxe_key_prepare(&c->mr.key, write, IOVA + off, len, len, NULL);
}

/* A page that isn't present isn't used, and a read-only page isn't written */
static void presence(struct kunit *test)
{
	struct ctx *c = test->priv;
	u64 second = PAGE_SIZE - OFFSET;	/* first byte of the second page */

	KUNIT_EXPECT_EQ(test, ready(c, false, 0, 1), -EFAULT);
	set_page(c, 0, false);
	KUNIT_EXPECT_EQ(test, ready(c, false, 0, second), 0);
	KUNIT_EXPECT_EQ(test, ready(c, false, 0, second + 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, ready(c, false, second - 1, 2), -EFAULT);
	KUNIT_EXPECT_EQ(test, ready(c, true, 0, 1), -EFAULT);
	set_page(c, 1, true);
	KUNIT_EXPECT_EQ(test, ready(c, false, second - 1, 2), 0);
	KUNIT_EXPECT_EQ(test, ready(c, true, second, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, ready(c, true, second - 1, 2), -EFAULT);
	set_page(c, 1, false);	/* a fault for reading takes no right away */
	KUNIT_EXPECT_EQ(test, ready(c, true, second, PAGE_SIZE), 0);
	drop_pages(c, 0, 1, 2);
	KUNIT_EXPECT_EQ(test, ready(c, false, second, 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, ready(c, false, 0, second), 0);
}

/* The present bytes end at the first page that isn't present, also in the next chunk */
static void how_much(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i;

	for (i = 0; i < PAGES - 1; i++)
		set_page(c, i, true);
	KUNIT_EXPECT_EQ(test, rxe_odp_present(&c->odp, START + OFFSET, LENGTH, true),
			(PAGES - 1) * PAGE_SIZE - OFFSET);
	drop_pages(c, 1, 1, 2);
	KUNIT_EXPECT_EQ(test, rxe_odp_present(&c->odp, START + 7, LENGTH, true),
			5 * PAGE_SIZE - 7);
	KUNIT_EXPECT_EQ(test, rxe_odp_present(&c->odp, START + 5 * PAGE_SIZE + 7, 1, true), 0);
	KUNIT_EXPECT_EQ(test, c->chunks[1].present, 2);
	xa_erase(&c->odp.chunks, 0);	/* no chunk: nothing is present */
	KUNIT_EXPECT_EQ(test, rxe_odp_present(&c->odp, START, 1, false), 0);
}

/* A run ends at the end of the chunk, or before a page that isn't present */
static void runs(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, len = LENGTH;

	for (i = 0; i < PAGES; i++)
		set_page(c, i, false);
	KUNIT_EXPECT_PTR_EQ(test, rxe_key_run(&c->mr.key, IOVA, &len),
			    page_address(c->run) + OFFSET);
	KUNIT_EXPECT_EQ(test, len, (PAGE_SIZE << ORDER) - OFFSET);
	len = 5;
	KUNIT_EXPECT_PTR_EQ(test, rxe_key_run(&c->mr.key, IOVA + 9, &len),
			    page_address(c->run) + OFFSET + 9);
	KUNIT_EXPECT_EQ(test, len, 5u);
	drop_pages(c, 0, 2, 3);
	len = LENGTH;
	rxe_key_run(&c->mr.key, IOVA, &len);
	KUNIT_EXPECT_EQ(test, len, 2 * PAGE_SIZE - OFFSET);
}

/* Of the pages that are taken back, those that may have been written are marked dirty */
static void dirty(struct kunit *test)
{
	struct ctx *c = test->priv;

	set_page(c, 0, false);
	set_page(c, 1, true);
	set_page(c, 2, true);
	drop_pages(c, 0, 0, 2);
	KUNIT_EXPECT_FALSE(test, PageDirty(c->run));
	KUNIT_EXPECT_TRUE(test, PageDirty(c->run + 1));
	KUNIT_EXPECT_FALSE(test, PageDirty(c->run + 2));
	KUNIT_EXPECT_EQ(test, c->slots[1], 0);
	drop_pages(c, 0, 0, 4);
	KUNIT_EXPECT_TRUE(test, PageDirty(c->run + 2));
	KUNIT_EXPECT_EQ(test, c->chunks[0].present, 0);
}

/*
 * Once the region has ended, pages are taken back without a grace period: waiting for one
 * here would be an error that RCU reports
 */
static void ended(struct kunit *test)
{
	struct ctx *c = test->priv;

	set_page(c, 0, true);
	kref_get(&c->mr.region.ref);
	c->odp.ended = true;
	rcu_read_lock();
	rxe_odp_drop(&c->chunks[0], 0, 1 << ORDER);
	rcu_read_unlock();
	KUNIT_EXPECT_TRUE(test, PageDirty(c->run));
	KUNIT_EXPECT_EQ(test, c->chunks[0].present, 0);
	KUNIT_EXPECT_EQ(test, c->slots[0], 0);
}

/* Taking pages back costs a grace period only if a window was used since the last one */
static void window(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i;

	for (i = 0; i < PAGES; i++)
		set_page(c, i, true);
	KUNIT_EXPECT_EQ(test, ready(c, true, 0, LENGTH), 0);
	KUNIT_EXPECT_FALSE(test, c->odp.own.used);
	c->mr.key.kind = RXE_KEY_MW_1;
	KUNIT_EXPECT_EQ(test, ready(c, true, 0, 1), 0);
	KUNIT_EXPECT_TRUE(test, c->odp.own.used);
	drop_pages(c, 0, 0, 1);
	KUNIT_EXPECT_FALSE(test, c->odp.own.used);
	drop_pages(c, 1, 0, 1);
	KUNIT_EXPECT_FALSE(test, c->odp.own.used);
	KUNIT_EXPECT_EQ(test, ready(c, false, 0, 1), -EFAULT);
	KUNIT_EXPECT_TRUE(test, c->odp.own.used);	/* the access may have found the page */
	c->mr.key.kind = RXE_KEY_FIXED;
}

/* If pages are taken back, the faults that are getting them are told, and no others */
static void batches(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_odp_chunk *chunk = &c->chunks[1];
	struct rxe_odp_batch low = { .first = chunk->first, .num = 2 };
	struct rxe_odp_batch high = { .first = chunk->first + 1, .num = 3 };

	rxe_odp_start_batch(chunk, &low);
	rxe_odp_start_batch(chunk, &high);
	drop_pages(c, 0, 0, 1 << ORDER);
	KUNIT_EXPECT_EQ(test, low.num, 2ul);
	KUNIT_EXPECT_EQ(test, high.num, 3ul);
	drop_pages(c, 1, 3, 4);
	KUNIT_EXPECT_EQ(test, low.num, 2ul);
	KUNIT_EXPECT_EQ(test, high.num, 2ul);
	drop_pages(c, 1, 0, 1);
	KUNIT_EXPECT_EQ(test, low.num, 0ul);
	KUNIT_EXPECT_EQ(test, high.num, 2ul);
	drop_pages(c, 1, 0, 4);
	KUNIT_EXPECT_EQ(test, high.num, 0ul);
}

/* A pager gets no memory for a fault as long as pages are present */
static void no_fault(struct kunit *test)
{
	struct rxe_pager pager = {};
	struct ctx *c = test->priv;

	set_page(c, 0, false);
	KUNIT_EXPECT_EQ(test, rxe_key_prepare(&c->mr.key, false, IOVA, 1, 1, &pager), 0);
	KUNIT_EXPECT_NULL(test, pager.fault);
	KUNIT_EXPECT_FALSE(test, rxe_pager_is_busy(&pager));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(presence),
	KUNIT_CASE(how_much),
	KUNIT_CASE(runs),
	KUNIT_CASE(dirty),
	KUNIT_CASE(ended),
	KUNIT_CASE(window),
	KUNIT_CASE(batches),
	KUNIT_CASE(no_fault),
	{}
};

static struct kunit_suite suite = {
	.name		= "mem-odp",
	.init		= ctx_init,
	.exit		= ctx_exit,
	.test_cases	= cases,
};

kunit_test_suite(suite);
