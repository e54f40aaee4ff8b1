// SPDX-License-Identifier: GPL-2.0
/*
 * rc_scale: many queue pairs, much memory. Both ends of each connection are in this process, on
 * one device or on two. The first argument says what to measure:
 *
 * busy     QPs write as fast as they can for a time: their throughput, and how evenly it is shared
 * idle     QPs are connected, used once, and wait until stdin ends: memory per QP
 * reg      a large piece of memory is registered and freed, several times: the time
 * latency  small WRITEs one after the other, beside idle MRs or streams of large WRITEs
 *
 * Prints one line of "name value" pairs.
 */
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "verbs_util.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

struct end {
	const char *dev;
	int gid_index;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_comp_channel *chan;
	union ibv_gid gid;
	enum ibv_mtu mtu;
	uint8_t *buf;
	struct ibv_mr *mr;
};

struct pair {
	struct ibv_qp *qp[2];
	uint64_t posted, done;
};

struct options {
	uint32_t qps, size, depth, mrs, streams, pause, timeout;
	uint64_t ms, bytes, count;
};

static struct end ends[2];
static struct options opt = {
	.qps = 1, .size = 65536, .depth = 4, .timeout = 14, .ms = 2000, .bytes = 256 << 20, .count = 1000,
};

static void open_end(struct end *e, size_t len, int cqes)
{
	struct ibv_port_attr p;

	e->ctx = open_device(e->dev);
	e->gid_index = choose_gid(e->ctx, e->gid_index);
	if (ibv_query_port(e->ctx, 1, &p) || ibv_query_gid(e->ctx, 1, e->gid_index, &e->gid))
		die("cannot query the port");
	e->mtu = p.active_mtu;
	e->pd = new_pd(e->ctx);
	e->chan = ibv_create_comp_channel(e->ctx);
	e->cq = ibv_create_cq(e->ctx, cqes, NULL, e->chan, 0);
	if (!e->cq)
		die("create_cq: %s", strerror(errno));
	if (!len)
		return;
	e->buf = mmap(NULL, len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	e->mr = e->buf == MAP_FAILED ? NULL : ibv_reg_mr(e->pd, e->buf, len, ACCESS);
	if (!e->mr)
		die("reg_mr: %s", strerror(errno));
}

static struct ibv_qp *make_qp(struct end *e, struct ibv_cq *cq, uint32_t depth)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return create_qp(e->pd, &ia);
}

/* Makes two connected QPs. The first, whose completions go to @cq, writes to the second. */
static void make_pair(struct pair *p, struct ibv_cq *cq, uint32_t depth)
{
	int i;

	p->qp[0] = make_qp(&ends[0], cq, depth);
	p->qp[1] = make_qp(&ends[1], ends[1].cq, 1);
	for (i = 0; i < 2; i++) {
		struct rc_attr r = rc_attr(ends[i].gid_index);
		struct addr peer = { .qpn = p->qp[!i]->qp_num, .gid = ends[!i].gid };

		r.mtu = ends[0].mtu < ends[1].mtu ? ends[0].mtu : ends[1].mtu;
		r.timeout = opt.timeout;
		rc_up(p->qp[i], &r, 0, &peer);
	}
}

/* Writes @size bytes of the first end's memory to offset @at of the second end's */
static void post_write(struct pair *p, uint64_t id, size_t at, uint32_t size)
{
	struct ibv_sge sge = { (uintptr_t)ends[0].buf, size, ends[0].mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)ends[1].buf + at, ends[1].mr->rkey },
	}, *bad;

	if (ibv_post_send(p->qp[0], &wr, &bad))
		die("post_send failed");
	p->posted++;
}

