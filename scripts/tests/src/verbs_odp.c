// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_odp: on-demand paging: all operations from and to memory that isn't pinned, while the
 * kernel's memory management takes its pages back.
 *
 * Each case has two ends, which may be on two devices (-D, -G). Prints "ok NAME" or "fail NAME
 * why" per case.
 */
#define _GNU_SOURCE
#include "vo.h"

/* So many prefetches of a process may wait for a worker (RXE_ODP_PREFETCHES) */
#define PREFETCHES 64

static bool traffic_under_fire(struct end e[2], enum backing backing)
{
	struct disturber d;
	bool good;

	start_disturber(&d, e, backing);
	good = traffic(e, rounds);
	stop_disturber(&d);
	return good && finish(e);
}

static bool under_fire(enum ibv_qp_type type, enum backing backing, bool implicit)
{
	struct end e[2];

	make(e, type, backing, implicit);
	return traffic_under_fire(e, backing);
}

static bool srq_under_fire(enum ibv_qp_type type, enum backing backing, bool implicit)
{
	struct end e[2];

	make(e, type, backing, implicit);
	share_receives(e);
	return traffic_under_fire(e, backing);
}

static bool rc_shared(void) { return under_fire(IBV_QPT_RC, SHARED, false); }
static bool rc_anon(void) { return under_fire(IBV_QPT_RC, ANON, false); }
static bool rc_shared_implicit(void) { return under_fire(IBV_QPT_RC, SHARED, true); }
static bool rc_anon_implicit(void) { return under_fire(IBV_QPT_RC, ANON, true); }
static bool ud_shared(void) { return under_fire(IBV_QPT_UD, SHARED, false); }
static bool ud_anon_implicit(void) { return under_fire(IBV_QPT_UD, ANON, true); }
static bool srq_rc(void) { return srq_under_fire(IBV_QPT_RC, SHARED, false); }
static bool uc_shared(void) { return under_fire(IBV_QPT_UC, SHARED, false); }
static bool uc_anon_implicit(void) { return under_fire(IBV_QPT_UC, ANON, true); }
static bool srq_uc(void) { return srq_under_fire(IBV_QPT_UC, SHARED, false); }
static bool srq_ud(void) { return srq_under_fire(IBV_QPT_UD, ANON, true); }

/* Used pages are replaced by others. The next message must use the new ones */
static bool moved(void)
{
	const uint64_t num = 8;
	uint64_t i, num_moved = 0;
	struct end e[2];
	int got;

	make(e, IBV_QPT_RC, ANON, false);
	if (!traffic(e, 2))
		return false;
	for (i = 0; i < num; i++) {
		got = transfer(e, IBV_WR_RDMA_WRITE, sge(&e[0], i * PAGE, PAGE), i * PAGE);
		CHECK(!got, "write: status %d", got);
		/* The kernel may be unable to replace a page, but not all */
		if (replace_page(e[i & 1].buf + i * PAGE)) {
			num_moved++;
		} else if (errno == EINVAL) {
			case_skip(this_case, "the kernel can't take a page out of use");
			return finish(e) && false;
		}
		rnd_fill(e[0].buf + i * PAGE, PAGE, rnd(&seed));
		got = transfer(e, IBV_WR_RDMA_WRITE, sge(&e[0], i * PAGE, PAGE), i * PAGE);
		CHECK(!got, "write after the move: status %d", got);
		CHECK(!memcmp(e[0].buf + i * PAGE, e[1].buf + i * PAGE, PAGE),
		      "page %lu was moved, and a message didn't find it", i);
	}
	CHECK(num_moved, "no page could be replaced: %s", strerror(errno));
	return traffic(e, 2) && finish(e);
}

/* Fills all pages of both ends and @want with the same bytes, and swaps out the pages */
static bool all_swapped(struct end e[2], uint8_t *want[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		rnd_fill(want[i], BYTES, rnd(&seed));
		memcpy(e[i].buf, want[i], BYTES);
	}
	return swap_out(&e[0]) && swap_out(&e[1]);
}

