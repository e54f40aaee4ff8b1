/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For all test programs: open a device, find GIDs, allocate and register memory, bring RC and UD
 * queue pairs up, wait for completions with a deadline, random numbers, result lines. All functions
 * are in this header: a program needs no other object file.
 */
#ifndef VERBS_UTIL_H
#define VERBS_UTIL_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define UNUSED __attribute__((unused))

#define ACCESS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static UNUSED void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* Return: the monotonic clock */
static UNUSED uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static UNUSED uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

/* Return: how long the first processor has been idle */
static UNUSED uint64_t idle_ns(void)
{
	FILE *file = fopen("/proc/timer_list", "r");
	char line[256];
	uint64_t ns;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " .idle_sleeptime : %lu", &ns) == 1) {
			fclose(file);
			return ns;
		}
	}
	die("no idle time in /proc/timer_list");
}

/* splitmix64: cheap, and any seed is good */
static UNUSED uint64_t rnd(uint64_t *s)
{
	uint64_t z = (*s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* lo..hi, both inclusive */
static UNUSED uint32_t rnd_range(uint64_t *s, uint32_t lo, uint32_t hi)
{
	return lo + (uint32_t)(rnd(s) % ((uint64_t)hi - lo + 1));
}

static UNUSED void rnd_fill(void *buf, size_t len, uint64_t seed)
{
	uint64_t *p = buf;
	size_t i;

	for (i = 0; i < len / 8; i++)
		p[i] = rnd(&seed);
}

static UNUSED struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	if (!list)
		die("no RDMA devices: %s", strerror(errno));
	for (i = 0; list[i]; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			break;
	if (!list[i])
		die("no RDMA device named %s", name ? name : "(any)");
	ctx = ibv_open_device(list[i]);
	if (!ctx)
		die("cannot open %s: %s", ibv_get_device_name(list[i]), strerror(errno));
	ibv_free_device_list(list);
	return ctx;
}

static UNUSED enum ibv_mtu mtu_from_bytes(int bytes)
{
	enum ibv_mtu m = IBV_MTU_256;

	while (m < IBV_MTU_4096 && (256 << m) <= bytes)
		m++;
	return m;
}

static UNUSED int mtu_bytes(enum ibv_mtu m)
{
	return 128 << m;
}

/*
 * Return: index of the first GID of a type ("v1", "v2"; NULL: any). Link-local GIDs are used only
 * if there are no others.
 */
static UNUSED int find_gid(struct ibv_context *ctx, const char *type)
{
	struct ibv_gid_entry e[128];
	ssize_t n = ibv_query_gid_table(ctx, e, ARRAY_LEN(e), 0);
	int i, fallback = -1;

	for (i = 0; i < n; i++) {
		bool v2 = e[i].gid_type == IBV_GID_TYPE_ROCE_V2;

		if (type && v2 != !strcmp(type, "v2"))
			continue;
		if (e[i].gid.raw[0] != 0xfe)
			return e[i].gid_index;
		if (fallback < 0)
			fallback = e[i].gid_index;
	}
	return fallback;
}

/* Return: @index, which an option gave; if it is negative (no option), that of the first v2 GID */
static UNUSED int choose_gid(struct ibv_context *ctx, int index)
{
	return index < 0 ? find_gid(ctx, "v2") : index;
}

static UNUSED union ibv_gid gid_at(struct ibv_context *ctx, int index)
{
	union ibv_gid gid;

	if (ibv_query_gid(ctx, 1, index, &gid))
		die("no GID with index %d: %s", index, strerror(errno));
	return gid;
}

/*
 * Return: whole pages for @len bytes. If memory is short, this and the next function end the
 * program
 */
static UNUSED void *new_pages(size_t len)
{
	void *p;

	if (posix_memalign(&p, 4096, (len + 4095) & ~4095ul))
		die("out of memory");
	return p;
}

static UNUSED struct ibv_mr *new_mr(struct ibv_pd *pd, void *p, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, p, len, access);

	if (!mr)
		die("reg_mr of %zu bytes: %s", len, strerror(errno));
	return mr;
}

static UNUSED struct ibv_pd *new_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	if (!pd)
		die("alloc_pd: %s", strerror(errno));
	return pd;
}

