// SPDX-License-Identifier: GPL-2.0
/*
 * mem/mw.c and mem/fast.c: a key that a work request makes valid gives access to exactly the
 * bytes, rights and QPs of that work request, until it is invalidated. A work request that is
 * refused changes nothing. A key isn't ended while a task uses its memory.
 */
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <mem/key.h>
#include "../util.h"

#define PAGES	4u
#define LENGTH	(PAGES * PAGE_SIZE)
#define IOVA	0x7f0000000000ull
#define RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND | IB_ACCESS_REMOTE_READ)

struct ctx {
	struct rxe_dev rxe;
	struct ib_pd pd;
	struct ib_pd other_pd;
	struct ib_qp qp;
	struct ib_qp other_qp;
	struct rxe_windows windows;		/* of qp */
	struct rxe_windows other_windows;	/* of other_qp */
	struct rxe_mr *mr;
	struct rxe_mr *fast;
	struct rxe_mw mw[2];	/* [0]: type 1, [1]: type 2 */
	u8 *mem;
};

static void init_qp(struct ctx *c, struct ib_qp *qp)
{
	qp->device = &c->rxe.ibdev;
	qp->pd = &c->pd;
}

static void make_mr(struct kunit *test, struct ctx *c)
{
	struct ib_mr *mr = rxe_get_dma_mr(&c->pd, RIGHTS);
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	c->mr = to_rxe_mr(mr);
	c->mr->key.iova = IOVA;
	c->mr->key.length = LENGTH;
	c->mr->region.pages = kmalloc_array(PAGES, sizeof(void *), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c->mr->region.pages);
	for (i = 0; i < PAGES; i++)
		c->mr->region.pages[i] = c->mem + i * PAGE_SIZE;
}

static void make_fast(struct kunit *test, struct ctx *c)
{
	struct ib_mr *mr = rxe_alloc_mr(&c->pd, IB_MR_TYPE_MEM_REG, PAGES);

	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	c->fast = to_rxe_mr(mr);
}

static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	xa_init_flags(&c->rxe.keys, XA_FLAGS_ALLOC);
	c->pd.device = &c->rxe.ibdev;
	c->other_pd.device = &c->rxe.ibdev;
	init_qp(c, &c->qp);
	init_qp(c, &c->other_qp);
	rxe_windows_init(&c->windows);
	rxe_windows_init(&c->other_windows);
	c->mem = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, ilog2(PAGES));
	KUNIT_ASSERT_NOT_NULL(test, c->mem);
	make_mr(test, c);
	make_fast(test, c);
	for (i = 0; i < 2; i++) {
		c->mw[i].ibmw = (struct ib_mw) {
			.device = &c->rxe.ibdev, .pd = &c->pd,
			.type = i ? IB_MW_TYPE_2 : IB_MW_TYPE_1,
		};
		KUNIT_ASSERT_EQ(test, rxe_alloc_mw(&c->mw[i].ibmw, NULL), 0);
	}
	return 0;
}

static void ctx_exit(struct kunit *test)
{
	struct ctx *c = test->priv;
	int i;

	for (i = 0; i < 2; i++)
		if (c->mw[i].window)
			rxe_dealloc_mw(&c->mw[i].ibmw);
	if (c->mr)
		KUNIT_EXPECT_EQ(test, rxe_dereg_mr(&c->mr->ibmr, NULL), 0);
	if (c->fast)
		KUNIT_EXPECT_EQ(test, rxe_dereg_mr(&c->fast->ibmr, NULL), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->rxe.num_mw), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->rxe.num_mr), 0);
	free_pages((unsigned long)c->mem, ilog2(PAGES));
	rcu_barrier();
}

static struct rxe_key *take(struct ctx *c, const struct ib_qp *remote, u32 rkey, int access,
			    u64 va, u64 len)
{
	struct rxe_key *key;

	rcu_read_lock_bh();
	rxe_key_get(&c->pd, remote, rkey, access, va, len, &key);
	rcu_read_unlock_bh();
	return key;
}

