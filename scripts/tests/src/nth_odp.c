// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: on-demand paging: regions, prefetches, and messages from and to pages that are absent.
 * If a worker of the driver has no memory for such a page, the message fails with an access error.
 */
#include "nth.h"

#include "odp_util.h"

#define PAGES	40ul	/* more than are brought in at once */
#define BYTES	(PAGES * PAGE)
#define ACCESS	(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)

static uint8_t *memory;		/* not locked */
static struct ibv_mr *region, *all;	/* @memory; all memory of the process */

/* All pages become absent */
static const char *empty(int err)
{
	(void)err;
	return madvise(memory, BYTES, MADV_DONTNEED) ? strerror(errno) : NULL;
}

static void begin(void)
{
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || munlock(memory, BYTES) || empty(0))
		die("no memory: %s", strerror(errno));
}

static void end(void)
{
	munmap(memory, BYTES);
}

static int make_mr(void)
{
	region = ibv_reg_mr(pd, memory, BYTES, ACCESS);
	return made(region);
}

static int destroy_mr(void)
{
	return ibv_dereg_mr(region);
}

static int make_all(void)
{
	all = ibv_reg_mr(pd, NULL, SIZE_MAX, ACCESS);
	return made(all);
}

static int destroy_all(void)
{
	return ibv_dereg_mr(all);
}

/* The first region of a process: the driver doesn't know the process yet */
static void begin_process(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		die("cannot lock memory: %s", strerror(errno));
	ctx = ibv_open_device(nth_device);
	if (!ctx)
		die("cannot open the device: %s", strerror(errno));
	pd = new_pd(ctx);
}

static int first_mr(void)
{
	return in_child(begin_process, make_mr);
}

/* ---- prefetches ---- */

static int prefetch(struct ibv_mr *of, uint32_t flags)
{
	struct ibv_sge sge = { (uintptr_t)memory, BYTES, of->lkey };

	return advise(pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, flags, sge);
}

static int prefetch_some(void) { return prefetch(region, IB_UVERBS_ADVISE_MR_FLAG_FLUSH); }
static int prefetch_all(void) { return prefetch(all, IB_UVERBS_ADVISE_MR_FLAG_FLUSH); }
static int prefetch_later(void) { return prefetch(region, 0); }

/* The region forgets the parts of the address space that it has got to know, too */
static const char *forget(int err)
{
	if (destroy_all() || make_all())
		return strerror(errno);
	return empty(err);
}

/* ---- messages ---- */

/*
 * Return: 0 or an errno; ENOMEM if a page couldn't be brought in. If that was a page of the target,
 * the queue pair, which is connected to itself, has refused the message, and fails
 */
static int write_page(uint8_t *source, uint32_t lkey, uint8_t *target, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)source, PAGE, lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
	};
	struct ibv_wc wc;
	int err;

	wr.wr.rdma.remote_addr = (uintptr_t)target;
	wr.wr.rdma.rkey = rkey;
	err = ibv_post_send(rc, &wr, &bad);
	if (err)
		return err;
	if (!wait_wc(cq, &wc))
		die("a WRITE to an absent page doesn't complete");
	if (wc.status == IBV_WC_LOC_PROT_ERR || wc.status == IBV_WC_REM_ACCESS_ERR ||
	    wc.status == IBV_WC_WR_FLUSH_ERR)
		return ENOMEM;
	if (wc.status)
		die("a WRITE to an absent page: %s", ibv_wc_status_str(wc.status));
	return 0;
}

/* To read from an absent page takes none: the kernel has a page of zeros. A fault doesn't fail */
static int write_from_absent(void) { return write_page(memory, region->lkey, to, mr->rkey); }

static int write_to_absent(void) { return write_page(from, mr->lkey, memory, region->rkey); }

/* The queue pair gives back the memory for its faults. The pages are absent */
static const char *after_write(int err)
{
	connect_self(rc);
	return empty(err);
}

static const struct call calls[] = {
	{ "odp-first-mr", first_mr, nothing, .own = true, .whose = CHILD },
	{ "odp-mr", make_mr, destroy_mr, .own = true },
	{ "odp-all", make_all, destroy_all, .own = true },
	{ "odp-prefetch", prefetch_some, nothing, .own = true, .after = empty },
	{ "odp-prefetch-all", prefetch_all, nothing, .own = true, .after = forget },
	{ "odp-prefetch-later", prefetch_later, nothing, .own = true, .after = empty },
	{ "odp-write-from", write_from_absent, .own = true, .after = after_write },
	{ "odp-write-to", write_to_absent, .own = true, .after = after_write },
	{ "odp-fault-to", write_to_absent, .own = true, .after = after_write, .whose = WORKERS },
	{ "destroy-odp-all", destroy_all, make_all, .own = false },
	{ "destroy-odp-mr", destroy_mr, make_mr, .own = false },
	{}
};

const struct group nth_odp = { .calls = calls, .begin = begin, .end = end };
