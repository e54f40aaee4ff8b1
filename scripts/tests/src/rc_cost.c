// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of a message.  Both ends of an RC connection are in one process, with a
 * few messages outstanding, all of them signalled.  The program polls.  After a poll in vain
 * it yields, and after some of them it sleeps until a completion comes.  On a machine whose
 * clock counts instructions, it prints instructions per message: those of this program, of
 * the kernel for both ends, and of all between them.
 */
#include "cost.h"

static const char usage[] =
	"usage: rc_cost [OPTION]... write|read|send|atomic|pingpong|bind\n"
	"  -d DEV -g INDEX   device and GID of the requester\n"
	"  -D DEV -G INDEX   and of the responder (the same ones)\n"
	"  -m BYTES          MTU (1024)\n"
	"  -s BYTES          size of a message (64)\n"
	"  -n COUNT          messages that are measured (1000)\n"
	"  -q DEPTH          messages outstanding (16)\n"
	"  -b                busy: never yield, never sleep\n"
	"  -S                receives in a shared receive queue\n"
	"  -u                unreliable: a UC connection (write, send, pingpong)\n"
	"  -i                without the time that the (one) processor was idle\n"
	"  -l                only the responder, and what this machine does for it\n"
	"  -c HOST           only the requester, with the responder of there (not for sends)\n"
	"  -p CONTROL,ACK    FIFOs of a profiler to turn on meanwhile (perf record --control)\n";

#define MAX_DEPTH	64
#define PORT		"18400"

struct end {
	const char *dev;
	int gid_index;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_mw *mw[MAX_DEPTH];	/* for binds */
	char *buf;
	struct info {
		struct addr addr;
		uint64_t va;
		uint32_t rkey;
	} info;				/* sent to the other end */
	unsigned int sends, receives;	/* completed */
};

static struct end a, b;			/* requester and responder */
static enum ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
static enum ibv_qp_type qp_type = IBV_QPT_RC;
static bool with_receives, pingpong, binds, shared;
static unsigned int size = 64, stride, depth = 16;

static void end_open_windows(struct end *e)
{
	unsigned int i;

	for (i = 0; binds && i < depth; i++) {
		e->mw[i] = ibv_alloc_mw(e->pd, IBV_MW_TYPE_1);
		if (!e->mw[i])
			die("cannot allocate a window: %m");
	}
}