/* Makes a completion queue without events */
static UNUSED struct ibv_cq *new_cq(struct ibv_context *ctx, int entries)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, entries, NULL, NULL, 0);

	if (!cq)
		die("create_cq: %s", strerror(errno));
	return cq;
}

/* ibv_rereg_mr(), which the kernel supports and the provider doesn't. Return: 0 or errno */
static UNUSED int rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
			   size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr cmd;
	} req = {
		.hdr = { .command = IB_USER_VERBS_CMD_REREG_MR, .in_words = sizeof(req) / 4,
			 .out_words = sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp, .mr_handle = mr->handle, .flags = flags,
			 .start = (uintptr_t)addr, .length = length, .hca_va = (uintptr_t)addr,
			 .pd_handle = pd ? pd->handle : 0, .access_flags = access },
	};

	if (write(mr->context->cmd_fd, &req, sizeof(req)) != sizeof(req))
		return errno;
	mr->lkey = resp.lkey;
	mr->rkey = resp.rkey;
	return 0;
}

/* ibv_modify_cq(), likewise. @count: completions. @period: microseconds */
static UNUSED int moderate_cq(struct ibv_cq *cq, uint16_t count, uint16_t period)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex_hdr;
		struct ib_uverbs_ex_modify_cq core;
	} cmd = {
		.hdr.command = IB_USER_VERBS_EX_CMD_MODIFY_CQ | IB_USER_VERBS_CMD_FLAG_EXTENDED,
		.hdr.in_words = sizeof(cmd.core) / 8,
		.core.cq_handle = cq->handle,
		.core.attr_mask = 1,	/* IB_CQ_MODERATE */
		.core.attr = { count, period },
	};

	return write(cq->context->cmd_fd, &cmd, sizeof(cmd)) == sizeof(cmd) ? 0 : errno;
}

/* The address of one end of a connection, which the other end needs. */
struct addr {
	uint32_t qpn;
	uint32_t psn;
	union ibv_gid gid;
};

/* Return: the address of a queue pair whose first PSN is its number */
static UNUSED struct addr qp_addr(const struct ibv_qp *qp, union ibv_gid gid)
{
	return (struct addr) { .qpn = qp->qp_num, .psn = qp->qp_num & 0xffffff, .gid = gid };
}

/* Attributes of a connected queue pair; see rc_attr() for the defaults. */
struct rc_attr {
	int gid_index;
	enum ibv_mtu mtu;
	uint8_t rd_atomic;		/* as initiator */
	uint8_t dest_rd_atomic;		/* as responder */
	uint8_t timeout;
	uint8_t retry;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	int access;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label;
	uint8_t sl;
	uint16_t pkey_index;
};

/* timeout 18 is 1 s: an emulated machine may stall for longer than the usual 67 ms */
static UNUSED struct rc_attr rc_attr(int gid_index)
{
	return (struct rc_attr) {
		.gid_index = gid_index, .mtu = IBV_MTU_1024, .rd_atomic = 4, .dest_rd_atomic = 4,
		.timeout = 18, .retry = 7, .rnr_retry = 7, .min_rnr_timer = 12, .hop_limit = 64,
		.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC,
	};
}

static UNUSED struct ibv_ah_attr path_to(const struct rc_attr *r, union ibv_gid gid)
{
	return (struct ibv_ah_attr) {
		.is_global = 1, .port_num = 1, .sl = r->sl,
		.grh = { .dgid = gid, .sgid_index = r->gid_index, .hop_limit = r->hop_limit,
			 .flow_label = r->flow_label, .traffic_class = r->traffic_class },
	};
}

