// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: calls each verb again and again. In each call, another allocation of the kernel fails:
 * the first, the second, and so on until all have failed once.
 *
 * A call with a failed allocation may fail with ENOMEM, and then changes nothing. Or it succeeds.
 * The settings in debugfs (fail.sh) say which allocations count. The calls are in nth_*.c.
 */
#define _GNU_SOURCE
#include <getopt.h>

#include "nth.h"

#define MOST_ALLOCATIONS 5000
#define MOST_ERRORS 8

struct ibv_device *nth_device;
struct ibv_context *ctx;
struct ibv_pd *pd;
struct ibv_cq *cq;
struct ibv_mr *mr;
struct ibv_qp *rc, *ud;
struct rc_attr rc_attrs, far_attrs;
struct ibv_ah_attr ah_attr, far_attr;
uint8_t *from, *to;
bool own;

static char **wanted;	/* names of calls; none: all of them */
static struct ibv_comp_channel *channel;
static struct ibv_ah *ah;

int made(const void *obj)
{
	return obj ? 0 : errno ? errno : EIO;
}

int nothing(void)
{
	return 0;
}

static int open_ctx(void)
{
	ctx = ibv_open_device(nth_device);
	return made(ctx);
}

static int close_ctx(void)
{
	return ibv_close_device(ctx);
}

static int make_channel(void)
{
	channel = ibv_create_comp_channel(ctx);
	return made(channel);
}

static int destroy_channel(void)
{
	return ibv_destroy_comp_channel(channel);
}

static int make_pd(void)
{
	pd = ibv_alloc_pd(ctx);
	return made(pd);
}

static int destroy_pd(void)
{
	return ibv_dealloc_pd(pd);
}

static int make_cq(void)
{
	cq = ibv_create_cq(ctx, DEPTH, NULL, channel, 0);
	return made(cq);
}

static int destroy_cq(void)
{
	return ibv_destroy_cq(cq);
}

/* A CQ is unusable if the library couldn't map its new ring: make another one. */
static int resize_cq(int entries)
{
	int before = cq->cqe, err = ibv_resize_cq(cq, entries);

	if (err && cq->cqe != before) {
		if (own)
			die("ibv_resize_cq() failed, but there are %d places", cq->cqe);
		no_faults();
		if (destroy_cq() || make_cq())
			die("cannot make another CQ");
	}
	return err;
}

static int grow_cq(void)
{
	return resize_cq(4 * DEPTH);
}

static int shrink_cq(void)
{
	return resize_cq(DEPTH);
}

static int make_mr(void)
{
	mr = ibv_reg_mr(pd, from, 2 * DATA_LEN, rc_attrs.access | IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_MW_BIND);
	return made(mr);
}

static int destroy_mr(void)
{
	return ibv_dereg_mr(mr);
}

static int make_ah(void)
{
	ah = ibv_create_ah(pd, &ah_attr);
	return made(ah);
}

static int destroy_ah(void)
{
	return ibv_destroy_ah(ah);
}

struct ibv_qp *new_qp(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = type, .sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 4,
			 .max_recv_sge = 4 },
	};

	return ibv_create_qp(pd, &ia);
}

static int make_ud(void)
{
	ud = new_qp(IBV_QPT_UD, NULL);
	return made(ud);
}

static int destroy_ud(void)
{
	return ibv_destroy_qp(ud);
}

static int make_rc(void)
{
	rc = new_qp(IBV_QPT_RC, NULL);
	return made(rc);
}

static int destroy_rc(void)
{
	return ibv_destroy_qp(rc);
}

/* From any state to RTS, connected to itself; ends the program on failure */
void connect_self(struct ibv_qp *qp)
{
	struct addr self = { .qpn = qp->qp_num, .psn = 7, .gid = ah_attr.grh.dgid };

	if (qp_to_state(qp, IBV_QPS_RESET))
		die("cannot reset: %s", strerror(errno));
	rc_up(qp, &rc_attrs, 7, &self);
}

