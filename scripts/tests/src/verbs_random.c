// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_random: random verbs, by several processes at once, on one device or on two. Memory
 * regions, windows, completion queues, shared receive queues, address handles, multicast groups and
 * pairs of queue pairs (RC, UC, UD) are made, changed and destroyed, while other objects and work
 * requests in flight use them. Some regions are on demand. The pages of all regions are dropped,
 * paged out, protected and copied for children.
 *
 * Each process has a model (vr_run.c). For each work request, it knows whether it must succeed,
 * must fail, or may do either because an object that it uses has changed meanwhile. The model is
 * compared with statuses, with the order and number of completions, and with memory.
 *
 * A seed gives a list of operations. A list that fails is shrunk: parts are left out while it still
 * fails. The rest is printed, and can be run again with -f.
 *
 * Whether a list fails may depend on timing: on what had completed when an operation looked, or
 * when the process ended. Then it isn't known whether a part can be left out. So if a list also
 * fails in lockstep, it is shrunk in lockstep: an operation begins when all work of the one before
 * has ended.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "verbs_random.h"

static const char usage[] =
	"usage: verbs_random [OPTION]...\n"
	"  -d DEV      device of the requesters (the first one)\n"
	"  -g INDEX    its GID (the first one of RoCE v2)\n"
	"  -D DEV      device of the responders (the same one)\n"
	"  -G INDEX    its GID (likewise)\n"
	"  -p COUNT    processes (4)\n"
	"  -n COUNT    operations of each process in a list (200)\n"
	"  -s SEED     of the first list (1); the next ones count up\n"
	"  -t SECONDS  begin new lists for so long (0: one list)\n"
	"  -f FILE     run the list in there\n"
	"  -o FILE     where to leave a shrunk list (/tmp/verbs_random.ops)\n"
	"  -l          in lockstep: an operation's work requests complete before the next one\n"
	"  -w          with a model that is wrong: something fails, and is shrunk\n";

#define HANG_MS		60000	/* a list hangs if no process gets ahead for so long */
/* Shrinking ends after so many runs, not after some time: the result is the same on a busy host. */
#define SHRINK_RUNS	2000
#define HANG_RUNS	500	/* a list that hangs counts as so many runs */
#define FREE_TRIES	2	/* tries of a list that isn't run in lockstep */
#define WHY_LEN		256

static const char * const kind_name[] = {
#define X(name, often) #name,
	OP_KINDS(X)
#undef X
};

static const uint32_t kind_often[] = {
#define X(name, often) often,
	OP_KINDS(X)
#undef X
};

static struct world world = { .gid_index = { -1, -1 } };
static uint32_t procs = 4;
static char (*why)[WHY_LEN];	/* reason of each process, in shared memory */
static const char hangs[] = "it hangs";

static uint32_t random_kind(uint64_t *rng)
{
	uint32_t total = 0, at, k;

	for (k = 0; k < OP_NUM; k++)
		total += kind_often[k];
	at = rnd_range(rng, 0, total - 1);
	for (k = 0; at >= kind_often[k]; k++)
		at -= kind_often[k];
	return k;
}

/* The list has operations of all processes in turn. The processes execute theirs in parallel */
static uint32_t make_list(struct op *ops, uint32_t each, uint64_t seed)
{
	uint32_t i;

	for (i = 0; i < each * procs; i++)
		ops[i] = (struct op){
			.proc = i % procs, .kind = random_kind(&seed),
			.a = rnd(&seed) >> 32, .b = rnd(&seed) >> 32,
			.c = rnd(&seed) >> 32, .d = rnd(&seed) >> 32,
		};
	return i;
}

static void print_list(FILE *file, const struct op *ops, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		fprintf(file, "%u %s %u %u %u %u\n", ops[i].proc, kind_name[ops[i].kind],
			ops[i].a, ops[i].b, ops[i].c, ops[i].d);
}

