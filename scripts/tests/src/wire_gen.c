// SPDX-License-Identifier: GPL-2.0
/*
 * wire_gen: one connection that puts every opcode of RC, UC and UD on the wire, for a capture.
 *
 * The server posts receives, binds windows and answers. The client runs SEND and WRITE (both with
 * and without immediate data), SEND with Invalidate, READ, the atomics, ATOMIC WRITE and FLUSH, in
 * sizes that give ONLY, FIRST-LAST and FIRST-MIDDLE-LAST. Then it runs SENDs and WRITEs of UC, and
 * sends datagrams. Both ends use the given traffic class, hop limit, flow label and service level.
 */
#include <getopt.h>

#include "verbs_util.h"

#define LEN	(16 << 10)
#define RECVS	64
#define QKEY	0x11223344

#define SIZES	5	/* sizes of messages */
#define DATAGRAMS	4

struct end {
	struct addr rc, uc;
	uint32_t ud_qpn, rkey;
	uint64_t va;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *rc, *uc, *ud;
static struct ibv_ah *ah;
static struct ibv_mr *mr;
static uint8_t *buf;
static struct rc_attr attr;
static struct end me, peer;
static unsigned int ex;		/* of enum EX_ */
static uint32_t windows[SIZES];	/* keys of the server's windows */

static struct ibv_qp *new_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .cap = { 16, RECVS, 2, 2, 0 },
	};

	return create_qp_ex(pd, &ia, ex);
}

static void setup(const char *dev)
{
	ctx = open_device(dev);
	ex = ex_ops(ctx);
	attr.access |= ex_access(ex);
	pd = new_pd(ctx);
	cq = new_cq(ctx, 4 * RECVS);
	buf = new_pages(2 * LEN);
	rnd_fill(buf, 2 * LEN, 3);
	mr = new_mr(pd, buf, 2 * LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | attr.access);
	rc = new_qp(IBV_QPT_RC);
	uc = new_qp(IBV_QPT_UC);
	ud = new_qp(IBV_QPT_UD);
	me.rc = (struct addr) { .qpn = rc->qp_num, .psn = 0xfffff0 };
	me.rc.gid = gid_at(ctx, attr.gid_index);
	me.uc = (struct addr) { .qpn = uc->qp_num, .psn = 0xfffff8, .gid = me.rc.gid };
	me.ud_qpn = ud->qp_num;
	me.rkey = mr->rkey;
	me.va = (uintptr_t)buf + LEN;
}

static void post_recvs(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)buf + LEN, LEN, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int i;

	for (i = 0; i < RECVS; i++)
		if (ibv_post_recv(qp, &wr, &bad))
			die("post_recv failed");
}

static void connect_ud(void)
{
	ud_up(ud, QKEY, 0);
	ah = create_ah(pd, &attr, peer.rc.gid);
}

/* Binds windows to all of the memory. Each key is for one SEND with Invalidate */
static void bind_windows(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < SIZES; i++) {
		wr.bind_mw.mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		if (!wr.bind_mw.mw)
			die("alloc_mw: %s", strerror(errno));
		wr.bind_mw.rkey = windows[i] = ibv_inc_rkey(wr.bind_mw.mw->rkey);
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info) {
			.mr = mr, .addr = me.va, .length = LEN,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		};
		if (ibv_post_send(rc, &wr, &bad) || !wait_wc(cq, &wc) || wc.status)
			die("a window can't be bound");
	}
}

static void run_ex(int what)
{
	struct ibv_wc wc;

	if (post_ex(rc, what, 1, IBV_SEND_SIGNALED, peer.rkey, peer.va, buf, 512) ||
	    !wait_wc(cq, &wc) || wc.status)
		die("%s failed", what == EX_FLUSH ? "FLUSH" : "ATOMIC WRITE");
}

static void run(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t len, uint32_t word)
{
	struct ibv_sge sge = { (uintptr_t)buf, len, mr->lkey };
	struct ibv_send_wr wr = { .opcode = op, .sg_list = &sge, .num_sge = len ? 1 : 0,
				  .send_flags = IBV_SEND_SIGNALED, .imm_data = word }, *bad;
	struct ibv_wc wc;

	if (qp == ud) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = peer.ud_qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = peer.va;
		wr.wr.atomic.rkey = peer.rkey;
	} else {
		wr.wr.rdma.remote_addr = peer.va;
		wr.wr.rdma.rkey = peer.rkey;
	}
	if (ibv_post_send(qp, &wr, &bad) || !wait_wc(cq, &wc) || wc.status != IBV_WC_SUCCESS)
		die("operation %d of %u bytes failed", op, len);
}