static bool readable(struct ctx *c, u32 rkey, u64 va, u64 len)
{
	struct rxe_key *key = take(c, &c->qp, rkey, IB_ACCESS_REMOTE_READ, va, len);
	bool ok = key;

	rxe_key_drop(&key);
	return ok;
}

/* A good bind of window @i to the middle of the region, with the next key */
static struct rxe_bind good(struct ctx *c, int i)
{
	u32 rkey = c->mw[i].window->key.name;

	return (struct rxe_bind) {
		.mw_rkey = rkey,
		.new_rkey = ib_inc_rkey(rkey),
		.mr_lkey = c->mr->ibmr.lkey,
		.access = IB_ACCESS_REMOTE_READ,
		.addr = IOVA + 100,
		.length = PAGE_SIZE,
	};
}

static int bind_on(struct ctx *c, const struct ib_qp *qp, const struct rxe_bind *bind)
{
	int err;

	local_bh_disable();
	err = rxe_window_bind(qp, qp == &c->other_qp ? &c->other_windows : &c->windows, bind);
	local_bh_enable();
	return err;
}

static int invalidate(const struct ib_qp *qp, bool remote, u32 rkey)
{
	int err;

	local_bh_disable();
	err = rxe_key_invalidate(qp, remote, rkey);
	local_bh_enable();
	return err;
}

static u32 bind_good(struct kunit *test, int i)
{
	struct ctx *c = test->priv;
	struct rxe_bind bind = good(c, i);

	KUNIT_ASSERT_EQ(test, bind_on(c, &c->qp, &bind), 0);
	return bind.new_rkey;
}

/* Only peers have access, to the bytes and with the rights that were bound [10.6.7] */
static void bound(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_key *key;
	u32 len = 1, rkey, i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_FALSE(test, readable(c, c->mw[i].ibmw.rkey, IOVA + 100, 1));
		rkey = bind_good(test, i);
		KUNIT_EXPECT_TRUE(test, readable(c, rkey, IOVA + 100, PAGE_SIZE));
		KUNIT_EXPECT_FALSE(test, readable(c, rkey, IOVA + 99, 1));
		KUNIT_EXPECT_FALSE(test, readable(c, rkey, IOVA + 101, PAGE_SIZE));
		KUNIT_EXPECT_FALSE(test, readable(c, rkey - 1, IOVA + 100, 1));
		KUNIT_EXPECT_PTR_EQ(test, take(c, &c->qp, rkey, IB_ACCESS_REMOTE_WRITE,
					       IOVA + 100, 1), NULL);
		KUNIT_EXPECT_PTR_EQ(test, take(c, NULL, rkey, 0, IOVA + 100, 1), NULL);
		key = take(c, &c->qp, rkey, IB_ACCESS_REMOTE_READ, IOVA + 107, 1);
		KUNIT_ASSERT_NOT_NULL(test, key);
		KUNIT_EXPECT_PTR_EQ(test, rxe_key_run(key, IOVA + 107, &len),
				    (void *)c->mem + 107);
		rxe_key_put(key);
	}
}

/* FLUSH of a whole window, with the window's rights */
static void whole(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = bind_good(test, 0);
	struct rxe_key *key;

	local_bh_disable();
	KUNIT_EXPECT_EQ(test, rxe_key_get_all(&c->pd, &c->qp, rkey, IB_ACCESS_REMOTE_READ,
					      &key), 0);
	rxe_key_drop(&key);
	KUNIT_EXPECT_NE(test, rxe_key_get_all(&c->pd, &c->qp, rkey, IB_ACCESS_FLUSH_GLOBAL,
					      &key), 0);
	KUNIT_EXPECT_NE(test, rxe_key_get_all(&c->pd, NULL, rkey, 0, &key), 0);
	local_bh_enable();
}

/* Local write access is accepted, and gives no right */
static void local_write(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_bind bind = good(c, 0);

	bind.access |= IB_ACCESS_LOCAL_WRITE;
	KUNIT_ASSERT_EQ(test, bind_on(c, &c->qp, &bind), 0);
	KUNIT_EXPECT_TRUE(test, readable(c, bind.new_rkey, IOVA + 100, PAGE_SIZE));
	KUNIT_EXPECT_PTR_EQ(test, take(c, &c->qp, bind.new_rkey, IB_ACCESS_LOCAL_WRITE,
				       IOVA + 100, 1), NULL);
}