/* Makes an AH with these attributes; ends the program on failure */
static UNUSED struct ibv_ah *create_ah(struct ibv_pd *pd, const struct rc_attr *r,
				       union ibv_gid gid)
{
	struct ibv_ah_attr attr = path_to(r, gid);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	if (!ah)
		die("create_ah: %s", strerror(errno));
	return ah;
}

/* Attributes of a transition, without those that UC lacks */
static UNUSED int rc_mask(const struct ibv_qp *qp, int mask)
{
	if (qp->qp_type == IBV_QPT_UC)
		mask &= ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT |
			  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	return mask;
}

static UNUSED int rc_to_init(struct ibv_qp *qp, const struct rc_attr *r)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = r->pkey_index,
		.qp_access_flags = r->access,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static UNUSED int rc_to_rtr(struct ibv_qp *qp, const struct rc_attr *r, const struct addr *peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = r->mtu, .dest_qp_num = peer->qpn,
		.rq_psn = peer->psn, .max_dest_rd_atomic = r->dest_rd_atomic,
		.min_rnr_timer = r->min_rnr_timer, .ah_attr = path_to(r, peer->gid),
	};

	return ibv_modify_qp(qp, &a, rc_mask(qp, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER));
}

static UNUSED int rc_to_rts(struct ibv_qp *qp, const struct rc_attr *r, uint32_t psn)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .sq_psn = psn, .timeout = r->timeout,
		.retry_cnt = r->retry, .rnr_retry = r->rnr_retry, .max_rd_atomic = r->rd_atomic,
	};

	return ibv_modify_qp(qp, &a, rc_mask(qp, IBV_QP_STATE | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			     IBV_QP_MAX_QP_RD_ATOMIC));
}

/* RC or UC: RESET to RTS; ends the program on failure */
static UNUSED void rc_up(struct ibv_qp *qp, const struct rc_attr *r, uint32_t psn,
			 const struct addr *peer)
{
	int err;

	err = rc_to_init(qp, r);
	if (err)
		die("modify_qp to INIT: %s", strerror(err));
	err = rc_to_rtr(qp, r, peer);
	if (err)
		die("modify_qp to RTR: %s", strerror(err));
	err = rc_to_rts(qp, r, psn);
	if (err)
		die("modify_qp to RTS: %s", strerror(err));
}

/*
 * FLUSH and ATOMIC WRITE have no struct ibv_send_wr: only a queue pair of ibv_create_qp_ex() can
 * post them. create_qp_ex() makes one that can post those that the device offers. ibv_post_send()
 * works with it, too. EX_FLUSH_ALL is for post_ex() only: a FLUSH of all of the region.
 */
enum { EX_ATOMIC_WRITE = 1, EX_FLUSH = 2, EX_FLUSH_ALL = 4 };

#if HAVE_FLUSH
#define ACCESS_FLUSH	IBV_ACCESS_FLUSH_GLOBAL
#else
#define ACCESS_FLUSH	0
#endif

/* Return: those that the device offers, by its flags (enum ib_uverbs_device_cap_flags) */
static UNUSED unsigned int ex_ops(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;
	unsigned int ops = 0;

	if (ibv_query_device_ex(ctx, NULL, &attr))
		die("query_device_ex: %s", strerror(errno));
	if (attr.device_cap_flags_ex & 1ull << 40)
		ops |= EX_ATOMIC_WRITE;
	if (HAVE_FLUSH && attr.device_cap_flags_ex & 1ull << 38)
		ops |= EX_FLUSH;
	return ops;
}

/* Return: the access right that these operations need at the peer, beside those of rc_attr() */
static UNUSED int ex_access(unsigned int ops)
{
	return ops & EX_FLUSH ? ACCESS_FLUSH : 0;
}

