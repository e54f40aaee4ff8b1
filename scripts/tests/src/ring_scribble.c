// SPDX-License-Identifier: GPL-2.0
/*
 * ring_scribble: a process that writes garbage into the queues that it shares with the kernel.
 *
 * In each round, a child makes queue pairs (RC or UC, and UD), and finds the mappings of their
 * queues in /proc/self/maps. One thread overwrites them (indices, header, work requests, all of it)
 * while another rings the doorbell. The child may lose its own queue pairs, or crash. The parent,
 * the victim, moves verified data over its own queue pairs meanwhile, and must not be affected.
 *
 * The first child overwrites nothing: it refills a send queue with local work requests as fast as
 * they are executed. The doorbell must return nevertheless.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "verbs_util.h"

#include <rdma/rdma_user_rxe.h>	/* after netinet/in.h, whose definitions it then omits */

#define LEN		(16 << 10)
#define MAX_RINGS	32
#define CQ_SHIFT	6		/* of a completion: struct ib_uverbs_wc, rounded up */

struct ends {			/* two connected queue pairs and their memory */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;		/* where b and ud receive */
	struct ibv_qp *a, *b, *ud;
	struct ibv_ah *ah;
	uint8_t *src, *dst;
	struct ibv_mr *smr, *dmr;
};

static const char *dev_name;
static int gid_index = -1;
static enum ibv_qp_type connected = IBV_QPT_RC;
static uint32_t sends = 32;		/* size of a's send queue */
static int round_ms = 300;

static struct ibv_qp *new_qp(struct ends *e, enum ibv_qp_type type, struct ibv_srq *srq,
			     uint32_t wrs)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = e->cq, .recv_cq = e->cq, .srq = srq, .qp_type = type,
		.cap = { wrs, 32, 4, 4, 64 },
	};

	return create_qp(e->pd, &ia);
}

static void connect_ends(struct ends *e)
{
	struct rc_attr r = rc_attr(gid_index);
	struct addr a = { .qpn = e->a->qp_num, .psn = 1 }, b = { .qpn = e->b->qp_num, .psn = 2 };

	a.gid = gid_at(e->ctx, gid_index);
	b.gid = a.gid;
	rc_up(e->a, &r, a.psn, &b);
	rc_up(e->b, &r, b.psn, &a);
}

static struct ends *make_ends(void)
{
	struct ends *e = calloc(1, sizeof(*e));
	struct ibv_srq_init_attr ia = { .attr = { .max_wr = 31, .max_sge = 4 } };

	e->ctx = open_device(dev_name);
	gid_index = choose_gid(e->ctx, gid_index);
	e->pd = new_pd(e->ctx);
	e->cq = new_cq(e->ctx, 128);
	e->srq = ibv_create_srq(e->pd, &ia);
	if (!e->srq)
		die("create_srq: %s", strerror(errno));
	e->src = new_pages(LEN);
	e->dst = new_pages(LEN);
	e->smr = new_mr(e->pd, e->src, LEN, ACCESS_ALL);
	e->dmr = new_mr(e->pd, e->dst, LEN, ACCESS_ALL);
	e->a = new_qp(e, connected, NULL, sends);
	e->b = new_qp(e, connected, connected == IBV_QPT_RC ? e->srq : NULL, 32);
	connect_ends(e);
	return e;
}

static void free_ends(struct ends *e)
{
	if (ibv_destroy_qp(e->a) || ibv_destroy_qp(e->b) || ibv_destroy_srq(e->srq) ||
	    ibv_destroy_cq(e->cq) ||
	    ibv_dereg_mr(e->smr) || ibv_dereg_mr(e->dmr) || ibv_dealloc_pd(e->pd) ||
	    ibv_close_device(e->ctx))
		die("teardown failed: %s", strerror(errno));
	free(e->src);
	free(e->dst);
	free(e);
}

/* ---- the victim ---- */

static void transfer(struct ends *e, enum ibv_wr_opcode op)
{
	struct ibv_sge sge = { (uintptr_t)e->src, LEN, e->smr->lkey };
	struct ibv_send_wr wr = { .opcode = op, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)e->dst, e->dmr->rkey } }, *bad;
	struct ibv_wc wc;

	if (ibv_post_send(e->a, &wr, &bad))
		die("victim: post_send failed: %s", strerror(errno));
	if (!wait_wc(e->cq, &wc))
		die("victim: no completion");
	if (wc.status != IBV_WC_SUCCESS)
		die("victim: %s", ibv_wc_status_str(wc.status));
}

static void victim_step(struct ends *e, uint64_t seed)
{
	rnd_fill(e->src, LEN, seed);
	transfer(e, IBV_WR_RDMA_WRITE);
	if (memcmp(e->src, e->dst, LEN))
		die("victim: wrong data after a WRITE");
	rnd_fill(e->dst, LEN, ~seed);
	transfer(e, IBV_WR_RDMA_READ);
	if (memcmp(e->src, e->dst, LEN))
		die("victim: wrong data after a READ");
}

