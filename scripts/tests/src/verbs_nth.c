// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: calls each verb again and again. In each call, another allocation of the kernel fails:
 * the first, the second, and so on until all have failed once.
 *
 * A call with a failed allocation may fail with ENOMEM, and then changes nothing. Or it succeeds.
 * The settings in debugfs (fail.sh) say which allocations count.
 */
#include <getopt.h>
#include <sys/mman.h>

#include "verbs_util.h"

#define MOST_ALLOCATIONS 5000
#define DATA_LEN 100000
#define DEPTH 100

static struct ibv_device *device;
static struct ibv_context *ctx;
static struct ibv_comp_channel *channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static struct ibv_qp *rc, *ud;
static struct rc_attr rc_attrs;
static struct ibv_ah_attr ah_attr;
static uint8_t *from, *to;
static int nth_fd, cqe;
static bool own;		/* only allocations of the driver itself fail */

/* The file stays open: to open one takes allocations, too. */
static void set_nth(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(nth_fd, text, len, 0) != len)
		die("cannot write fail-nth: %s", strerror(errno));
}

/* Return: 0 if the allocation has failed; else the number that was left to count */
static unsigned int stop_nth(void)
{
	char text[16];
	ssize_t len = pread(nth_fd, text, sizeof(text) - 1, 0);
	unsigned int left;

	if (len <= 0)
		die("cannot read fail-nth: %s", strerror(errno));
	text[len] = 0;
	left = strtoul(text, NULL, 10);
	set_nth(0);
	return left;
}

/* Each verb and each undo returns 0 or an errno. No allocation of an undo fails. */

static int made(void *obj)
{
	return obj ? 0 : errno ? errno : EIO;
}

static int open_ctx(void)
{
	ctx = ibv_open_device(device);
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
	if (cq)
		cqe = cq->cqe;
	return made(cq);
}

static int destroy_cq(void)
{
	return ibv_destroy_cq(cq);
}

/* A CQ is unusable if the library couldn't map its new ring: make another one. */
static int grow_cq(void)
{
	int err = ibv_resize_cq(cq, 4 * DEPTH);

	if (err && cq->cqe != cqe) {
		if (own)
			die("ibv_resize_cq() failed, but there are %d places", cq->cqe);
		set_nth(0);
		if (destroy_cq() || make_cq())
			die("cannot make another CQ");
	}
	return err;
}

static int shrink_cq(void)
{
	return ibv_resize_cq(cq, DEPTH);
}

static int make_mr(void)
{
	mr = ibv_reg_mr(pd, from, 2 * DATA_LEN, rc_attrs.access | IBV_ACCESS_LOCAL_WRITE);
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

static struct ibv_qp *make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 4,
			 .max_recv_sge = 4 },
	};

	return ibv_create_qp(pd, &ia);
}

static int make_ud(void)
{
	ud = make_qp(IBV_QPT_UD);
	return made(ud);
}

static int destroy_ud(void)
{
	return ibv_destroy_qp(ud);
}

static int make_rc(void)
{
	rc = make_qp(IBV_QPT_RC);
	return made(rc);
}

static int destroy_rc(void)
{
	return ibv_destroy_qp(rc);
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

static int nothing(void)
{
	return 0;
}

/*
 * Sends one message of many packets from one half of the region to the other. If an allocation
 * fails, a packet is lost and sent again: the message always arrives.
 */
static int transfer(enum ibv_wr_opcode opcode)
{
	struct ibv_sge src = { .addr = (uintptr_t)from, .length = DATA_LEN, .lkey = mr->lkey };
	struct ibv_sge dst = { .addr = (uintptr_t)to, .length = DATA_LEN, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .num_sge = 1, .sg_list = &src }, *bad;
	struct ibv_recv_wr rwr = { .num_sge = 1, .sg_list = &dst }, *bad_r;
	int left = opcode == IBV_WR_SEND ? 2 : 1, err;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)to;
	wr.wr.rdma.rkey = mr->rkey;
	rnd_fill(from, DATA_LEN, now_ns());
	err = left == 2 ? ibv_post_recv(rc, &rwr, &bad_r) : 0;
	if (!err)
		err = ibv_post_send(rc, &wr, &bad);
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
	return transfer(IBV_WR_SEND);
}

static int transfer_write(void)
{
	return transfer(IBV_WR_RDMA_WRITE);
}

