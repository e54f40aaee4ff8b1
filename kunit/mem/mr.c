// SPDX-License-Identifier: GPL-2.0
/*
 * mem/: memory is found only by its exact key, in the key's protection domain, for the
 * access that the key grants. No byte outside of it is accessible, not even by sums that
 * wrap around. Copies through scattered pages are right byte for byte.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <mem/key.h>
#include "../util.h"

#define PAGES	9u
#define IOVA	0x7f0000001234ull
#define OFFSET	0x234u			/* offset of IOVA in the first page */
#define LENGTH	(PAGES * PAGE_SIZE - OFFSET - 100)

struct ctx {
	struct rxe_dev rxe;
	struct ib_pd pd;
	struct ib_pd other;
	struct rxe_mr *mr;
	struct page *pages[PAGES];
	u8 *flat;		/* expected contents of the pages */
	u8 *buf;
	struct rnd_state rnd;
};

/* Pages in random order, some of them contiguous */
static void make_pages(struct kunit *test, struct ctx *c)
{
	struct page *run = alloc_pages(GFP_KERNEL, 2);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, run);
	split_page(run, 2);
	for (i = 0; i < 4; i++)
		c->pages[2 + i] = run + i;
	for (i = 0; i < PAGES; i++) {
		if (!c->pages[i])
			c->pages[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, c->pages[i]);
	}
	swap(c->pages[0], c->pages[7]);
}

/* A region as reg_user_mr makes it, but without pinned memory */
static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct ib_mr *ibmr;
	void **pages;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->rnd = rnd_init(13);
	xa_init_flags(&c->rxe.keys, XA_FLAGS_ALLOC);
	c->pd.device = &c->rxe.ibdev;
	c->other.device = &c->rxe.ibdev;
	c->flat = kunit_kmalloc(test, PAGES * PAGE_SIZE, GFP_KERNEL);
	c->buf = kunit_kmalloc(test, PAGES * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, c->flat && c->buf);
	prandom_bytes_state(&c->rnd, c->flat, PAGES * PAGE_SIZE);
	make_pages(test, c);
	for (i = 0; i < PAGES; i++)
		memcpy(page_address(c->pages[i]), c->flat + i * PAGE_SIZE,
		       PAGE_SIZE);
	ibmr = rxe_get_dma_mr(&c->pd, IB_ACCESS_LOCAL_WRITE |
			      IB_ACCESS_REMOTE_READ);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ibmr));
	c->mr = to_rxe_mr(ibmr);
	c->mr->key.iova = IOVA;
	c->mr->key.length = LENGTH;
	c->mr->key.start = OFFSET;
	pages = kmalloc_array(PAGES, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < PAGES; i++)
		pages[i] = page_address(c->pages[i]);
	c->mr->region.pages = pages;
	return 0;
}

static void ctx_exit(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i;

	if (c->mr)
		rxe_dereg_mr(&c->mr->ibmr, NULL);
	for (i = 0; i < PAGES; i++)
		if (c->pages[i])
			__free_page(c->pages[i]);
	rcu_barrier();
}

static bool found(struct ctx *c, struct ib_pd *pd, u32 key, int access, u64 va,
		  u64 len)
{
	struct rxe_key *found;
	int err;

	rcu_read_lock();
	err = rxe_key_get(pd, NULL, key, access, va, len, &found);
	if (!err)
		rxe_key_put(found);
	rcu_read_unlock();
	return !err;
}

/* Only the region's own key is valid [10.6.3] [C10-56] */
static void keys(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 key = c->mr->ibmr.lkey, bit;

	KUNIT_EXPECT_EQ(test, c->mr->ibmr.rkey, key);
	KUNIT_EXPECT_TRUE(test, found(c, &c->pd, key, 0, IOVA, 1));
	for (bit = 0; bit < 32; bit++)
		KUNIT_EXPECT_FALSE(test, found(c, &c->pd, key ^ BIT(bit), 0,
					       IOVA, 1));
	KUNIT_EXPECT_FALSE(test, found(c, &c->pd, 0, 0, IOVA, 1));
	KUNIT_EXPECT_FALSE(test, found(c, &c->other, key, 0, IOVA, 1));
}