/* ---- the scribbler ---- */

struct ring {
	struct rxe_queue_buf *q;
	size_t len;
	unsigned long off;
	uint32_t elem_shift;
};

static struct ring rings[MAX_RINGS];
static volatile int nrings;
static volatile bool stop;
static struct ends *mine;

/* Maps a ring once more: the library unmaps that of an SRQ when the size changes */
static void add_ring(size_t len, unsigned long off)
{
	struct ring *r = &rings[nrings];
	int i;

	for (i = 0; i < nrings; i++)
		if (rings[i].off == off)
			return;
	r->q = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, mine->ctx->cmd_fd, off);
	if (r->q == MAP_FAILED)
		die("cannot map a queue again: %s", strerror(errno));
	r->len = len;
	r->off = off;
	r->elem_shift = r->q->log2_elem_size & 15;
	nrings++;
}

/* Adds the rings that aren't known yet */
static void find_rings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long lo, hi, off;
	char line[512];

	while (fgets(line, sizeof(line), f) && nrings < MAX_RINGS)
		if (strstr(line, "/dev/infiniband/uverbs") &&
		    sscanf(line, "%lx-%lx %*s %lx", &lo, &hi, &off) == 3)
			add_ring(hi - lo, off);
	fclose(f);
}

/* Changes limit and size of the SRQ meanwhile. Most sizes are too small */
static void change_srq(uint64_t *s)
{
	struct ibv_srq_attr a = { .srq_limit = rnd_range(s, 0, 31) };

	if (ibv_modify_srq(mine->srq, &a, IBV_SRQ_LIMIT))
		a.srq_limit = 0;
	if (rnd_range(s, 0, 99) || nrings == MAX_RINGS)
		return;
	a.max_wr = rnd_range(s, 1, 200);
	if (!ibv_modify_srq(mine->srq, &a, IBV_SRQ_MAX_WR))
		find_rings();
}

static uint32_t nasty(uint64_t *s)
{
	static const uint32_t v[] = { 0, 1, 2, 31, 32, 33, 255, 0x7fffffff, 0x80000000, ~0u, ~0u - 1 };
	uint32_t p = rnd_range(s, 0, 3);

	if (!p)
		return rnd(s);
	return p == 1 ? rnd_range(s, 0, 63) : v[rnd(s) % ARRAY_LEN(v)];
}

static void spoil_words(struct ring *r, uint64_t *s, uint32_t n)
{
	volatile uint32_t *w = (void *)r->q;

	while (n--)
		w[rnd(s) % (r->len / 4)] = nasty(s);
}

/* Writes a work request of which one or two members are wrong. */
static void spoil_wqe(struct ring *r, uint64_t *s, size_t slot)
{
	struct rxe_send_wqe *w = (void *)(r->q->data + slot);
	volatile uint32_t *word = (void *)w;
	int i;

	if (slot + sizeof(*w) + sizeof(w->dma.sge[0]) > r->len - sizeof(*r->q))
		return;
	memset(w, 0, sizeof(*w));
	w->wr.opcode = rnd_range(s, 0, 20);
	w->wr.send_flags = rnd_range(s, 0, 31);
	w->wr.wr.rdma.remote_addr = (uintptr_t)mine->dst;
	w->wr.wr.rdma.rkey = mine->dmr->rkey;
	if (w->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || w->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		w->wr.wr.atomic.rkey = mine->dmr->rkey;
	w->dma.length = w->dma.resid = rnd_range(s, 0, LEN);
	w->dma.num_sge = 1;
	w->dma.sge[0].addr = (uintptr_t)mine->src;
	w->dma.sge[0].length = w->dma.length;
	w->dma.sge[0].lkey = mine->smr->lkey;
	for (i = rnd_range(s, 0, 2); i; i--)
		word[rnd(s) % ((sizeof(*w) + sizeof(w->dma.sge[0])) / 4)] = nasty(s);
}

static void spoil_ring(struct ring *r, uint64_t *s, uint32_t elem_shift)
{
	volatile struct rxe_queue_buf *q = r->q;

	switch (rnd_range(s, 0, 9)) {
	case 0:
		q->producer_index = nasty(s);
		break;
	case 1:
		q->consumer_index = nasty(s);
		break;
	case 2:
		q->index_mask = nasty(s);
		q->log2_elem_size = nasty(s);
		break;
	case 3:
		spoil_words(r, s, 64);
		break;
	default:
		if (elem_shift < 8) {	/* receive or completion queue: few words, often */
			spoil_words(r, s, 2);
			break;
		}
		spoil_wqe(r, s, (size_t)rnd_range(s, 0, 31) << elem_shift);
		q->producer_index = q->producer_index + 1;
	}
}

/* Every second child doesn't overwrite the completion queue: its queue pairs live longer. */
static void *scribble(void *arg)
{
	uint64_t s = *(uint64_t *)arg;
	bool spare_cq = s & 2;
	int i;

	while (!stop) {
		i = rnd(&s) % nrings;
		if (!spare_cq || rings[i].elem_shift != CQ_SHIFT)
			spoil_ring(&rings[i], &s, rings[i].elem_shift);
	}
	return NULL;
}

/* Does what the provider does when it has put requests into the ring */
static void doorbell(struct ibv_qp *qp)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
		struct ib_uverbs_post_send_resp resp;
	} m = {
		.hdr = { .command = IB_USER_VERBS_CMD_POST_SEND,
			 .in_words = (sizeof(m.hdr) + sizeof(m.cmd)) / 4,
			 .out_words = sizeof(m.resp) / 4 },
		.cmd = { .qp_handle = qp->handle, .wqe_size = sizeof(struct ib_uverbs_send_wr) },
	};
	ssize_t n;

	m.cmd.response = (uintptr_t)&m.resp;
	n = write(qp->context->cmd_fd, &m, sizeof(m.hdr) + sizeof(m.cmd));
	(void)n;
}

