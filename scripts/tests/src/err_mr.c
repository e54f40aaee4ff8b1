// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: memory regions: refused registrations, regions of zero bytes, zero-based ones, huge
 * pages, rereg_mr.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <sched.h>
#include <sys/mman.h>

#include "verbs_err.h"

bool c_limit_mr(void)
{
	struct pair *p = pair_make();
	void *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	errno = 0;
	REFUSED(ibv_reg_mr(p->pd, hole, 8192, IBV_ACCESS_LOCAL_WRITE), "memory without access");
	REFUSED(ibv_reg_mr(p->pd, ro, 4096, IBV_ACCESS_LOCAL_WRITE), "read-only memory for write");
	REFUSED(ibv_reg_mr(p->pd, p->src, 4096, IBV_ACCESS_REMOTE_WRITE),
		"REMOTE_WRITE without LOCAL_WRITE");
	REFUSED(ibv_reg_mr(p->pd, p->src, 4096, IBV_ACCESS_REMOTE_ATOMIC),
		"REMOTE_ATOMIC without LOCAL_WRITE");
	REFUSED(ibv_reg_mr(p->pd, p->src, ~0ull - 4096, IBV_ACCESS_LOCAL_WRITE),
		"nearly 2^64 bytes");
	mr = ibv_reg_mr(p->pd, p->src + 13, 77, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr, "an unaligned MR refused: %s", strerror(errno));
	ibv_dereg_mr(mr);
	munmap(hole, 8192);
	munmap(ro, 4096);
	return pair_free(p);
}

/* Only implicit on-demand paging reaches max_mr_size: it registers all addresses */
bool c_limit_mr_size(void)
{
	struct pair *p = pair_up();
	struct ibv_mr *mr = ibv_reg_mr(p->pd, NULL, dev.max_mr_size, IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	CHECK(mr, "max_mr_size itself: %s", strerror(errno));
	CHECK(!(dev.max_mr_size + 1), "a region can be larger than max_mr_size");
	sge = sge_of(p->src, BUF_LEN, mr->lkey);
	wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS))
		return false;
	CHECK(!memcmp(p->src, p->dst, BUF_LEN), "wrong bytes");
	CHECK(!ibv_dereg_mr(mr), "dereg_mr: %s", strerror(errno));
	return pair_free(p);
}

/* rereg_mr takes one right away, and the others remain [11.2.7.5] */
bool c_rereg_mr(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr;
	int rc;

	rc = rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
		      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(!rc, "rereg_mr: %s", strerror(rc));
	wr = remote_wr(R, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	return refused(p, W, 8, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

/* Zero bytes of a zero-length region, as the source and as the target */
static bool use_empty_mr(struct pair *p, struct ibv_mr *mr, void *addr)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, W, R };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		struct ibv_sge sge = sge_of(addr, 0, mr->lkey);
		struct ibv_send_wr wr = wr_of(ops[i], &sge, 1);

		wr.wr.rdma.remote_addr = (uintptr_t)addr;
		wr.wr.rdma.rkey = mr->rkey;
		recv_one(p->b, 9, addr, 0, mr->lkey);
		CHECK(!post_one(p->a, &wr), "post_send refused it");
		if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
			return false;
	}
	return true;
}

bool c_mr_empty(void)
{
	struct pair *p = pair_up();
	void *addr[] = { p->src, p->src + 13, NULL, (void *)0x1000, (void *)~0ul };
	struct ibv_mr *mr;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(addr); i++) {
		mr = ibv_reg_mr(p->pd, addr[i], 0, ACCESS_ALL);
		CHECK(mr, "0 bytes at %p: %s", addr[i], strerror(errno));
		if (!use_empty_mr(p, mr, addr[i]))
			return false;
		CHECK(!ibv_dereg_mr(mr), "dereg_mr: %s", strerror(errno));
	}
	return pair_free(p);
}