static void zero_based(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_bind bind = good(c, 1);

	bind.access |= IB_ZERO_BASED;
	KUNIT_ASSERT_EQ(test, bind_on(c, &c->qp, &bind), 0);
	KUNIT_EXPECT_TRUE(test, readable(c, bind.new_rkey, 0, PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, readable(c, bind.new_rkey, 1, PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, readable(c, bind.new_rkey, IOVA + 100, 1));
}

/* Type 1 may be bound again, which invalidates the old key. A length of 0 unbinds the window */
static void anew(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 first = bind_good(test, 0), second = bind_good(test, 0);
	struct rxe_bind bind = good(c, 0);

	KUNIT_EXPECT_FALSE(test, readable(c, first, IOVA + 100, 1));
	KUNIT_EXPECT_TRUE(test, readable(c, second, IOVA + 100, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mr->windows), 1);
	bind.length = 0;
	bind.mr_lkey = 0;
	KUNIT_ASSERT_EQ(test, bind_on(c, &c->qp, &bind), 0);
	KUNIT_EXPECT_FALSE(test, readable(c, bind.new_rkey, IOVA + 100, 1));
	KUNIT_EXPECT_FALSE(test, readable(c, second, IOVA + 100, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mr->windows), 0);
}

/* Type 2B belongs to its QP, and must be invalidated before it is bound again */
static void type_2(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = bind_good(test, 1);
	struct rxe_bind bind = good(c, 1);

	KUNIT_EXPECT_PTR_EQ(test, take(c, &c->other_qp, rkey, IB_ACCESS_REMOTE_READ,
				       IOVA + 100, 1), NULL);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->other_qp, true, rkey), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->other_qp, false, rkey), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, rkey + 1), -EINVAL);
	KUNIT_EXPECT_TRUE(test, readable(c, rkey, IOVA + 100, 1));
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, rkey), 0);
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, IOVA + 100, 1));
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), -EINVAL);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->other_qp, &bind), 0);
	KUNIT_EXPECT_FALSE(test, readable(c, bind.new_rkey, IOVA + 100, 1));
	rxe_windows_leave(&c->other_windows);
	bind.mw_rkey = bind.new_rkey;
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), 0);
}

static u32 bound_on(const struct rxe_windows *windows)
{
	const struct list_head *link;
	u32 num = 0;

	list_for_each(link, &windows->bound)
		num++;
	return num;
}

/*
 * When a QP is destroyed, its windows of type 2B are unbound, and no others. Only bound windows
 * are on its list
 */
static void leave(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rxe_bind bind = good(c, 1), bad = bind;
	u32 first = bind_good(test, 0);

	bad.length = U64_MAX;
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bad), -EINVAL);
	KUNIT_EXPECT_EQ(test, bound_on(&c->windows), 0u);
	KUNIT_ASSERT_EQ(test, bind_on(c, &c->qp, &bind), 0);
	KUNIT_EXPECT_EQ(test, bound_on(&c->windows), 1u);
	rxe_windows_leave(&c->other_windows);
	KUNIT_EXPECT_TRUE(test, readable(c, bind.new_rkey, IOVA + 100, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mr->windows), 2);
	rxe_windows_leave(&c->windows);
	KUNIT_EXPECT_FALSE(test, readable(c, bind.new_rkey, IOVA + 100, 1));
	KUNIT_EXPECT_TRUE(test, readable(c, first, IOVA + 100, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mr->windows), 1);
	KUNIT_EXPECT_EQ(test, bound_on(&c->windows), 0u);

	bind = good(c, 1);
	KUNIT_ASSERT_EQ(test, bind_on(c, &c->other_qp, &bind), 0);
	KUNIT_EXPECT_EQ(test, bound_on(&c->other_windows), 1u);
	KUNIT_ASSERT_EQ(test, invalidate(&c->other_qp, false, bind.new_rkey), 0);
	KUNIT_EXPECT_EQ(test, bound_on(&c->other_windows), 0u);
	bind_good(test, 1);
	KUNIT_EXPECT_EQ(test, bound_on(&c->windows), 1u);
	rxe_dealloc_mw(&c->mw[1].ibmw);
	c->mw[1].window = NULL;
	KUNIT_EXPECT_EQ(test, bound_on(&c->windows), 0u);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mr->windows), 1);
}