static void end_open(struct end *e)
{
	struct ibv_srq_init_attr srq = {
		.attr = { .max_wr = 2 * depth, .max_sge = 1 },
	};
	struct ibv_qp_init_attr init = {
		.qp_type = qp_type, .sq_sig_all = 1,
		.cap = { .max_send_wr = depth, .max_recv_wr = 2 * depth,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	size_t bytes = (size_t)stride * depth * 2;

	e->ctx = open_device(e->dev);
	e->pd = new_pd(e->ctx);
	e->channel = ibv_create_comp_channel(e->ctx);
	e->cq = ibv_create_cq(e->ctx, 4 * depth, NULL, e->channel, 0);
	e->buf = aligned_alloc(4096, (bytes + 4095) & ~4095ul);
	if (!e->channel || !e->cq || !e->buf)
		die("cannot set up %s: %m", e->dev);
	rnd_fill(e->buf, bytes, (uintptr_t)e);
	e->mr = new_mr(e->pd, e->buf, bytes, ACCESS_ALL | (binds ? IBV_ACCESS_MW_BIND : 0));
	if (shared)
		init.srq = e->srq = ibv_create_srq(e->pd, &srq);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	if (shared && !e->srq)
		die("create_srq: %m");
	e->qp = create_qp(e->pd, &init);
	e->info.addr.gid = gid_at(e->ctx, e->gid_index);
	e->info.addr.qpn = e->qp->qp_num;
	e->info.addr.psn = 0xfffff0;	/* close to the wrap-around */
	e->info.va = (uintptr_t)e->buf;
	e->info.rkey = e->mr->rkey;
	end_open_windows(e);
}

static void end_connect(struct end *e, const struct end *peer, int mtu, int rd_atomic)
{
	struct rc_attr r = rc_attr(e->gid_index);

	r.mtu = mtu_from_bytes(mtu);
	r.rd_atomic = r.dest_rd_atomic = rd_atomic;
	rc_up(e->qp, &r, e->info.addr.psn, &peer->info.addr);
}

static void post_receive(struct end *e, unsigned int i)
{
	struct ibv_sge sge = {
		(uintptr_t)e->buf + (size_t)(i % (2 * depth)) * stride, size, e->mr->lkey
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (shared ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad))
		die("cannot post a receive");
}

static void post_bind(struct end *e, unsigned int i)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = e->mr, .addr = (uintptr_t)e->buf, .length = size,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	if (ibv_bind_mw(e->qp, e->mw[i % depth], &bind))
		die("cannot post a bind");
}

static void post_send(struct end *e, const struct end *peer, unsigned int i)
{
	size_t slot = (size_t)(i % depth) * stride;
	struct ibv_sge sge = { (uintptr_t)e->buf + slot, size, e->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = peer->info.va + slot;
		wr.wr.atomic.rkey = peer->info.rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = peer->info.va + slot;
		wr.wr.rdma.rkey = peer->info.rkey;
	}
	if (ibv_post_send(e->qp, &wr, &bad))
		die("cannot post");
}

/* Handles completions. A receive is posted again, and answered in a ping-pong. */
static int poll_end(struct end *e, struct end *peer)
{
	struct ibv_wc wc[MAX_DEPTH];
	int i, n = ibv_poll_cq(e->cq, MAX_DEPTH, wc);

	if (n < 0)
		die("cannot poll");
	for (i = 0; i < n; i++) {
		if (wc[i].status)
			die("%s: %s", e->dev, ibv_wc_status_str(wc[i].status));
		if (!(wc[i].opcode & IBV_WC_RECV)) {
			e->sends++;
			continue;
		}
		post_receive(e, e->receives++);
		if (pingpong && e == &b)
			post_send(e, peer, e->receives - 1);
	}
	return n;
}

/* Return: number of messages that have completed at each end that gets completions */
static unsigned int messages(void)
{
	unsigned int n = a.sends;

	if (with_receives && b.receives < n)
		n = b.receives;
	if (pingpong && a.receives < n)
		n = a.receives;
	if (pingpong && b.sends < n)
		n = b.sends;
	return n;
}

/* Polls both ends. A responder without completions isn't polled: it may be on another machine. */
static int poll_ends(void)
{
	int n = poll_end(&a, &b);

	return with_receives ? n + poll_end(&b, &a) : n;
}

/* Sleeps until a completion comes. Returns at once if one came since the last poll. */
static void sleep_for_event(void)
{
	struct end *ends[] = { &a, &b };
	struct pollfd fds[2];
	int i, n = with_receives ? 2 : 1;

	for (i = 0; i < n; i++) {
		fds[i] = (struct pollfd) { ends[i]->channel->fd, POLLIN, 0 };
		if (ibv_req_notify_cq(ends[i]->cq, 0))
			die("cannot ask for an event");
	}
	if (poll_ends())
		return;
	cost_sleeps++;
	if (poll(fds, n, -1) < 0)
		die("poll: %m");
	for (i = 0; i < n; i++)
		if (fds[i].revents)
			take_cq_event(ends[i]->channel);
}

/* Runs until @total messages since the start have completed. */
static void run_to(unsigned int total)
{
	unsigned int posted = messages();

	while (messages() != total) {
		for (; posted != total && posted - messages() < depth; posted++) {
			if (binds)
				post_bind(&a, posted);
			else
				post_send(&a, &b, posted);
		}
		cost_wait(poll_ends, sleep_for_event);
	}
}

static void check_data(void)
{
	unsigned int i, sinks = opcode == IBV_WR_SEND ? 2 * depth : depth;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || pingpong || binds)
		return;
	for (i = 0; i < sinks; i++)
		if (memcmp(a.buf + (size_t)(i % depth) * stride, b.buf + (size_t)i * stride, size))
			die("wrong data");
}