/* A region of zero bytes: access to one byte is refused */
bool c_mr_empty_one_past(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd_b, p->dst, 0, ACCESS_ALL);
	return refused(p, W, 1, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

bool c_mr_empty_rereg(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, 8, p->src_mr->lkey);
	struct ibv_send_wr wr;

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd2_b, p->dst, 0, 0);
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL),
	      "other rights: %s", strerror(errno));
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_PD, p->pd_b, NULL, 0, 0),
	      "other PD: %s", strerror(errno));
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p->dst, BUF_LEN, 0),
	      "some bytes: %s", strerror(errno));
	wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p->dst, 0, 0),
	      "no bytes: %s", strerror(errno));
	return refused(p, W, 1, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

#define ZB_LEN		8000
#define ZB_OFF		13		/* of its first byte in the target */
#define ZB_NEXT		20013		/* likewise, after rereg_mr */

/* Addresses of the region begin at 0 */
static struct pair *zero_based_pair(void)
{
	struct pair *p = pair_up();

	ibv_dereg_mr(p->dst_mr);
	p->dst_mr = new_mr(p->pd_b, p->dst + ZB_OFF, ZB_LEN, ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
	return p;
}

/* Does an operation between the source and @addr of the region succeed? */
static bool zero_based_op(struct pair *p, enum ibv_wr_opcode op, uint64_t addr, uint32_t len)
{
	struct ibv_sge sge = sge_of(p->src, len, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(op, &sge, addr, p->dst_mr->rkey);

	CHECK(!post_one(p->a, &wr), "post_send refused it");
	return expect_status(p->ca, IBV_WC_SUCCESS, IBV_WC_SUCCESS);
}

/* WRITEs @len new bytes to @addr. They must be at @off of the target, and nowhere else */
static bool zero_based_write(struct pair *p, uint64_t addr, uint32_t len, uint32_t off)
{
	static uint8_t want[BUF_LEN];
	static uint64_t seed;

	rnd_fill(p->src, len, ++seed);
	memcpy(want, p->dst, BUF_LEN);
	memcpy(want + off, p->src, len);
	if (!zero_based_op(p, W, addr, len))
		return false;
	CHECK(!memcmp(want, p->dst, BUF_LEN), "wrong bytes after a WRITE to 0x%llx",
	      (unsigned long long)addr);
	return true;
}

bool c_mr_zero_based(void)
{
	struct pair *p = zero_based_pair();

	if (!zero_based_write(p, 0, ZB_LEN, ZB_OFF) ||
	    !zero_based_write(p, ZB_LEN - 1, 1, ZB_OFF + ZB_LEN - 1))
		return false;
	rnd_fill(p->dst, BUF_LEN, 77);
	if (!zero_based_op(p, R, 5000, 3000))
		return false;
	CHECK(!memcmp(p->src, p->dst + ZB_OFF + 5000, 3000), "a READ returned wrong bytes");
	return pair_free(p);
}

bool c_mr_zero_based_one_past(void)
{
	struct pair *p = zero_based_pair();

	return refused(p, W, 2, ZB_LEN - 1, p->dst_mr->rkey, REM_ACC);
}

/* The address in the process is no address of the region */
bool c_mr_zero_based_by_va(void)
{
	struct pair *p = zero_based_pair();

	return refused(p, R, 8, ADDR(p, ZB_OFF), p->dst_mr->rkey, REM_ACC);
}

/* SENDs of the region's bytes, which local work requests name likewise, and one byte too many */
bool c_mr_zero_based_lkey(void)
{
	struct pair *p = pair_up();
	struct ibv_mr *mr = new_mr(p->pd, p->src + ZB_OFF, ZB_LEN, IBV_ACCESS_ZERO_BASED);
	struct ibv_sge sge = sge_of(NULL, ZB_LEN, mr->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);

	recv_one(p->b, 1, p->dst, BUF_LEN, p->dst_mr->lkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0) || !expect_status(p->cb, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(p->src + ZB_OFF, p->dst, ZB_LEN), "wrong bytes were sent");
	sge.addr = 1;
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR))
		return false;
	ibv_dereg_mr(mr);
	return pair_free(p);
}

/* Only memory and rights together change whether addresses begin at 0 */
bool c_mr_zero_based_rereg(void)
{
	const int memory = IBV_REREG_MR_CHANGE_TRANSLATION, rights = IBV_REREG_MR_CHANGE_ACCESS;
	struct pair *p = zero_based_pair();
	struct ibv_mr *mr = p->dst_mr;

	CHECK(!rereg_mr(mr, rights, NULL, NULL, 0, ACCESS_ALL), "rights: %s", strerror(errno));
	if (!zero_based_write(p, 1, ZB_LEN - 1, ZB_OFF + 1))
		return false;
	CHECK(!rereg_mr(mr, rights | IBV_REREG_MR_CHANGE_PD, p->pd_b, NULL, 0, ACCESS_ALL),
	      "rights and PD: %s", strerror(errno));
	if (!zero_based_write(p, 1, ZB_LEN - 1, ZB_OFF + 1))
		return false;
	CHECK(!rereg_mr(mr, memory, NULL, p->dst + ZB_NEXT, ZB_LEN, 0), "memory: %s",
	      strerror(errno));
	if (!zero_based_write(p, 0, ZB_LEN, ZB_NEXT))
		return false;
	CHECK(!rereg_mr(mr, memory | rights, NULL, p->dst + ZB_OFF, ZB_LEN, ACCESS_ALL),
	      "memory and rights: %s", strerror(errno));
	if (!zero_based_write(p, ADDR(p, ZB_OFF), ZB_LEN, ZB_OFF))
		return false;
	CHECK(!rereg_mr(mr, rights, NULL, NULL, 0, ACCESS_ALL | IBV_ACCESS_ZERO_BASED),
	      "the flag alone: %s", strerror(errno));
	if (!zero_based_write(p, ADDR(p, ZB_OFF), ZB_LEN, ZB_OFF))
		return false;
	CHECK(!rereg_mr(mr, memory | rights, NULL, p->dst + ZB_NEXT, ZB_LEN,
			ACCESS_ALL | IBV_ACCESS_ZERO_BASED), "back: %s", strerror(errno));
	return zero_based_write(p, 0, ZB_LEN, ZB_NEXT) &&
	       refused(p, W, 2, ZB_LEN - 1, mr->rkey, REM_ACC);
}

#define HUGE		(2 << 20)	/* bytes of a huge page */
#define ACROSS		(HUGE - BUF_LEN / 2 - 5)

/*
 * Maps two huge pages of a file, in the file's order or in the other. The pages may lie one behind
 * the other in physical memory, but in one order only. Return: NULL without free huge pages
 */
static uint8_t *map_huge(int fd, bool swapped)
{
	uint8_t *p = mmap(NULL, 3 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int flags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
	int i;

	p = (uint8_t *)(((uintptr_t)p + HUGE - 1) & -(uintptr_t)HUGE);
	for (i = 0; i < 2; i++)
		if (mmap(p + i * HUGE, HUGE, PROT_READ | PROT_WRITE, flags, fd,
			 (i ^ swapped) * HUGE) == MAP_FAILED)
			return NULL;
	return p;
}

/* WRITE to and READ from bytes on both sides of the border between the pages */
static bool cross_border(struct pair *p, uint8_t *huge, int access)
{
	struct ibv_mr *mr = new_mr(p->pd_b, huge, 2 * HUGE, ACCESS_ALL | access);
	struct ibv_sge sge = sge_of(p->src, BUF_LEN, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, (uintptr_t)huge + ACROSS, mr->rkey);
	uint8_t *bytes = huge + ACROSS;

	memset(huge, 0xee, 2 * HUGE);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(bytes, p->src, BUF_LEN), "a WRITE wrote wrong bytes");
	CHECK(bytes[-1] == 0xee && bytes[BUF_LEN] == 0xee, "a WRITE wrote more than its bytes");
	rnd_fill(bytes, BUF_LEN, 78);
	wr.opcode = R;
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(bytes, p->src, BUF_LEN), "a READ returned wrong bytes");
	ibv_dereg_mr(mr);
	return true;
}

