// SPDX-License-Identifier: GPL-2.0
/*
 * rc_huge: a message of 2^31 bytes by WRITE, SEND and READ, from one RC queue pair to another.
 *
 * Each buffer is a few MiB of memory that is mapped again and again, up to the length of the
 * message. The two memories have different sizes. In the end, each place of the target has the last
 * byte that was written to it, and this byte depends on its position in the message.
 *
 * usage: rc_huge DEV GID_INDEX PEER_DEV PEER_GID_INDEX MTU OP...
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "verbs_util.h"

#define LENGTH		(1ull << 31)
#define TARGET_BYTES	(4ull << 20)
#define SOURCE_BYTES	(TARGET_BYTES + PAGE)
#define PAGE		4096ull
#define LIMIT_MS	600000

struct memory {
	uint8_t *at;		/* LENGTH bytes */
	uint64_t bytes;		/* size of its own memory */
	struct ibv_mr *mr;
};

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rc_attr attr;
	struct addr addr;
	struct memory mem[2];	/* source, target */
};

static const struct op {
	const char *name;
	enum ibv_wr_opcode wr;
} ops[] = {
	{ "write", IBV_WR_RDMA_WRITE },
	{ "send", IBV_WR_SEND },
	{ "read", IBV_WR_RDMA_READ },
};

enum { SOURCE, TARGET };

static void make_memory(struct end *e, struct memory *m, uint64_t bytes)
{
	int fd = memfd_create("rc_huge", 0), prot = PROT_READ | PROT_WRITE;
	uint64_t off, n;

	m->bytes = bytes;
	m->at = mmap(NULL, LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || ftruncate(fd, bytes) || m->at == MAP_FAILED)
		die("no memory: %m");
	for (off = 0; off < LENGTH; off += bytes) {
		n = bytes < LENGTH - off ? bytes : LENGTH - off;
		if (mmap(m->at + off, n, prot, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			die("cannot map: %m");
	}
	close(fd);
	m->mr = ibv_reg_mr(e->pd, m->at, LENGTH, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!m->mr)
		die("cannot register %llu bytes: %m", LENGTH);
}

static void open_end(struct end *e, const char *dev, int gid_index, int mtu)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	e->ctx = open_device(dev);
	e->pd = new_pd(e->ctx);
	e->cq = new_cq(e->ctx, 4);
	e->addr.gid = gid_at(e->ctx, gid_index);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	e->qp = create_qp(e->pd, &init);
	make_memory(e, &e->mem[SOURCE], SOURCE_BYTES);
	make_memory(e, &e->mem[TARGET], TARGET_BYTES);
	e->attr = rc_attr(gid_index);
	e->attr.mtu = mtu_from_bytes(mtu);
	e->addr.qpn = e->qp->qp_num;
	e->addr.psn = 0xfff000;
}

/* Does each place of the target have the last byte of the message that went there? */
static bool verify(const struct memory *source, const struct memory *target)
{
	uint64_t off, last;

	for (off = 0; off < target->bytes; off += PAGE) {
		last = off + (LENGTH - 1 - off) / target->bytes * target->bytes;
		if (memcmp(target->at + off, source->at + last % source->bytes, PAGE))
			return false;
	}
	return true;
}

static void post(struct end *e, struct end *peer, const struct op *op)
{
	bool read = op->wr == IBV_WR_RDMA_READ;
	struct memory *local = &e->mem[read ? TARGET : SOURCE];
	struct memory *remote = &peer->mem[read ? SOURCE : TARGET];
	struct ibv_sge sge = { (uintptr_t)local->at, LENGTH, local->mr->lkey };
	struct ibv_sge there = { (uintptr_t)remote->at, LENGTH, remote->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &there, .num_sge = 1 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op->wr,
		.wr.rdma = { (uintptr_t)remote->at, remote->mr->rkey },
	};

	if (op->wr == IBV_WR_SEND && ibv_post_recv(peer->qp, &recv, &bad_recv))
		die("cannot post a receive: %m");
	if (ibv_post_send(e->qp, &wr, &bad))
		die("cannot post: %m");
}

static bool complete(struct end *e, const char *name, bool receive)
{
	struct ibv_wc wc;

	if (!wait_wc_ms(e->cq, &wc, LIMIT_MS))
		case_fail(name, "no completion");
	else if (wc.status)
		case_fail(name, "%s", ibv_wc_status_str(wc.status));
	else if (receive && wc.byte_len != LENGTH)
		case_fail(name, "received %u bytes", wc.byte_len);
	else
		return true;
	return false;
}

static void run(struct end *e, struct end *peer, const struct op *op, int mtu)
{
	bool read = op->wr == IBV_WR_RDMA_READ;
	struct memory *source = &(read ? peer : e)->mem[SOURCE];
	struct memory *target = &(read ? e : peer)->mem[TARGET];
	char name[40];

	snprintf(name, sizeof(name), "%s-mtu-%d", op->name, mtu);
	rnd_fill(source->at, source->bytes, now_ms());
	memset(target->at, 0, target->bytes);
	post(e, peer, op);
	if (!complete(e, name, false) ||
	    (op->wr == IBV_WR_SEND && !complete(peer, name, true)))
		return;
	if (verify(source, target))
		case_ok(name);
	else
		case_fail(name, "the data is wrong");
}

int main(int argc, char **argv)
{
	struct end a = {}, b = {};
	unsigned int i;
	int n, mtu;

	if (argc < 7)
		die("usage: rc_huge DEV GID_INDEX PEER_DEV PEER_GID_INDEX MTU write|send|read...");
	mtu = atoi(argv[5]);
	open_end(&a, argv[1], atoi(argv[2]), mtu);
	open_end(&b, argv[3], atoi(argv[4]), mtu);
	rc_up(a.qp, &a.attr, a.addr.psn, &b.addr);
	rc_up(b.qp, &b.attr, b.addr.psn, &a.addr);
	for (n = 6; n < argc; n++)
		for (i = 0; i < ARRAY_LEN(ops); i++)
			if (!strcmp(argv[n], ops[i].name))
				run(&a, &b, &ops[i], mtu);
	return !!cases_failed;
}
