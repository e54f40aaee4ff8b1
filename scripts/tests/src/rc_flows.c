// SPDX-License-Identifier: GPL-2.0
/*
 * rc_flows: many RC queue pairs send between two machines for a time, in one direction or in both.
 * Measures how much they move together, and how evenly.
 *
 * Two processes, connected by TCP. Each queue pair keeps a few messages in flight. Bytes count
 * after the first quarter of the time, since queue pairs don't begin at the same moment. At the
 * end, all messages in flight must complete. The client prints a line for each direction:
 *
 *	out|in MB/s JAIN LOST LEAST MOST
 *
 * JAIN is Jain's index of the queue pairs' bytes (1: all the same). LOST is the number of queue
 * pairs that failed or didn't end. LEAST and MOST are the bytes of the slowest and of the fastest.
 * A READ counts in the direction of its data. With --every, it also prints the bytes of all queue
 * pairs at times of the monotonic clock:
 *
 *	at MS BYTES
 */
#include <getopt.h>

#include "verbs_util.h"

#define MAGIC	0x72635f666c6f7773ull
#define MAX_QPS	1024

enum kind { WRITE, SEND, READ, KINDS };

static const char * const kind_name[KINDS] = { "write", "send", "read" };

static const enum ibv_wr_opcode kind_wr[KINDS] = {
	IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ,
};

/* What the client asks for, and the addresses of each end */
struct hello {
	uint64_t magic, buf;
	uint32_t kind, both, qps, size, depth, timeout, retry, mtu, rkey, ms;
	union ibv_gid gid;
	uint32_t qpn[MAX_QPS];
};

struct result {
	double rate, jain;
	uint64_t least, most;
	uint32_t lost;
};

struct flow {
	struct ibv_qp *qp;
	uint64_t posted, done, counted;
	bool dead;
};

static struct hello me = {
	.magic = MAGIC, .kind = WRITE, .qps = 1, .size = 65536, .depth = 4, .timeout = 14,
	.retry = 7, .ms = 4000,
}, peer;
static const char *dev;
static int gid_index = -1, ctl;
static const char *after;
static uint64_t limit_ms = 60000, start_ms, at_ms, every_ms;
static struct ibv_comp_channel *chan;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t *buf;
static struct flow flows[MAX_QPS];

static bool active(bool client)
{
	return client || me.both;
}

static void open_end(void)
{
	struct ibv_context *ctx = open_device(dev);
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	size_t len = (size_t)me.qps * me.size * 2;
	struct ibv_port_attr p;
	struct ibv_pd *pd;
	uint32_t i;

	if (gid_index < 0)
		gid_index = find_gid(ctx, "v2");
	if (ibv_query_port(ctx, 1, &p) || ibv_query_gid(ctx, 1, gid_index, &me.gid))
		die("cannot query the port");
	me.mtu = p.active_mtu;
	pd = ibv_alloc_pd(ctx);
	chan = ibv_create_comp_channel(ctx);
	cq = ibv_create_cq(ctx, me.qps * (3 * me.depth + 1), NULL, chan, 0);
	buf = aligned_alloc(4096, (len + 4095) & ~4095ul);
	mr = pd && buf ? ibv_reg_mr(pd, buf, len, access) : NULL;
	if (!mr || !cq)
		die("reg_mr, create_cq: %s", strerror(errno));
	memset(buf, 0, len);
	me.buf = (uintptr_t)buf;
	me.rkey = mr->rkey;
	for (i = 0; i < me.qps; i++) {
		struct ibv_qp_init_attr ia = {
			.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .send_cq = cq, .recv_cq = cq,
			.cap = { .max_send_wr = me.depth, .max_recv_wr = 2 * me.depth,
				 .max_send_sge = 1, .max_recv_sge = 1 },
		};

		flows[i].qp = ibv_create_qp(pd, &ia);
		if (!flows[i].qp)
			die("create_qp: %s", strerror(errno));
		me.qpn[i] = flows[i].qp->qp_num;
	}
}

static void post_recv(uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)buf + (size_t)(2 * i + 1) * me.size, me.size, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i | 1ull << 32, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(flows[i].qp, &wr, &bad))
		die("post_recv failed");
}

static void post_send(uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)buf + (size_t)2 * i * me.size, me.size, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = kind_wr[me.kind],
		.wr.rdma = { peer.buf + (size_t)(2 * i + 1) * me.size, peer.rkey },
	}, *bad;

	if (ibv_post_send(flows[i].qp, &wr, &bad))
		die("post_send failed");
	flows[i].posted++;
}

static void connect_all(void)
{
	struct rc_attr r = rc_attr(gid_index);
	uint32_t i, n;

	r.mtu = me.mtu < peer.mtu ? me.mtu : peer.mtu;
	r.timeout = me.timeout;
	r.retry = me.retry;
	for (i = 0; i < me.qps; i++) {
		struct addr to = { .qpn = peer.qpn[i], .gid = peer.gid };

		rc_up(flows[i].qp, &r, 0, &to);
		for (n = 0; me.kind == SEND && n < 2 * me.depth; n++)
			post_recv(i);
	}
}