static int transfer_read(void)
{
	return transfer(IBV_WR_RDMA_READ);
}

/*
 * The calls, in their order: later ones use the objects of earlier ones. When a call succeeds
 * though an allocation failed, undo makes it possible to call it again. Calls without undo post
 * work requests. If their doorbell fails, the work requests wait in the ring for the next doorbell.
 * So only allocations of the driver itself fail there.
 */
static const struct call {
	const char *name;
	int (*make)(void);
	int (*undo)(void);
	bool own;	/* the driver itself allocates memory in this call */
} calls[] = {
	{ "open", open_ctx, close_ctx, false },
	{ "channel", make_channel, destroy_channel, false },
	{ "pd", make_pd, destroy_pd, false },
	{ "cq", make_cq, destroy_cq, true },
	{ "resize-cq", grow_cq, shrink_cq, true },
	{ "mr", make_mr, destroy_mr, true },
	{ "ah", make_ah, destroy_ah, true },
	{ "ud", make_ud, destroy_ud, true },
	{ "rc", make_rc, destroy_rc, true },
	{ "init", to_init, to_reset, false },
	{ "rtr", to_rtr, back_to_init, true },
	{ "rts", to_rts, back_to_rtr, false },
	{ "query", query, nothing, false },
	{ "send", transfer_send, NULL, false },
	{ "write", transfer_write, NULL, false },
	{ "read", transfer_read, NULL, false },
	{ "destroy-rc", destroy_rc, make_rc, false },
	{ "destroy-ud", destroy_ud, make_ud, false },
	{ "destroy-ah", destroy_ah, make_ah, false },
	{ "destroy-mr", destroy_mr, make_mr, false },
	{ "destroy-cq", destroy_cq, make_cq, false },
	{ "destroy-pd", destroy_pd, make_pd, false },
};

/* The driver's error is ENOMEM. A library may go on without memory, or return another error. */
static void walk(const struct call *c)
{
	unsigned int first = own || c->undo ? 1 : MOST_ALLOCATIONS / 2, n, left, errors = 0;
	int err, again;

	for (n = first; n < MOST_ALLOCATIONS; n++) {
		errno = 0;
		set_nth(n);
		err = c->make();
		left = stop_nth();
		if (left)
			break;
		errors += !!err;
		if (own && err && err != ENOMEM) {
			case_fail(c->name, "allocation %u: %s", n, strerror(err));
			return;
		}
		again = err || !c->undo ? 0 : c->undo();
		if (again)
			die("%s, after allocation %u of it failed: %s", c->name, n, strerror(again));
	}
	printf("%s: %u allocations failed, %u calls\n", c->name, n - first, errors);
	if (n == MOST_ALLOCATIONS)
		case_fail(c->name, "has no end");
	else if (err)
		die("%s, without a failure: %s", c->name, strerror(err));
	else if (own && c->own && n == first)
		case_fail(c->name, "no allocation of the driver failed");
	else
		case_ok(c->name);
}

static void find_device(const char *name, int gid_index)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			device = list[i];
	if (!device || open_ctx())
		die("cannot use device %s", name);
	rc_attrs = rc_attr(gid_index);
	rc_attrs.timeout = 14;
	ah_attr = path_to(&rc_attrs, gid_at(ctx, gid_index));
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
	for (i = 0; i < ARRAY_LEN(calls); i++)
		if (calls[i].make())
			die("%s: %s", calls[i].name, strerror(errno));
	destroy_channel();
	close_ctx();
}

static const char usage[] =
"usage: verbs_nth -d DEV -g GID_INDEX [-o]\n"
"Has each allocation on the way of each verb fail once. A case for each.\n"
"  -o  those that count are the driver's own: there must be some\n";

int main(int argc, char **argv)
{
	const char *dev = "";
	unsigned int i;
	int o, gid = 0;

	while ((o = getopt(argc, argv, "d:g:oh")) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': gid = atoi(optarg); break;
		case 'o': own = true; break;
		default: return print_usage(usage, o);
		}
	}
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (nth_fd < 0)
		die("no fail-nth: %s", strerror(errno));
	find_device(dev, gid);
	warm_up();
	for (i = 0; i < ARRAY_LEN(calls); i++)
		walk(&calls[i]);
	return cases_failed ? 1 : 0;
}