static uint8_t before[BYTES];	/* contents of the target before an operation */

/* Does end @n have the bytes of @want? If not, prints the difference */
static bool is_whole(struct end e[2], uint8_t *want[2], int n, enum ibv_wr_opcode op)
{
	uint64_t i, num = 0, zero = 0, old = 0, runs = 0, first = 0, last = 0;
	const uint8_t *have = e[n].buf;

	for (i = 0; i < BYTES; i++) {
		if (have[i] == want[n][i])
			continue;
		if (!num++)
			first = i;
		runs += num == 1 || last + 1 != i;
		last = i;
		zero += !have[i];
		old += have[i] == before[i];
	}
	CHECK(!num, "opcode %d, end %d: %lu bytes in %lu runs differ, from %lu to %lu; %lu are 0, %lu old",
	      op, n, num, runs, first, last, zero, old);
	return true;
}

/* A message needs pages of both ends that aren't in memory */
static bool from_swap(struct end e[2], uint8_t *want[2], enum ibv_wr_opcode op)
{
	bool adds = op == IBV_WR_ATOMIC_FETCH_AND_ADD, fetches = adds || op == IBV_WR_RDMA_READ;
	const uint32_t at = 3 * PAGE + 8, len = adds ? 8 : BYTES / 2;
	int got;

	if (op == IBV_WR_SEND)
		post_recv(&e[1], sge(&e[1], at, len));
	got = transfer(e, op, sge(&e[0], at, len), at);
	CHECK(!got, "opcode %d: status %d", op, got);
	memcpy(before, want[!fetches], BYTES);
	memcpy(want[!fetches] + at, want[fetches] + at, len);
	if (adds)
		++*(uint64_t *)(want[1] + at);
	return is_whole(e, want, 0, op) && is_whole(e, want, 1, op);
}

static bool swapped(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	uint8_t *want[2] = { new_pages(BYTES), new_pages(BYTES) };
	struct end e[2];
	unsigned int i;

	if (!is_swap_there()) {
		case_skip(this_case, "there is no swap");
		return false;
	}
	make(e, IBV_QPT_RC, ANON, false);
	for (i = 0; i < ARRAY_LEN(ops); i++) {
		CHECK(all_swapped(e, want), "pages remain in memory");
		if (!from_swap(e, want, ops[i]))
			return false;
	}
	free(want[0]);
	free(want[1]);
	return traffic(e, 2) && finish(e);
}

/* The device reports on-demand paging for the operations of traffic() */
static bool claims(void)
{
	const uint32_t ud = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t uc = ud | IBV_ODP_SUPPORT_WRITE;
	const uint32_t newer = 3 << 6;		/* FLUSH, ATOMIC WRITE: not in all kernels */
	const uint32_t rc = uc | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | newer;
	struct ibv_context *ctx = open_device(place[0].dev);
	struct ibv_device_attr_ex attr;

	CHECK(!ibv_query_device_ex(ctx, NULL, &attr), "query_device_ex: %s", strerror(errno));
	CHECK((attr.odp_caps.per_transport_caps.rc_odp_caps | newer) == rc, "RC: %x, tested are %x",
	      attr.odp_caps.per_transport_caps.rc_odp_caps, rc);
	CHECK(attr.odp_caps.per_transport_caps.uc_odp_caps == uc, "UC: %x, tested are %x",
	      attr.odp_caps.per_transport_caps.uc_odp_caps, uc);
	CHECK(attr.odp_caps.per_transport_caps.ud_odp_caps == ud, "UD: %x, tested are %x",
	      attr.odp_caps.per_transport_caps.ud_odp_caps, ud);
	return !ibv_close_device(ctx);
}

/* ---- memory that doesn't exist ---- */

