// SPDX-License-Identifier: GPL-2.0
/*
 * rc_goodput: measures how much verified data one RC queue pair moves in a time, also on a bad
 * wire.
 *
 * Two processes, connected by TCP. The client keeps a number of equal messages in flight for a
 * time, or until it has sent a number of them. Both ends make the same pool of random bytes.
 * Message n carries a piece of the pool, whose place depends on n: data that is old, torn or out of
 * order is detected. SENDs are compared when they arrive, and READs when they complete. The server
 * doesn't notice WRITEs, so the last ones are compared when the client is done. Each fetch-and-add
 * must return the number of those before it.
 *
 * The program ends by itself, also if nothing moves. The client prints a line for each operation,
 * "OP STATUS MB/s MESSAGES SECONDS [WHY]", where STATUS is ok, wrong (data), failed (a completion)
 * or stalled. For each operation, both ends start a process with new objects.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "verbs_util.h"

#define MAGIC	0x7263676f6f647074ull
#define SPAN	65536			/* the pool is so much longer than a message */
#define SLOTS	4			/* buffers of a message each, times depth */

enum kind { WRITE, SEND, READ, ATOMIC, KINDS };

static const char * const kind_name[KINDS] = { "write", "send", "read", "atomic" };

static const enum ibv_wr_opcode kind_wr[KINDS] = {
	IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/* The client's hello says what to do. The server's answer has its addresses. */
struct hello {
	uint64_t magic;
	uint32_t kind, size, depth, mtu, rd_atomic, timeout, retry, rkey, pool_rkey;
	uint64_t slots, pool;		/* addresses */
	struct addr addr;
};

/* At the end, the client tells how many messages it sent, and the server what was wrong. */
struct verdict {
	uint64_t messages;
	char why[120];
};

struct end {
	const char *dev;
	int gid_index, ctl;
	struct hello h;			/* the client's, adjusted to the server's limits */
	struct hello peer;
	uint32_t nslots;
	uint64_t limit_ms, begin_ms;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *pool, *slots;
	struct ibv_mr *pool_mr, *slots_mr;
	struct addr addr;
};

static uint8_t *piece(struct end *e, uint64_t n)
{
	return e->pool + n * 72 % SPAN;
}

static uint8_t *slot(struct end *e, uint64_t n)
{
	return e->slots + n % e->nslots * e->h.size;
}

static bool late(struct end *e)
{
	return now_ms() > e->begin_ms + e->limit_ms;
}

/* ---- setting up ---- */

static void open_end(struct end *e)
{
	struct ibv_device_attr d;
	struct ibv_port_attr p;

	e->ctx = open_device(e->dev);
	e->gid_index = choose_gid(e->ctx, e->gid_index);
	if (ibv_query_device(e->ctx, &d) || ibv_query_port(e->ctx, 1, &p) ||
	    ibv_query_gid(e->ctx, 1, e->gid_index, &e->addr.gid))
		die("cannot query the device");
	if (!e->h.mtu || e->h.mtu > p.active_mtu)
		e->h.mtu = p.active_mtu;
	if (!e->h.rd_atomic || e->h.rd_atomic > (uint32_t)d.max_qp_rd_atom)
		e->h.rd_atomic = d.max_qp_rd_atom > 16 ? 16 : d.max_qp_rd_atom;
}

static void make_buffers(struct end *e)
{
	size_t pool = e->h.size + SPAN, slots;

	e->nslots = SLOTS * e->h.depth;
	slots = (size_t)e->nslots * e->h.size;
	e->pool = new_pages(pool);
	e->slots = new_pages(slots);
	rnd_fill(e->pool, pool, MAGIC);
	memset(e->slots, 0, slots);
	e->pool_mr = new_mr(e->pd, e->pool, pool, ACCESS_ALL);
	e->slots_mr = new_mr(e->pd, e->slots, slots, ACCESS_ALL);
}

static void make_qp(struct end *e)
{
	struct ibv_qp_init_attr ia = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1 };

	e->pd = new_pd(e->ctx);
	make_buffers(e);
	e->chan = ibv_create_comp_channel(e->ctx);
	e->cq = ibv_create_cq(e->ctx, e->nslots + e->h.depth, NULL, e->chan, 0);
	ia.send_cq = e->cq;
	ia.recv_cq = e->cq;
	ia.cap = (struct ibv_qp_cap) {
		.max_send_wr = e->h.depth, .max_recv_wr = e->nslots,
		.max_send_sge = 1, .max_recv_sge = 1,
	};
	if (!e->cq)
		die("create_cq: %s", strerror(errno));
	e->qp = create_qp(e->pd, &ia);
	e->addr.qpn = e->qp->qp_num;
	e->addr.psn = 0xffff00;		/* close to the wrap-around */
}