static void parse_op(const char *op)
{
	pingpong = !strcmp(op, "pingpong");
	binds = !strcmp(op, "bind");
	with_receives = pingpong || !strcmp(op, "send");
	if (with_receives)
		opcode = IBV_WR_SEND;
	else if (!strcmp(op, "read"))
		opcode = IBV_WR_RDMA_READ;
	else if (!strcmp(op, "atomic"))
		opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	else if (strcmp(op, "write") && !binds)
		die("%s", usage);
	if (pingpong)
		depth = 1;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		size = 8;
}

static void measure_requester(unsigned int count, char *profiler, int peer)
{
	/* Caches warm, and every buffer used. */
	unsigned int warm = count / 8 > 2 * depth ? count / 8 : 2 * depth;
	uint64_t ns;

	run_to(warm);
	if (peer >= 0)
		write_all(peer, "b", 1);
	ns = cost_start();
	tell_profiler(profiler, "enable\n");
	run_to(warm + count);
	tell_profiler(profiler, "disable\n");
	cost_stop(ns, count);
	if (peer >= 0)
		write_all(peer, "e", 1);
	else
		check_data();
}

/* Measures the time between two messages by TCP: the requester begins, and has ended. */
static void measure_responder(unsigned int count, int peer)
{
	uint64_t ns;
	char c;

	read_all(peer, &c, 1);
	ns = cost_start();
	read_all(peer, &c, 1);
	cost_stop(ns, count);
}

/* Both ends are in this process. */
static void connect_here(int mtu, int rd_atomic)
{
	unsigned int i;

	end_open(&a);
	end_open(&b);
	end_connect(&a, &b, mtu, rd_atomic);
	end_connect(&b, &a, mtu, rd_atomic);
	for (i = 0; with_receives && i < 2 * depth; i++) {
		post_receive(&b, i);
		if (pingpong)
			post_receive(&a, i);
	}
}

/* The other end is at @host. Without @host, wait for its connection. */
static int connect_there(struct end *here, struct end *there, const char *host, int mtu, int rd_atomic)
{
	int fd;
	char c = 0;

	end_open(here);
	fd = tcp_open(host, PORT);
	write_all(fd, &here->info, sizeof(here->info));
	read_all(fd, &there->info, sizeof(there->info));
	end_connect(here, there, mtu, rd_atomic);
	write_all(fd, &c, 1);
	read_all(fd, &c, 1);
	return fd;
}

int main(int argc, char **argv)
{
	unsigned int count = 1000, mtu = 1024, rd_atomic = 16;
	char *profiler = NULL, *host = NULL;
	bool listening = false;
	int c, peer = -1;

	b.gid_index = -1;
	while ((c = getopt(argc, argv, "d:D:g:G:m:s:n:q:bSuilc:p:")) != -1) {
		switch (c) {
		case 'd': a.dev = optarg; break;
		case 'D': b.dev = optarg; break;
		case 'g': a.gid_index = atoi(optarg); break;
		case 'G': b.gid_index = atoi(optarg); break;
		case 'm': mtu = atoi(optarg); break;
		case 's': size = atoi(optarg); break;
		case 'n': count = atoi(optarg); break;
		case 'q': depth = atoi(optarg); break;
		case 'b': cost_busy = true; break;
		case 'S': shared = true; break;
		case 'u': qp_type = IBV_QPT_UC; break;
		case 'i': cost_without_idle = true; break;
		case 'l': listening = true; break;
		case 'c': host = optarg; break;
		case 'p': profiler = optarg; break;
		default: die("%s", usage);
		}
	}
	if (optind != argc - 1 || !size || !count || !depth || depth > MAX_DEPTH)
		die("%s", usage);
	parse_op(argv[optind]);
	if (with_receives && (listening || host))
		die("%s", usage);
	stride = (size + 63) & ~63;
	if (!b.dev)
		b.dev = a.dev;
	if (b.gid_index < 0)
		b.gid_index = a.gid_index;

	if (listening)
		peer = connect_there(&b, &a, NULL, mtu, rd_atomic);
	else if (host)
		peer = connect_there(&a, &b, host, mtu, rd_atomic);
	else
		connect_here(mtu, rd_atomic);
	if (listening)
		measure_responder(count, peer);
	else
		measure_requester(count, profiler, peer);
	return 0;
}
