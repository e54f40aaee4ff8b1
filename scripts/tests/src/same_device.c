// SPDX-License-Identifier: GPL-2.0
/*
 * Connects two RC queue pairs of one device, a and b, by GIDs of its table. Then one
 * WRITE is done, or two with a command in between.
 *
 * usage: same_device DEV GID_A GID_B
 *	one WRITE from a to b
 *        same_device DEV GID_A GID_B stranger
 *	... by a third queue pair, which uses the address of a
 *        same_device DEV GID_A GID_B COMMAND
 *	... and a second WRITE after COMMAND
 *
 * GID_A and GID_B are indexes.  Prints the last WRITE's status, and "wrote" if b's
 * memory has the bytes, or "nothing".
 */
#include "verbs_util.h"

#define BYTES	40000
#define PSN	77

struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct rc_attr attr;
	union ibv_gid gid;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;	/* of the source and the target behind it */
static char *buf;

static struct end make_end(int gid_index)
{
	struct end e = { .attr = rc_attr(gid_index) };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	e.attr.timeout = 14;	/* 67 ms */
	e.attr.retry = 3;
	e.cq = new_cq(ctx, 16);
	init.send_cq = e.cq;
	init.recv_cq = e.cq;
	e.qp = create_qp(pd, &init);
	e.gid = gid_at(ctx, gid_index);
	return e;
}

static void join(struct end *e, const struct end *peer)
{
	struct addr addr = { .qpn = peer->qp->qp_num, .psn = PSN, .gid = peer->gid };

	rc_up(e->qp, &e->attr, PSN, &addr);
}

static enum ibv_wc_status do_write(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)buf, BYTES, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)buf + BYTES, mr->rkey },
	};
	struct ibv_wc wc;

	memset(buf, 0x5a, BYTES);
	memset(buf + BYTES, 0, BYTES);
	if (ibv_post_send(e->qp, &wr, &bad))
		die("cannot post: %m");
	if (!wait_wc(e->cq, &wc))
		die("no completion");
	return wc.status;
}

static void tell(enum ibv_wc_status status)
{
	bool wrote = false;
	int i;

	for (i = 0; i < BYTES; i++)
		wrote |= buf[BYTES + i];
	printf("%s, %s\n", ibv_wc_status_str(status), wrote ? "wrote" : "nothing");
}

int main(int argc, char **argv)
{
	enum ibv_wc_status status;
	struct end a, b, c;

	if (argc < 4)
		die("usage: same_device DEV GID_A GID_B [stranger|COMMAND]");
	ctx = open_device(argv[1]);
	pd = ibv_alloc_pd(ctx);
	buf = malloc(2 * BYTES);
	mr = pd && buf ? ibv_reg_mr(pd, buf, 2 * BYTES,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) : NULL;
	if (!mr)
		die("cannot set up: %m");
	a = make_end(atoi(argv[2]));
	b = make_end(atoi(argv[3]));
	join(&a, &b);
	join(&b, &a);
	if (argc > 4 && !strcmp(argv[4], "stranger")) {
		c = make_end(atoi(argv[2]));
		join(&c, &b);
		tell(do_write(&c));
		return 0;
	}
	status = do_write(&a);
	if (argc > 4) {
		if (status)
			die("the first WRITE: %s", ibv_wc_status_str(status));
		if (system(argv[4]))
			die("failed: %s", argv[4]);
		status = do_write(&a);
	}
	tell(status);
	return 0;
}
