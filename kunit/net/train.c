// SPDX-License-Identifier: GPL-2.0
/*
 * Trains when memory is short, and afterwards. The test takes all large blocks of
 * pages that an atomic allocation can get, so that the driver must do with small
 * ones.
 */
#include <linux/mm.h>
#include "../fake.h"

#define HOG_ORDER	3	/* order of the driver's blocks */
#define HOG_SPLIT	64u	/* blocks that are freed in small pieces */
#define PKT		4124u	/* a MIDDLE packet of 4096 bytes */
#define PKTS		7u	/* fit into a block */
#define ROUNDS		64u	/* each block's turn comes twice */

static bool hog_memory(struct list_head *hog)
{
	gfp_t gfp = (GFP_ATOMIC & ~__GFP_HIGH) | __GFP_NOWARN |
		    __GFP_NOMEMALLOC;
	struct page *page;

	while ((page = alloc_pages(gfp, HOG_ORDER)))
		list_add(&page->lru, hog);
	return !list_empty(hog);
}

/* Give back every second pair of pages: these can't become a larger block */
static void split_some(struct list_head *hog, struct list_head *rest)
{
	struct page *page;
	u32 n, i;

	for (n = 0; n < HOG_SPLIT && !list_empty(hog); n++) {
		page = list_first_entry(hog, struct page, lru);
		list_del(&page->lru);
		split_page(page, HOG_ORDER);
		for (i = 0; i < 1 << HOG_ORDER; i++) {
			if (i & 2)
				list_add(&page[i].lru, rest);
			else
				__free_page(page + i);
		}
	}
}

static void free_hog(struct list_head *hog, u32 order)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, hog, lru) {
		list_del(&page->lru);
		__free_pages(page, order);
	}
}

static u64 lost(const struct fake *f)
{
	return *per_cpu_ptr(&f->rxe->stats->cnt[RXE_CNT_DROP_TX_MEM], 0);
}

/*
 * Build a train of PKTS packets at most, and keep it, with its blocks, in @kept. Return:
 * number of contiguous packets; 0 if the train couldn't be started.
 */
static u32 build(struct fake *f, struct sk_buff_head *kept)
{
	struct rxe_train train;
	u8 *first, *p;
	u32 n = 0;

	local_bh_disable();
	first = rxe_train_start(f->rxe, &f->peer, &train, PKT, PKTS);
	for (p = first; p && p == first + n * PKT; n++)
		p = n + 1 < PKTS ? rxe_train_push(&train, PKT) : NULL;
	if (first)
		__skb_queue_tail(kept, train.skb);
	local_bh_enable();
	return n;
}

static void give_back(struct sk_buff_head *kept)
{
	local_bh_disable();
	__skb_queue_purge(kept);
	local_bh_enable();
}

/* Return: trains that couldn't be started. @full: out: trains that are in one block */
static u32 build_many(struct fake *f, struct sk_buff_head *kept, u32 *full)
{
	u32 i, n, none = 0;

	for (i = *full = 0; i < ROUNDS; i++) {
		n = build(f, kept);
		none += !n;
		*full += n == PKTS;
	}
	return none;
}

static void shortage(struct kunit *test)
{
	struct fake *f = test->priv;
	struct sk_buff_head kept;
	u64 before = lost(f);
	LIST_HEAD(hog);
	LIST_HEAD(rest);
	u32 full, none;
	bool hogged;

	__skb_queue_head_init(&kept);
	KUNIT_EXPECT_EQ(test, build_many(f, &kept, &full), 0);
	KUNIT_EXPECT_EQ(test, full, ROUNDS);

	/*
	 * All blocks are in use, and there are no others, until bottom halves are on again.
	 * Below a watermark, blocks are held back: the single pages lift free memory over it,
	 * and the second round takes those blocks.
	 */
	local_bh_disable();
	hogged = hog_memory(&hog);
	split_some(&hog, &rest);
	hog_memory(&hog);
	none = build_many(f, &kept, &full);
	free_hog(&hog, HOG_ORDER);
	free_hog(&rest, 0);
	give_back(&kept);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, hogged);
	KUNIT_EXPECT_LT(test, full, ROUNDS);
	KUNIT_EXPECT_EQ(test, lost(f) - before, none);

	/* Once memory is back, small blocks are replaced: the first round checks each block */
	KUNIT_EXPECT_EQ(test, build_many(f, &kept, &full), 0);
	give_back(&kept);
	KUNIT_EXPECT_EQ(test, build_many(f, &kept, &full), 0);
	give_back(&kept);
	KUNIT_EXPECT_EQ(test, full, ROUNDS);
	KUNIT_EXPECT_EQ(test, lost(f) - before, none);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(shortage),
	{}
};

static struct kunit_suite suite = {
	.name = "net-train",
	.init = fake_init,
	.exit = fake_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