/* Fails if the completion queue was overwritten: its queue pairs can't leave the error state. */
static bool revive_one(struct ends *e, struct ibv_qp *qp, struct ibv_qp *other)
{
	struct rc_attr r = rc_attr(gid_index);
	struct addr peer = { .qpn = other->qp_num, .psn = 1 };

	ibv_query_gid(e->ctx, 1, gid_index, &peer.gid);
	if (qp_to_state(qp, IBV_QPS_RESET))
		die("a spoilt queue pair can't be reset");
	return !rc_to_init(qp, &r) && !rc_to_rtr(qp, &r, &peer) && !rc_to_rts(qp, &r, 1);
}

static bool revive(struct ends *e)
{
	if (qp_state(e->a) == IBV_QPS_RTS && qp_state(e->b) == IBV_QPS_RTS)
		return true;
	return revive_one(e, e->a, e->b) && revive_one(e, e->b, e->a);
}

static void make_ud(struct ends *e)
{
	struct rc_attr near = { .gid_index = gid_index, .hop_limit = 1 };

	e->ud = new_qp(e, IBV_QPT_UD, e->srq, 32);
	e->ah = create_ah(e->pd, &near, gid_at(e->ctx, gid_index));
	ud_up(e->ud, 1, 0);
}

/* The child. It may end with status 0 or by a signal. Any other end is a failure. */
static void __attribute__((noreturn)) scribbler(uint64_t seed)
{
	uint64_t end = now_ms() + round_ms, s = seed, srq_seed = ~seed;
	uint8_t *canary;
	pthread_t t;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (seed % 8 >= 5)
		connected = IBV_QPT_UC;
	mine = make_ends();
	make_ud(mine);
	canary = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(canary, 0x5a, LEN);
	find_rings();
	if (nrings < 6)
		die("found only %d shared queues", nrings);
	if (pthread_create(&t, NULL, scribble, &s))
		die("cannot start a thread");
	do {
		for (i = 0; i < 8; i++)
			doorbell(i % 4 == 3 ? mine->ud : i % 2 ? mine->a : mine->b);
		change_srq(&srq_seed);
	} while (revive(mine) && now_ms() < end);
	stop = true;
	pthread_join(t, NULL);
	for (i = 0; i < LEN; i++)
		if (canary[i] != 0x5a)
			die("memory that was never registered was written");
	if (seed % 2)			/* the others leave the cleaning to the kernel */
		_exit(0);
	ibv_destroy_ah(mine->ah);
	ibv_destroy_qp(mine->ud);
	free_ends(mine);
	_exit(0);
}

/* ---- the child that refills ---- */

static volatile bool refilling;

static struct ring *largest_ring(void)
{
	struct ring *r = &rings[0];
	int i;

	for (i = 1; i < nrings; i++)
		if (rings[i].len > r->len)
			r = &rings[i];
	return r;
}

static void run_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *refill(void *arg)
{
	volatile struct rxe_queue_buf *q = ((struct ring *)arg)->q;
	uint32_t mask = q->index_mask;

	run_on_cpu(1);		/* not where the doorbell keeps the CPU busy */
	refilling = true;
	while (!stop)
		q->producer_index = (q->consumer_index + mask) & mask;
	return NULL;
}