static void connect_qp(struct end *e)
{
	struct rc_attr r = rc_attr(e->gid_index);

	r.mtu = e->h.mtu;
	r.rd_atomic = e->h.rd_atomic;
	r.dest_rd_atomic = e->h.rd_atomic;
	r.timeout = e->h.timeout;
	r.retry = e->h.retry;
	rc_up(e->qp, &r, e->addr.psn, &e->peer.addr);
}

static void say_hello(struct end *e)
{
	struct hello h = e->h;

	h.magic = MAGIC;
	h.addr = e->addr;
	h.slots = (uintptr_t)e->slots;
	h.pool = (uintptr_t)e->pool;
	h.rkey = e->slots_mr ? e->slots_mr->rkey : 0;
	h.pool_rkey = e->pool_mr ? e->pool_mr->rkey : 0;
	write_all(e->ctl, &h, sizeof(h));
}

static void hear_hello(struct end *e)
{
	read_all(e->ctl, &e->peer, sizeof(e->peer));
	if (e->peer.magic != MAGIC)
		die("the peer is not rc_goodput");
}

/* ---- completions ---- */

/*
 * Return: 1 with a completion; 0 when one may have come, the peer has sent a message by TCP, or
 * 100 ms have passed.
 */
static int next_wc(struct end *e, struct ibv_wc *wc, bool *spoken)
{
	struct pollfd fd[2] = { { e->chan->fd, POLLIN, 0 }, { e->ctl, POLLIN, 0 } };
	struct ibv_cq *cq;
	void *ctx;
	int n;

	n = ibv_poll_cq(e->cq, 1, wc);
	if (n)
		return n;
	ibv_req_notify_cq(e->cq, 0);
	n = ibv_poll_cq(e->cq, 1, wc);
	if (n)
		return n;
	if (poll(fd, 2, 100) > 0 && (fd[0].revents & POLLIN) &&
	    !ibv_get_cq_event(e->chan, &cq, &ctx))
		ibv_ack_cq_events(cq, 1);
	*spoken = fd[1].revents;
	return 0;
}

/* ---- the server ---- */

static void post_recv(struct end *e, uint64_t n)
{
	struct ibv_sge sge = { (uintptr_t)slot(e, n), e->h.size, e->slots_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(e->qp, &wr, &bad))
		die("post_recv failed");
}

static void __attribute__((noreturn, format(printf, 2, 3))) complain(struct end *e,
								     const char *fmt, ...)
{
	struct verdict v = {};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v.why, sizeof(v.why), fmt, ap);
	va_end(ap);
	write_all(e->ctl, &v, sizeof(v));
	die("%s", v.why);
}

static void check_recv(struct end *e, const struct ibv_wc *wc, uint64_t n)
{
	if (wc->status)
		complain(e, "receive %llu: %s", (unsigned long long)n,
			 ibv_wc_status_str(wc->status));
	if (wc->wr_id != n || wc->byte_len != e->h.size)
		complain(e, "receive %llu: number %llu, %u bytes", (unsigned long long)n,
			 (unsigned long long)wc->wr_id, wc->byte_len);
	if (memcmp(slot(e, n), piece(e, n), e->h.size))
		complain(e, "receive %llu: wrong data", (unsigned long long)n);
}

/* Receives until the client is done. Only SENDs have completions here. */
static uint64_t receive(struct end *e)
{
	bool spoken = false;
	struct ibv_wc wc;
	uint64_t n = 0;

	while (!spoken && !late(e)) {
		if (!next_wc(e, &wc, &spoken))
			continue;
		check_recv(e, &wc, n);
		post_recv(e, n + e->nslots);
		n++;
	}
	while (ibv_poll_cq(e->cq, 1, &wc) > 0)
		check_recv(e, &wc, n++);
	return n;
}

static void check_writes(struct end *e, uint64_t count)
{
	uint64_t n = count > e->nslots ? count - e->nslots : 0;

	for (; n < count; n++)
		if (memcmp(slot(e, n), piece(e, n), e->h.size))
			complain(e, "WRITE %llu of %llu: wrong data", (unsigned long long)n,
				 (unsigned long long)count);
}

static void judge(struct end *e, uint64_t received, uint64_t count)
{
	uint64_t word;

	memcpy(&word, e->slots, sizeof(word));
	if (e->h.kind == WRITE)
		check_writes(e, count);
	else if (e->h.kind == SEND && received != count)
		complain(e, "%llu SENDs arrived of %llu", (unsigned long long)received,
			 (unsigned long long)count);
	else if (e->h.kind == ATOMIC && word != count)
		complain(e, "%llu adds happened of %llu", (unsigned long long)word,
			 (unsigned long long)count);
}

