// SPDX-License-Identifier: GPL-2.0
/*
 * mem/fault.c and mem/prefetch.c: a pager has a fault from its first missing page until it is
 * reset. A task that waits for pages is woken once, and not after it has given up. A failed fault
 * fails the same request once, and no other request. Workers have a limited number of prefetches;
 * the caller does further ones itself. No reference to the memory is left in the end.
 *
 * The process has exited, so faults fail. A work that the test holds keeps the worker busy.
 */
#include <linux/completion.h>
#include <linux/mm_types.h>
#include <linux/slab.h>
#include <mem/odp.h>
#include <rxe/dev.h>
#include <transport/receive.h>
#include "../util.h"

#define PAGES	4096u
#define START	(0x7f0000000ull << PAGE_SHIFT)
#define IOVA	0x1000000ull
#define LENGTH	((u64)PAGES * PAGE_SIZE)

struct ctx {
	struct rxe_dev rxe;
	struct ib_pd pd;
	struct ib_pd other;
	struct rxe_mr *mr;
	struct rxe_odp odp;
	struct rxe_process process;
	struct rxe_pager pager;
	struct work_struct holding;
	struct completion held;
	struct completion go;
	u32 wakes;
};

static void hold_worker(struct work_struct *work)
{
	struct ctx *c = container_of(work, struct ctx, holding);

	complete(&c->held);
	wait_for_completion(&c->go);
}

/* Make works of @wq wait until let_go() */
static void hold(struct ctx *c, struct workqueue_struct *wq)
{
	reinit_completion(&c->held);
	reinit_completion(&c->go);
	queue_work(wq, &c->holding);
	wait_for_completion(&c->held);
}

/* On return, all works have run */
static void let_go(struct ctx *c, struct workqueue_struct *wq)
{
	complete(&c->go);
	flush_workqueue(wq);
}

static void count_wake(void *owner)
{
	struct ctx *c = owner;

	c->wakes++;
}

static void make_process(struct kunit *test, struct ctx *c)
{
	c->process.mm = kunit_kzalloc(test, sizeof(*c->process.mm), GFP_KERNEL);
	c->process.wq = alloc_workqueue("kunit_odp", WQ_UNBOUND, 1);
	c->process.prefetch_wq = alloc_workqueue("kunit_prefetch", WQ_UNBOUND, 1);
	KUNIT_ASSERT_NOT_NULL(test, c->process.mm);
	KUNIT_ASSERT_NOT_NULL(test, c->process.wq);
	KUNIT_ASSERT_NOT_NULL(test, c->process.prefetch_wq);
}

/* Memory of which no page is present */
static void make_odp(struct ctx *c)
{
	kref_init(&c->odp.ref);
	c->odp.process = &c->process;
	c->odp.wq = c->process.wq;
	mutex_init(&c->odp.lock);
	mutex_init(&c->odp.own.grace);
	c->odp.windows = &c->odp.own;
	xa_init(&c->odp.chunks);
	c->odp.first = START >> PAGE_SHIFT;
	c->odp.num = PAGES;
	c->odp.order = 9;
}

static void make_region(struct kunit *test, struct ctx *c)
{
	struct ib_mr *ibmr;

	xa_init_flags(&c->rxe.keys, XA_FLAGS_ALLOC);
	c->pd.device = &c->rxe.ibdev;
	c->other.device = &c->rxe.ibdev;
	ibmr = rxe_get_dma_mr(&c->pd, IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ibmr));
	c->mr = to_rxe_mr(ibmr);
	c->mr->key.iova = IOVA;
	c->mr->key.start = START;
	c->mr->key.length = LENGTH;
	c->mr->key.paged = true;
	c->mr->region.odp = &c->odp;
}

static int ctx_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	INIT_WORK(&c->holding, hold_worker);
	init_completion(&c->held);
	init_completion(&c->go);
	make_process(test, c);
	make_odp(c);
	make_region(test, c);
	rxe_fault_set_wake(count_wake);
	rxe_pager_init(&c->pager, c);
	return 0;
}