/* Both ends get the right errors. Another queue pair works, and the first works after a reset */
static bool fails(struct end e[2], struct end other[2], enum ibv_wr_opcode op, uint64_t from,
		  uint64_t to, int status, int recv_status)
{
	int got;

	if (op == IBV_WR_SEND)
		post_recv(&e[1], sge(&e[1], to, 64));
	got = transfer(e, op, sge(&e[0], from, 64), to);
	CHECK(got == status, "opcode %d: status %d, not %d", op, got, status);
	if (op == IBV_WR_SEND && recv_status >= 0) {
		got = status_of(&e[1]);
		CHECK(got == recv_status, "receive: status %d, not %d", got, recv_status);
	}
	if (!traffic(other, 1))
		return false;
	reconnect(e);
	return true;
}

static bool unmapped(void)
{
	const uint64_t hole = 40 * PAGE;
	struct end e[2], other[2];
	int i;

	make(e, IBV_QPT_RC, ANON, false);
	make(other, IBV_QPT_RC, ANON, true);
	if (!traffic(e, 2))		/* all pages have been present */
		return false;
	for (i = 0; i < 2; i++)
		munmap(e[i].buf + hole, PAGE);
	if (!fails(e, other, IBV_WR_SEND, hole, 0, IBV_WC_LOC_PROT_ERR, -1) ||
	    !fails(e, other, IBV_WR_RDMA_WRITE, hole, 0, IBV_WC_LOC_PROT_ERR, -1) ||
	    !fails(e, other, IBV_WR_RDMA_READ, hole, 0, IBV_WC_LOC_PROT_ERR, -1) ||
	    !fails(e, other, IBV_WR_RDMA_WRITE, 0, hole, IBV_WC_REM_ACCESS_ERR, -1) ||
	    !fails(e, other, IBV_WR_RDMA_READ, 0, hole, IBV_WC_REM_ACCESS_ERR, -1) ||
	    !fails(e, other, IBV_WR_SEND, 0, hole, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR))
		return false;
	for (i = 0; i < 2; i++)		/* map the page again */
		if (mmap(e[i].buf + hole, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			die("mmap: %s", strerror(errno));
	return traffic(e, 2) && finish(e) && finish(other);
}

/* The rest of an SGE may be outside of the region: it isn't faulted in ahead */
static bool beyond(void)
{
	struct end e[2], other[2];
	int i, got;

	make(e, IBV_QPT_RC, SHARED, false);
	make(other, IBV_QPT_RC, SHARED, false);
	for (i = 0; i < 2; i++)
		madvise(e[i].buf, BYTES, MADV_DONTNEED);
	got = transfer(e, IBV_WR_RDMA_WRITE, sge(&e[0], BYTES - 10 * PAGE, 16 * PAGE), 0);
	CHECK(got == IBV_WC_LOC_PROT_ERR, "data beyond the region: status %d", got);
	reconnect(e);
	post_recv(&e[1], sge(&e[1], BYTES - 10 * PAGE, 16 * PAGE));
	got = transfer(e, IBV_WR_SEND, sge(&e[0], 0, 16 * PAGE), 0);
	CHECK(got == IBV_WC_REM_OP_ERR, "a receive beyond the region: status %d", got);
	reconnect(e);
	return traffic(e, 2) && traffic(other, 2) && finish(e) && finish(other);
}

/* Pages become read-only after they were written: they can be read, and not written */
static bool read_only(void)
{
	struct end e[2], other[2];
	uint8_t before[64];

	make(e, IBV_QPT_RC, ANON, false);
	make(other, IBV_QPT_RC, ANON, false);
	memset(e[1].buf, 7, BYTES);
	if (!traffic(e, 2))
		return false;
	CHECK(!transfer(e, IBV_WR_RDMA_WRITE, sge(&e[0], 0, 64), 5 * PAGE),
	      "a page can't be written");
	mprotect(e[1].buf, BYTES, PROT_READ);
	memcpy(before, e[1].buf + 5 * PAGE, 64);
	if (!fails(e, other, IBV_WR_RDMA_WRITE, 0, 5 * PAGE, IBV_WC_REM_ACCESS_ERR, -1))
		return false;
	CHECK(!memcmp(before, e[1].buf + 5 * PAGE, 64), "a page was written that is read-only");
	CHECK(!transfer(e, IBV_WR_RDMA_READ, sge(&e[0], PAGE, 64), 5 * PAGE),
	      "a page can't be read that is read-only");
	CHECK(!memcmp(before, e[0].buf + PAGE, 64), "a read-only page reads wrong");
	mprotect(e[1].buf, BYTES, PROT_READ | PROT_WRITE);
	return traffic(e, 2) && finish(e) && finish(other);
}

/* ---- faults that take long ---- */

static void give_page(int fd, uint8_t *p, uint8_t *from)
{
	struct uffdio_copy c = { .dst = (uintptr_t)p, .src = (uintptr_t)from, .len = PAGE };

	if (ioctl(fd, UFFDIO_COPY, &c))
		die("UFFDIO_COPY: %s", strerror(errno));
}

/* A fault that takes long stops only its queue pair, which goes on when the page is there */
static bool slow(void)
{
	struct end e[2], other[2];
	uint8_t *page = new_pages(PAGE);
	struct ibv_wc wc;
	int fd;

	make(e, IBV_QPT_RC, ANON, false);
	make(other, IBV_QPT_RC, ANON, false);
	fd = stop_pages(e[0].buf);
	if (fd < 0) {
		case_skip(this_case, "the kernel has no userfaultfd");
		return finish(e) && finish(other) && false;
	}
	rnd_fill(page, PAGE, 5);
	post(e, IBV_WR_RDMA_WRITE, sge(&e[0], 0, PAGE), 3 * PAGE);
	CHECK(asked(fd), "nobody asks for the page");
	if (!traffic(other, 10))
		return false;
	CHECK(!ibv_poll_cq(e[0].cq, 1, &wc), "a message has left without its page");
	give_page(fd, e[0].buf, page);
	CHECK(!status_of(&e[0]), "a message fails whose page came late");
	CHECK(!memcmp(page, e[1].buf + 3 * PAGE, PAGE), "its bytes differ");
	close(fd);
	free(page);
	return traffic(e, 1) && finish(e) && finish(other);
}

/* Return: packets that were dropped because they waited too long for a page */
static long dropped_packets(const struct end *e)
{
	char path[128];
	long num;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/rx_drop_age",
		 e->at.dev);
	num = read_number(path);
	if (num < 0)
		die("%s: no such counter", path);
	return num;
}

/* A response is dropped since its page comes too late. It is requested and sent again */
static bool slow_read(void)
{
	uint64_t end = now_ms() + 60000;
	uint8_t *page = new_pages(PAGE);
	struct end e[2];
	long dropped;
	int fd;

	make(e, IBV_QPT_RC, ANON, false);
	fd = stop_pages(e[0].buf);
	if (fd < 0) {
		case_skip(this_case, "the kernel has no userfaultfd");
		return finish(e) && false;
	}
	rnd_fill(e[1].buf, PAGE, 6);
	dropped = dropped_packets(&e[0]);
	post(e, IBV_WR_RDMA_READ, sge(&e[0], 0, PAGE), 0);
	CHECK(asked(fd), "nobody asks for the page");
	while (dropped_packets(&e[0]) == dropped && now_ms() < end)
		usleep(1000);
	CHECK(dropped_packets(&e[0]) != dropped, "the response waits for ever");
	give_page(fd, e[0].buf, page);
	CHECK(!status_of(&e[0]), "the READ fails");
	CHECK(!memcmp(e[0].buf, e[1].buf, PAGE), "its bytes differ");
	close(fd);
	free(page);
	return traffic(e, 1) && finish(e);
}

/* Objects can be destroyed while a fault of theirs waits for a page */
static bool slow_end(void)
{
	struct end e[2];
	int fd[2], i;

	make(e, IBV_QPT_RC, ANON, false);
	for (i = 0; i < 2; i++)
		fd[i] = stop_pages(e[i].buf);
	if (fd[0] < 0) {
		case_skip(this_case, "the kernel has no userfaultfd");
		return finish(e) && false;
	}
	post(e, IBV_WR_RDMA_WRITE, sge(&e[0], PAGE, 8), 0);
	CHECK(asked(fd[1]), "nobody asks for the target's page");
	post(e, IBV_WR_RDMA_WRITE, sge(&e[0], 0, 8), PAGE);
	CHECK(asked(fd[0]), "nobody asks for the source's page");
	for (i = 0; i < 2; i++)
		CHECK(!qp_to_state(e[i].qp, IBV_QPS_RESET), "cannot reset");
	connect_ends(e);
	CHECK(!transfer(e, IBV_WR_RDMA_WRITE, sge(&e[0], PAGE, 8), PAGE),
	      "after the reset it fails");
	if (!finish(e))
		return false;
	close(fd[0]);
	close(fd[1]);
	return true;
}

/* ---- verbs ---- */

/*
 * Faults of a process that take long don't stop those of another. The page isn't the first: a
 * worker that slow_end() has left behind may still bring that in, if the address is the same.
 */
static bool slow_others(void)
{
	struct end e[2], other[2];
	int fd, i, got, status;
	pid_t pid;

	make(e, IBV_QPT_RC, ANON, false);
	fd = stop_pages(e[0].buf + 5 * PAGE);
	if (fd < 0) {
		case_skip(this_case, "the kernel has no userfaultfd");
		return finish(e) && false;
	}
	for (i = 0; i < PREFETCHES; i++) {
		got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0,
			     sge(&e[0], 5 * PAGE, PAGE));
		CHECK(!got, "prefetch by a worker: %s", strerror(got));
	}
	CHECK(asked(fd), "nobody asks for the page");
	pid = fork();
	if (!pid) {
		make(other, IBV_QPT_RC, ANON, false);
		_exit(!traffic(other, 4) || !finish(other));
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the other process waits");
	close(fd);
	return traffic(e, 1) && finish(e);
}

/* Prefetches that take long don't stop faults, also not those of the same process */
static bool slow_prefetches(void)
{
	struct end e[2], other[2];
	int fd, i, got;

	make(e, IBV_QPT_RC, ANON, false);
	make(other, IBV_QPT_RC, ANON, false);
	fd = stop_pages(e[0].buf + 7 * PAGE);
	if (fd < 0) {
		case_skip(this_case, "the kernel has no userfaultfd");
		return finish(e) && finish(other) && false;
	}
	for (i = 0; i < PREFETCHES; i++) {
		got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0,
			     sge(&e[0], 7 * PAGE, PAGE));
		CHECK(!got, "prefetch by a worker: %s", strerror(got));
	}
	CHECK(asked(fd), "nobody asks for the page");
	for (i = 0; i < 2; i++)
		madvise(other[i].buf, BYTES, MADV_DONTNEED);
	if (!traffic(other, 4))
		return false;
	close(fd);
	return traffic(e, 1) && finish(e) && finish(other);
}