/* Windows of type 1 and ordinary regions can't be invalidated [10.6.5] */
static void not_invalidated(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = bind_good(test, 0);

	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, rkey), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, c->mr->ibmr.lkey), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, c->mr->ibmr.rkey), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, 0), -EINVAL);
	KUNIT_EXPECT_TRUE(test, readable(c, rkey, IOVA + 100, 1));
	KUNIT_EXPECT_TRUE(test, readable(c, c->mr->ibmr.rkey, IOVA, 1));
}

static void bind_refused(struct kunit *test)
{
	struct ctx *c = test->priv;
	const struct rxe_bind ok = good(c, 0);
	struct ib_qp stranger = c->qp;
	struct rxe_bind bind;

	stranger.pd = &c->other_pd;
	KUNIT_EXPECT_EQ(test, bind_on(c, &stranger, &ok), -EINVAL);
#define REFUSED(change) do {						\
		bind = ok;						\
		bind.change;						\
		KUNIT_EXPECT_EQ_MSG(test, bind_on(c, &c->qp, &bind), -EINVAL, #change); \
	} while (0)
	REFUSED(mw_rkey ^= 1);
	REFUSED(mw_rkey = c->mr->ibmr.rkey);
	REFUSED(new_rkey ^= 0x100);
	REFUSED(mr_lkey ^= 1);
	REFUSED(mr_lkey = c->fast->ibmr.lkey);
	REFUSED(addr = IOVA - 1);
	REFUSED(addr = IOVA + LENGTH - PAGE_SIZE + 1);
	REFUSED(length = LENGTH);
	REFUSED(length = U64_MAX);
	REFUSED(access = IB_ACCESS_MW_BIND);
	REFUSED(access = IB_ZERO_BASED);	/* valid only for type 2 */
	REFUSED(access = IB_ACCESS_FLUSH_GLOBAL);
	c->mr->key.access &= ~IB_ACCESS_LOCAL_WRITE;
	REFUSED(access = IB_ACCESS_REMOTE_WRITE);
	REFUSED(access = IB_ACCESS_REMOTE_ATOMIC);
	c->mr->key.access = RIGHTS & ~IB_ACCESS_MW_BIND;
	REFUSED(access = IB_ACCESS_REMOTE_READ);
	c->mr->key.access = RIGHTS;
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mr->windows), 0);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &ok), 0);
}

/* A region stays as it is while a window is bound to it */
static void region_stays(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ib_mr *mr = &c->mr->ibmr;

	bind_good(test, 0);
	KUNIT_EXPECT_EQ(test, rxe_dereg_mr(mr, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rxe_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, 0,
							NULL, NULL)), -EBUSY);
	KUNIT_EXPECT_TRUE(test, readable(c, mr->rkey, IOVA, LENGTH));
	rxe_dealloc_mw(&c->mw[0].ibmw);
	c->mw[0].window = NULL;
	KUNIT_EXPECT_PTR_EQ(test, rxe_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, RIGHTS,
						    NULL, NULL), NULL);
	bind_good(test, 1);	/* it can be bound again */
}

