// SPDX-License-Identifier: GPL-2.0
/*
 * odp_left: processes with on-demand paging exit, and leave prefetches behind that never end. Their
 * number is limited, per user and for all users. They keep the module.
 *
 * usage: odp_left DEV LIMIT
 *	LIMIT is that of a user. The limit for all users is twice as high
 *
 * Run by root: the processes belong to other users. Prints "ok NAME" or "fail NAME why" per case.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "odp_util.h"

#define WORKERS		2	/* that prefetch for a process (RXE_ODP_PREFETCHERS) */
#define USER		1000	/* first user ID of the test */
#define FOREIGN_IDS	100000	/* for a user's namespace, as in /etc/subuid */

enum how {
	TRY,		/* the process leaves nothing */
	LEAVE_FAULTS,	/* faults in a region that is deregistered */
	LEAVE_REGION,	/* the region, too, which another process holds */
};

static const char *dev;
static int limit;

static void become(uid_t user)
{
	if (setresuid(user, user, user))
		die("setresuid: %s", strerror(errno));
}

/* All workers for prefetches wait for the page */
static void occupy_workers(struct ibv_mr *mr, int fd)
{
	struct ibv_sge page = { (uintptr_t)mr->addr, PAGE, mr->lkey };
	int i, err;

	for (i = 0; i < WORKERS; i++) {
		err = advise(mr->pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, page);
		if (err)
			die("prefetch: %s", strerror(err));
	}
	for (i = 0; i < WORKERS; i++)
		if (!asked(fd))
			die("worker %d asks for no page", i);
}

/* Return: 0, or the errno of the registration */
static int register_as(uid_t user, enum how how)
{
	uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = how == TRY ? -1 : stop_pages(page);
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	become(user);
	ctx = open_device(dev);
	pd = ibv_alloc_pd(ctx);
	mr = ibv_reg_mr(pd, page, PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		return errno;
	if (how != TRY)
		occupy_workers(mr, fd);
	if (how != LEAVE_REGION && (ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_close_device(ctx)))
		die("cannot destroy objects");
	return 0;
}

static int status_of(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		die("a process ended early");
	return WEXITSTATUS(status);
}

/*
 * The same in a process of its own. If it leaves something, this process keeps its open files.
 * Return: 0, or the errno of the registration
 */
static int process(uid_t user, enum how how)
{
	pid_t pid = syscall(SYS_clone, SIGCHLD | (how == TRY ? 0 : CLONE_FILES), 0, 0, 0, 0);

	if (!pid)
		_exit(register_as(user, how));
	return status_of(pid);
}

static void set_ids(pid_t pid)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	f = fopen(path, "w");
	if (!f || fprintf(f, "0 %d 100\n", FOREIGN_IDS) < 0 || fclose(f))
		die("%s: %s", path, strerror(errno));
}

/* The same as another user, in a user namespace that USER has made. Return: likewise */
static int process_in_namespace(void)
{
	int up[2], down[2];
	char c = 0;
	pid_t pid;

	if (pipe(up) || pipe(down))
		die("pipe");
	pid = fork();
	if (!pid) {
		close(up[0]);
		close(down[1]);		/* the read ends if the parent does */
		become(USER);
		if (unshare(CLONE_NEWUSER))
			die("unshare: %s", strerror(errno));
		write_all(up[1], &c, 1);
		read_all(down[0], &c, 1);
		_exit(register_as(7, TRY));
	}
	close(up[1]);		/* the read ends if that process does */
	read_all(up[0], &c, 1);
	set_ids(pid);
	write_all(down[1], &c, 1);
	return status_of(pid);
}

static void expect(const char *name, int got, int want)
{
	if (got == want)
		case_ok(name);
	else
		case_fail(name, "%s, not %s", strerror(got), strerror(want));
}

/* Return: how many processes of the user could leave something */
static int fill(uid_t user)
{
	int num = 0;

	while (num <= 2 * limit && !process(user, num & 1 ? LEAVE_REGION : LEAVE_FAULTS))
		num++;
	return num;
}

static void expect_full(const char *name, uid_t user)
{
	int num = fill(user);

	if (num == limit)
		case_ok(name);
	else
		case_fail(name, "%d processes, not %d", num, limit);
}

/* The prefetches end soon after the page is there. Then registrations succeed again */
static int try_soon(uid_t user)
{
	uint64_t end = now_ms() + 20000;
	int err;

	do {
		usleep(100000);
		err = process(user, TRY);
	} while (err && now_ms() < end);
	return err;
}

/* Wait until nobody has a reference to the module. Faults that have ended give theirs back soon */
static int wait_unused(void)
{
	uint64_t end = now_ms() + 20000;
	int refs = -1;
	FILE *f;

	do {
		usleep(100000);
		f = fopen("/sys/module/rdma_rxe/refcnt", "r");
		if (!f || fscanf(f, "%d", &refs) != 1 || fclose(f))
			die("refcnt: %s", strerror(errno));
	} while (refs && now_ms() < end);
	return refs ? ETIMEDOUT : 0;
}

/* The module can't be unloaded while a prefetch waits, although no process has a device open */
static void module_is_kept(int first)
{
	expect("unused", wait_unused(), 0);
	expect("left", process(USER, LEAVE_FAULTS), 0);
	expect("module-in-use", syscall(SYS_delete_module, "rdma_rxe", O_NONBLOCK) ? errno : 0, EAGAIN);
	close_range(first, UINT_MAX, 0);
	expect("module-unused", wait_unused(), 0);
}

int main(int argc, char **argv)
{
	int first = dup(STDIN_FILENO);

	if (argc != 3)
		die("usage: %s DEV LIMIT", argv[0]);
	dev = argv[1];
	limit = atoi(argv[2]);
	expect_full("user", USER);
	expect("refused", process(USER, TRY), ENOMEM);
	expect("namespace", process_in_namespace(), ENOMEM);
	expect("other-user", process(USER + 1, TRY), 0);
	expect_full("all", USER + 1);
	expect("all-refused", process(USER + 2, TRY), ENOMEM);
	close_range(first, UINT_MAX, 0);
	expect("ended", try_soon(USER), 0);
	module_is_kept(first);
	return cases_failed > 0;
}
