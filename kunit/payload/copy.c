// SPDX-License-Identifier: GPL-2.0
/*
 * payload/: gathering and scattering copy the right bytes to the right places and no others,
 * with lists and skbs of any layout. The ICRC over an skb is that over its bytes.
 *
 * SGEs have a kernel consumer's L_Key 0: they are plain memory.
 */
#include <linux/skbuff.h>
#include <linux/string.h>
#include <payload/payload.h>
#include <rxe/wire.h>
#include <rxe/wr.h>
#include "../util.h"

#define BYTES	12000u
#define SGES	8u

struct ctx {
	struct rxe_source source;
	struct rxe_swqe *wqe;
	u8 *msg;		/* the message, flat */
	u8 *mem;		/* the SGEs' memory, with gaps */
	u8 *want;
	u32 length;
	struct rnd_state rnd;
};

static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->wqe = kunit_kzalloc(test, struct_size(c->wqe, sge, SGES), GFP_KERNEL);
	c->msg = kunit_kmalloc(test, BYTES, GFP_KERNEL);
	c->mem = kunit_kmalloc(test, 2 * BYTES, GFP_KERNEL);
	c->want = kunit_kmalloc(test, 2 * BYTES, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, c->wqe && c->msg && c->mem && c->want);
	c->rnd = rnd_init(11);
	prandom_bytes_state(&c->rnd, c->msg, BYTES);
	return 0;
}

/* Make a random list over @mem, with gaps between its elements, some of them empty */
static void random_list(struct ctx *c)
{
	u8 *p = c->mem;
	u32 i;

	c->length = 0;
	c->wqe->num_sge = rnd_below(&c->rnd, SGES + 1);
	for (i = 0; i < c->wqe->num_sge; i++) {
		struct ib_sge *sge = &c->wqe->sge[i];

		p += rnd_below(&c->rnd, 100);
		sge->addr = (uintptr_t)p;
		sge->length = rnd_below(&c->rnd, 4) ?
			rnd_below(&c->rnd, BYTES / SGES) : 0;
		sge->lkey = 0;
		p += sge->length;
		c->length += sge->length;
	}
	c->wqe->length = c->length;
}

/* Write @len bytes of @msg to @mem, as if they were scattered at @off of the list */
static void place(struct ctx *c, u8 *mem, u32 off, const u8 *msg, u32 len)
{
	u32 i, j, at = 0;

	for (i = 0; i < c->wqe->num_sge; i++) {
		struct ib_sge *sge = &c->wqe->sge[i];
		u8 *p = mem + (sge->addr - (uintptr_t)c->mem);

		for (j = 0; j < sge->length; j++, at++)
			if (at >= off && at < off + len)
				p[j] = msg[at - off];
	}
}

/* Read a piece of the work request's data, as the requester does */
static int gather_piece(struct ctx *c, const struct rxe_swqe *wqe, u32 off,
			u8 *dst, u32 len)
{
	struct rxe_seg *segs = kmalloc_array(RXE_MAX_SGE, sizeof(*segs),
					     GFP_KERNEL);
	struct rxe_data data = { .seg = segs };
	u32 part = len / 3;
	int num;

	if (!segs)
		return -ENOMEM;
	num = rxe_map(&c->source, wqe, off, len, segs);
	if (num >= 0) {
		struct rxe_data rest = data;

		rxe_data_read(&data, dst, part);
		if (part)
			rxe_data_skip(&rest, part);
		rxe_data_read(&rest, dst + part, len - part);
		rxe_unmap(wqe, segs, num);
	}
	rxe_key_drop(&c->source.key);
	kfree(segs);
	return min(num, 0);
}

static void gather(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, off, len;
	struct edge edge;
	u8 *dst;

	edge_init(test, &edge);
	for (i = 0; i < 5000; i++) {
		random_list(c);
		place(c, c->mem, 0, c->msg, c->length);
		off = rnd_below(&c->rnd, c->length + 1);
		len = min_t(u32, rnd_below(&c->rnd, c->length - off + 1), PAGE_SIZE);
		dst = edge_buf(&edge, len);
		KUNIT_ASSERT_EQ(test, gather_piece(c, c->wqe, off, dst, len),
				0);
		KUNIT_ASSERT_MEMEQ(test, dst, c->msg + off, len);
	}
	edge_free(&edge);
}

static void gather_too_much(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i;

	for (i = 0; i < 500; i++) {
		random_list(c);
		KUNIT_ASSERT_EQ(test, gather_piece(c, c->wqe, 0, c->want,
						   c->length + 1), -EFAULT);
	}
}