static void sync_up(void)
{
	char c = 's';

	write_all(ctl, &c, 1);
	read_all(ctl, &c, 1);
}

static void completed(const struct ibv_wc *wc, bool more, bool count)
{
	struct flow *f = &flows[(uint32_t)wc->wr_id];

	if (wc->status) {
		if (!f->dead)
			fprintf(stderr, "queue pair %u: %s\n", (uint32_t)wc->wr_id,
				ibv_wc_status_str(wc->status));
		f->dead = true;
		return;
	}
	if (wc->wr_id >> 32) {
		post_recv((uint32_t)wc->wr_id);
		return;
	}
	f->done++;
	f->counted += count ? me.size : 0;
	if (more)
		post_send((uint32_t)wc->wr_id);
}

/* Handles the completions that are there. If there are none, waits 20 ms for one */
static void take_completions(bool more, bool count)
{
	struct pollfd fd = { chan->fd, POLLIN, 0 };
	struct ibv_wc wc[32];
	struct ibv_cq *which;
	void *ctx;
	int n, i;

	for (;;) {
		n = ibv_poll_cq(cq, 32, wc);
		for (i = 0; i < n; i++)
			completed(&wc[i], more, count);
		if (n)
			return;
		ibv_req_notify_cq(cq, 0);
		n = ibv_poll_cq(cq, 32, wc);
		for (i = 0; i < n; i++)
			completed(&wc[i], more, count);
		if (n || poll(&fd, 1, 20) <= 0)
			return;
		if (!ibv_get_cq_event(chan, &which, &ctx))
			ibv_ack_cq_events(which, 1);
		return;
	}
}

static bool under_way(void)
{
	uint32_t i;

	for (i = 0; i < me.qps; i++)
		if (!flows[i].dead && flows[i].done < flows[i].posted)
			return true;
	return false;
}

static struct result add_up(uint64_t ms)
{
	struct result r = { .least = UINT64_MAX };
	double sum = 0, squares = 0;
	uint32_t i;

	for (i = 0; i < me.qps; i++) {
		struct flow *f = &flows[i];

		sum += f->counted;
		squares += (double)f->counted * f->counted;
		r.lost += f->dead || f->done < f->posted;
		r.least = f->counted < r.least ? f->counted : r.least;
		r.most = f->counted > r.most ? f->counted : r.most;
	}
	r.rate = sum / 1e3 / ms;
	r.jain = squares ? sum * sum / squares / me.qps : 0;
	return r;
}

/* Several programs begin at this time, which is set when all are ready */
static uint64_t common_start(void)
{
	unsigned long long ms;
	FILE *f;

	printf("ready\n");
	fflush(stdout);
	while (!(f = fopen(after, "r")))
		poll(NULL, 0, 5);
	if (fscanf(f, "%llu", &ms) != 1)
		die("%s has no time", after);
	fclose(f);
	return ms;
}

static void wait_for_start(void)
{
	uint64_t begin = after ? common_start() + at_ms : 0, now = now_ms();

	if (after && now >= begin)
		die("ready %llu ms too late", (unsigned long long)(now - begin));
	for (; now < begin; now = now_ms())
		poll(NULL, 0, begin - now);
	start_ms = now;
}

/* Print the progress from time to time */
static void tell_progress(uint64_t now)
{
	static uint64_t due;
	uint64_t sum = 0;
	uint32_t i;

	if (!every_ms || now < due)
		return;
	due = now + every_ms;
	for (i = 0; i < me.qps; i++)
		sum += flows[i].done * me.size;
	printf("at %llu %llu\n", (unsigned long long)(start_ms + now), (unsigned long long)sum);
	fflush(stdout);
}

static struct result run(bool sends)
{
	uint64_t begin = me.ms / 4, now = 0, counted;
	uint32_t i, n;
	char c;

	wait_for_start();
	for (n = 0; sends && n < me.depth; n++)
		for (i = 0; i < me.qps; i++)
			post_send(i);
	for (; now < me.ms; now = now_ms() - start_ms) {
		tell_progress(now);
		take_completions(sends, now >= begin);
	}
	counted = now - begin;
	while (under_way() && now_ms() - start_ms < limit_ms)
		take_completions(false, false);
	/* The other end may still send, and needs receives here */
	c = 'e';
	write_all(ctl, &c, 1);
	while (recv(ctl, &c, 1, MSG_DONTWAIT) != 1 && now_ms() - start_ms < limit_ms)
		take_completions(false, false);
	return add_up(counted);
}