/* Sleeps until a completion of a first end comes. Return: its wr_id, which names the QP */
static uint64_t next_done(void)
{
	struct pollfd fd = { ends[0].chan->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *ctx;

	for (;;) {
		if (ibv_poll_cq(ends[0].cq, 1, &wc))
			break;
		ibv_req_notify_cq(ends[0].cq, 0);
		if (ibv_poll_cq(ends[0].cq, 1, &wc))
			break;
		if (poll(&fd, 1, 30000) <= 0)
			die("nothing completes");
		if (!ibv_get_cq_event(ends[0].chan, &cq, &ctx))
			ibv_ack_cq_events(cq, 1);
	}
	if (wc.status)
		die("a WRITE failed: %s", ibv_wc_status_str(wc.status));
	return wc.wr_id;
}

/* ---- busy ---- */

/* For @ms, posts another message for each one that completes. */
static double keep_busy(struct pair *p, uint64_t ms)
{
	uint64_t start = now_ms(), i;

	while (now_ms() - start < ms) {
		i = next_done();
		p[i].done++;
		post_write(&p[i], i, i * opt.size, opt.size);
	}
	return (now_ms() - start) / 1e3;
}

/* Fills the queues before the measured time begins. */
static void fill(struct pair *p)
{
	uint64_t i, waiting = opt.qps;

	for (i = 0; i < opt.qps * opt.depth; i++)
		post_write(&p[i % opt.qps], i % opt.qps, i % opt.qps * opt.size, opt.size);
	while (waiting) {
		i = next_done();
		waiting -= !p[i].done++;
		post_write(&p[i], i, i * opt.size, opt.size);
	}
	for (i = 0; i < opt.qps; i++)
		p[i].done = 0;
}

static void busy(void)
{
	struct pair *p = calloc(opt.qps, sizeof(*p));
	uint64_t i, all = 0, least = UINT64_MAX, most = 0;
	double seconds;

	open_end(&ends[0], opt.size, opt.qps * opt.depth + 1);
	open_end(&ends[1], (size_t)opt.size * opt.qps, 1);
	rnd_fill(ends[0].buf, opt.size, 1);
	for (i = 0; i < opt.qps; i++)
		make_pair(&p[i], ends[0].cq, opt.depth);
	fill(p);
	seconds = keep_busy(p, opt.ms);
	for (i = 0; i < opt.qps; i++) {
		all += p[i].done;
		least = p[i].done < least ? p[i].done : least;
		most = p[i].done > most ? p[i].done : most;
	}
	for (i = 0; i < opt.qps * opt.depth; i++)
		next_done();
	for (i = 0; i < opt.qps; i++)
		if (memcmp(ends[1].buf + i * opt.size, ends[0].buf, opt.size))
			die("qp %llu: wrong data", (unsigned long long)i);
	printf("qps %u mb_s %.2f least %llu most %llu unfairness %.3f\n", opt.qps,
	       all * opt.size / 1e6 / seconds, (unsigned long long)least, (unsigned long long)most,
	       least ? (double)most / least : 9999);
}

/* ---- idle ---- */

/* Return: the kB in a line of /proc/meminfo */
static long meminfo(const char *name)
{
	char line[128];
	long kb = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			kb = atol(line + strlen(name) + 1);
	if (f)
		fclose(f);
	return kb;
}

/* Return: kB that the kernel has allocated for itself, without vmalloc() */
static long kernel_kb(void)
{
	return meminfo("Slab") + meminfo("Percpu");
}

/*
 * Return: kB that vmalloc() has allocated, without rings. The shipped module allocates rings by
 * vmalloc(). This driver allocates their pages itself, and vmalloc() doesn't count these.
 */
static long vmalloc_kb(long used, long rings)
{
	return used < rings ? used : used - rings;
}

/* Return: kB of rings that this process has mapped from RDMA devices */
static long rings_kb(void)
{
	unsigned long from, to, all = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "/dev/infiniband/") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			all += to - from;
	if (f)
		fclose(f);
	return all / 1024;
}

static void idle(void)
{
	uint32_t pairs = opt.qps / 2, i;
	struct pair *p = calloc(pairs, sizeof(*p));
	long kernel, vmalloc, rings, free_kb;
	uint64_t start;

	open_end(&ends[0], 4096, 256);
	open_end(&ends[1], 4096, 256);
	kernel = kernel_kb();
	vmalloc = meminfo("VmallocUsed");
	rings = rings_kb();
	free_kb = meminfo("MemAvailable");
	start = now_ms();
	for (i = 0; i < pairs; i++) {
		make_pair(&p[i], ends[0].cq, 1);
		post_write(&p[i], i, 0, 64);
		next_done();
	}
	start = now_ms() - start;
	rings = rings_kb() - rings;
	kernel = kernel_kb() - kernel + vmalloc_kb(meminfo("VmallocUsed") - vmalloc, rings);
	free_kb -= meminfo("MemAvailable");
	printf("qps %u kernel_kb %ld rings_kb %ld available_kb %ld bytes_per_qp %ld seconds %.2f\n",
	       2 * pairs, kernel, rings, free_kb, kernel * 1024 / (2 * (long)pairs),
	       start / 1e3);
	fflush(stdout);
	while (read(0, &i, 1) > 0)
		;
}