/* Serves one client, from its connection to its end */
static int serve_one(struct end *e, const char *port)
{
	struct verdict v;
	uint64_t n;

	e->ctl = tcp_open(NULL, port);
	e->begin_ms = now_ms();
	open_end(e);
	hear_hello(e);
	if (e->peer.mtu > e->h.mtu)
		e->peer.mtu = e->h.mtu;
	if (e->peer.rd_atomic > e->h.rd_atomic)
		e->peer.rd_atomic = e->h.rd_atomic;
	e->h = e->peer;
	make_qp(e);
	connect_qp(e);
	for (n = 0; e->h.kind == SEND && n < e->nslots; n++)
		post_recv(e, n);
	say_hello(e);
	n = receive(e);
	if (read(e->ctl, &v, sizeof(v)) != sizeof(v))
		die("the client went away");
	judge(e, n, v.messages);
	memset(&v, 0, sizeof(v));
	write_all(e->ctl, &v, sizeof(v));
	return 0;
}

/* ---- the client ---- */

static void post(struct end *e, uint64_t n)
{
	bool from_pool = e->h.kind == WRITE || e->h.kind == SEND;
	struct ibv_sge sge = {
		.addr = (uintptr_t)(from_pool ? piece(e, n) : slot(e, n)), .length = e->h.size,
		.lkey = from_pool ? e->pool_mr->lkey : e->slots_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = kind_wr[e->h.kind],
	}, *bad;

	if (e->h.kind == ATOMIC) {
		wr.wr.atomic.remote_addr = e->peer.slots;
		wr.wr.atomic.rkey = e->peer.rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (e->h.kind == READ) {
		wr.wr.rdma.remote_addr = e->peer.pool + (piece(e, n) - e->pool);
		wr.wr.rdma.rkey = e->peer.pool_rkey;
	} else {
		wr.wr.rdma.remote_addr = e->peer.slots + (slot(e, n) - e->slots);
		wr.wr.rdma.rkey = e->peer.rkey;
	}
	if (ibv_post_send(e->qp, &wr, &bad))
		die("post_send failed");
}

/* Return: what is wrong with completion n, or NULL */
static const char *check(struct end *e, const struct ibv_wc *wc, uint64_t n)
{
	uint64_t word;

	if (wc->wr_id != n)
		return "a completion is missing, or there twice";
	if (e->h.kind == READ && memcmp(slot(e, n), piece(e, n), e->h.size))
		return "READ brought wrong data";
	memcpy(&word, slot(e, n), sizeof(word));
	if (e->h.kind == ATOMIC && word != n)
		return "an atomic wasn't done exactly once";
	return NULL;
}

struct run {
	uint64_t count, duration_ms;
	uint64_t posted, done, last_ms;
	const char *status, *why;
};

static void run(struct end *e, struct run *r)
{
	uint64_t start = now_ms();
	bool spoken = false;
	struct ibv_wc wc;

	e->begin_ms = start;
	r->last_ms = 0;
	while (!r->status) {
		while (r->posted - r->done < e->h.depth && r->posted < r->count &&
		       now_ms() - start < r->duration_ms)
			post(e, r->posted++);
		if (r->done == r->posted)
			r->status = "ok";
		else if (next_wc(e, &wc, &spoken)) {
			r->why = wc.status ? ibv_wc_status_str(wc.status) : check(e, &wc, r->done);
			if (r->why)
				r->status = wc.status ? "failed" : "wrong";
			else
				r->done++;
			r->last_ms = now_ms() - start;
		} else if (spoken)
			r->status = "wrong";
		else if (late(e))
			r->status = "stalled";
	}
}

/* Reads the server's verdict on the data that has arrived. */
static void hear_verdict(struct end *e, struct run *r)
{
	static struct verdict v;

	v.messages = r->done;
	if (!strcmp(r->status, "ok"))
		write_all(e->ctl, &v, sizeof(v));
	else if (r->why || strcmp(r->status, "wrong"))
		return;
	read_all(e->ctl, &v, sizeof(v));
	if (!v.why[0])
		return;
	r->status = "wrong";
	r->why = v.why;
}

static int client_one(struct end *e, const char *host, const char *port, struct run *r)
{
	e->ctl = tcp_open(host, port);
	open_end(e);
	make_qp(e);
	say_hello(e);
	hear_hello(e);
	e->h.mtu = e->peer.mtu;
	e->h.rd_atomic = e->peer.rd_atomic;
	connect_qp(e);
	run(e, r);
	hear_verdict(e, r);
	printf("%s %s %.3f %llu %.3f %s\n", kind_name[e->h.kind], r->status,
	       r->last_ms ? r->done * e->h.size / 1e3 / r->last_ms : 0,
	       (unsigned long long)r->done, r->last_ms / 1e3, r->why ? r->why : "");
	return !!strcmp(r->status, "ok");
}

/* ---- a process for each operation ---- */

static enum kind parse_kind(const char *name)
{
	int k;

	for (k = 0; k < KINDS; k++)
		if (!strcmp(name, kind_name[k]))
			return k;
	die("unknown operation %s", name);
}

/* Return: true in the child. The parent waits for the child, and counts failures */
static bool child(int *failures)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return true;
	}
	if (waitpid(pid, &status, 0) != pid || status)
		++*failures;
	return false;
}