static void ctx_exit(struct kunit *test)
{
	struct ctx *c = test->priv;

	if (!c)
		return;
	rxe_pager_reset(&c->pager);
	rxe_fault_set_wake(rxe_page_came);
	if (c->process.wq)
		destroy_workqueue(c->process.wq);
	if (c->process.prefetch_wq)
		destroy_workqueue(c->process.prefetch_wq);
	if (c->mr) {
		c->mr->key.paged = false;
		c->mr->region.odp = NULL;
		rxe_dereg_mr(&c->mr->ibmr, NULL);
	}
	xa_destroy(&c->odp.chunks);
	rcu_barrier();
}

static int ask(struct ctx *c, u64 off, u64 len, u64 rest, bool write)
{
	int err;

	local_bh_disable();
	err = rxe_fault_pages(&c->pager, &c->mr->key, write, IOVA + off, len, rest);
	local_bh_enable();
	return err;
}

/* Request the first byte, and wait until the fault has failed */
static void fail_first(struct kunit *test, struct ctx *c)
{
	KUNIT_EXPECT_EQ(test, ask(c, 0, 1, 1, false), -EAGAIN);
	flush_workqueue(c->process.wq);
	KUNIT_EXPECT_EQ(test, c->pager.fault->err, -EFAULT);
	KUNIT_EXPECT_FALSE(test, rxe_pager_is_busy(&c->pager));
}

static u32 memory_refs(struct ctx *c)
{
	return kref_read(&c->odp.ref);
}

/* There is one request at a time. Another request doesn't change it */
static void one_at_a_time(struct kunit *test)
{
	struct ctx *c = test->priv;

	hold(c, c->process.wq);
	KUNIT_EXPECT_NULL(test, c->pager.fault);
	KUNIT_EXPECT_EQ(test, ask(c, 100, 1, 1, false), -EAGAIN);
	KUNIT_ASSERT_NOT_NULL(test, c->pager.fault);
	KUNIT_EXPECT_TRUE(test, rxe_pager_is_busy(&c->pager));
	KUNIT_EXPECT_EQ(test, ask(c, PAGE_SIZE, 1, 1, true), -EAGAIN);
	KUNIT_EXPECT_EQ(test, c->pager.fault->addr, START + 100);
	KUNIT_EXPECT_FALSE(test, c->pager.fault->write);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 2u);
	KUNIT_EXPECT_EQ(test, c->wakes, 0u);
	let_go(c, c->process.wq);
	KUNIT_EXPECT_FALSE(test, rxe_pager_is_busy(&c->pager));
	KUNIT_EXPECT_EQ(test, c->wakes, 1u);
}

/* The failed request gets the error once */
static void same_error_once(struct kunit *test)
{
	struct ctx *c = test->priv;

	fail_first(test, c);
	KUNIT_EXPECT_EQ(test, ask(c, 0, 1, 1, false), -EFAULT);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 1u);
	fail_first(test, c);
	KUNIT_EXPECT_EQ(test, ask(c, PAGE_SIZE, 1, 1, false), -EAGAIN);
	flush_workqueue(c->process.wq);
	fail_first(test, c);
	KUNIT_EXPECT_EQ(test, ask(c, 0, 1, 1, true), -EAGAIN);
	flush_workqueue(c->process.wq);
	KUNIT_EXPECT_EQ(test, c->wakes, 5u);
}

/* Bytes that will be needed soon are requested, too: within the key, and a limited number */
static void ahead(struct kunit *test)
{
	struct ctx *c = test->priv;

	hold(c, c->process.wq);
	KUNIT_EXPECT_EQ(test, ask(c, 0, 8, LENGTH, false), -EAGAIN);
	KUNIT_EXPECT_EQ(test, c->pager.fault->len, (u64)RXE_ODP_AHEAD);
	let_go(c, c->process.wq);
	hold(c, c->process.wq);
	KUNIT_EXPECT_EQ(test, ask(c, LENGTH - 8, 8, LENGTH, false), -EAGAIN);
	KUNIT_EXPECT_EQ(test, c->pager.fault->len, 8ull);
	let_go(c, c->process.wq);
}

/* For a caller that can't wait, no fault is allocated */
static void cannot_wait(struct kunit *test)
{
	struct ctx *c = test->priv;

	local_bh_disable();
	KUNIT_EXPECT_EQ(test, rxe_fault_pages(NULL, &c->mr->key, false, IOVA, 1, 1), -EFAULT);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, memory_refs(c), 1u);
}

