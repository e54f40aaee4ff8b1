// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_peer: traffic with all opcodes, for a wire with forged packets. Data isn't compared.
 *
 * Two processes, connected by TCP. In rounds of some seconds, each with new queue pairs, both sides
 * post random operations of RC, UC and UD. A work request may succeed or fail. It is a failure of
 * the test if a work request doesn't complete within HANG_MS, if one isn't flushed at the end of
 * the round, or if a kind of operation never succeeds, as a send or as a receive.
 */
#include <getopt.h>

#include "verbs_util.h"

#define RCS		3
#define UC		RCS
#define UD		(RCS + 1)
#define QPS		(UD + 1)
#define WINDOWS		16		/* per RC queue pair and round, for SENDs with Invalidate */
#define DEPTH		16
#define RECVS		128
#define SIZE		(64 << 10)
#define QKEY		0x11111111
#define HANG_MS		90000		/* 8 timeouts of a second, and a slow machine */

enum kind {
	SEND, SEND_IMM, WRITE, WRITE_IMM, SEND_INV, READ, CMP_SWAP, FETCH_ADD, ATOMIC_WRITE, FLUSH,
	BIND, KINDS
};

/* Kinds of receives */
enum got { GOT_SEND, GOT_SEND_IMM, GOT_SEND_INV, GOT_WRITE_IMM, GOTS };

static const char * const got_name[GOTS] = {
	"receives of SEND", "receives of SEND_IMM", "receives of SEND_INV", "receives of WRITE_IMM",
};

#define UC_KINDS	(WRITE_IMM + 1)
#define UD_KINDS	(SEND_IMM + 1)

static const char * const kind_name[KINDS] = {
	"SEND", "SEND_IMM", "WRITE", "WRITE_IMM", "SEND_INV", "READ", "CMP_SWAP", "FETCH_ADD",
	"ATOMIC_WRITE", "FLUSH", "BIND",
};

static const enum ibv_wr_opcode kind_wr[KINDS] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
};

struct end {
	struct addr qp[QPS];
	uint32_t rkey;
	uint64_t va;
	uint32_t window[RCS][WINDOWS];	/* keys */
};

struct flow {
	struct ibv_qp *qp;
	struct ibv_mw *mw[WINDOWS];
	unsigned int windows;		/* the peer's windows that aren't used yet */
	unsigned int posted;		/* sends without a completion yet */
	uint64_t progress;		/* time of the last completion */
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
static unsigned long done[32], rounds, succeeded[3][KINDS], got[3][GOTS];	/* [0]: RC, [1]: UC, [2]: UD */
static unsigned int ex;			/* of enum EX_ */

static bool is_ud(const struct flow *f)
{
	return f == &flow[UD];
}

static int service_of(const struct flow *f)
{
	return f < &flow[UC] ? 0 : f - &flow[UC] + 1;
}

static const char *service_name(int service)
{
	return service ? service == 1 ? "UC" : "UD" : "RC";
}

/* Which flow, which kind; receives have odd multiples of QPS */
static uint64_t send_id(const struct flow *f, enum kind kind)
{
	return f - flow + 2 * QPS * kind;
}

static bool is_send(uint64_t wr_id)
{
	return !(wr_id / QPS % 2);
}

static void setup(const char *dev)
{
	ctx = open_device(dev);
	ex = ex_ops(ctx);
	attr.access |= ex_access(ex);
	pd = new_pd(ctx);
	cq = new_cq(ctx, 2 * QPS * (DEPTH + RECVS));
	buf = new_pages(SIZE);
	rnd_fill(buf, SIZE, 1);
	mr = new_mr(pd, buf, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | attr.access);
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
		.send_cq = cq, .recv_cq = cq, .sq_sig_all = 1, .cap = { DEPTH + WINDOWS, RECVS, 2, 1, 64 },
		.qp_type = is_ud(f) ? IBV_QPT_UD : service_of(f) ? IBV_QPT_UC : IBV_QPT_RC,
	};
	struct addr *a = &me.qp[f - flow];