static void gather_inline(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_swqe *wqe = kunit_kzalloc(test, struct_size(wqe, data, 500),
					     GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	wqe->flags = IB_SEND_INLINE;
	wqe->length = 500;
	memcpy(wqe->data, c->msg, 500);
	KUNIT_EXPECT_EQ(test, gather_piece(c, wqe, 123, c->want, 377), 0);
	KUNIT_EXPECT_MEMEQ(test, c->want, c->msg + 123, 377);
}

static int scatter_msg(struct ctx *c, u32 off, u32 len)
{
	const struct rxe_seg seg = { .va = (uintptr_t)c->msg, .len = len };
	struct rxe_data data = { .seg = &seg };

	return rxe_scatter(&(struct rxe_list){ c->wqe->sge, c->wqe->num_sge },
			   off, &data, len);
}

static void scatter(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, off, len;

	for (i = 0; i < 2000; i++) {
		random_list(c);
		off = rnd_below(&c->rnd, c->length + 1);
		len = rnd_below(&c->rnd, c->length - off + 1);
		memset(c->mem, 0x77, 2 * BYTES);
		memset(c->want, 0x77, 2 * BYTES);
		place(c, c->want, off, c->msg, len);
		KUNIT_ASSERT_EQ(test, scatter_msg(c, off, len), 0);
		KUNIT_ASSERT_MEMEQ(test, c->mem, c->want, 2 * BYTES);
	}
}

static void scatter_too_much(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i;

	for (i = 0; i < 500; i++) {
		random_list(c);
		memset(c->mem, 0x77, 2 * BYTES);
		memset(c->want, 0x77, 2 * BYTES);
		place(c, c->want, 0, c->msg, c->length);
		KUNIT_ASSERT_EQ(test, scatter_msg(c, 0, c->length + 1),
				-ENOSPC);
		/* The bytes that fit may have been written, but not the gaps */
		place(c, c->mem, 0, c->msg, c->length);
		KUNIT_ASSERT_MEMEQ(test, c->mem, c->want, 2 * BYTES);
	}
}

/* Return: an skb with @len bytes of @msg, in a linear part of random size and random page frags */
static struct sk_buff *random_skb(struct kunit *test, struct ctx *c, u32 len)
{
	u32 part = rnd_below(&c->rnd, min(len, 1500u) + 1), off, done = part;
	struct sk_buff *skb = alloc_skb(part + 64, GFP_KERNEL);
	struct page *page;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, rnd_below(&c->rnd, 64));
	skb_put_data(skb, c->msg, part);
	for (i = 0; done < len; i++, done += part) {
		page = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, page);
		off = rnd_below(&c->rnd, 1000);
		part = min_t(u32, len - done, PAGE_SIZE - off);
		if (i < 12)
			part = 1 + rnd_below(&c->rnd, part);
		memcpy(page_address(page) + off, c->msg + done, part);
		skb_add_rx_frag(skb, i, page, off, part, PAGE_SIZE);
	}
	return skb;
}

static void skb_runs(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct sk_buff *skb;
	u32 i, off, run;
	const u8 *p;

	for (i = 0; i < 1000; i++) {
		skb = random_skb(test, c, 1 + rnd_below(&c->rnd, 9000));
		for (off = 0; off < skb->len; off += run) {
			p = rxe_skb_run(skb, off, &run);
			KUNIT_ASSERT_NOT_NULL(test, p);
			KUNIT_ASSERT_GE(test, run, 1u);
			KUNIT_ASSERT_LE(test, off + run, skb->len);
			KUNIT_ASSERT_MEMEQ(test, p, c->msg + off, run);
		}
		rxe_skb_run(skb, skb->len, &run);
		KUNIT_ASSERT_EQ(test, run, 0u);
		kfree_skb(skb);
	}
}

static void skb_icrc(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct sk_buff *skb;
	u32 i, off, len, state;

	for (i = 0; i < 1000; i++) {
		skb = random_skb(test, c, rnd_below(&c->rnd, 9000));
		off = rnd_below(&c->rnd, skb->len + 1);
		len = rnd_below(&c->rnd, skb->len - off + 1);
		state = i;
		KUNIT_ASSERT_TRUE(test, rxe_skb_icrc(skb, off, len, &state));
		KUNIT_ASSERT_EQ(test, state,
				rxe_icrc_update(i, c->msg + off, len));
		len = skb->len - off + 1 + rnd_below(&c->rnd, 100);
		KUNIT_ASSERT_FALSE(test, rxe_skb_icrc(skb, off, len, &state));
		kfree_skb(skb);
	}
}

static void skb_scatter(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 i, off, len, skip;
	struct rxe_list list;
	struct rxe_data data;
	struct sk_buff *skb;

	for (i = 0; i < 1000; i++) {
		random_list(c);
		off = rnd_below(&c->rnd, c->length + 1);
		len = min(rnd_below(&c->rnd, c->length - off + 1), 8000u);
		skip = rnd_below(&c->rnd, 100);
		skb = random_skb(test, c, len + skip + rnd_below(&c->rnd, 100));
		memset(c->mem, 0x77, 2 * BYTES);
		memset(c->want, 0x77, 2 * BYTES);
		place(c, c->want, off, c->msg + skip, len);
		data = (struct rxe_data){ .skb = skb, .off = skip };
		list = (struct rxe_list){ c->wqe->sge, c->wqe->num_sge };
		KUNIT_ASSERT_EQ(test, rxe_scatter(&list, off, &data,
						  len), 0);
		KUNIT_ASSERT_MEMEQ(test, c->mem, c->want, 2 * BYTES);
		kfree_skb(skb);
	}
}

/* The list has room, but the skb lacks bytes */
static void skb_too_short(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_list list;
	struct rxe_data data;
	struct sk_buff *skb;
	u32 i, len;

	for (i = 0; i < 1000; i++) {
		do {
			random_list(c);
		} while (!c->length);
		len = 1 + rnd_below(&c->rnd, min(c->length, 8000u));
		skb = random_skb(test, c, rnd_below(&c->rnd, len));
		data = (struct rxe_data){ .skb = skb };
		list = (struct rxe_list){ c->wqe->sge, c->wqe->num_sge };
		KUNIT_ASSERT_EQ(test, rxe_scatter(&list, 0, &data, len), -EIO);
		kfree_skb(skb);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(gather),
	KUNIT_CASE(gather_too_much),
	KUNIT_CASE(gather_inline),
	KUNIT_CASE(scatter),
	KUNIT_CASE(scatter_too_much),
	KUNIT_CASE(skb_runs),
	KUNIT_CASE(skb_icrc),
	KUNIT_CASE(skb_scatter),
	KUNIT_CASE(skb_too_short),
	{}
};

static struct kunit_suite suite = {
	.name = "payload-copy",
	.init = ctx_init,
	.test_cases = cases,
};

kunit_test_suite(suite);