/* A reset forgets the error, and doesn't wait for a worker */
static void reset(struct kunit *test)
{
	struct ctx *c = test->priv;

	fail_first(test, c);
	rxe_pager_reset(&c->pager);
	KUNIT_EXPECT_NULL(test, c->pager.fault);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 1u);
	hold(c, c->process.wq);
	KUNIT_EXPECT_EQ(test, ask(c, 0, 1, 1, false), -EAGAIN);
	rxe_pager_reset(&c->pager);
	KUNIT_EXPECT_FALSE(test, rxe_pager_is_busy(&c->pager));
	KUNIT_EXPECT_EQ(test, ask(c, PAGE_SIZE, 1, 1, false), -EAGAIN);
	let_go(c, c->process.wq);
	KUNIT_EXPECT_EQ(test, c->wakes, 2u);	/* one wake-up before, and one after */
}

/* A fault that is given up doesn't wake the task, and keeps no reference to the memory */
static void given_up(struct kunit *test)
{
	struct ctx *c = test->priv;

	hold(c, c->process.wq);
	KUNIT_EXPECT_EQ(test, ask(c, 0, 1, 1, false), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, rxe_pager_is_busy(&c->pager));
	KUNIT_EXPECT_EQ(test, ask(c, 0, 1, 1, false), -EAGAIN);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 2u);
	rxe_pager_reset(&c->pager);
	KUNIT_EXPECT_NULL(test, c->pager.fault);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 1u);
	let_go(c, c->process.wq);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 1u);
	KUNIT_EXPECT_EQ(test, c->wakes, 0u);
}

static int advise(struct ctx *c, struct ib_pd *pd, u32 lkey, u64 addr, u32 len, u32 flags)
{
	struct ib_sge sge = { .addr = addr, .length = len, .lkey = lkey };

	return rxe_advise_mr(pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, flags, &sge, 1, NULL);
}

/* Workers get a limited number of prefetches, and the caller does the others itself */
static void prefetches(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 key = c->mr->key.value, i;

	hold(c, c->process.prefetch_wq);
	for (i = 0; i < RXE_ODP_PREFETCHES + 1; i++)
		KUNIT_EXPECT_EQ(test, advise(c, &c->pd, key, IOVA + i * PAGE_SIZE, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->process.prefetches), RXE_ODP_PREFETCHES);
	KUNIT_EXPECT_EQ(test, memory_refs(c), RXE_ODP_PREFETCHES + 1u);
	let_go(c, c->process.prefetch_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->process.prefetches), 0);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 1u);
}

/* Only a caller that waits for the pages gets the error */
static void flushed(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 key = c->mr->key.value, flag = IB_UVERBS_ADVISE_MR_FLAG_FLUSH;

	KUNIT_EXPECT_EQ(test, advise(c, &c->pd, key, IOVA, 1, flag), -EFAULT);
	KUNIT_EXPECT_EQ(test, advise(c, &c->pd, key, IOVA, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, advise(c, &c->pd, key, IOVA, 0, flag), 0);
	flush_workqueue(c->process.prefetch_wq);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 1u);
}

static void refused(struct kunit *test)
{
	struct ctx *c = test->priv;
	u32 key = c->mr->key.value;

	KUNIT_EXPECT_EQ(test, advise(c, &c->pd, key ^ 1, IOVA, 1, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, advise(c, &c->other, key, IOVA, 1, 0), -EPERM);
	KUNIT_EXPECT_EQ(test, advise(c, &c->pd, key, IOVA + LENGTH, 1, 0), -EFAULT);
	KUNIT_EXPECT_EQ(test, advise(c, &c->pd, key, IOVA, 1, 2), -EINVAL);
	c->mr->key.paged = false;
	KUNIT_EXPECT_EQ(test, advise(c, &c->pd, key, IOVA, 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, memory_refs(c), 1u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_at_a_time),
	KUNIT_CASE(same_error_once),
	KUNIT_CASE(ahead),
	KUNIT_CASE(cannot_wait),
	KUNIT_CASE(reset),
	KUNIT_CASE(given_up),
	KUNIT_CASE(prefetches),
	KUNIT_CASE(flushed),
	KUNIT_CASE(refused),
	{}
};

static struct kunit_suite suite = {
	.name		= "mem-fault",
	.init		= ctx_init,
	.exit		= ctx_exit,
	.test_cases	= cases,
};

kunit_test_suite(suite);