/* A failed modify_qp leaves the state as it is */
static int unless(int err, enum ibv_qp_state before)
{
	if (err && qp_state(rc) != before)
		die("modify_qp failed, but changed the state from %d to %d", before, qp_state(rc));
	return err;
}

static int to_reset(void)
{
	return qp_to_state(rc, IBV_QPS_RESET);
}

static int to_init(void)
{
	return unless(rc_to_init(rc, &rc_attrs), IBV_QPS_RESET);
}

static int back_to_init(void)
{
	int err = to_reset();

	return err ? err : rc_to_init(rc, &rc_attrs);
}

/* connected to itself */
static int to_rtr(void)
{
	struct addr self = { .qpn = rc->qp_num, .psn = 7, .gid = ah_attr.grh.dgid };

	return unless(rc_to_rtr(rc, &rc_attrs, &self), IBV_QPS_INIT);
}

static int back_to_rtr(void)
{
	int err = back_to_init();

	return err ? err : to_rtr();
}

static int to_rts(void)
{
	return unless(rc_to_rts(rc, &rc_attrs, 7), IBV_QPS_RTR);
}

static int query(void)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;

	return ibv_query_qp(rc, &a, IBV_QP_STATE, &ia);
}

/*
 * Sends one message of many packets from one half of the region to the other. If an allocation
 * fails, a packet is lost and sent again: the message always arrives.
 */
int transfer(struct ibv_qp *qp, struct ibv_srq *srq, enum ibv_wr_opcode opcode, uint32_t rkey)
{
	struct ibv_sge src = { .addr = (uintptr_t)from, .length = DATA_LEN, .lkey = mr->lkey };
	struct ibv_sge dst = { .addr = (uintptr_t)to, .length = DATA_LEN, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .num_sge = 1, .sg_list = &src }, *bad;
	struct ibv_recv_wr rwr = { .num_sge = 1, .sg_list = &dst }, *bad_r;
	int left = opcode == IBV_WR_SEND ? 2 : 1, err = 0;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)to;
	wr.wr.rdma.rkey = rkey;
	rnd_fill(from, DATA_LEN, now_ns());
	if (left == 2)
		err = srq ? ibv_post_srq_recv(srq, &rwr, &bad_r) : ibv_post_recv(qp, &rwr, &bad_r);
	if (!err)
		err = ibv_post_send(qp, &wr, &bad);
	if (err)
		return err;
	while (left--)
		if (!wait_wc(cq, &wc) || wc.status)
			die("opcode %d: %s", opcode, ibv_wc_status_str(wc.status));
	if (memcmp(from, to, DATA_LEN))
		die("opcode %d: wrong bytes", opcode);
	return 0;
}

static int transfer_send(void)
{
	return transfer(rc, NULL, IBV_WR_SEND, mr->rkey);
}

static int transfer_write(void)
{
	return transfer(rc, NULL, IBV_WR_RDMA_WRITE, mr->rkey);
}

static int transfer_read(void)
{
	return transfer(rc, NULL, IBV_WR_RDMA_READ, mr->rkey);
}

/* The RDMA core looks for the peer's MAC address. Without memory, a route isn't found */
const int no_route[] = { ENOBUFS, 0 };

/* The library can't read a directory, and doesn't find the device's file then */
static const int no_file[] = { ENOENT, 0 };