	*f = (struct flow) { .windows = WINDOWS };
	f->qp = create_qp_ex(pd, &ia, ex);
	a->qpn = f->qp->qp_num;
	a->psn = rnd(&seed) & 0xffffff;
	a->gid = gid_at(ctx, attr.gid_index);
}

static void connect_ud(struct ibv_qp *qp)
{
	ud_up(qp, QKEY, 0);
	ah = create_ah(pd, &attr, peer.qp[UD].gid);
}

/*
 * Called before the peer knows the keys.  A forged packet may have killed the queue pair by then.
 */
static void bind_windows(struct flow *f)
{
	struct ibv_send_wr wr = { .wr_id = send_id(f, BIND), .opcode = IBV_WR_BIND_MW }, *bad;
	int i;

	for (i = 0; i < WINDOWS; i++) {
		f->mw[i] = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		if (!f->mw[i])
			die("alloc_mw: %s", strerror(errno));
		wr.bind_mw.mw = f->mw[i];
		wr.bind_mw.rkey = me.window[f - flow][i] = ibv_inc_rkey(f->mw[i]->rkey);
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info) {
			.mr = mr, .addr = me.va, .length = SIZE,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		};
		f->posted += !ibv_post_send(f->qp, &wr, &bad);
	}
	f->progress = now_ms();
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
		if (!service_of(f))
			bind_windows(f);
	}
	write_all(ctl, &me, sizeof(me));
	read_all(ctl, &peer, sizeof(peer));
}

/*
 * SEND_INV: a window of the peer, which is then used up. Other kinds: the peer's region, by a
 * window or by its own key
 */
static uint32_t pick_rkey(struct flow *f, enum kind kind)
{
	if (kind == SEND_INV)
		return peer.window[f - flow][--f->windows];
	if (kind <= READ && !service_of(f) && f->windows && rnd(&seed) & 1)
		return peer.window[f - flow][f->windows - 1];
	return peer.rkey;
}

/* A kind of operation that the queue pair supports */
static enum kind pick_kind(const struct flow *f)
{
	enum kind kind = rnd(&seed) % (service_of(f) ? UC_KINDS : BIND);

	if ((kind == SEND_INV && !f->windows) || (kind == FLUSH && !(ex & EX_FLUSH)) ||
	    (kind == ATOMIC_WRITE && !(ex & EX_ATOMIC_WRITE)))
		return READ;
	return kind;
}

static int post_ex_kind(struct flow *f, enum kind kind)
{
	return post_ex(f->qp, kind == FLUSH ? EX_FLUSH : EX_ATOMIC_WRITE, send_id(f, kind), 0,
		       peer.rkey, peer.va, buf, rnd_range(&seed, 0, SIZE));
}

static void post_connected(struct flow *f)
{
	uint32_t len = rnd_range(&seed, 0, rnd(&seed) & 1 ? 64 : SIZE / 2);
	struct ibv_sge sge = { (uintptr_t)buf, len, mr->lkey };
	enum kind kind = pick_kind(f);
	struct ibv_send_wr wr = { .wr_id = send_id(f, kind), .sg_list = &sge, .num_sge = 1,
				  .opcode = kind_wr[kind] }, *bad;
	uint32_t rkey = pick_rkey(f, kind);

	if (kind == FLUSH || kind == ATOMIC_WRITE) {
		f->posted += !post_ex_kind(f, kind);
		return;
	}
	wr.wr.rdma.remote_addr = peer.va;
	wr.wr.rdma.rkey = rkey;
	if (kind == SEND_INV)
		wr.invalidate_rkey = rkey;
	if (kind == CMP_SWAP || kind == FETCH_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = peer.va;
		wr.wr.atomic.rkey = rkey;
	} else if (kind != READ && sge.length <= 64 && rnd(&seed) & 1) {
		wr.send_flags = IBV_SEND_INLINE;
	}
	f->posted += !ibv_post_send(f->qp, &wr, &bad);
}