/* A process that inherited the region can't have its own memory registered in its place */
static void of_another_process(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct ib_umem umem = { .owning_mm = (void *)c };	/* not current's mm */
	int access = RIGHTS | IB_ACCESS_REMOTE_WRITE;
	struct ib_mr *new;

	c->mr->umem = &umem;
	new = rxe_rereg_user_mr(&c->mr->ibmr, IB_MR_REREG_ACCESS, 0, 0, 0, access, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(new), -EINVAL);
	new = rxe_rereg_user_mr(&c->mr->ibmr, IB_MR_REREG_ACCESS, 0, 0, 0,
				IB_ACCESS_REMOTE_READ, NULL, NULL);
	KUNIT_EXPECT_PTR_EQ(test, new, NULL);	/* in place */
	KUNIT_EXPECT_EQ(test, atomic_read(&c->mr->windows), 0);
	c->mr->umem = NULL;
}

/* While a task uses the memory, its key can't be invalidated yet, but it isn't found any more */
static void busy(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = bind_good(test, 1), first = bind_good(test, 0);
	struct rxe_key *key = take(c, &c->qp, rkey, IB_ACCESS_REMOTE_READ, IOVA + 100, 1);
	struct rxe_bind bind = good(c, 1);

	KUNIT_ASSERT_NOT_NULL(test, key);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, rkey), -EAGAIN);
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, IOVA + 100, 1));
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, rkey), -EAGAIN);
	rxe_key_put(key);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, rkey), 0);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), 0);

	key = take(c, &c->qp, first, IB_ACCESS_REMOTE_READ, IOVA + 100, 1);
	KUNIT_ASSERT_NOT_NULL(test, key);
	bind = good(c, 0);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), -EAGAIN);
	KUNIT_EXPECT_FALSE(test, readable(c, first, IOVA + 100, 1));
	KUNIT_EXPECT_FALSE(test, readable(c, bind.new_rkey, IOVA + 100, 1));
	rxe_key_put(key);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), 0);
	KUNIT_EXPECT_TRUE(test, readable(c, bind.new_rkey, IOVA + 100, 1));
}

static void restore(const struct ib_qp *qp, u32 rkey)
{
	local_bh_disable();
	rxe_key_restore(qp, &rkey);
	local_bh_enable();
}

/* A bind had to wait, and is flushed then: the window stays as it was [10.3.1.1] */
static void restored(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 first = bind_good(test, 0), unbound = c->mw[1].ibmw.rkey;
	struct rxe_key *key = take(c, &c->qp, first, IB_ACCESS_REMOTE_READ, IOVA + 100, 1);
	struct rxe_bind bind = good(c, 0);
	struct ib_qp stranger = c->qp;

	KUNIT_ASSERT_NOT_NULL(test, key);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), -EAGAIN);
	stranger.pd = &c->other_pd;
	restore(&stranger, first);
	restore(&c->qp, first + 1);
	KUNIT_EXPECT_FALSE(test, readable(c, first, IOVA + 100, 1));
	restore(&c->qp, first);
	KUNIT_EXPECT_TRUE(test, readable(c, first, IOVA + 100, 1));
	rxe_key_put(key);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), 0);
	restore(&c->qp, first);
	KUNIT_EXPECT_FALSE(test, readable(c, first, IOVA + 100, 1));
	KUNIT_EXPECT_TRUE(test, readable(c, bind.new_rkey, IOVA + 100, 1));

	/* a lookup may hold the window for a moment, though it isn't bound */
	rxe_key_hold(&c->mw[1].window->key);
	bind = good(c, 1);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), -EAGAIN);
	restore(&c->qp, unbound);
	KUNIT_EXPECT_FALSE(test, readable(c, unbound, 0, 1));
	rxe_key_put(&c->mw[1].window->key);
	KUNIT_EXPECT_EQ(test, bind_on(c, &c->qp, &bind), 0);
}

/* A task that keeps a key over several packets notices that it was invalidated */
static void kept(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = bind_good(test, 1);
	struct rxe_key *key = take(c, &c->qp, rkey, IB_ACCESS_REMOTE_READ, IOVA + 100, 1);

	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), -EAGAIN);
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, rxe_key_keep(&c->pd, &c->qp, rkey, IB_ACCESS_REMOTE_READ,
					   IOVA + 100, 1, &key), -EACCES);
	local_bh_enable();
	KUNIT_EXPECT_PTR_EQ(test, key, NULL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), 0);
}