static const struct call first_calls[] = {
	{ "open", open_ctx, close_ctx, .also = no_file },
	{ "channel", make_channel, destroy_channel, .own = false },
	{ "pd", make_pd, destroy_pd, .own = false },
	{ "cq", make_cq, destroy_cq, .own = true },
	{ "resize-cq", grow_cq, shrink_cq, .own = true },
	{ "shrink-cq", shrink_cq, grow_cq, .own = true },
	{ "mr", make_mr, destroy_mr, .own = true },
	{ "ah", make_ah, destroy_ah, .own = true, .also = no_route },
	{ "ud", make_ud, destroy_ud, .own = true },
	{ "rc", make_rc, destroy_rc, .own = true },
	{ "init", to_init, to_reset, .own = false },
	{ "rtr", to_rtr, back_to_init, .own = true, .also = no_route },
	{ "rts", to_rts, back_to_rtr, .own = false },
	{ "query", query, nothing, .own = false },
	{ "send", transfer_send, .undo = NULL },
	{ "write", transfer_write, .undo = NULL },
	{ "read", transfer_read, .undo = NULL },
	{}
};

static const struct call last_calls[] = {
	{ "destroy-rc", destroy_rc, make_rc, .own = false },
	{ "destroy-ud", destroy_ud, make_ud, .own = false },
	{ "destroy-ah", destroy_ah, make_ah, .own = false },
	{ "destroy-mr", destroy_mr, make_mr, .own = false },
	{ "destroy-cq", destroy_cq, make_cq, .own = false },
	{ "destroy-pd", destroy_pd, make_pd, .own = false },
	{}
};

static const struct group first = { .calls = first_calls }, last = { .calls = last_calls };

/* In their order: all use the objects of the first */
static const struct group *const groups[] = {
	&first, &nth_mr, &nth_srq, &nth_mw, &nth_mcast, &nth_odp, &nth_dmabuf, &nth_path, &last,
};

/* How often each error came */
struct errors {
	int err[MOST_ERRORS];
	unsigned int times[MOST_ERRORS], num;
};

static void count_error(struct errors *e, int err)
{
	unsigned int i;

	for (i = 0; i < e->num && e->err[i] != err; i++)
		;
	if (i == MOST_ERRORS)
		die("too many kinds of errors: %s", strerror(err));
	if (i == e->num) {
		e->err[e->num++] = err;
		e->times[i] = 0;
	}
	e->times[i]++;
}

static void print_errors(const struct errors *e)
{
	unsigned int i;

	for (i = 0; i < e->num; i++)
		printf(", %u %s", e->times[i], strerrorname_np(e->err[i]));
	putchar('\n');
}

static bool is_expected(const struct call *c, int err)
{
	const int *also = own ? NULL : c->also;

	while (also && *also && *also != err)
		also++;
	return !err || err == ENOMEM || (also && *also);
}

/* Return: what was left to count, as faults_stop() */
static unsigned int call_once(const struct call *c, unsigned int n, int *err, bool *unsure)
{
	const char *wrong;
	unsigned int left;
	int again;

	errno = 0;
	faults_start(c->whose, n);
	*err = c->make();
	left = faults_stop(c->whose, unsure);
	wrong = c->after ? c->after(*err) : NULL;
	if (wrong)
		die("%s, after allocation %u of it failed: %s", c->name, n, wrong);
	again = *err || !c->undo || (left && !*unsure) ? 0 : c->undo();
	if (again)
		die("%s, after allocation %u of it failed: %s", c->name, n, strerror(again));
	return left;
}

static void walk(const struct call *c)
{
	unsigned int first = own || c->undo ? 1 : MOST_ALLOCATIONS / 2, n;
	unsigned int left = 0, odd_n = 0;
	struct errors errors = {};
	int err = 0, odd = 0;
	bool unsure;

	for (n = first; n < MOST_ALLOCATIONS; n += !unsure) {
		left = call_once(c, n, &err, &unsure);
		if (left && !unsure)
			break;
		if (err)
			count_error(&errors, err);
		if (!odd && !is_expected(c, err)) {
			odd = err;
			odd_n = n;
		}
	}
	printf("%s: %u allocations failed", c->name, n - first);
	print_errors(&errors);
	if (odd)
		case_fail(c->name, "allocation %u: %s", odd_n, strerror(odd));
	else if (n == MOST_ALLOCATIONS)
		case_fail(c->name, "has no end");
	else if (err)
		die("%s, without a failure: %s", c->name, strerror(err));
	else if (own && c->own && n == first)
		case_fail(c->name, "no allocation of the driver failed");
	else
		case_ok(c->name);
}