static void post_ud(struct flow *f)
{
	struct ibv_sge sge = { (uintptr_t)buf, rnd_range(&seed, 0, 1024), mr->lkey };
	enum kind kind = rnd(&seed) % UD_KINDS;
	struct ibv_send_wr wr = { .wr_id = send_id(f, kind), .sg_list = &sge, .num_sge = 1,
				  .opcode = kind_wr[kind] }, *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = peer.qp[UD].qpn;
	wr.wr.ud.remote_qkey = QKEY;
	f->posted += !ibv_post_send(f->qp, &wr, &bad);
}

static void count_recv(const struct flow *f, const struct ibv_wc *wc)
{
	bool imm = wc->wc_flags & IBV_WC_WITH_IMM;

	if (wc->status)
		return;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		got[service_of(f)][GOT_WRITE_IMM]++;
	else if (wc->wc_flags & IBV_WC_WITH_INV)
		got[service_of(f)][GOT_SEND_INV]++;
	else
		got[service_of(f)][imm ? GOT_SEND_IMM : GOT_SEND]++;
}

/* Handles completions. Return: false if there was none */
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
		if (is_send(wc[i].wr_id)) {
			done[wc[i].status % ARRAY_LEN(done)]++;
			if (!wc[i].status)
				succeeded[service_of(f)][wc[i].wr_id / (2 * QPS)]++;
			if (!f->posted--)
				die("QP %u has completed more than was posted", f->qp->qp_num);
			continue;
		}
		count_recv(f, &wc[i]);
		if (repost && !f->failed)
			post_recv(f);
	}
	return n;
}

static void check_hang(void)
{
	struct flow *f;

	for (f = flow; f < flow + QPS; f++)
		if (f->posted && now_ms() - f->progress > HANG_MS)
			die("hang: QP %u (%s), state %d: %u sends without a completion for %u s",
			    f->qp->qp_num, service_name(service_of(f)), qp_state(f->qp), f->posted,
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
				post_connected(f);
		}
		if (!poll_all(true))
			usleep(2000);		/* leave the processor to the other processes */
		check_hang();
	}
}

/* Sets queue pairs to ERR. Each send must complete, or be flushed */
static void drain(void)
{
	bool left = true;
	struct flow *f;
	int i;

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
	for (f = flow; f < flow + QPS; f++) {
		if (ibv_destroy_qp(f->qp))
			die("destroy_qp: %s", strerror(errno));
		for (i = 0; i < WINDOWS; i++)
			if (f->mw[i] && ibv_dealloc_mw(f->mw[i]))
				die("dealloc_mw: %s", strerror(errno));
	}
	ibv_destroy_ah(ah);
}

/* Return: true if each kind of operation has succeeded, and has been received if it can be */
static bool report_kinds(void)
{
	static const int kinds[] = { KINDS, UC_KINDS, UD_KINDS };
	bool all = true;
	int s, k;

	for (s = 0; s < 3; s++) {
		for (k = 0; k < kinds[s]; k++) {
			if ((k == FLUSH && !(ex & EX_FLUSH)) ||
			    (k == ATOMIC_WRITE && !(ex & EX_ATOMIC_WRITE)))
				continue;
			printf("  %s %-37s %lu\n", service_name(s), kind_name[k], succeeded[s][k]);
			all &= succeeded[s][k] > 0;
		}
		for (k = 0; k < GOTS; k++) {
			if ((k == GOT_SEND_INV && s) || (k == GOT_WRITE_IMM && s == 2))
				continue;
			printf("  %s %-37s %lu\n", service_name(s), got_name[k], got[s][k]);
			all &= got[s][k] > 0;
		}
	}
	return all;
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
		/* The side that connected decides whether there is another round */
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
	return !report_kinds();
}