static uint32_t read_list(const char *name, struct op *ops)
{
	FILE *file = fopen(name, "r");
	char kind[32];
	uint32_t n;

	if (!file)
		die("%s: %s", name, strerror(errno));
	for (n = 0; n < OPS_CAP; n++) {
		struct op *o = ops + n;

		if (fscanf(file, "%u %31s %u %u %u %u", &o->proc, kind, &o->a, &o->b, &o->c,
			   &o->d) != 6)
			break;
		for (o->kind = 0; o->kind < OP_NUM && strcmp(kind, kind_name[o->kind]); )
			o->kind++;
		if (o->kind == OP_NUM || o->proc >= PROCS_CAP)
			die("%s: operation %u is none", name, n);
		if (o->proc >= procs)
			procs = o->proc + 1;
	}
	fclose(file);
	return n;
}

static void kill_all(const pid_t *pids)
{
	uint32_t p;

	for (p = 0; p < procs; p++)
		if (pids[p])
			kill(pids[p], SIGKILL);
}

/* Has a process done something since @seen, which becomes what there is now? */
static bool get_ahead(uint64_t *seen)
{
	uint64_t last = *seen;

	*seen = __atomic_load_n(&world.tally->steps, __ATOMIC_RELAXED);
	return *seen != last;
}

/*
 * A list may take minutes on a busy host with checkers: only one that stands still hangs.
 *
 * Return: the reason of the first process that fails; NULL if all succeed
 */
static const char *wait_for_processes(pid_t *pids)
{
	uint64_t end = now_ms() + HANG_MS, steps = 0;
	uint32_t left = procs, p;
	const char *bad = NULL;
	int status;
	pid_t pid;

	while (left) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid <= 0) {
			if (get_ahead(&steps)) {
				end = now_ms() + HANG_MS;
			} else if (now_ms() > end) {
				bad = bad ?: hangs;
				kill_all(pids);
				end += HANG_MS;	/* a process that can't be killed */
			}
			usleep(1000);
			continue;
		}
		for (p = 0; p < procs && pids[p] != pid; )
			p++;
		if (p == procs)
			continue;
		pids[p] = 0;
		left--;
		if (!bad && status) {
			if (!why[p][0])
				snprintf(why[p], WHY_LEN, "process %u ended with status %d", p,
					 status);
			bad = why[p];
			kill_all(pids);
		}
	}
	return bad;
}

static const char *run_list(const struct op *ops, uint32_t n)
{
	pid_t pids[PROCS_CAP] = {};
	uint32_t p;

	memset(why, 0, PROCS_CAP * WHY_LEN);
	fflush(stdout);
	for (p = 0; p < procs; p++) {
		pids[p] = fork();
		if (pids[p] < 0)
			die("fork: %s", strerror(errno));
		if (!pids[p]) {
			run_process(&world, ops, n, p, why[p], WHY_LEN);
			_exit(0);
		}
	}
	return wait_for_processes(pids);
}

/* Does the list fail again? @runs: how many runs are left */
static bool fails_again(const struct op *ops, uint32_t n, int *runs)
{
	int tries = world.lockstep ? 1 : FREE_TRIES;
	const char *bad = NULL;

	while (!bad && tries--) {
		bad = run_list(ops, n);
		*runs -= bad == hangs ? HANG_RUNS : 1;
	}
	return bad;
}

/* Leaves out parts while the rest fails: first halves, then smaller parts */
static uint32_t shrink(struct op *ops, uint32_t n)
{
	struct op *less = calloc(n, sizeof(*less));
	uint32_t chunk, at, rest;
	int runs = SHRINK_RUNS;
	bool progress = true;

	for (chunk = (n + 1) / 2; chunk && runs > 0;
	     chunk = chunk > 1 ? (chunk + 1) / 2 : progress) {
		progress = false;
		for (at = 0; at < n && runs > 0; ) {
			rest = chunk < n - at ? n - at - chunk : 0;
			memcpy(less, ops, at * sizeof(*ops));
			memcpy(less + at, ops + n - rest, rest * sizeof(*ops));
			if (!fails_again(less, at + rest, &runs)) {
				at += chunk;
				continue;
			}
			n = at + rest;
			memcpy(ops, less, n * sizeof(*ops));
			progress = true;
		}
	}
	free(less);
	printf("%d lists tried\n", SHRINK_RUNS - runs);
	return n;
}