static void client(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
	};
	uint32_t mtu = mtu_bytes(attr.mtu), imm = htonl(0xabcd), i, s;
	uint32_t sizes[SIZES] = { 0, 5, mtu, mtu + 2, 3 * mtu + 7 };

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		for (s = 0; s < SIZES; s++) {
			run(rc, ops[i], sizes[s], imm);
			if (ops[i] != IBV_WR_RDMA_READ)
				run(uc, ops[i], sizes[s], imm);
		}
	}
	for (s = 0; s < SIZES; s++)
		run(rc, IBV_WR_SEND_WITH_INV, sizes[s], windows[s]);
	run(rc, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0);
	run(rc, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0);
	if (ex & EX_ATOMIC_WRITE)
		run_ex(EX_ATOMIC_WRITE);
	if (ex & EX_FLUSH)
		run_ex(EX_FLUSH);
	for (s = 1; s < 3; s++) {
		run(ud, IBV_WR_SEND, sizes[s], 0);
		run(ud, IBV_WR_SEND_WITH_IMM, sizes[s], imm);
	}
}

static void print_sls(void)
{
	struct ibv_wc wc;
	int left = DATAGRAMS;

	while (left) {
		if (!wait_wc(cq, &wc))
			die("%d datagrams didn't come", left);
		if (wc.qp_num != ud->qp_num)
			continue;
		printf("datagram with SL %u\n", wc.sl);
		left--;
	}
}

static const char usage[] =
"usage: wire_gen --listen PORT | --connect HOST:PORT  [options]\n"
"       wire_gen --lacks [-d DEV]\n"
"Puts every opcode of RC, UC and UD on the wire once or more; or says what the device lacks.\n"
"The server prints the SL of each datagram.\n"
"  -d, --dev DEV  -g, --gid N  -m, --mtu BYTES (1024)\n"
"  -t, --tclass N  -H, --hop N  -f, --flow N  -s, --sl N   of both QPs (0, 64, 0, 0)\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "gid", 1, NULL, 'g' }, { "mtu", 1, NULL, 'm' },
	{ "tclass", 1, NULL, 't' }, { "hop", 1, NULL, 'H' }, { "flow", 1, NULL, 'f' },
	{ "sl", 1, NULL, 's' }, { "listen", 1, NULL, 'l' }, { "connect", 1, NULL, 'c' },
	{ "lacks", 0, NULL, 'L' }, { "help", 0, NULL, 'h' }, {},
};

/* Prints the names that roce.py uses */
static void print_lacks(const char *dev)
{
	unsigned int have = ex_ops(open_device(dev));

	puts(have & EX_ATOMIC_WRITE ? "" : "ATOMIC_WRITE");
	puts(have & EX_FLUSH ? "" : "FLUSH");
}

int main(int argc, char **argv)
{
	char *dev = NULL, *port = NULL, *target = NULL, sync = 0;
	bool lacks = false;
	int o, fd;

	attr = rc_attr(0);
	while ((o = getopt_long(argc, argv, "d:g:m:t:H:f:s:l:c:h", options, NULL)) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': attr.gid_index = atoi(optarg); break;
		case 'm': attr.mtu = mtu_from_bytes(atoi(optarg)); break;
		case 't': attr.traffic_class = strtoul(optarg, NULL, 0); break;
		case 'H': attr.hop_limit = strtoul(optarg, NULL, 0); break;
		case 'f': attr.flow_label = strtoul(optarg, NULL, 0); break;
		case 's': attr.sl = strtoul(optarg, NULL, 0); break;
		case 'l': port = optarg; break;
		case 'c': target = optarg; break;
		case 'L': lacks = true; break;
		default: return print_usage(usage, o);
		}
	}
	if (lacks) {
		print_lacks(dev);
		return 0;
	}
	if (!port && !target)
		die("either --listen PORT or --connect HOST:PORT");
	if (target)
		port = split_port(target);
	setup(dev);
	fd = tcp_open(target, port);
	write_all(fd, &me, sizeof(me));
	read_all(fd, &peer, sizeof(peer));
	rc_up(rc, &attr, me.rc.psn, &peer.rc);
	rc_up(uc, &attr, me.uc.psn, &peer.uc);
	connect_ud();
	post_recvs(rc);
	post_recvs(uc);
	post_recvs(ud);
	if (target) {
		write_all(fd, &sync, 1);
		read_all(fd, windows, sizeof(windows));
		client();
	} else {
		read_all(fd, &sync, 1);
		bind_windows();
		write_all(fd, windows, sizeof(windows));
	}
	write_all(fd, &sync, 1);	/* the server exits after the client */
	read_all(fd, &sync, 1);
	if (!target)
		print_sls();
	return 0;
}