/* ---- reg ---- */

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* q in 0..1 */
static double quantile_us(uint64_t *ns, size_t n, double q)
{
	qsort(ns, n, sizeof(*ns), by_size);
	return ns[(size_t)(q * (n - 1))] / 1e3;
}

static void reg(void)
{
	uint64_t reg[7], dereg[7], t;
	struct ibv_mr *mr;
	void *buf;
	size_t i;

	open_end(&ends[0], 0, 1);
	buf = mmap(NULL, opt.bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED)
		die("no memory: %s", strerror(errno));
	for (i = 0; i < ARRAY_LEN(reg); i++) {
		t = now_ns();
		mr = ibv_reg_mr(ends[0].pd, buf, opt.bytes, ACCESS);
		if (!mr)
			die("reg_mr: %s", strerror(errno));
		reg[i] = now_ns() - t;
		t = now_ns();
		if (ibv_dereg_mr(mr))
			die("dereg_mr: %s", strerror(errno));
		dereg[i] = now_ns() - t;
	}
	printf("mb %llu reg_us %.0f dereg_us %.0f\n", (unsigned long long)opt.bytes >> 20,
	       quantile_us(reg, ARRAY_LEN(reg), 0.5), quantile_us(dereg, ARRAY_LEN(dereg), 0.5));
}

/* ---- latency ---- */

static struct ibv_mr **make_mrs(uint32_t n)
{
	struct ibv_mr **mr = calloc(n, sizeof(*mr));
	uint32_t i;

	for (i = 0; i < n; i++) {
		mr[i] = ibv_reg_mr(ends[1].pd, ends[1].buf, 64, ACCESS);
		if (!mr[i])
			die("reg_mr %u: %s", i, strerror(errno));
	}
	return mr;
}

static volatile bool stop;
static uint64_t streamed;		/* completed large messages */

/* Several QPs with their own peers keep two large WRITEs in flight each. */
static void *streams(void *arg)
{
	struct pair *p = arg;
	uint64_t i, under_way = 0;

	for (i = 0; i < 2 * opt.streams; i++, under_way++)
		post_write(&p[i % opt.streams], i % opt.streams, 0, opt.size);
	while (!stop) {
		i = next_done();
		post_write(&p[i], i, 0, opt.size);
		__atomic_add_fetch(&streamed, 1, __ATOMIC_RELAXED);
	}
	while (under_way--)
		next_done();
	return NULL;
}

/*
 * Posts one small WRITE, and polls its own CQ. Return: the time since it was due, since other
 * processes may delay the post. It yields between polls: there may be one processor only.
 */
static uint64_t timed_write(struct pair *p, struct ibv_cq *cq)
{
	uint64_t due = now_ns() + opt.pause * (500 + random() % 1000);
	struct timespec ts = { due / 1000000000, due % 1000000000 };
	struct ibv_wc wc;

	if (opt.pause)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	post_write(p, 0, 0, 64);
	while (!ibv_poll_cq(cq, 1, &wc))
		sched_yield();
	if (wc.status)
		die("a WRITE failed: %s", ibv_wc_status_str(wc.status));
	return now_ns() - due;
}

static void latency(void)
{
	uint64_t *ns = calloc(opt.count, sizeof(*ns)), i, start;
	struct pair one = {}, *many = calloc(opt.streams + 1, sizeof(*many));
	struct ibv_mr **mrs;
	struct ibv_cq *cq;
	pthread_t thread;

	open_end(&ends[0], opt.size, 256);
	open_end(&ends[1], opt.size, 256);
	for (i = 0; i < opt.streams; i++)
		make_pair(&many[i], ends[0].cq, 2);
	cq = ibv_create_cq(ends[0].ctx, 16, NULL, NULL, 0);
	make_pair(&one, cq, 1);
	start = now_ms();
	mrs = make_mrs(opt.mrs);
	start = now_ms() - start;
	prctl(PR_SET_TIMERSLACK, 1);
	for (i = 0; i < 100; i++)
		timed_write(&one, cq);
	if (opt.streams && pthread_create(&thread, NULL, streams, many))
		die("cannot start a thread");
	while (__atomic_load_n(&streamed, __ATOMIC_RELAXED) < 2 * opt.streams)
		usleep(1000);
	for (i = 0; i < opt.count; i++)
		ns[i] = timed_write(&one, cq);
	stop = true;
	if (opt.streams)
		pthread_join(thread, NULL);
	printf("mrs %u streams %u us %.1f p99_us %.1f streamed %llu mrs_ms %llu\n", opt.mrs, opt.streams,
	       quantile_us(ns, opt.count, 0.5), quantile_us(ns, opt.count, 0.99),
	       (unsigned long long)streamed, (unsigned long long)start);
	for (i = 0; i < opt.mrs; i++)
		ibv_dereg_mr(mrs[i]);
}

