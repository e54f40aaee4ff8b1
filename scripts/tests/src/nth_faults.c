// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: which allocation fails: the n-th of this thread, of each kernel thread that works for
 * the driver, or of a child.
 *
 * The settings in debugfs (fail.sh) say which allocations count. Each task counts its own. Kernel
 * threads do work of others, too: only allocations with the driver on the stack may count there.
 */
#include <dirent.h>
#include <sys/wait.h>

#include "nth.h"

#define MOST_WORKERS 500

static int own_fd;	/* stays open: to open one takes allocations, too */
static unsigned int wanted;

/* What a child tells */
static struct told {
	unsigned int left;
	int err;
} *told;

/* A kernel thread that may serve page faults; its fail-nth */
static struct worker {
	pid_t pid;
	int fd;
} workers[MOST_WORKERS];
static unsigned int num_workers;

static int open_nth(const char *task)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.16s/fail-nth", task);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Return: false if the task has ended */
static bool set_nth(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(fd, text, len, 0) == len)
		return true;
	if (errno != ESRCH)
		die("cannot write fail-nth: %s", strerror(errno));
	return false;
}

/*
 * Return: 0 if the allocation has failed; else the number that was left to count; @n if the task
 * has ended, which had nothing to do then
 */
static unsigned int stop_nth(int fd, unsigned int n)
{
	char text[16];
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	if (!set_nth(fd, 0))
		return n;
	if (len <= 0)
		die("cannot read fail-nth: %s", strerror(errno));
	text[len] = 0;
	return strtoul(text, NULL, 10);
}

void no_faults(void)
{
	set_nth(own_fd, 0);
}

/* ---- kernel threads ---- */

/* Those of workqueues that are bound to no processor */
static bool is_worker(const char *pid)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		comm[0] = 0;
	fclose(f);
	return !strncmp(comm, "kworker/u", 9);
}

static bool is_known(pid_t pid)
{
	unsigned int i;

	for (i = 0; i < num_workers; i++)
		if (workers[i].pid == pid)
			return true;
	return false;
}

/* Return: how many weren't known yet */
static unsigned int find_workers(void)
{
	unsigned int before = num_workers;
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int fd;

	if (!dir)
		die("no /proc");
	while ((d = readdir(dir))) {
		if (!is_worker(d->d_name) || is_known(atoi(d->d_name)))
			continue;
		if (num_workers == MOST_WORKERS)
			die("too many workers");
		fd = open_nth(d->d_name);
		if (fd >= 0)
			workers[num_workers++] = (struct worker){ atoi(d->d_name), fd };
	}
	closedir(dir);
	return num_workers - before;
}

static void start_workers(void)
{
	unsigned int i;

	while (num_workers)	/* forget those that have ended */
		close(workers[--num_workers].fd);
	find_workers();
	for (i = 0; i < num_workers; i++)
		set_nth(workers[i].fd, wanted);
}

/* If no known worker has counted, a new one may have done the work: call it again */
static unsigned int stop_workers(bool *unsure)
{
	unsigned int left = wanted, i, one;

	for (i = 0; i < num_workers; i++) {
		one = stop_nth(workers[i].fd, wanted);
		left = one < left ? one : left;
	}
	*unsure = left == wanted && find_workers();
	return left;
}

/* ---- a child ---- */

int in_child(void (*begin)(void), int (*make)(void))
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("cannot fork: %s", strerror(errno));
	if (!pid) {
		close(own_fd);
		own_fd = open_nth("thread-self");
		begin();
		errno = 0;
		set_nth(own_fd, wanted);
		told->err = make();
		told->left = stop_nth(own_fd, wanted);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("a child failed: %x", status);
	return told->err;
}

/* ---- all of them ---- */

void faults_init(void)
{
	own_fd = open_nth("thread-self");
	if (own_fd < 0)
		die("no fail-nth: %s", strerror(errno));
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		die("no memory");
}

void faults_start(enum whose whose, unsigned int n)
{
	wanted = n;
	if (whose == WORKERS)
		start_workers();
	else if (whose == CALLER)
		set_nth(own_fd, n);
}

unsigned int faults_stop(enum whose whose, bool *unsure)
{
	*unsure = false;
	switch (whose) {
	case WORKERS: return stop_workers(unsure);
	case CHILD: return told->left;
	default: return stop_nth(own_fd, wanted);
	}
}