static int server(struct end *e, const char *port, bool keep)
{
	int failures = 0;

	do {
		if (child(&failures))
			return serve_one(e, port);
	} while (keep);
	return !!failures;
}

static int client(struct end *e, char *target, char *kinds, struct run *r)
{
	char *port = split_port(target), *p;
	int failures = 0;

	for (p = strtok(kinds, ","); p; p = strtok(NULL, ",")) {
		e->h.kind = parse_kind(p);
		if (!child(&failures))
			continue;
		if (e->h.kind == ATOMIC)
			e->h.size = 8;
		return client_one(e, target, port, r);
	}
	return !!failures;
}

static const char usage[] =
"usage: rc_goodput --listen PORT [-d DEV] [-g N] [-l S] [-k]\n"
"       rc_goodput --connect HOST:PORT [-d DEV] [-g N] [options]\n"
"Messages of one queue pair, verified; prints \"OP STATUS MB/s MESSAGES SECONDS [WHY]\".\n"
"  -d, --dev DEV       device (the first one)\n"
"  -g, --gid N         GID index (the first v2 one)\n"
"  -o, --op OP,...     write, send, read or atomic, one after the other (write)\n"
"  -s, --size BYTES    of a message (65536; an atomic has 8)\n"
"  -q, --depth N       messages under way (16)\n"
"  -m, --mtu BYTES     path MTU (the port's)\n"
"  -t, --timeout N     of the queue pairs: 4.096 us * 2^N (14, as most tools have it)\n"
"  -r, --retry N       of the queue pairs (7)\n"
"  -T, --time MS       for so long (2000)\n"
"  -n, --count N       until so many are done, instead of --time\n"
"  -l, --limit S       ends what doesn't end by itself (60)\n"
"  -k, --keep          serve one operation after another\n"
"  -h, --help          this text\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "gid", 1, NULL, 'g' }, { "op", 1, NULL, 'o' },
	{ "size", 1, NULL, 's' }, { "depth", 1, NULL, 'q' }, { "mtu", 1, NULL, 'm' },
	{ "timeout", 1, NULL, 't' }, { "retry", 1, NULL, 'r' }, { "time", 1, NULL, 'T' },
	{ "count", 1, NULL, 'n' }, { "limit", 1, NULL, 'l' }, { "listen", 1, NULL, 'L' },
	{ "connect", 1, NULL, 'C' }, { "keep", 0, NULL, 'k' }, { "help", 0, NULL, 'h' }, {},
};

int main(int argc, char **argv)
{
	static struct end e = {
		.gid_index = -1, .limit_ms = 60000,
		.h = { .size = 65536, .depth = 16, .timeout = 14, .retry = 7 },
	};
	struct run r = { .count = UINT64_MAX, .duration_ms = 2000 };
	char write[] = "write", *target = NULL, *port = NULL, *kinds = write;
	bool keep = false;
	int o;

	while ((o = getopt_long(argc, argv, "d:g:o:s:q:m:t:r:T:n:l:kh", options, NULL)) != -1) {
		switch (o) {
		case 'd': e.dev = optarg; break;
		case 'g': e.gid_index = atoi(optarg); break;
		case 'o': kinds = optarg; break;
		case 's': e.h.size = strtoul(optarg, NULL, 0); break;
		case 'q': e.h.depth = strtoul(optarg, NULL, 0); break;
		case 'm': e.h.mtu = mtu_from_bytes(atoi(optarg)); break;
		case 't': e.h.timeout = atoi(optarg); break;
		case 'r': e.h.retry = atoi(optarg); break;
		case 'T': r.duration_ms = strtoull(optarg, NULL, 0); break;
		case 'n': r.count = strtoull(optarg, NULL, 0); r.duration_ms = UINT64_MAX; break;
		case 'l': e.limit_ms = strtoull(optarg, NULL, 0) * 1000; break;
		case 'L': port = optarg; break;
		case 'C': target = optarg; break;
		case 'k': keep = true; break;
		default: return print_usage(usage, o);
		}
	}
	if (!target == !port || e.h.size < 8 || e.h.size % 8 || !e.h.depth || e.h.depth > 1024)
		die("one of --listen and --connect; sizes are multiples of 8 (see --help)");
	return target ? client(&e, target, kinds, &r) : server(&e, port, keep);
}