static const char usage[] =
"usage: rc_scale busy|idle|reg|latency [options]\n"
"Both ends of all queue pairs are in this process; prints one line of \"name value\" pairs.\n"
"  -d, --dev DEV       device (the first one)      -D, --dev2 DEV   of the other ends (same)\n"
"  -g, --gid N         GID index (first v2 one)    -G, --gid2 N     of the other ends (same)\n"
"  -q, --qps N         busy, idle: queue pairs; busy counts those that write (1)\n"
"  -s, --size BYTES    busy, latency's streams: of a message (65536)\n"
"  -n, --depth N       busy: messages under way of each (4)\n"
"  -T, --time MS       busy: for so long (2000)\n"
"  -b, --bytes N       reg: size of the memory (256 MiB)\n"
"  -c, --count N       latency: WRITEs of 64 bytes (1000)\n"
"  -m, --mrs N         latency: memory regions beside (0)\n"
"  -S, --streams N     latency: queue pairs with large WRITEs beside (0)\n"
"  -p, --pause US      latency: before each WRITE, which is due then (0)\n"
"  -t, --timeout N     of the queue pairs: 4.096 us * 2^N (14)\n"
"  -h, --help          this text\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "dev2", 1, NULL, 'D' }, { "gid", 1, NULL, 'g' },
	{ "gid2", 1, NULL, 'G' }, { "qps", 1, NULL, 'q' }, { "size", 1, NULL, 's' },
	{ "depth", 1, NULL, 'n' }, { "time", 1, NULL, 'T' }, { "bytes", 1, NULL, 'b' },
	{ "count", 1, NULL, 'c' }, { "mrs", 1, NULL, 'm' }, { "streams", 1, NULL, 'S' },
	{ "pause", 1, NULL, 'p' },
	{ "timeout", 1, NULL, 't' }, { "help", 0, NULL, 'h' }, {},
};

static void run(const char *what)
{
	if (!strcmp(what, "busy"))
		busy();
	else if (!strcmp(what, "idle"))
		idle();
	else if (!strcmp(what, "reg"))
		reg();
	else if (!strcmp(what, "latency"))
		latency();
	else
		die("what is %s? (see --help)", what);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 65536, 65536 };
	int o;

	setrlimit(RLIMIT_NOFILE, &files);
	ends[0].gid_index = -1;
	ends[1].gid_index = -1;
	while ((o = getopt_long(argc, argv, "d:D:g:G:q:s:n:T:b:c:m:S:p:t:h", options, NULL)) != -1) {
		switch (o) {
		case 'd': ends[0].dev = optarg; break;
		case 'D': ends[1].dev = optarg; break;
		case 'g': ends[0].gid_index = atoi(optarg); break;
		case 'G': ends[1].gid_index = atoi(optarg); break;
		case 'q': opt.qps = strtoul(optarg, NULL, 0); break;
		case 's': opt.size = strtoul(optarg, NULL, 0); break;
		case 'n': opt.depth = strtoul(optarg, NULL, 0); break;
		case 'T': opt.ms = strtoull(optarg, NULL, 0); break;
		case 'b': opt.bytes = strtoull(optarg, NULL, 0); break;
		case 'c': opt.count = strtoull(optarg, NULL, 0); break;
		case 'm': opt.mrs = strtoul(optarg, NULL, 0); break;
		case 'S': opt.streams = strtoul(optarg, NULL, 0); break;
		case 'p': opt.pause = strtoul(optarg, NULL, 0); break;
		case 't': opt.timeout = atoi(optarg); break;
		default: return print_usage(usage, o);
		}
	}
	if (optind + 1 != argc || !opt.qps || !opt.depth || opt.size < 64 || !opt.count)
		die("rc_scale busy|idle|reg|latency (see --help)");
	if (!ends[1].dev)
		ends[1].dev = ends[0].dev;
	if (ends[1].gid_index < 0)
		ends[1].gid_index = ends[0].gid_index;
	run(argv[optind]);
	return 0;
}
