// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_many: makes objects of one kind, until there are enough or no more can be made. Then it
 * destroys them all, in the order in which they were made.
 *
 * If no more can be made, the last object is used to send a message. With -k, all are kept until
 * stdin ends. With -f, a child keeps their mappings.
 *
 * Prints how many were made, the errno that ended that, and how long one took, in nanoseconds: the
 * median of each quarter. These show if the time grows with the number of objects.
 */
#include <getopt.h>
#include <sys/mman.h>

#include "verbs_util.h"

#define QUARTERS 4
#define LEN	 64		/* bytes of a message */
#define GRH_LEN	 40		/* bytes before a datagram */
#define QKEY	 0x11111111

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_ah_attr ah_attr;
static struct rc_attr attr;
static union ibv_gid gid;
static char page[4096];
static int depth = 1;

static void *make_qp(void)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &ia);
}

static void *make_cq(void)
{
	return ibv_create_cq(ctx, depth, NULL, NULL, 0);
}

/* Makes a completion queue, and resizes it */
static void *make_resized(void)
{
	struct ibv_cq *made = make_cq();
	int i, err = 0;

	for (i = 0; made && !err && i < 4; i++)
		err = ibv_resize_cq(made, depth);
	if (!err)
		return made;
	ibv_destroy_cq(made);
	errno = err;
	return NULL;
}

static void *make_ctx(void)
{
	return ibv_open_device(ctx->device);
}

static void *make_pd(void)
{
	return ibv_alloc_pd(ctx);
}

static void *make_srq(void)
{
	struct ibv_srq_init_attr ia = { .attr = { .max_wr = depth, .max_sge = 1 } };

	return ibv_create_srq(pd, &ia);
}

static void *make_mr(void)
{
	return ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
}

/* A region of 1 GiB with ODP, where nothing is mapped. Its page table has 2 MiB */
static void *make_odp(void)
{
	return ibv_reg_mr(pd, (void *)0x10000, 1UL << 30, IBV_ACCESS_ON_DEMAND);
}

static void *make_ah(void)
{
	return ibv_create_ah(pd, &ah_attr);
}

/* What a message is sent with */
struct with {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;	/* NULL: the receive is posted to the queue pair */
	struct ibv_mr *mr;
	struct ibv_ah *ah;	/* of a datagram; NULL: the queue pair is connected */
};

static struct ibv_qp *new_qp(const struct with *w)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = w->cq, .recv_cq = w->cq, .srq = w->srq,
		.qp_type = w->ah ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = create_qp(w->pd, &ia);
	struct addr self = qp_addr(qp, gid);

	if (w->ah)
		ud_up(qp, QKEY, self.psn);
	else
		rc_up(qp, &attr, self.psn, &self);
	return qp;
}

/* Sends a message from a queue pair to itself */
static void send_message(const struct with *w)
{
	struct ibv_sge from = { (uintptr_t)page, LEN, w->mr->lkey };
	struct ibv_sge to = { (uintptr_t)page + LEN, w->ah ? GRH_LEN + LEN : LEN, w->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 1, .sg_list = &to, .num_sge = 1 };
	struct ibv_qp *qp = new_qp(w);
	struct ibv_send_wr *bad, send = { .opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1,
					  .wr.ud = { w->ah, qp->qp_num, QKEY } };
	struct ibv_wc wc;

	rnd_fill(page, sizeof(page), qp->qp_num);
	if (w->srq ? ibv_post_srq_recv(w->srq, &recv, &bad_recv) :
		     ibv_post_recv(qp, &recv, &bad_recv))
		die("\nthe last one takes no receive");
	if (ibv_post_send(qp, &send, &bad) || !wait_wc(w->cq, &wc) || wc.status || wc.wr_id != 1 ||
	    memcmp(page, page + to.length, LEN))
		die("\nno message arrives with the last one");
	if (ibv_destroy_qp(qp))
		die("\nwhat used the last one can't be destroyed");
}