/* No right that the region doesn't have [C10-57] */
static void access(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 key = c->mr->ibmr.lkey;

	KUNIT_EXPECT_TRUE(test, found(c, &c->pd, key, IB_ACCESS_LOCAL_WRITE,
				      IOVA, 1));
	KUNIT_EXPECT_TRUE(test, found(c, &c->pd, key, IB_ACCESS_REMOTE_READ,
				      IOVA, 1));
	KUNIT_EXPECT_FALSE(test, found(c, &c->pd, key, IB_ACCESS_REMOTE_WRITE,
				       IOVA, 1));
	KUNIT_EXPECT_FALSE(test, found(c, &c->pd, key, IB_ACCESS_REMOTE_ATOMIC,
				       IOVA, 8));
	KUNIT_EXPECT_FALSE(test, found(c, &c->pd, key, IB_ACCESS_REMOTE_READ |
				       IB_ACCESS_REMOTE_WRITE, IOVA, 1));
}

/* No byte before or behind the region is accessible [o10-37] */
static void bounds(struct kunit *test)
{
	static const struct { s64 off; u64 len; bool ok; } want[] = {
		{ 0, 1, true }, { 0, LENGTH, true }, { LENGTH - 1, 1, true },
		{ 5, LENGTH - 5, true },
		{ 0, LENGTH + 1, false }, { LENGTH, 1, false },
		{ -1, 1, false }, { -1, LENGTH, false }, { -1, 2, false },
		{ LENGTH - 1, 2, false }, { 1, LENGTH, false },
		{ 0, U64_MAX, false }, { 1, U64_MAX, false },
		{ 0, U64_MAX - IOVA + 1, false }, { 8, -8ull, false },
		{ S64_MIN, 1, false }, { S64_MAX, 1, false },
		{ -(s64)IOVA, 1, false }, { -(s64)IOVA, U64_MAX, false },
	};
	struct ctx *c = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ_MSG(test, found(c, &c->pd, c->mr->ibmr.lkey, 0,
						IOVA + want[i].off, want[i].len),
				    want[i].ok, "offset %lld length %llu",
				    want[i].off, want[i].len);
}

/* Copy between @c->buf and the region, run by run */
static void copy(struct ctx *c, u32 off, u32 len, bool write)
{
	u32 done, run;
	void *p;

	for (done = 0; done < len; done += run) {
		run = len - done;
		p = rxe_key_run(&c->mr->key, IOVA + off + done, &run);
		if (write)
			memcpy(p, c->buf + done, run);
		else
			memcpy(c->buf + done, p, run);
	}
}

static void read(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, off, len;

	for (i = 0; i < 3000; i++) {
		off = rnd_below(&c->rnd, LENGTH);
		len = rnd_below(&c->rnd, LENGTH - off + 1);
		copy(c, off, len, false);
		KUNIT_ASSERT_MEMEQ(test, c->buf, c->flat + OFFSET + off, len);
	}
}

static void write(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, k, off, len;

	for (i = 0; i < 1000; i++) {
		off = rnd_below(&c->rnd, LENGTH);
		len = rnd_below(&c->rnd, LENGTH - off + 1);
		prandom_bytes_state(&c->rnd, c->flat + OFFSET + off, len);
		memcpy(c->buf, c->flat + OFFSET + off, len);
		copy(c, off, len, true);
		for (k = 0; k < PAGES; k++)
			KUNIT_ASSERT_MEMEQ(test, page_address(c->pages[k]),
					   c->flat + k * PAGE_SIZE, PAGE_SIZE);
	}
}

/* A run is no longer than requested, and ends before a page that isn't contiguous */
static void runs(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, off, want, len;
	const u8 *p;

	for (i = 0; i < 10000; i++) {
		off = rnd_below(&c->rnd, LENGTH);
		want = 1 + rnd_below(&c->rnd, LENGTH - off);
		len = want;
		p = rxe_key_run(&c->mr->key, IOVA + off, &len);
		KUNIT_ASSERT_GE(test, len, 1u);
		KUNIT_ASSERT_LE(test, len, want);
		KUNIT_ASSERT_MEMEQ(test, p, c->flat + OFFSET + off, len);
	}
}