static void report(struct op *ops, uint32_t n, const char *bad, const char *out)
{
	FILE *file;

	printf("FAILED: %s\n", bad);
	if (!world.lockstep) {
		world.lockstep = true;
		world.lockstep = run_list(ops, n);
		printf("it %s in lockstep\n", world.lockstep ? "fails, too," : "doesn't fail");
	}
	n = shrink(ops, n);
	bad = run_list(ops, n);
	printf("shrunk to %u operations: %s\n", n, bad ?: "which don't always fail");
	print_list(stdout, ops, n);
	file = fopen(out, "w");
	if (file) {
		print_list(file, ops, n);
		fclose(file);
		printf("run them again: verbs_random %s-f %s\n", world.lockstep ? "-l " : "", out);
	}
}

/* Chooses GIDs that no option names. One device has one GID */
static void choose_gids(void)
{
	struct ibv_context *ctx;
	int i;

	for (i = 0; i < 2; i++) {
		if (world.gid_index[i] >= 0)
			continue;
		world.gid_index[i] = world.gid_index[0];
		if (i && !world.dev[1])
			continue;
		ctx = open_device(world.dev[i]);
		world.gid_index[i] = find_gid(ctx, "v2");
		ibv_close_device(ctx);
	}
}

static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

static void print_tally(const struct tally *t)
{
	printf("%lu work requests completed and %lu failed, %lu messages, %lu windows bound, ",
	       t->completed, t->failed, t->messages, t->binds);
	printf("%lu atomics, %lu flushes, %lu regions on demand, ", t->atomics, t->flushes, t->paged);
	printf("%lu resets, %lu times in a group\n", t->resets, t->groups);
}

int main(int argc, char **argv)
{
	static struct op ops[PROCS_CAP * OPS_CAP];
	const char *file = NULL, *out = "/tmp/verbs_random.ops", *bad;
	uint64_t seed = 1, seconds = 0, start = now_ms();
	uint32_t each = 200, n, lists = 0;
	int c;

	while ((c = getopt(argc, argv, "d:g:D:G:p:n:s:t:f:o:lw")) != -1) {
		switch (c) {
		case 'd': world.dev[0] = optarg; break;
		case 'g': world.gid_index[0] = atoi(optarg); break;
		case 'D': world.dev[1] = optarg; break;
		case 'G': world.gid_index[1] = atoi(optarg); break;
		case 'p': procs = atoi(optarg); break;
		case 'n': each = atoi(optarg); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atoi(optarg); break;
		case 'f': file = optarg; break;
		case 'o': out = optarg; break;
		case 'l': world.lockstep = true; break;
		case 'w': world.wrong_model = true; break;
		default: die("%s", usage);
		}
	}
	if (optind != argc || !procs || procs > PROCS_CAP || !each || each > OPS_CAP)
		die("%s", usage);
	choose_gids();
	why = shared(PROCS_CAP * WHY_LEN);
	world.tally = shared(sizeof(*world.tally));
	do {
		n = file ? read_list(file, ops) : make_list(ops, each, seed + lists);
		bad = run_list(ops, n);
		if (bad) {
			printf("seed %llu, ", (unsigned long long)seed + lists);
			report(ops, n, bad, out);
			return 1;
		}
		lists++;
	} while (now_ms() - start < seconds * 1000);
	printf("%u lists of %u operations from seed %llu on\n", lists, n, (unsigned long long)seed);
	print_tally(world.tally);
	return 0;
}