static int map(struct ctx *c, u32 off, u32 len, u32 page_size)
{
	struct scatterlist sg;

	sg_init_one(&sg, c->mem + off, len);
	sg_dma_address(&sg) = (uintptr_t)c->mem + off;
	sg_dma_len(&sg) = len;
	c->fast->ibmr.page_size = page_size;
	return rxe_map_mr_sg(&c->fast->ibmr, &sg, 1, NULL);
}

static int register_on(const struct ib_qp *qp, u32 value, int access)
{
	int err;

	local_bh_disable();
	err = rxe_mr_register(qp, value, access);
	local_bh_enable();
	return err;
}

/* A registered region is valid, and isn't changed by the next list of pages [10.6.4] */
static void fast(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = ib_inc_rkey(c->fast->ibmr.rkey), len = 1;
	u64 va = (uintptr_t)c->mem + 50;
	struct rxe_key *key;

	KUNIT_ASSERT_EQ(test, map(c, 50, PAGE_SIZE, PAGE_SIZE), 1);
	KUNIT_EXPECT_FALSE(test, readable(c, c->fast->ibmr.rkey, va, 1));
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_REMOTE_READ), 0);
	KUNIT_EXPECT_TRUE(test, readable(c, rkey, va, PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, va, PAGE_SIZE + 1));
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, va - 1, 1));
	KUNIT_EXPECT_FALSE(test, readable(c, c->fast->ibmr.rkey, va, 1));
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, rkey, 0), -EINVAL);

	KUNIT_ASSERT_EQ(test, map(c, 2 * PAGE_SIZE, PAGE_SIZE, PAGE_SIZE), 1);
	key = take(c, &c->qp, rkey, IB_ACCESS_REMOTE_READ, va + 1, 1);
	KUNIT_ASSERT_NOT_NULL(test, key);
	KUNIT_EXPECT_PTR_EQ(test, rxe_key_run(key, va + 1, &len), (void *)(uintptr_t)(va + 1));
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), -EAGAIN);
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, rkey, 0), -EINVAL);
	rxe_key_put(key);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), 0);
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_REMOTE_READ), 0);
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, va, 1));
	KUNIT_EXPECT_TRUE(test, readable(c, rkey, (uintptr_t)c->mem + 2 * PAGE_SIZE, PAGE_SIZE));
}

/* A list of pages belongs to the region until the next one: it may be registered again */
static void fast_again(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = c->fast->ibmr.rkey, len, i;
	u64 va = (uintptr_t)c->mem + 50;
	struct rxe_key *key;

	KUNIT_EXPECT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_REMOTE_READ), 0);
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, 0, 1));	/* no list: zero bytes */
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), 0);
	KUNIT_ASSERT_EQ(test, map(c, 50, PAGE_SIZE, PAGE_SIZE), 1);
	for (i = 0; i < 4; i++) {
		rkey = ib_inc_rkey(rkey);
		KUNIT_ASSERT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_REMOTE_READ), 0);
		KUNIT_EXPECT_FALSE(test, readable(c, rkey, va, PAGE_SIZE + 1));
		key = take(c, &c->qp, rkey, IB_ACCESS_REMOTE_READ, va, PAGE_SIZE);
		KUNIT_ASSERT_NOT_NULL(test, key);
		len = PAGE_SIZE;
		KUNIT_EXPECT_PTR_EQ(test, rxe_key_run(key, va, &len), (void *)(uintptr_t)va);
		KUNIT_EXPECT_EQ(test, len, PAGE_SIZE);
		rxe_key_put(key);
		KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), 0);
	}
	KUNIT_EXPECT_LT(test, map(c, 0, LENGTH, SZ_2K), 0);
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_REMOTE_READ), 0);
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, va, 1));	/* that list was refused */
}