/* Pinned huge pages, with the flag that says so and without */
bool c_mr_huge_pages(void)
{
	int fd = memfd_create("huge", MFD_HUGETLB), i;
	struct pair *p;

	if (fd < 0 || ftruncate(fd, 2 * HUGE) || fallocate(fd, 0, 0, 2 * HUGE)) {
		case_skip(this_case, "no free huge pages");
		return false;
	}
	p = pair_up();
	for (i = 0; i < 4; i++) {
		uint8_t *huge = map_huge(fd, i & 1);

		CHECK(huge, "cannot map huge pages: %s", strerror(errno));
		if (!cross_border(p, huge, i & 2 ? IBV_ACCESS_HUGETLB : 0))
			return false;
		munmap(huge, 2 * HUGE);
	}
	close(fd);
	return pair_free(p);
}

/* Pinned memory moves to another PD and back. Its pages stay. Only its present PD may use it */
bool c_rereg_pd(void)
{
	struct pair *p = pair_up();
	struct ibv_sge sge = sge_of(p->src, BUF_LEN, p->src_mr->lkey);
	struct ibv_send_wr wr;

	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_PD, p->pd2_b, NULL, 0, 0),
	      "other PD: %s", strerror(errno));
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_PD, p->pd_b, NULL, 0, 0),
	      "back: %s", strerror(errno));
	wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);
	CHECK(!post_one(p->a, &wr), "post_send refused it");
	if (!expect_status(p->ca, IBV_WC_SUCCESS, 0))
		return false;
	CHECK(!memcmp(p->src, p->dst, BUF_LEN), "other bytes");
	CHECK(!rereg_mr(p->dst_mr, IBV_REREG_MR_CHANGE_PD, p->pd2_b, NULL, 0, 0),
	      "other PD: %s", strerror(errno));
	return refused(p, W, 8, ADDR(p, 0), p->dst_mr->rkey, REM_ACC);
}