/* A second key names part of the region, with rights of its own, until it is retired */
static void part(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_key key = {
		.access = IB_ACCESS_REMOTE_WRITE, .pd = &c->other,
		.iova = 0x100, .length = 5000, .start = OFFSET + 777,
		.region = &c->mr->region,
	};
	u32 len = key.length, done, run;

	KUNIT_ASSERT_EQ(test, rxe_key_publish(&c->rxe, &key, true), 0);
	KUNIT_EXPECT_TRUE(test, found(c, &c->other, key.value,
				      IB_ACCESS_REMOTE_WRITE, 0x100, len));
	KUNIT_EXPECT_FALSE(test, found(c, &c->other, key.value,
				       IB_ACCESS_REMOTE_READ, 0x100, len));
	KUNIT_EXPECT_FALSE(test, found(c, &c->pd, key.value, 0, 0x100, len));
	KUNIT_EXPECT_FALSE(test, found(c, &c->other, key.value, 0, 0xff, 2));
	KUNIT_EXPECT_FALSE(test, found(c, &c->other, key.value, 0, 0x101, len));
	for (done = 0; done < len; done += run) {
		void *p;

		run = len - done;
		p = rxe_key_run(&key, 0x100 + done, &run);
		KUNIT_ASSERT_MEMEQ(test, p, c->flat + OFFSET + 777 + done, run);
	}
	rxe_key_retire(&c->rxe, &key);
	KUNIT_EXPECT_FALSE(test, found(c, &c->other, key.value, 0, 0x100, 1));
	KUNIT_EXPECT_TRUE(test, found(c, &c->pd, c->mr->ibmr.lkey, 0, IOVA, 1));
	synchronize_rcu();	/* the key is on the stack */
}

/* Freeing waits for tasks that copy; no lookup finds the region meanwhile */
static void freed(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 key = c->mr->ibmr.lkey;

	KUNIT_EXPECT_EQ(test, rxe_dereg_mr(&c->mr->ibmr, NULL), 0);
	c->mr = NULL;
	KUNIT_EXPECT_FALSE(test, found(c, &c->pd, key, 0, IOVA, 1));
}

/* Rights and a range that no region can have [11.2.7] */
static void refused(struct kunit *test)
{
	struct ctx *c = test->priv;

	KUNIT_EXPECT_TRUE(test, IS_ERR(rxe_get_dma_mr(&c->pd, BIT(30))));
	KUNIT_EXPECT_TRUE(test, IS_ERR(rxe_reg_user_mr(&c->pd, 0x1000, 0x1000,
						       U64_MAX - 10, 0, NULL)));
	KUNIT_EXPECT_EQ(test, atomic_read(&c->rxe.num_mr), 1);
}

/* A region of zero bytes needs no memory, and gives access to no byte */
static void empty(struct kunit *test)
{
	static const u64 starts[] = { 0, 0x1234, U64_MAX };
	struct ctx *c = test->priv;
	struct ib_mr *mr;
	int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		mr = rxe_reg_user_mr(&c->pd, starts[i], 0, starts[i],
				     IB_ACCESS_LOCAL_WRITE, NULL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
		KUNIT_EXPECT_EQ(test, mr->iova, starts[i]);
		KUNIT_EXPECT_TRUE(test, found(c, &c->pd, mr->lkey, 0,
					      starts[i], 0));
		KUNIT_EXPECT_FALSE(test, found(c, &c->pd, mr->lkey, 0,
					       starts[i], 1));
		KUNIT_EXPECT_FALSE(test, found(c, &c->pd, mr->lkey, 0,
					       starts[i] - 1, 1));
		KUNIT_EXPECT_PTR_EQ(test, rxe_rereg_user_mr(mr,
							    IB_MR_REREG_ACCESS,
							    0, 0, 0, 0, NULL,
							    NULL), NULL);
		KUNIT_EXPECT_EQ(test, rxe_dereg_mr(mr, NULL), 0);
	}
}

/* Key 0 names nothing, although the value and the name of a key that became invalid are 0 */
static void zero(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_key *key = &c->mr->key, *kept;
	u32 value = key->value, name = key->name;

	rcu_read_lock();
	KUNIT_ASSERT_EQ(test, rxe_key_get(&c->pd, NULL, value, 0, IOVA, 8, &kept), 0);
	key->value = 0;
	KUNIT_EXPECT_EQ(test, rxe_key_keep(&c->pd, NULL, 0, 0, IOVA, 8, &kept), -EACCES);
	key->name = 0;
	rxe_recent_add(&c->rxe.recent_keys, 0, key);
	KUNIT_EXPECT_NULL(test, rxe_key_find(&c->pd, 0));
	KUNIT_EXPECT_NULL(test, rxe_key_find(&c->pd, 255));
	rxe_recent_remove(&c->rxe.recent_keys, 0, key);
	rcu_read_unlock();
	key->value = value;
	key->name = name;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(keys),
	KUNIT_CASE(access),
	KUNIT_CASE(bounds),
	KUNIT_CASE(read),
	KUNIT_CASE(write),
	KUNIT_CASE(runs),
	KUNIT_CASE(part),
	KUNIT_CASE(freed),
	KUNIT_CASE(refused),
	KUNIT_CASE(empty),
	KUNIT_CASE(zero),
	{}
};

static struct kunit_suite suite = {
	.name = "mem-mr",
	.init = ctx_init,
	.exit = ctx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
