// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_pins: memory that is registered without on-demand paging is pinned. It counts against
 * RLIMIT_MEMLOCK. After a fork, it still belongs to the parent. When the processes have ended, no
 * page remains pinned.
 *
 * usage: verbs_pins -d DEV -g GID CASE
 *	limit		to run as a user whose limit is 64 KiB
 *	killed		processes are killed during traffic
 *	child-exits	a child writes to the addresses of the memory, and exits
 *	parent-exits	the parent exits, and a child with all of its files remains
 *
 * Prints "ok CASE" or "fail CASE why".
 */
#define _GNU_SOURCE
#include <sys/resource.h>

#include "vo.h"

#define KIB	1024ul
#define LIMIT	(64 * KIB)
#define TIMES	20

static struct ibv_pd *pd;
static uint8_t *mem;

static struct ibv_mr *pin(size_t at, size_t len)
{
	return ibv_reg_mr(pd, mem + at, len, IBV_ACCESS_LOCAL_WRITE);
}

static bool refused(size_t at, size_t len)
{
	CHECK(!pin(at, len), "%lu KiB could be pinned", len / KIB);
	CHECK(errno == ENOMEM, "%lu KiB too much: %s", len / KIB, strerror(errno));
	return true;
}

/* All that may be pinned can be registered, in two parts. A refused one leaves nothing pinned */
static bool fill_limit(void)
{
	struct ibv_mr *mr[2], *paged;
	int i;

	for (i = 0; i < TIMES; i++) {
		if (!refused(0, 2 * LIMIT))
			return false;
		mr[0] = pin(0, LIMIT / 2);
		CHECK(mr[0], "32 KiB, time %d: %s", i, strerror(errno));
		if (!refused(LIMIT / 2, LIMIT / 2 + PAGE))
			return false;
		mr[1] = pin(LIMIT / 2, LIMIT / 2);
		CHECK(mr[1], "32 KiB more, time %d: %s", i, strerror(errno));
		if (!refused(LIMIT, PAGE))
			return false;
		CHECK(!ibv_dereg_mr(mr[0]) && !ibv_dereg_mr(mr[1]), "dereg_mr");
	}
	paged = ibv_reg_mr(pd, mem, 2 * LIMIT, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	CHECK(paged, "on demand, 128 KiB: %s", strerror(errno));
	CHECK(!ibv_dereg_mr(paged), "dereg_mr");
	return true;
}

static bool limit(void)
{
	struct rlimit is;
	int pipes[2], i;
	pid_t pid;

	getrlimit(RLIMIT_MEMLOCK, &is);
	CHECK(is.rlim_cur == LIMIT && getuid(), "a limit of %lu KiB for user %d",
	      (long)is.rlim_cur / KIB, getuid());
	pd = ibv_alloc_pd(open_device(place[0].dev));
	mem = new_pages(2 * LIMIT);
	if (!pd || !fill_limit() || pipe(pipes))
		return false;
	for (i = 0; i < TIMES; i++) {
		pid = fork();
		if (!pid) {
			pd = ibv_alloc_pd(open_device(place[0].dev));
			if (pd && pin(0, LIMIT))
				say(pipes[1]);
			pause();
			_exit(0);
		}
		CHECK(heard(pipes[0]), "a child can't pin memory");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return fill_limit();
}

static void work(int turn, int told)
{
	struct end e[2];

	make(e, IBV_QPT_RC, turn & 1 ? SHARED : ANON, false);
	while (traffic(e, 1))
		say(told);
}

static bool killed(void)
{
	return kill_amidst(work);
}

static void scribble(struct end e[2])
{
	int i;

	for (i = 0; i < 2; i++)
		memset(e[i].buf, 0xee, BYTES);
}

/* Parent and child both write to the pages. Messages have the parent's bytes */
static bool child_exits(void)
{
	int to_child[2], to_parent[2], status, i;
	struct end e[2];
	pid_t pid;

	if (pipe(to_child) || pipe(to_parent))
		die("pipe");
	make(e, IBV_QPT_RC, ANON, false);
	for (i = 0; i < TIMES; i++) {
		if (!traffic(e, 1))
			return false;
		pid = fork();
		if (!pid) {
			if (i & 1)
				scribble(e);
			say(to_parent[1]);
			if (!heard(to_child[0]))
				_exit(1);
			scribble(e);
			_exit(0);
		}
		CHECK(heard(to_parent[0]), "no child");
		if (!traffic(e, 2))
			return false;
		say(to_child[1]);
		if (!traffic(e, 2))
			return false;
		CHECK(waitpid(pid, &status, 0) == pid && !status, "the child: status %d", status);
		if (!traffic(e, 2))
			return false;
	}
	return finish(e);
}

/* The child also has the device's file open. It ends when its grandparent says so */
static void live_on(int stop, int told, pid_t parent)
{
	while (getppid() == parent)
		usleep(1000);
	say(told);
	_exit(!heard(stop));
}

/* A parent posts work, and exits; its child lives on */
static bool parent_exits(void)
{
	int stop[2], told[2], status, i;

	for (i = 0; i < 5; i++) {
		pid_t pid;

		if (pipe(stop) || pipe(told))
			die("pipe");
		pid = fork();
		if (!pid) {
			pid_t me = getpid();
			struct end e[2];

			make(e, IBV_QPT_RC, ANON, false);
			if (!traffic(e, 2))
				_exit(1);
			if (!fork())
				live_on(stop[0], told[1], me);
			if (!traffic(e, 2))
				_exit(1);
			post(e, IBV_WR_RDMA_WRITE, sge(&e[0], 0, BYTES), 0);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status, "the parent: status %d", status);
		CHECK(heard(told[0]), "the child doesn't live on");
		say(stop[1]);
	}
	return true;
}

static const struct test_case all[] = {
	{ "limit", limit }, { "killed", killed }, { "child-exits", child_exits },
	{ "parent-exits", parent_exits },
};

int main(int argc, char **argv)
{
	char *name[2] = {};
	int c;

	on_demand = 0;
	while ((c = getopt(argc, argv, "d:g:")) != -1)
		place_option(c);
	complete_places();
	name[0] = argv[optind] ?: "";
	if (!run_cases(all, ARRAY_LEN(all), name))
		die("usage: %s -d DEV -g GID limit|killed|child-exits|parent-exits", argv[0]);
	return cases_failed > 0;
}
