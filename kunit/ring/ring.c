// SPDX-License-Identifier: GPL-2.0
/*
 * ring/ring.c and rxe/ring.h: sizes, the order of elements, full and empty rings. Whatever the
 * other side writes into the shared memory, each element that is returned is inside the ring.
 */
#include <linux/err.h>
#include <rxe/ring.h>
#include "../util.h"

static struct rxe_ring *make(struct kunit *test, u32 num, u32 size)
{
	struct rxe_ring *ring = rxe_ring_create(NULL, num, size);

	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(ring));
	return ring;
}

static void sizes(struct kunit *test)
{
	static const u32 nums[] = { 1, 2, 3, 4, 7, 8, 255, 256, 32767 };
	static const u32 elems[] = { 1, 8, 48, 64, 100, 4096 };
	struct rxe_ring *ring;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		for (j = 0; j < ARRAY_SIZE(elems); j++) {
			ring = make(test, nums[i], elems[j]);
			KUNIT_EXPECT_GE(test, rxe_ring_get_capacity(ring), nums[i]);
			KUNIT_EXPECT_LE(test, rxe_ring_get_capacity(ring),
					2 * nums[i]);
			KUNIT_EXPECT_EQ(test, ring->mask & (ring->mask + 1), 0u);
			KUNIT_EXPECT_GE(test, 1u << ring->shift, elems[j]);
			KUNIT_EXPECT_LT(test, 1u << ring->shift, 2 * elems[j]);
			/* user space uses these two */
			KUNIT_EXPECT_EQ(test, ring->buf->log2_elem_size,
					ring->shift);
			KUNIT_EXPECT_EQ(test, ring->buf->index_mask, ring->mask);
			KUNIT_EXPECT_NULL(test, rxe_ring_get_head(ring));
			rxe_ring_destroy(ring);
		}
	}
}

static void refused_sizes(struct kunit *test)
{
	static const struct { u32 num, size; } bad[] = {
		{ 0, 64 }, { 1, 0 }, { U32_MAX, 1 }, { 1u << 31, 1 },
		{ 1u << 30, 64 }, { 1, U32_MAX }, { 1u << 28, 4096 },
		{ U32_MAX, U32_MAX },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_TRUE_MSG(test,
				      IS_ERR(rxe_ring_create(NULL, bad[i].num,
							     bad[i].size)),
				      "%u of %u", bad[i].num, bad[i].size);
	rxe_ring_destroy(NULL);
	rxe_ring_destroy(ERR_PTR(-ENOMEM));
}

/* The poster: puts a number in the element, moves the producer's index */
static bool post(struct rxe_ring *ring, u32 *prod, u32 value)
{
	struct rxe_queue_buf *buf = ring->buf;

	if (((*prod + 1) & ring->mask) == buf->consumer_index)
		return false;
	*(u32 *)rxe_ring_get_elem(ring, *prod) = value;
	*prod = (*prod + 1) & ring->mask;
	/* pairs with rxe_ring_get_head() */
	smp_store_release(&buf->producer_index, *prod);
	return true;
}

static void consume_in_order(struct kunit *test)
{
	struct rxe_ring *ring = make(test, 20, 48);
	struct rnd_state rnd = rnd_init(5);
	u32 prod = 0, in = 0, out = 0, i, n;
	const u32 *elem;

	for (i = 0; i < 20000; i++) {
		for (n = rnd_below(&rnd, 40); n; n--)
			in += post(ring, &prod, in);
		KUNIT_ASSERT_LE(test, in - out, rxe_ring_get_capacity(ring));
		KUNIT_ASSERT_EQ(test, rxe_ring_count_pending(ring), in - out);
		for (n = 0; n < in - out; n++)
			KUNIT_ASSERT_EQ(test, *(const u32 *)rxe_ring_peek(ring, n),
					out + n);
		for (n = rnd_below(&rnd, 40); n; n--) {
			elem = rxe_ring_get_head(ring);
			KUNIT_ASSERT_EQ(test, !elem, in == out);
			if (!elem)
				break;
			KUNIT_ASSERT_EQ(test, *elem, out);
			out++;
			rxe_ring_pop(ring);
		}
	}
	rxe_ring_destroy(ring);
}

/* Send rings: rxe_ring_advance() frees no place; rxe_ring_release() frees up to its index */
static void next_and_release(struct kunit *test)
{
	struct rxe_ring *ring = make(test, 7, 8);
	u32 prod = 0, i;

	for (i = 0; i < 7; i++)
		KUNIT_EXPECT_TRUE(test, post(ring, &prod, i));
	KUNIT_EXPECT_FALSE(test, post(ring, &prod, 7));
	for (i = 0; i < 7; i++) {
		KUNIT_EXPECT_EQ(test, *(const u32 *)rxe_ring_get_head(ring), i);
		rxe_ring_advance(ring);
		KUNIT_EXPECT_FALSE(test, post(ring, &prod, 7));
	}
	KUNIT_EXPECT_NULL(test, rxe_ring_get_head(ring));
	rxe_ring_release(ring, 8 + 3);	/* free-running index */
	for (i = 7; i < 10; i++)
		KUNIT_EXPECT_TRUE(test, post(ring, &prod, i));
	KUNIT_EXPECT_FALSE(test, post(ring, &prod, 10));
	KUNIT_EXPECT_EQ(test, *(const u32 *)rxe_ring_get_head(ring), 7u);
	rxe_ring_destroy(ring);
}

static void produce_until_full(struct kunit *test)
{
	struct rxe_ring *ring = make(test, 7, 8);
	u32 round, i;
	u32 *place;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < 7; i++) {
			place = rxe_ring_get_space(ring);
			KUNIT_ASSERT_NOT_NULL(test, place);
			*place = round * 7 + i;
			rxe_ring_advance(ring);
			rxe_ring_publish(ring);
		}
		KUNIT_EXPECT_NULL(test, rxe_ring_get_space(ring));
		for (i = 0; i < 7; i++) {
			place = rxe_ring_get_elem(ring, ring->buf->consumer_index);
			KUNIT_EXPECT_EQ(test, *place, round * 7 + i);
			ring->buf->consumer_index =
				(ring->buf->consumer_index + 1) & ring->mask;
		}
		KUNIT_EXPECT_EQ(test, ring->buf->consumer_index,
				ring->buf->producer_index);
	}
	rxe_ring_destroy(ring);
}

