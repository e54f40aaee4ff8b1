// SPDX-License-Identifier: GPL-2.0
/*
 * A chain of UD queue pairs on one device. Each has a send to the next one in its
 * ring, and only the doorbell of the first is rung. A receiver may run the next
 * sender directly, but the depth of these calls must be limited.
 *
 * usage: ud_chain DEV GID_INDEX LENGTH
 */
#include <stdbool.h>
#include <sys/syscall.h>
#include "verbs_util.h"

#define QKEY	7
#define BYTES	64
#define ROOM	1024

struct chain {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_qp **qp;
	int length;
};

static bool hold_doorbells;

/* The provider rings the doorbell by write(), which this replaces: it holds doorbells back. */
ssize_t write(int fd, const void *buf, size_t len)
{
	if (hold_doorbells && fd > 2)
		return len;
	return syscall(SYS_write, fd, buf, len);
}

static void open_chain(struct chain *c, const char *dev, int gid_index)
{
	struct rc_attr near = { .gid_index = gid_index, .hop_limit = 1 };
	char *buf = calloc(2, ROOM);

	c->ctx = open_device(dev);
	c->pd = new_pd(c->ctx);
	c->cq = new_cq(c->ctx, 4 * c->length);
	c->mr = new_mr(c->pd, buf, 2 * ROOM, IBV_ACCESS_LOCAL_WRITE);
	c->ah = create_ah(c->pd, &near, gid_at(c->ctx, gid_index));
	c->qp = calloc(c->length + 1, sizeof(*c->qp));
	if (!buf || !c->qp)
		die("cannot set up: %m");
}

static struct ibv_qp *ready_qp(struct chain *c)
{
	struct ibv_qp_init_attr init = {
		.send_cq = c->cq, .recv_cq = c->cq, .qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_sge sge = { (uintptr_t)c->mr->addr + ROOM, ROOM, c->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *qp = create_qp(c->pd, &init);

	ud_up(qp, QKEY, 0);
	if (ibv_post_recv(qp, &wr, &bad))
		die("cannot post a receive: %m");
	return qp;
}

static void post(struct chain *c, int i)
{
	struct ibv_sge sge = { (uintptr_t)c->mr->addr, BYTES, c->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { c->ah, c->qp[i + 1]->qp_num, QKEY },
	};

	if (ibv_post_send(c->qp[i], &wr, &bad))
		die("cannot post: %m");
}

int main(int argc, char **argv)
{
	struct chain c = {};
	struct ibv_wc wc;
	int i;

	if (argc != 4)
		die("usage: ud_chain DEV GID_INDEX LENGTH");
	c.length = atoi(argv[3]);
	open_chain(&c, argv[1], atoi(argv[2]));
	for (i = 0; i <= c.length; i++)
		c.qp[i] = ready_qp(&c);
	hold_doorbells = true;
	for (i = c.length - 1; i > 0; i--)
		post(&c, i);
	hold_doorbells = false;
	post(&c, 0);
	for (i = 0; i < 2 * c.length; i++) {
		if (wait_wc_ms(c.cq, &wc, 10000) <= 0 || wc.status)
			die("%d of %d completions came", i, 2 * c.length);
	}
	printf("a chain of %d\n", c.length);
	return 0;
}