/* Return: KiB of memory that the kernel uses for itself */
static long kernel_kib(void)
{
	long kib, sum = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SUnreclaim: %ld", &kib) == 1 ||
		    sscanf(line, "VmallocUsed: %ld", &kib) == 1)
			sum += kib;
	if (!f)
		die("/proc/meminfo: %s", strerror(errno));
	fclose(f);
	return sum;
}

/* Return: KiB of freed memory that KASAN keeps */
static long quarantine_kib(void)
{
	bool kasan = !system("grep -q ' kasan_report$' /proc/kallsyms");

	return kasan ? sysconf(_SC_PHYS_PAGES) * (long)(PAGE >> 10) / 32 : 0;
}

#define STEP	(2ul << 20)		/* a chunk of the driver's table */
#define LIVE	1200ul			/* places that stay in use */
#define PASSING	4096ul

static struct ibv_sge at(const struct end *e, uint8_t *p, uint32_t len)
{
	return (struct ibv_sge) { (uintptr_t)p, len, e->mr->lkey };
}

/* Maps a page, and faults it in by a prefetch */
static bool use_place(struct end *e, uint8_t *p)
{
	int got;

	if (mmap(p, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	got = advise(e->pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
		     at(e, p, PAGE));
	CHECK(!got, "prefetch: %s", strerror(got));
	return true;
}

static void leave_place(uint8_t *p)
{
	mmap(p, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Uses each place by a READ into it, and unmaps it. Return: false after a failure */
static bool pass(struct end e[2], uint8_t *first)
{
	uint64_t i;
	int got;

	for (i = 0; i < PASSING; i++) {
		uint8_t *p = first + i * STEP;

		if (!use_place(&e[0], p))
			return false;
		got = transfer(e, IBV_WR_RDMA_READ, at(&e[0], p, 64), 0);
		CHECK(!got, "place %lu: status %d", i, got);
		CHECK(!memcmp(p, e[1].buf, 64), "place %lu: other bytes", i);
		leave_place(p);
		e[1].buf[0]++;
	}
	return true;
}

/* The other end reads each place that is in use: it gets the process's bytes */
static bool all_live(struct end e[2], uint8_t *first)
{
	uint64_t i;
	int got;

	for (i = 0; i < LIVE; i++) {
		uint64_t *p = (uint64_t *)(first + i * STEP);

		*p = ~i;
		got = transfer(e, IBV_WR_RDMA_READ, sge(&e[0], 0, 8),
			       (uintptr_t)p - (uintptr_t)e[1].buf);
		CHECK(!got, "place %lu in use: status %d", i, got);
		CHECK(*(uint64_t *)e[0].buf == ~i, "place %lu in use: other bytes", i);
	}
	return true;
}

/*
 * A process uses memory at more and more addresses, and unmaps it again. The driver's memory for a
 * region of all of the process's memory doesn't grow with the number of addresses: at 4 KiB each,
 * that would be 16 MiB. Memory at many other addresses remains in use. Unmapped addresses can be
 * used again.
 */
static bool many_places(void)
{
	uint8_t *live, *passing;
	struct end e[2];
	long before, grown, most;
	uint64_t i;

	make(e, IBV_QPT_RC, ANON, true);
	live = mmap(NULL, (LIVE + PASSING) * STEP, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (live == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	passing = live + LIVE * STEP;
	for (i = 0; i < LIVE; i++)
		if (!use_place(&e[0], live + i * STEP))
			return false;
	most = LIVE * 8 + quarantine_kib();
	before = kernel_kib();
	if (!pass(e, passing))
		return false;
	grown = kernel_kib() - before;
	/* RCU frees memory later */
	for (i = 0; i < 200 && grown >= most; i++) {
		usleep(100000);
		grown = kernel_kib() - before;
	}
	CHECK(grown < most, "the kernel has %ld KiB more", grown);
	if (!all_live(e, live) || !pass(e, passing))
		return false;
	munmap(live, (LIVE + PASSING) * STEP);
	return traffic(e, 1) && finish(e);
}

/*
 * A process with a small limit (user_ring_bytes) uses memory at more addresses than the driver has
 * page tables for within this limit, but at one at a time.
 */
static bool few_places(void)
{
	uint8_t *first;
	struct end e[2];
	uint64_t i;

	make(e, IBV_QPT_RC, ANON, true);
	first = mmap(NULL, PASSING * STEP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (first == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (i = 0; i < PASSING; i++) {
		if (!use_place(&e[0], first + i * STEP))
			return false;
		leave_place(first + i * STEP);
	}
	munmap(first, PASSING * STEP);
	return traffic(e, 1) && finish(e);
}

/* A prefetch without faults leaves out holes, also in a region whose pages are in several chunks */
static bool prefetch_holes(void)
{
	const uint32_t now = IBV_ADVISE_MR_FLAG_FLUSH;
	uint8_t *p;
	struct end e[2];
	int got;

	make(e, IBV_QPT_RC, ANON, true);
	p = mmap(NULL, 4 * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	p[0] = p[4 * STEP - PAGE] = 1;
	munmap(p + PAGE, 3 * STEP);
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, now, at(&e[0], p, 4 * STEP));
	CHECK(got == EFAULT, "over a hole: %s", strerror(got));
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, now, at(&e[0], p, 4 * STEP));
	CHECK(!got, "without faults, over a hole: %s", strerror(got));
	munmap(p, 4 * STEP);
	return finish(e);
}

static bool prefetch(void)
{
	const uint32_t now = IBV_ADVISE_MR_FLAG_FLUSH;
	unsigned char in[BYTES / PAGE];
	struct ibv_mr *pinned, *ro;
	struct ibv_sge s;
	struct end e[2];
	int got, i;

	make(e, IBV_QPT_RC, ANON, false);
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, now, sge(&e[0], 0, BYTES));
	CHECK(!got, "prefetch: %s", strerror(got));
	mincore(e[0].buf, BYTES, in);
	for (i = 0; i < (int)(BYTES / PAGE); i++)
		CHECK(in[i] & 1, "page %d isn't there after the prefetch", i);
	for (i = 0; i < 100; i++) {
		got = advise(e[1].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, sge(&e[1], 0, BYTES));
		CHECK(!got, "prefetch by a worker: %s", strerror(got));
	}
	got = advise(e[1].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, now,
		     sge(&e[1], 0, BYTES));
	CHECK(!got, "prefetch without faults: %s", strerror(got));
	got = advise(e[0].pd, 77, now, sge(&e[0], 0, 8));
	CHECK(got == EOPNOTSUPP, "an unknown advice: %s", strerror(got));
	s = sge(&e[0], 0, 8);
	s.lkey ^= 1;
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, now, s);
	CHECK(got == ENOENT, "a wrong key: %s", strerror(got));
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, now, sge(&e[0], BYTES - 4, 8));
	CHECK(got == EFAULT, "out of the region: %s", strerror(got));
	pinned = new_mr(e[0].pd, e[0].buf, PAGE, ACCESS);
	s.lkey = pinned->lkey;
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, now, s);
	CHECK(got == EINVAL, "pinned memory: %s", strerror(got));
	ro = new_mr(e[0].pd, e[0].buf, PAGE, IBV_ACCESS_ON_DEMAND);
	s.lkey = ro->lkey;
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, now, s);
	CHECK(got == EPERM, "a right that the key lacks: %s", strerror(got));
	munmap(e[0].buf + 7 * PAGE, PAGE);
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, now, sge(&e[0], 0, BYTES));
	CHECK(got == EFAULT, "memory that isn't mapped: %s", strerror(got));
	got = advise(e[0].pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, now,
		     sge(&e[0], 0, BYTES));
	CHECK(!got, "without faults, memory that isn't mapped: %s", strerror(got));
	CHECK(!ibv_dereg_mr(pinned) && !ibv_dereg_mr(ro), "dereg_mr");
	return finish(e);
}

/* rereg_mr: from paged to pinned memory and back, to other memory, to another PD */
static bool rereg(void)
{
	struct ibv_pd *pd;
	struct end e[2];
	int got;

	make(e, IBV_QPT_RC, ANON, false);
	got = rereg_mr(e[1].mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS);
	CHECK(!got, "to pinned: %d", got);
	if (!traffic(e, 2))
		return false;
	got = rereg_mr(e[1].mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   ACCESS | IBV_ACCESS_ON_DEMAND);
	CHECK(!got, "to paged: %d", got);
	madvise(e[1].buf, BYTES, MADV_DONTNEED);
	if (!traffic(e, 2))
		return false;
	got = rereg_mr(e[1].mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, e[1].buf, BYTES, 0);
	CHECK(!got, "other memory: %d", got);
	if (!traffic(e, 2))
		return false;
	pd = ibv_alloc_pd(e[1].at.ctx);
	got = rereg_mr(e[1].mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0);
	CHECK(!got, "to another PD: %d", got);
	got = transfer(e, IBV_WR_RDMA_WRITE, sge(&e[0], 0, 8), 0);
	CHECK(got == IBV_WC_REM_ACCESS_ERR, "from another PD: status %d", got);
	got = rereg_mr(e[1].mr, IBV_REREG_MR_CHANGE_PD, e[1].pd, NULL, 0, 0);
	CHECK(!got, "back to its PD: %d", got);
	CHECK(!ibv_dealloc_pd(pd), "dealloc_pd");
	reconnect(e);
	return traffic(e, 2) && finish(e);
}

/* A process is killed during traffic, faults and changes of its memory */
static void work(int turn, int told)
{
	struct disturber d;
	struct end e[2];

	make(e, IBV_QPT_RC, SHARED, turn & 1);
	start_disturber(&d, e, SHARED);
	for (;;) {
		post(e, IBV_WR_RDMA_WRITE, sge(&e[0], 0, BYTES), 0);
		post(e, IBV_WR_RDMA_READ, sge(&e[0], 0, BYTES), 0);
		if (status_of(&e[0]) < 0 || status_of(&e[0]) < 0)
			return;
		say(told);
	}
}

static bool killed(void)
{
	return kill_amidst(work);
}

static const struct test_case all[] = {
	{ "rc-shared", rc_shared }, { "rc-anon", rc_anon },
	{ "rc-shared-implicit", rc_shared_implicit }, { "rc-anon-implicit", rc_anon_implicit },
	{ "ud-shared", ud_shared }, { "ud-anon-implicit", ud_anon_implicit },
	{ "srq-rc", srq_rc }, { "srq-ud", srq_ud },
	{ "uc-shared", uc_shared }, { "uc-anon-implicit", uc_anon_implicit }, { "srq-uc", srq_uc },
	{ "moved", moved }, { "swapped", swapped }, { "ksm", ksm }, { "claims", claims },
	{ "unmapped", unmapped }, { "beyond", beyond },
	{ "read-only", read_only },
	{ "slow", slow }, { "slow-end", slow_end }, { "slow-others", slow_others },
	{ "slow-prefetches", slow_prefetches },
	{ "prefetch", prefetch }, { "prefetch-holes", prefetch_holes },
	{ "many-places", many_places }, { "rereg", rereg },
	{ "killed", killed },
};

/* These run only if they are named: they need a short inq_age_ms, or a small user_ring_bytes */
static const struct test_case named[] = {
	{ "slow-read", slow_read }, { "few-places", few_places },
};

#define NAMES	(ARRAY_LEN(all) + ARRAY_LEN(named) + 1)

/* Splits a list at its commas. @names ends by NULL */
static void split(char *list, char *names[NAMES])
{
	unsigned int i = 0;
	char *p;

	for (p = strtok(list, ","); p && i < NAMES - 1; p = strtok(NULL, ","))
		names[i++] = p;
}

int main(int argc, char **argv)
{
	char *only[NAMES] = {};
	int c;

	while ((c = getopt(argc, argv, "d:g:D:G:n:c:")) != -1) {
		if (place_option(c))
			continue;
		switch (c) {
		case 'n': rounds = atoi(optarg); break;
		case 'c': split(optarg, only); break;
		default:
			die("usage: %s -d DEV -g GID [-D DEV -G GID] [-n ROUNDS] [-c CASE,...]",
			    argv[0]);
		}
	}
	complete_places();
	run_cases(all, ARRAY_LEN(all), only);
	if (only[0])
		run_cases(named, ARRAY_LEN(named), only);
	return cases_failed > 0;
}