static void inside(struct kunit *test, const struct rxe_ring *ring,
		   const void *elem)
{
	const u8 *start = ring->buf->data;
	u64 bytes = (u64)(ring->mask + 1) << ring->shift;
	u64 off = (const u8 *)elem - start;

	/* an address below the start is a huge offset */
	KUNIT_ASSERT_LT(test, off, bytes);
	KUNIT_ASSERT_LE(test, off + (1u << ring->shift), bytes);
	KUNIT_ASSERT_EQ(test, off & ((1u << ring->shift) - 1), 0ull);
}

/* The process writes random values to random places of the shared memory */
static void hostile(struct kunit *test)
{
	struct rxe_ring *ring = make(test, 100, 64);
	const u32 mask = ring->mask, shift = ring->shift;
	struct rnd_state rnd = rnd_init(6);
	const void *elem;
	u32 i;

	for (i = 0; i < 100000; i++) {
		prandom_bytes_state(&rnd, ring->buf, sizeof(*ring->buf));
		KUNIT_ASSERT_LE(test, rxe_ring_count_pending(ring), mask);
		elem = rxe_ring_get_head(ring);
		if (elem) {
			inside(test, ring, elem);
			rxe_ring_pop(ring);
		}
		inside(test, ring, rxe_ring_peek(ring, rnd_below(&rnd, mask)));
		elem = rxe_ring_get_space(ring);
		if (elem) {
			inside(test, ring, elem);
			rxe_ring_advance(ring);
			rxe_ring_publish(ring);
		}
		rxe_ring_advance(ring);
		rxe_ring_release(ring, prandom_u32_state(&rnd));
		KUNIT_ASSERT_EQ(test, ring->mask, mask);
		KUNIT_ASSERT_EQ(test, ring->shift, shift);
		KUNIT_ASSERT_LE(test, ring->index, mask);
	}
	rxe_ring_destroy(ring);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(sizes),
	KUNIT_CASE(refused_sizes),
	KUNIT_CASE(consume_in_order),
	KUNIT_CASE(next_and_release),
	KUNIT_CASE(produce_until_full),
	KUNIT_CASE(hostile),
	{}
};

static struct kunit_suite suite = {
	.name = "ring",
	.test_cases = cases,
};

kunit_test_suite(suite);