static void tell(const char *way, const struct result *r)
{
	printf("%s %.3f %.3f %u %llu %llu\n", way, r->rate, r->jain, r->lost,
	       (unsigned long long)r->least, (unsigned long long)r->most);
}

static int both_ends(bool client)
{
	struct result mine, theirs;

	if (!client) {
		read_all(ctl, &peer, sizeof(peer));
		if (peer.magic != MAGIC)
			die("the peer is not rc_flows");
		me = peer;
	}
	open_end();
	write_all(ctl, &me, sizeof(me));
	if (client)
		read_all(ctl, &peer, sizeof(peer));
	connect_all();
	sync_up();
	mine = run(active(client));
	write_all(ctl, &mine, sizeof(mine));
	read_all(ctl, &theirs, sizeof(theirs));
	sync_up();
	if (!client)
		return !!mine.lost;
	tell("out", &mine);
	if (me.both)
		tell("in", &theirs);
	return mine.lost || (me.both && theirs.lost);
}

static const char usage[] =
"usage: rc_flows --listen PORT [-d DEV] [-g N] [-l S]\n"
"       rc_flows --connect HOST:PORT [-d DEV] [-g N] [options]\n"
"Many RC queue pairs for a time; prints \"out|in MB/s JAIN LOST LEAST MOST\".\n"
"  -d, --dev DEV       device (the first one)\n"
"  -g, --gid N         GID index (the first v2 one)\n"
"  -o, --op OP         write, send or read (write)\n"
"  -b, --both          both ends send\n"
"  -q, --qps N         queue pairs (1), 1024 at most\n"
"  -s, --size BYTES    of a message (65536)\n"
"  -p, --depth N       messages under way on each (4)\n"
"  -t, --timeout N     of the queue pairs: 4.096 us * 2^N (14, as most tools have it)\n"
"  -r, --retry N       of the queue pairs (7)\n"
"  -T, --time MS       for so long (4000)\n"
"  -A, --after FILE    print \"ready\", and wait for FILE, which has a time of the\n"
"                      monotonic clock in ms (begin at once)\n"
"  -a, --at MS         begin so long after that time (0)\n"
"  -e, --every MS      tell how far it is, so often (never)\n"
"  -l, --limit S       ends what doesn't end by itself (60)\n"
"  -h, --help          this text\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "gid", 1, NULL, 'g' }, { "op", 1, NULL, 'o' },
	{ "both", 0, NULL, 'b' }, { "qps", 1, NULL, 'q' }, { "size", 1, NULL, 's' },
	{ "depth", 1, NULL, 'p' }, { "timeout", 1, NULL, 't' }, { "retry", 1, NULL, 'r' },
	{ "time", 1, NULL, 'T' }, { "after", 1, NULL, 'A' }, { "at", 1, NULL, 'a' },
	{ "every", 1, NULL, 'e' }, { "limit", 1, NULL, 'l' }, { "listen", 1, NULL, 'L' },
	{ "connect", 1, NULL, 'C' }, { "help", 0, NULL, 'h' }, {},
};

static enum kind parse_kind(const char *name)
{
	int k;

	for (k = 0; k < KINDS; k++)
		if (!strcmp(name, kind_name[k]))
			return k;
	die("unknown operation %s", name);
}

int main(int argc, char **argv)
{
	char *target = NULL, *port = NULL, *colon = NULL;
	int o;

	while ((o = getopt_long(argc, argv, "d:g:o:bq:s:p:t:r:T:A:a:e:l:h", options, NULL)) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'o': me.kind = parse_kind(optarg); break;
		case 'b': me.both = 1; break;
		case 'q': me.qps = strtoul(optarg, NULL, 0); break;
		case 's': me.size = strtoul(optarg, NULL, 0); break;
		case 'p': me.depth = strtoul(optarg, NULL, 0); break;
		case 't': me.timeout = atoi(optarg); break;
		case 'r': me.retry = atoi(optarg); break;
		case 'T': me.ms = strtoul(optarg, NULL, 0); break;
		case 'A': after = optarg; break;
		case 'a': at_ms = strtoull(optarg, NULL, 0); break;
		case 'e': every_ms = strtoull(optarg, NULL, 0); break;
		case 'l': limit_ms = strtoull(optarg, NULL, 0) * 1000; break;
		case 'L': port = optarg; break;
		case 'C': target = optarg; break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	}
	if (target) {
		colon = strrchr(target, ':');
		if (!colon)
			die("--connect wants HOST:PORT");
		*colon = 0;
		port = colon + 1;
	} else if (!port) {
		die("one of --listen and --connect (see --help)");
	}
	if (at_ms && !after)
		die("--at counts from the time that --after names (see --help)");
	if (!me.qps || me.qps > MAX_QPS || !me.depth || me.depth > 64 || !me.size)
		die("that many queue pairs or messages are too many, or too few (see --help)");
	ctl = tcp_open(target, port);
	return both_ends(target);
}