/* Each place gets an unsignalled work request that unbinds a window. It can be executed again. */
static void fill_by_unbinding(struct ring *r, uint32_t rkey)
{
	struct rxe_send_wqe *w;
	uint32_t i;

	for (i = 0; i <= r->q->index_mask; i++) {
		w = (void *)(r->q->data + ((size_t)i << r->elem_shift));
		memset(w, 0, sizeof(*w));
		w->wr.opcode = IB_UVERBS_WR_BIND_MW;
		w->wr.wr.mw.mw_rkey = w->wr.wr.mw.rkey = rkey;
	}
}

static void __attribute__((noreturn)) refiller(void)
{
	uint64_t end = now_ms() + round_ms;
	bool moved = false;
	struct ibv_mw *mw;
	struct ring *r;
	pthread_t t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sends = 1 << 14;
	mine = make_ends();
	mw = ibv_alloc_mw(mine->pd, IBV_MW_TYPE_1);
	if (!mw)
		die("alloc_mw: %s", strerror(errno));
	find_rings();
	r = largest_ring();
	fill_by_unbinding(r, mw->rkey);
	run_on_cpu(0);
	if (pthread_create(&t, NULL, refill, r))
		die("cannot start a thread");
	while (!refilling)
		sched_yield();
	do {
		doorbell(mine->a);
		moved |= r->q->consumer_index != 0;	/* looked at often: it wraps to 0 */
	} while (now_ms() < end);
	if (!moved)
		die("nothing was executed");
	if (qp_to_state(mine->a, IBV_QPS_RESET))
		die("a queue pair that is busy can't be reset");
	stop = true;
	pthread_join(t, NULL);
	ibv_dealloc_mw(mw);
	free_ends(mine);
	_exit(0);
}

static void wait_child(pid_t pid, struct ends *e, uint64_t seed, int *crashes)
{
	uint64_t end = now_ms() + round_ms + 20000;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		victim_step(e, seed += 7);
		if (now_ms() > end) {
			kill(pid, SIGKILL);
			die("a scribbling process hangs");
		}
	}
	if (WIFSIGNALED(status))
		(*crashes)++;
	else if (WEXITSTATUS(status))
		die("the scribbling process found something wrong, status %d", WEXITSTATUS(status));
}

/*
 * The child executes this program again, so it has no mapping of the victim's queues. With seed 0,
 * it is the child that refills.
 */
static pid_t start_scribbler(char **argv, uint64_t seed)
{
	char s[32], t[32], g[32];
	pid_t pid;

	snprintf(s, sizeof(s), "%llu", (unsigned long long)seed);
	snprintf(t, sizeof(t), "%d", round_ms);
	snprintf(g, sizeof(g), "%d", gid_index);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", argv[0], "--scribble", s, "-t", t, "-g", g,
		      dev_name ? "-d" : NULL, dev_name, NULL);
		_exit(99);
	}
	return pid;
}

static const char usage[] =
"usage: ring_scribble [-d DEV] [-g GID_INDEX] [-n ROUNDS] [-t MS] [-s SEED]\n"
"Spoils the queues shared with the kernel while other queue pairs must go on.\n"
"  -d, --dev DEV     device (the first one)\n"
"  -g, --gid N       GID index (the first v2 one)\n"
"  -n, --rounds N    scribbling processes, one after another (40)\n"
"  -t, --time MS     how long each scribbles (300)\n"
"  -s, --seed N      seed (1)\n"
"  -h, --help        this text\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "gid", 1, NULL, 'g' }, { "rounds", 1, NULL, 'n' },
	{ "time", 1, NULL, 't' }, { "seed", 1, NULL, 's' }, { "help", 0, NULL, 'h' },
	{ "scribble", 1, NULL, 'S' }, {},
};

int main(int argc, char **argv)
{
	int rounds = 40, crashes = 0, o, i;
	uint64_t seed = 1, scribble_seed = ~0ULL;
	struct ends *e;
	pid_t pid;

	while ((o = getopt_long(argc, argv, "d:g:n:t:s:h", options, NULL)) != -1) {
		switch (o) {
		case 'd': dev_name = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'n': rounds = atoi(optarg); break;
		case 't': round_ms = atoi(optarg); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'S': scribble_seed = strtoull(optarg, NULL, 0); break;
		default: return print_usage(usage, o);
		}
	}
	if (!scribble_seed)
		refiller();
	if (scribble_seed != ~0ULL)
		scribbler(scribble_seed);
	e = make_ends();
	wait_child(start_scribbler(argv, 0), e, seed, &crashes);
	if (crashes)
		die("the process that refills died");
	for (i = 0; i < rounds; i++) {
		pid = start_scribbler(argv, seed * 1000 + i);
		wait_child(pid, e, seed + i, &crashes);
	}
	free_ends(e);
	e = make_ends();		/* a new connection works */
	victim_step(e, seed);
	free_ends(e);
	printf("%d rounds, %d scribbling processes crashed themselves, the victim saw nothing\n",
	       rounds, crashes);
	return 0;
}