/* @ops: of enum EX_, for RC. Other types don't have them */
static UNUSED struct ibv_qp *try_qp_ex(struct ibv_pd *pd, struct ibv_qp_init_attr *ia,
				       unsigned int ops)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = ia->qp_type, .send_cq = ia->send_cq, .recv_cq = ia->recv_cq,
		.srq = ia->srq, .cap = ia->cap, .sq_sig_all = ia->sq_sig_all, .pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp *qp;

	if (!ops || ia->qp_type != IBV_QPT_RC)
		return ibv_create_qp(pd, ia);
	if (ops & EX_ATOMIC_WRITE)
		ex.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_WRITE;
#if HAVE_FLUSH
	if (ops & EX_FLUSH)
		ex.send_ops_flags |= IBV_QP_EX_WITH_FLUSH;
#endif
	qp = ibv_create_qp_ex(pd->context, &ex);
	ia->cap = ex.cap;
	return qp;
}

/* The same; ends the program on failure */
static UNUSED struct ibv_qp *create_qp_ex(struct ibv_pd *pd, struct ibv_qp_init_attr *ia,
					  unsigned int ops)
{
	struct ibv_qp *qp = try_qp_ex(pd, ia, ops);

	if (!qp)
		die("create_qp: %s", strerror(errno));
	return qp;
}

static UNUSED struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *ia)
{
	return create_qp_ex(pd, ia, 0);
}

/* Posts one. @what: of enum EX_; @data: the eight bytes of an ATOMIC WRITE. Return: 0 or errno */
static UNUSED int post_ex(struct ibv_qp *qp, int what, uint64_t wr_id, unsigned int flags,
			  uint32_t rkey, uint64_t addr, const void *data, size_t len)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = flags;
	if (what == EX_ATOMIC_WRITE)
		ibv_wr_atomic_write(ex, rkey, addr, data);
#if HAVE_FLUSH
	else
		ibv_wr_flush(ex, rkey, addr, len, IBV_FLUSH_GLOBAL,
			     what == EX_FLUSH_ALL ? IBV_FLUSH_MR : IBV_FLUSH_RANGE);
#endif
	(void)len;
	return ibv_wr_complete(ex);
}

static UNUSED int qp_to_state(struct ibv_qp *qp, enum ibv_qp_state s)
{
	struct ibv_qp_attr a = { .qp_state = s };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

/* RESET to RTR; ends the program on failure */
static UNUSED void ud_to_rtr(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };

	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) ||
	    qp_to_state(qp, IBV_QPS_RTR))
		die("UD to RTR: %s", strerror(errno));
}

/* RESET to RTS; ends the program on failure */
static UNUSED void ud_up(struct ibv_qp *qp, uint32_t qkey, uint32_t psn)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .sq_psn = psn };

	ud_to_rtr(qp, qkey);
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("UD to RTS: %s", strerror(errno));
}

static UNUSED enum ibv_qp_state qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;

	if (ibv_query_qp(qp, &a, IBV_QP_STATE, &ia))
		die("query_qp: %s", strerror(errno));
	return a.qp_state;
}

/* Waits @ms for a completion. Return: 0 if there was none. Yields: there are few processors. */
static UNUSED int wait_wc_ms(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	uint64_t end = now_ms() + ms;
	int n, spins = 0;

	for (;;) {
		n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			die("poll_cq failed");
		if (n)
			return n;
		if (now_ms() > end)
			return 0;
		if (++spins > 50)
			usleep(200);
	}
}

/* As wait_wc_ms(), with a deadline that only a hang exceeds. */
static UNUSED int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	return wait_wc_ms(cq, wc, 60000);
}

/* Waits for the next event of a channel */
static UNUSED void take_cq_event(struct ibv_comp_channel *chan)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(chan, &cq, &context))
		die("get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(cq, 1);
}

/*
 * Result lines: "ok NAME", "fail NAME why", "skip NAME why". The test script passes them on. The
 * counter is weak: all files of a program share it.
 */
