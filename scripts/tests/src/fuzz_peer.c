// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_peer: traffic of every opcode whose content doesn't matter, for a wire on which somebody
 * else sends, too.
 *
 * Two processes, joined by TCP. In rounds of some seconds, each with new queue pairs, both sides
 * post random operations of RC and UD. What is posted may succeed or fail; what may not happen is
 * that it does neither: no completion within HANG_MS is a failure, and so is a work request that
 * isn't flushed at the end of the round.
 */
#include <getopt.h>

#include "verbs_util.h"

#define RCS		3
#define QPS		(RCS + 1)	/* the last one is UD */
#define DEPTH		16
#define RECVS		128
#define SIZE		(64 << 10)
#define QKEY		0x11111111
#define HANG_MS		90000		/* 8 timeouts of a second, and a slow machine */

struct end {
	struct addr qp[QPS];
	uint32_t rkey;
	uint64_t va;
};

struct flow {
	struct ibv_qp *qp;
	unsigned int posted;		/* sends that have no completion */
	uint64_t progress;		/* when one had */
	bool failed;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static uint8_t *buf;
static struct flow flow[QPS];
static struct rc_attr attr;
static struct end me, peer;
static uint64_t seed = 1;
static unsigned long done[32], rounds;

static bool is_ud(const struct flow *f)
{
	return f == &flow[RCS];
}

static void setup(const char *dev)
{
	ctx = open_device(dev);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 2 * QPS * (DEPTH + RECVS), NULL, NULL, 0);
	if (!pd || !cq)
		die("cannot make objects: %s", strerror(errno));
	buf = new_pages(SIZE);
	rnd_fill(buf, SIZE, 1);
	mr = new_mr(pd, buf, SIZE, IBV_ACCESS_LOCAL_WRITE | attr.access);
	me.rkey = mr->rkey;
	me.va = (uintptr_t)buf;
}

static void post_recv(struct flow *f)
{
	struct ibv_sge sge = { (uintptr_t)buf, SIZE, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = f - flow + QPS, .sg_list = &sge, .num_sge = 1 }, *bad;

	ibv_post_recv(f->qp, &wr, &bad);
}

static void create(struct flow *f)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .sq_sig_all = 1, .cap = { DEPTH, RECVS, 2, 1, 64 },
		.qp_type = is_ud(f) ? IBV_QPT_UD : IBV_QPT_RC,
	};
	struct addr *a = &me.qp[f - flow];

	*f = (struct flow) { .qp = ibv_create_qp(pd, &ia) };
	if (!f->qp)
		die("create_qp: %s", strerror(errno));
	a->qpn = f->qp->qp_num;
	a->psn = rnd(&seed) & 0xffffff;
	if (ibv_query_gid(ctx, 1, attr.gid_index, &a->gid))
		die("no GID with index %d", attr.gid_index);
}

static void connect_ud(struct ibv_qp *qp)
{
	struct ibv_ah_attr av = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = peer.qp[RCS].gid, .sgid_index = attr.gid_index, .hop_limit = 64 },
	};

	ud_up(qp, QKEY, 0);
	ah = ibv_create_ah(pd, &av);
	if (!ah)
		die("create_ah: %s", strerror(errno));
}

static void connect_all(int ctl)
{
	struct flow *f;
	int i;

	for (f = flow; f < flow + QPS; f++)
		create(f);
	write_all(ctl, &me, sizeof(me));
	read_all(ctl, &peer, sizeof(peer));
	for (f = flow; f < flow + QPS; f++) {
		if (is_ud(f))
			connect_ud(f->qp);
		else
			rc_up(f->qp, &attr, me.qp[f - flow].psn, &peer.qp[f - flow]);
		for (i = 0; i < RECVS; i++)
			post_recv(f);
	}
	write_all(ctl, "", 1);
	read_all(ctl, &i, 1);
}

static void post_rc(struct flow *f)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_sge sge = { (uintptr_t)buf, rnd_range(&seed, 0, rnd(&seed) & 1 ? 64 : SIZE / 2), mr->lkey };
	struct ibv_send_wr wr = { .wr_id = f - flow, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = ops[rnd(&seed) % ARRAY_LEN(ops)];
	wr.wr.rdma.remote_addr = peer.va;
	wr.wr.rdma.rkey = peer.rkey;
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = peer.va;
		wr.wr.atomic.rkey = peer.rkey;
	} else if (wr.opcode != IBV_WR_RDMA_READ && sge.length <= 64 && rnd(&seed) & 1) {
		wr.send_flags = IBV_SEND_INLINE;
	}
	f->posted += !ibv_post_send(f->qp, &wr, &bad);
}