/* Without faults */
static void make_once(const struct call *c)
{
	const char *wrong;

	if (c->make())
		die("%s: %s", c->name, strerror(errno));
	wrong = c->after ? c->after(0) : NULL;
	if (wrong)
		die("%s: %s", c->name, wrong);
}

/* Other allocations of kernel threads aren't known, so only the driver's own fail there */
static bool is_walked(const struct call *c)
{
	char **name = wanted;

	while (*name && strcmp(*name, c->name))
		name++;
	return (own || c->whose != WORKERS) && (!*wanted || *name);
}

static void walk_group(const struct group *g)
{
	const char *why = g->lacks ? g->lacks() : NULL;
	const struct call *c;

	if (why) {
		for (c = g->calls; c->name; c++)
			case_skip(c->name, why);
		return;
	}
	if (g->begin)
		g->begin();
	faults_start(CHILD, 0);
	for (c = g->calls; c->name; c++) {
		if (is_walked(c))
			walk(c);
		else
			make_once(c);
	}
	if (g->end)
		g->end();
}

/* Calls each of a group once without faults */
static void warm_group(const struct group *g)
{
	const struct call *c;

	if (g->lacks && g->lacks())
		return;
	if (g->begin)
		g->begin();
	for (c = g->calls; c->name; c++)
		make_once(c);
	if (g->end)
		g->end();
}

static void find_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			nth_device = list[i];
	if (!nth_device || open_ctx())
		die("cannot use device %s", name);
}

/* @gid_index: connections to itself. @far_index: paths to @far, by another netdev */
static void find_paths(int gid_index, int far_index, const char *far)
{
	rc_attrs = rc_attr(gid_index);
	rc_attrs.timeout = 14;
	ah_attr = path_to(&rc_attrs, gid_at(ctx, gid_index));
	far_attrs = rc_attrs;
	far_attrs.gid_index = far_index;
	far_attr = path_to(&far_attrs, gid_of_text(far));
	close_ctx();
}

/*
 * Calls each verb once without faults, since some things are allocated when a process does
 * something for the first time. Locks all memory.
 */
static void warm_up(void)
{
	unsigned int i;

	from = mmap(NULL, 2 * DATA_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (from == MAP_FAILED || mlockall(MCL_CURRENT | MCL_FUTURE))
		die("cannot lock memory: %s", strerror(errno));
	to = from + DATA_LEN;
	faults_start(CHILD, 0);
	for (i = 0; i < ARRAY_LEN(groups); i++)
		warm_group(groups[i]);
	destroy_channel();
	close_ctx();
}

static const char usage[] =
"usage: verbs_nth -d DEV -g GID_INDEX -G GID_INDEX -p GID [-o] [CASE...]\n"
"Has each allocation on the way of each verb fail once. A case for each.\n"
"  -g  connections of the device to itself\n"
"  -G  paths by another netdev, to the neighbour with the GID of -p\n"
"  -o  the allocations that count are the driver's own: there must be some\n";

int main(int argc, char **argv)
{
	const char *dev = "", *far = "";
	int o, gid = 0, far_gid = 0;
	unsigned int i;

	while ((o = getopt(argc, argv, "d:g:G:p:oh")) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': gid = atoi(optarg); break;
		case 'G': far_gid = atoi(optarg); break;
		case 'p': far = optarg; break;
		case 'o': own = true; break;
		default: return print_usage(usage, o);
		}
	}
	wanted = argv + optind;
	faults_init();
	find_device(dev);
	find_paths(gid, far_gid, far);
	warm_up();
	for (i = 0; i < ARRAY_LEN(groups); i++)
		walk_group(groups[i]);
	return cases_failed ? 1 : 0;
}