#define LATE		4	/* requests that are posted when the right is gone */

struct writer {
	struct pair *p;
	uint32_t rkey;
	unsigned int posted;
	bool gone;		/* the right, or the memory */
	bool failed;
};

static void *post_writes(void *arg)
{
	struct writer *w = arg;
	struct pair *p = w->p;
	struct ibv_sge sge = sge_of(p->src, BUF_LEN, p->src_mr->lkey);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), w->rkey);
	unsigned int n;

	for (n = 0; n < DEPTH; n++) {
		while (n == DEPTH - LATE && !__atomic_load_n(&w->gone, __ATOMIC_ACQUIRE))
			sched_yield();
		w->failed |= post_one(p->a, &wr);
		__atomic_store_n(&w->posted, n + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Requests succeed until one lacks the right. The others are flushed */
static bool expect_refusal(struct ibv_cq *cq)
{
	bool refused = false;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < DEPTH; i++) {
		CHECK(wait_wc(cq, &wc), "only %d of %d completed", i, DEPTH);
		if (!refused && wc.status == IBV_WC_SUCCESS)
			continue;
		CHECK(wc.status == (refused ? IBV_WC_WR_FLUSH_ERR : IBV_WC_REM_ACCESS_ERR),
		      "request %d completed with %s", i, ibv_wc_status_str(wc.status));
		refused = true;
	}
	CHECK(refused, "all were executed");
	return true;
}

/*
 * Takes the right or the memory away when so many requests have been posted, while others are.
 * @other: the memory that the region gets, if @what is a change of translation
 */
static bool rereg_amid(struct pair *p, unsigned int posted, int what, void *other)
{
	static uint8_t after[BUF_LEN];
	struct writer w = { .p = p, .rkey = p->dst_mr->rkey };
	pthread_t thread;
	int rc;

	CHECK(!pthread_create(&thread, NULL, post_writes, &w), "no thread");
	while (__atomic_load_n(&w.posted, __ATOMIC_ACQUIRE) < posted)
		sched_yield();
	rc = rereg_mr(p->dst_mr, what, NULL, other, other ? BUF_LEN : 0, IBV_ACCESS_LOCAL_WRITE);
	memcpy(after, p->dst, BUF_LEN);
	rnd_fill(p->src, BUF_LEN, posted);
	__atomic_store_n(&w.gone, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	CHECK(!rc, "rereg_mr: %s", strerror(rc));
	CHECK(!w.failed, "post_send refused a request");
	if (!expect_refusal(p->ca))
		return false;
	CHECK(!memcmp(after, p->dst, BUF_LEN), "written after it, behind %u requests", posted);
	return true;
}

/* When rereg_mr that takes a right away has returned, the right isn't used any more */
bool c_rereg_load(void)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		struct pair *p = pair_up();

		if (!rereg_amid(p, 3 * i, IBV_REREG_MR_CHANGE_ACCESS, NULL) || !pair_free(p))
			return false;
	}
	return true;
}

/* The same for other memory: nobody writes to the old memory, and the old key isn't for the new */
bool c_rereg_load_move(void)
{
	static const uint8_t zeros[BUF_LEN];
	uint8_t *other = new_pages(BUF_LEN);
	unsigned int i;

	for (i = 0; i < 20; i++) {
		struct pair *p = pair_up();

		memset(other, 0, BUF_LEN);
		if (!rereg_amid(p, 3 * i, IBV_REREG_MR_CHANGE_TRANSLATION, other))
			return false;
		CHECK(!memcmp(other, zeros, BUF_LEN), "the old key led to the new memory");
		if (!pair_free(p))
			return false;
	}
	return true;
}