int cases_failed __attribute__((weak));

static UNUSED void case_ok(const char *name)
{
	printf("ok %s\n", name);
	fflush(stdout);
}

static UNUSED void __attribute__((format(printf, 2, 3))) case_fail(const char *name,
								   const char *fmt, ...)
{
	va_list ap;

	printf("fail %s ", name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	cases_failed++;
}

static UNUSED void case_skip(const char *name, const char *why)
{
	printf("skip %s %s\n", name, why);
	fflush(stdout);
}

/* Prints the usage after --help or an unknown option. Return: the status for main() */
static UNUSED int print_usage(const char *text, int option)
{
	fputs(text, option == 'h' ? stdout : stderr);
	return option == 'h' ? 0 : 2;
}

static UNUSED union ibv_gid gid_of_text(const char *text)
{
	union ibv_gid gid;

	if (inet_pton(AF_INET6, text, &gid) != 1)
		die("not a GID: %s", text);
	return gid;
}

/* "HOST:PORT" becomes the host. Return: the port */
static UNUSED char *split_port(char *target)
{
	char *colon = strrchr(target, ':');

	if (!colon)
		die("--connect wants HOST:PORT");
	*colon = 0;
	return colon + 1;
}

/*
 * Opens a TCP connection: to @host, waiting until it listens, or accepts one if there is no host.
 */
static UNUSED int tcp_open(const char *host, const char *port)
{
	struct addrinfo hint = { .ai_socktype = SOCK_STREAM, .ai_flags = host ? 0 : AI_PASSIVE,
				 .ai_family = host ? AF_UNSPEC : AF_INET6 }, *ai;
	uint64_t end = now_ms() + 60000;
	int fd, s, one = 1, err;

	err = getaddrinfo(host, port, &hint, &ai);
	if (err)
		die("%s: %s", host ? host : "listen", gai_strerror(err));
	if (!host) {
		s = socket(ai->ai_family, SOCK_STREAM, 0);
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (s < 0 || bind(s, ai->ai_addr, ai->ai_addrlen) || listen(s, 1))
			die("cannot listen on port %s: %s", port, strerror(errno));
		fd = accept(s, NULL, NULL);
		if (fd < 0)
			die("accept: %s", strerror(errno));
		close(s);
	} else {
		for (;;) {
			fd = socket(ai->ai_family, SOCK_STREAM, 0);
			if (fd >= 0 && !connect(fd, ai->ai_addr, ai->ai_addrlen))
				break;
			if (now_ms() > end)
				die("cannot connect to %s:%s: %s", host, port, strerror(errno));
			close(fd);
			usleep(50000);
		}
	}
	freeaddrinfo(ai);
	return fd;
}

static UNUSED void write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = write(fd, p, len);
		if (n <= 0)
			die("control connection: %s", n ? strerror(errno) : "closed");
		p += n;
		len -= n;
	}
}

static UNUSED void read_all(int fd, void *buf, size_t len)
{
	char *p = buf;
	ssize_t n;

	while (len) {
		n = read(fd, p, len);
		if (n <= 0)
			die("control connection: %s", n ? strerror(errno) : "closed by the peer");
		p += n;
		len -= n;
	}
}

/*
 * Turns a profiler on or off by @what, "enable\n" or "disable\n", and waits for its answer. @fifos
 * is "CONTROL,ACK", as in perf record --control. NULL: there is no profiler.
 */
static UNUSED void tell_profiler(char *fifos, const char *what)
{
	static int control = -1, ack;
	char answer[8];

	if (!fifos)
		return;
	if (control < 0) {
		control = open(strtok(fifos, ","), O_WRONLY);
		ack = open(strtok(NULL, ","), O_RDONLY);
	}
	write_all(control, what, strlen(what));
	read_all(ack, answer, strlen("ack\n"));
}

#endif