/* The key covers no byte outside of the listed pages, also if ib_sg_to_pages() returns too much */
static void fast_short(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = c->fast->ibmr.rkey, max_pages = c->fast->max_pages;
	u64 va = (uintptr_t)c->mem + 50;

	c->fast->max_pages = 1;
	KUNIT_EXPECT_LT(test, map(c, 50, PAGE_SIZE, PAGE_SIZE), 1);
	KUNIT_ASSERT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_REMOTE_READ), 0);
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, va, PAGE_SIZE - 49));
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, va + PAGE_SIZE, 1));
	KUNIT_EXPECT_FALSE(test, readable(c, rkey, va - 1, 1));
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), 0);
	KUNIT_ASSERT_EQ(test, map(c, 50, PAGE_SIZE - 50, PAGE_SIZE), 1);
	KUNIT_ASSERT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_REMOTE_READ), 0);
	KUNIT_EXPECT_TRUE(test, readable(c, rkey, va, PAGE_SIZE - 50));
	c->fast->max_pages = max_pages;
}

/* Pages of the list needn't have the CPU's page size */
static void page_sizes(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = c->fast->ibmr.rkey, size, len;
	u64 va = (uintptr_t)c->mem + 3000;
	struct rxe_key *key;

	for (size = SZ_4K; size <= LENGTH; size *= 2) {
		KUNIT_ASSERT_EQ(test, map(c, 3000, LENGTH - 3000, size), 1);
		KUNIT_ASSERT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_REMOTE_READ), 0);
		key = take(c, &c->qp, rkey, IB_ACCESS_REMOTE_READ, va, LENGTH - 3000);
		KUNIT_ASSERT_NOT_NULL(test, key);
		len = LENGTH - 3000 - 77;
		KUNIT_EXPECT_PTR_EQ(test, rxe_key_run(key, va + 77, &len),
				    (void *)c->mem + 3077);
		KUNIT_EXPECT_EQ(test, len, LENGTH - 3000 - 77);
		rxe_key_put(key);
		KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), 0);
	}
	KUNIT_EXPECT_EQ(test, map(c, 0, LENGTH, SZ_2K), -EINVAL);
	KUNIT_EXPECT_EQ(test, map(c, 0, LENGTH, 3 * SZ_4K), -EINVAL);
}

static void fast_refused(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 rkey = c->fast->ibmr.rkey;
	struct ib_qp stranger = c->qp;

	stranger.pd = &c->other_pd;
	KUNIT_EXPECT_EQ(test, register_on(&stranger, rkey, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, rkey, BIT(30)), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, c->mr->ibmr.rkey, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), -EINVAL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(rxe_alloc_mr(&c->pd, IB_MR_TYPE_SG_GAPS, 1)));
	KUNIT_EXPECT_TRUE(test, IS_ERR(rxe_alloc_mr(&c->pd, IB_MR_TYPE_MEM_REG,
						    RXE_MAX_FAST_PAGES + 1)));
	KUNIT_EXPECT_TRUE(test, IS_ERR(rxe_alloc_mr(&c->pd, IB_MR_TYPE_MEM_REG, 0)));
	/* a peer can't invalidate a key without remote rights */
	KUNIT_ASSERT_EQ(test, map(c, 0, PAGE_SIZE, PAGE_SIZE), 1);
	KUNIT_EXPECT_EQ(test, register_on(&c->qp, rkey, IB_ACCESS_LOCAL_WRITE), 0);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, true, rkey), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&c->qp, false, rkey), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bound),
	KUNIT_CASE(whole),
	KUNIT_CASE(local_write),
	KUNIT_CASE(zero_based),
	KUNIT_CASE(anew),
	KUNIT_CASE(type_2),
	KUNIT_CASE(leave),
	KUNIT_CASE(not_invalidated),
	KUNIT_CASE(bind_refused),
	KUNIT_CASE(region_stays),
	KUNIT_CASE(of_another_process),
	KUNIT_CASE(busy),
	KUNIT_CASE(restored),
	KUNIT_CASE(kept),
	KUNIT_CASE(fast),
	KUNIT_CASE(fast_again),
	KUNIT_CASE(fast_short),
	KUNIT_CASE(page_sizes),
	KUNIT_CASE(fast_refused),
	{}
};

static struct kunit_suite suite = {
	.name = "mem-window",
	.init = ctx_init,
	.exit = ctx_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