static void post_ud(struct flow *f)
{
	struct ibv_sge sge = { (uintptr_t)buf, rnd_range(&seed, 0, 1024), mr->lkey };
	struct ibv_send_wr wr = { .wr_id = f - flow, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = rnd(&seed) & 1 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = peer.qp[RCS].qpn;
	wr.wr.ud.remote_qkey = QKEY;
	f->posted += !ibv_post_send(f->qp, &wr, &bad);
}

/* Takes up completions; false if there was none */
static bool poll_all(bool repost)
{
	struct ibv_wc wc[32];
	int n = ibv_poll_cq(cq, ARRAY_LEN(wc), wc), i;
	struct flow *f;

	if (n < 0)
		die("poll_cq failed");
	for (i = 0; i < n; i++) {
		f = &flow[wc[i].wr_id % QPS];
		f->progress = now_ms();
		if (wc[i].status)
			f->failed = true;
		if (wc[i].wr_id < QPS) {
			done[wc[i].status % ARRAY_LEN(done)]++;
			if (!f->posted--)
				die("QP %u has completed more than was posted", f->qp->qp_num);
		} else if (repost && !f->failed) {
			post_recv(f);
		}
	}
	return n;
}

static void check_hang(void)
{
	struct flow *f;

	for (f = flow; f < flow + QPS; f++)
		if (f->posted && now_ms() - f->progress > HANG_MS)
			die("hang: QP %u (%s), state %d: %u sends without a completion for %u s",
			    f->qp->qp_num, is_ud(f) ? "UD" : "RC", qp_state(f->qp), f->posted,
			    HANG_MS / 1000);
}

static void round_of(unsigned int ms)
{
	uint64_t end = now_ms() + ms;
	struct flow *f;

	while (now_ms() < end) {
		for (f = flow; f < flow + QPS; f++) {
			if (f->failed || f->posted > rnd(&seed) % DEPTH)
				continue;
			if (!f->posted)
				f->progress = now_ms();
			if (is_ud(f))
				post_ud(f);
			else
				post_rc(f);
		}
		if (!poll_all(true))
			usleep(2000);		/* processors are few */
		check_hang();
	}
}

/* To ERR: every send must be flushed, if it doesn't complete before */
static void drain(void)
{
	bool left = true;
	struct flow *f;

	for (f = flow; f < flow + QPS; f++) {
		f->progress = now_ms();
		if (qp_to_state(f->qp, IBV_QPS_ERR))
			die("to ERR: %s", strerror(errno));
	}
	while (left) {
		if (!poll_all(false))
			usleep(300);
		check_hang();
		for (left = false, f = flow; f < flow + QPS; f++)
			left |= f->posted;
	}
	while (poll_all(false))
		;
	for (f = flow; f < flow + QPS; f++)
		if (ibv_destroy_qp(f->qp))
			die("destroy_qp: %s", strerror(errno));
	ibv_destroy_ah(ah);
}

static void report(void)
{
	unsigned int i;

	printf("%lu rounds; send completions:\n", rounds);
	for (i = 0; i < ARRAY_LEN(done); i++)
		if (done[i])
			printf("  %-40s %lu\n", ibv_wc_status_str(i), done[i]);
}

int main(int argc, char **argv)
{
	const char *dev = NULL, *port = NULL;
	char *host = NULL, go;
	unsigned int seconds = 10;
	int c, ctl;

	attr = rc_attr(-1);
	attr.timeout = 17;
	attr.rnr_retry = 6;
	while ((c = getopt(argc, argv, "d:g:p:c:t:s:")) != -1) {
		switch (c) {
		case 'd': dev = optarg; break;
		case 'g': attr.gid_index = atoi(optarg); break;
		case 'p': port = optarg; break;
		case 'c': host = optarg; break;
		case 't': seconds = atoi(optarg); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		default: die("usage: fuzz_peer -d DEVICE -g GID-INDEX -p PORT [-c HOST] [-t SECONDS] [-s SEED]");
		}
	}
	if (!dev || !port || attr.gid_index < 0)
		die("needs -d, -g and -p");
	seed += !host;
	setup(dev);
	ctl = tcp_open(host, port);
	for (uint64_t end = now_ms() + seconds * 1000ull; ; rounds++) {
		go = now_ms() < end;
		/* The one who connected says whether there is another round */
		if (host)
			write_all(ctl, &go, 1);
		else
			read_all(ctl, &go, 1);
		if (!go)
			break;
		connect_all(ctl);
		round_of(4000);
		drain();
	}
	report();
	return !done[IBV_WC_SUCCESS];
}