/* Sends a message with a memory region that is made for it */
static void use(struct with w)
{
	w.mr = new_mr(w.pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
	send_message(&w);
	if (ibv_dereg_mr(w.mr))
		die("\nthe memory region can't be deregistered");
}

static void use_ctx(void *obj)
{
	struct with w = { .pd = new_pd(obj), .cq = new_cq(obj, 1) };

	use(w);
	if (ibv_destroy_cq(w.cq) || ibv_dealloc_pd(w.pd))
		die("\nwhat used the last context can't be destroyed");
}

static void use_pd(void *obj)
{
	use((struct with) { .pd = obj, .cq = cq });
}

static void use_cq(void *obj)
{
	use((struct with) { .pd = pd, .cq = obj });
}

static void use_srq(void *obj)
{
	use((struct with) { .pd = pd, .cq = cq, .srq = obj });
}

static void use_mr(void *obj)
{
	send_message(&(struct with) { .pd = pd, .cq = cq, .mr = obj });
}

static void use_ah(void *obj)
{
	use((struct with) { .pd = pd, .cq = cq, .ah = obj });
}

static const struct kind {
	const char *name;
	void *(*make)(void);
	int (*destroy)(void *obj);
	void (*use)(void *obj);
} kinds[] = {
	{ "qp", make_qp, (int (*)(void *))ibv_destroy_qp, NULL },
	{ "cq", make_cq, (int (*)(void *))ibv_destroy_cq, use_cq },
	{ "resized-cq", make_resized, (int (*)(void *))ibv_destroy_cq, use_cq },
	{ "ctx", make_ctx, (int (*)(void *))ibv_close_device, use_ctx },
	{ "pd", make_pd, (int (*)(void *))ibv_dealloc_pd, use_pd },
	{ "srq", make_srq, (int (*)(void *))ibv_destroy_srq, use_srq },
	{ "mr", make_mr, (int (*)(void *))ibv_dereg_mr, use_mr },
	{ "odp", make_odp, (int (*)(void *))ibv_dereg_mr, NULL },
	{ "ah", make_ah, (int (*)(void *))ibv_destroy_ah, use_ah },
};

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Prints the median of each quarter: load of the machine has little effect on medians */
static void print_times(const char *what, uint32_t *ns, unsigned long num)
{
	unsigned long q, len = num / QUARTERS;

	printf(" %s", what);
	for (q = 0; len && q < QUARTERS; q++) {
		qsort(ns + q * len, len, sizeof(*ns), compare_u32);
		printf(" %u", ns[q * len + len / 2]);
	}
}

static const struct kind *find_kind(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(kinds); i++)
		if (name && !strcmp(name, kinds[i].name))
			return &kinds[i];
	die("no kind of object: %s", name ? name : "(none)");
}

static void set_up(const char *dev, int gid_index)
{
	ctx = open_device(dev);
	pd = new_pd(ctx);
	cq = new_cq(ctx, 1);
	attr = rc_attr(choose_gid(ctx, gid_index));
	gid = gid_at(ctx, attr.gid_index);
	ah_attr = path_to(&attr, gid);
}

static void lock_program(void)
{
	if (mlockall(MCL_CURRENT))
		die("mlockall: %s", strerror(errno));
}

static const char usage[] =
"usage: verbs_many [-l] [-d DEV] [-g GID_INDEX] [-n NUM] [-w DEPTH] [-f|-k] KIND\n"
"KIND: ctx|qp|cq|resized-cq|pd|srq|mr|odp|ah\n"
"Makes as many as there can be, or NUM, uses the last one, and destroys them. -l: until there is\n"
"no memory. Then the last one isn't used, since that may need more. The program is locked in\n"
"memory, since a cgroup at its limit reclaims the program first, and kills it if it runs on.\n"
"Prints: how many; the errno that ended it (0: none); \"make\" and the ns that one took, a\n"
"number for each quarter of them; \"destroy\" and the same; \"ms\" and how long it took to make\n"
"and to destroy them all.\n"
"-k: destroys them when standard input ends. -f: a child has their memory mapped until then.\n";

/* Waits until standard input ends */
static void wait_eof(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

static void fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("\nfork: %s", strerror(errno));
	if (pid)
		return;
	wait_eof();
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned long num = 0, max = 1 << 21, i;
	const char *dev = NULL;
	const struct kind *kind;
	int o, gid_index = -1, err = 0;
	uint64_t t, begin, made, destroyed;
	bool keep = false, with_child = false, scarce = false;
	uint32_t *ns;
	void **obj;

	while ((o = getopt(argc, argv, "d:g:ln:w:fkh")) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'l': lock_program(); scarce = true; break;
		case 'n': max = strtoul(optarg, NULL, 0); break;
		case 'w': depth = atoi(optarg); break;
		case 'f': with_child = true; break;
		case 'k': keep = true; break;
		default: return print_usage(usage, o);
		}
	}
	kind = find_kind(argv[optind]);
	set_up(dev, gid_index);
	obj = calloc(max, sizeof(*obj));
	ns = calloc(max, sizeof(*ns));
	if (!obj || !ns)
		die("no memory");
	begin = now_ns();
	for (num = 0; num < max; num++) {
		t = now_ns();
		errno = 0;
		obj[num] = kind->make();
		if (!obj[num]) {
			err = errno;
			break;
		}
		ns[num] = now_ns() - t;
	}
	made = now_ns() - begin;
	printf("%lu %d", num, err);
	print_times("make", ns, num);
	if (keep || with_child)
		fflush(stdout);	/* a child mustn't print the buffered text again */
	else if (err && num && kind->use && !scarce)
		kind->use(obj[num - 1]);
	if (with_child)
		fork_child();
	if (keep)
		wait_eof();
	begin = now_ns();
	for (i = 0; i < num; i++) {
		t = now_ns();
		if (kind->destroy(obj[i]))
			die("\ndestroying %lu: %s", i, strerror(errno));
		ns[i] = now_ns() - t;
	}
	destroyed = now_ns() - begin;
	print_times("destroy", ns, num);
	printf(" ms %lu %lu\n", made / 1000000, destroyed / 1000000);
	return 0;
}
