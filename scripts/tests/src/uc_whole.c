// SPDX-License-Identifier: GPL-2.0
/*
 * uc_whole: a message that completes on an unreliable connection is whole, also on a bad wire.
 *
 * Two processes, connected by TCP. The client sends messages of many lengths, as SENDs and WRITEs,
 * with or without immediate data. Both ends make the same pool of random bytes. Message n carries a
 * piece of the pool, whose place depends on n. The server compares completed messages, and reports
 * its progress to the client. At most -w messages are in flight. On a lossy wire, the client takes
 * a message for lost if it doesn't arrive for some time.
 *
 * A WRITE without immediate data has no completion at the server. Each has its own place, which the
 * server checks at the end: it must have the packets of the message up to the first lost one, and
 * no other bytes [9.8.2.2].
 *
 * At the end, it prints how many messages were sent, received and received twice. It fails if a
 * message is wrong, or if fewer arrive than -l says. Without -l, it fails if one is missing or
 * arrives twice.
 */
#include <getopt.h>
#include "verbs_util.h"

static const char usage[] =
	"usage: uc_whole -d DEV -g INDEX --listen PORT\n"
	"       uc_whole -d DEV -g INDEX --connect HOST:PORT [OPTION]...\n"
	"  -n COUNT    messages (2000)\n"
	"  -m BYTES    MTU (1024)\n"
	"  -s BYTES    of the longest message (40000)\n"
	"  -w COUNT    messages under way (32, which is the most)\n"
	"  -l COUNT    the wire is lossy: so many come at least\n";

#define MAGIC	0x75635f77686f6c65ull
#define WINDOW	32			/* maximum of messages in flight */
#define SHORTEST	16		/* bytes of a message, enough to identify it */
#define SLOTS	(16 * WINDOW)		/* buffers of a message each */
#define SPAN	65536			/* the pool is so much longer than a message */
#define LATE_MS	(lossy ? 30 : 10000)	/* a message that hasn't arrived by then is lost */
#define GAP	64			/* bytes between the places of WRITEs */
#define POISON	0xa5			/* initial contents of the gaps */
#define CAUGHT_UP	(UINT32_MAX - 1)
#define ENDED		UINT32_MAX

struct hello {
	struct addr addr;
	uint64_t slots, places;
	uint32_t rkey, places_rkey, count, mtu, longest;
};

struct count {
	uint32_t received, twice, wrong;
};

enum kind { SEND, SEND_IMM, WRITE, WRITE_IMM };

static struct ibv_context *ctx;
static struct ibv_comp_channel *chan;
static struct ibv_cq *scq, *rcq;
static struct ibv_qp *qp;
static struct ibv_mr *pool_mr, *slots_mr, *places_mr;
static uint8_t *pool, *slots, *seen, *places;
static size_t *place;		/* of message n, if it is a WRITE without immediate data */
static struct hello me = { .count = 2000, .mtu = 1024, .longest = 40000 }, peer;
static uint32_t ahead = WINDOW;	/* messages in flight */
static uint32_t pending;	/* sends that haven't completed */
static bool lossy;
static uint32_t least;		/* messages that must arrive */

static uint64_t mix(uint32_t n)
{
	uint64_t seed = MAGIC + n;

	return rnd(&seed);
}

static uint8_t *piece(uint32_t n)
{
	return pool + n * 72ull % SPAN;
}

/* Mostly short, some of many packets */
static uint32_t length(uint32_t n)
{
	uint32_t most = mix(n) % 3 ? me.mtu : me.longest;

	return SHORTEST + (mix(n) >> 8) % (most - SHORTEST + 1);
}

/* The last message has a completion: on a good wire, all before it have arrived, too */
static enum kind kind(uint32_t n)
{
	return n == me.count - 1 ? SEND_IMM : mix(n) >> 62;
}

static bool is_write(uint32_t n)
{
	return kind(n) == WRITE || kind(n) == WRITE_IMM;
}

static bool has_imm(uint32_t n)
{
	return kind(n) == SEND_IMM || kind(n) == WRITE_IMM;
}

/* Return: bytes of all places, with some behind each */
static size_t lay_places(void)
{
	size_t at = 0;
	uint32_t n;

	place = calloc(me.count, sizeof(*place));
	for (n = 0; n < me.count; n++) {
		place[n] = at;
		if (kind(n) == WRITE)
			at += length(n) + GAP;
	}
	return at;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint8_t *slot(uint32_t n)
{
	return slots + (size_t)(n % SLOTS) * me.longest;
}

static void open_end(const char *dev, int gid_index)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_UC,
		.cap = { .max_send_wr = SLOTS, .max_recv_wr = SLOTS,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	size_t bytes = lay_places() + GAP;
	struct ibv_pd *pd;

	ctx = open_device(dev);
	pd = new_pd(ctx);
	chan = ibv_create_comp_channel(ctx);
	scq = new_cq(ctx, SLOTS);
	rcq = ibv_create_cq(ctx, SLOTS, NULL, chan, 0);
	if (!chan || !rcq)
		die("cannot set up: %m");
	ia.send_cq = scq;
	ia.recv_cq = rcq;
	qp = create_qp(pd, &ia);
	me.addr.gid = gid_at(ctx, gid_index);
	pool = new_pages(me.longest + SPAN);
	slots = new_pages((size_t)SLOTS * me.longest);
	rnd_fill(pool, me.longest + SPAN, MAGIC);
	pool_mr = new_mr(pd, pool, me.longest + SPAN, 0);
	slots_mr = new_mr(pd, slots, (size_t)SLOTS * me.longest,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	places = new_pages(bytes);
	memset(places, POISON, bytes);
	places_mr = new_mr(pd, places, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	me.places = (uintptr_t)places;
	me.places_rkey = places_mr->rkey;
	me.addr.qpn = qp->qp_num;
	me.addr.psn = 0xfffff0;		/* close to the wrap-around */
	me.slots = (uintptr_t)slots;
	me.rkey = slots_mr->rkey;
}

static void connect_end(int gid_index)
{
	struct rc_attr r = rc_attr(gid_index);

	r.mtu = mtu_from_bytes(me.mtu);
	rc_up(qp, &r, me.addr.psn, &peer.addr);
}

/* ---- server ---- */

static void post_receive(uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)slot(SLOTS - 1 - i % WINDOW), me.longest, slots_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("cannot post a receive");
}

/* Return: the message's number, from the immediate data or by the first bytes */
static uint32_t number(const struct ibv_wc *wc)
{
	const uint8_t *data = slot(SLOTS - 1 - wc->wr_id % WINDOW);
	uint32_t n;

	if (wc->wc_flags & IBV_WC_WITH_IMM)
		return ntohl(wc->imm_data);
	for (n = 0; n < me.count; n++)
		if (kind(n) == SEND && !memcmp(data, piece(n), SHORTEST))
			break;
	return n;
}

static bool is_right(const struct ibv_wc *wc, uint32_t n)
{
	bool write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	const uint8_t *data = slot(write ? n % (SLOTS / 2) : SLOTS - 1 - wc->wr_id % WINDOW);

	if (n >= me.count || write != is_write(n) || wc->byte_len != length(n) ||
	    has_imm(n) != !!(wc->wc_flags & IBV_WC_WITH_IMM))
		return false;
	return !memcmp(data, piece(n), length(n));
}

static void take(const struct ibv_wc *wc, uint32_t n, struct count *count)
{
	if (wc->status)
		die("a receive failed: %s", ibv_wc_status_str(wc->status));
	if (!is_right(wc, n)) {
		fprintf(stderr, "message %u is wrong: %u bytes, opcode %d\n", n, wc->byte_len,
			wc->opcode);
		count->wrong++;
	} else if (seen[n]++) {
		count->twice++;
	} else {
		count->received++;
	}
}

/* Handles all completions, and reports to the client */
static void catch_up(int ctl, struct count *count)
{
	struct ibv_wc wc;
	uint32_t at;

	while (ibv_poll_cq(rcq, 1, &wc) > 0) {
		at = number(&wc);
		take(&wc, at, count);
		post_receive(wc.wr_id);
		write_all(ctl, &at, sizeof(at));
	}
}

/* Return: bytes of the whole packets at the beginning; UINT32_MAX: there are other bytes, too */
static uint32_t written(uint32_t n)
{
	const uint8_t *at = places + place[n], *new = piece(n);
	uint32_t len = 0, i;

	while (len < length(n) &&
	       !memcmp(at + len, new + len, least_of(me.mtu, length(n) - len)))
		len += least_of(me.mtu, length(n) - len);
	for (i = len; i < length(n) + GAP; i++)
		if (at[i] != POISON)
			return UINT32_MAX;
	return len;
}

/* Called when no message is in flight any more */
static void look_at_places(struct count *count)
{
	uint32_t n, len;

	if (qp_to_state(qp, IBV_QPS_RESET))
		die("to RESET: %m");
	for (n = 0; n < me.count; n++) {
		if (kind(n) != WRITE)
			continue;
		len = written(n);
		count->received += len == length(n);
		if (len == UINT32_MAX) {
			fprintf(stderr, "WRITE %u of %u bytes: wrong bytes\n", n, length(n));
			count->wrong++;
		}
	}
}

/* The client sends 'c' on the control connection to ask for progress, and 'e' at the end */
static void serve(int ctl)
{
	struct pollfd fds[2] = { { ctl, POLLIN, 0 }, { chan->fd, POLLIN, 0 } };
	uint32_t caught_up = CAUGHT_UP, ended = ENDED;
	struct count count = {};
	uint64_t posted;
	char c = 0;

	for (posted = 0; posted < WINDOW; posted++)
		post_receive(posted);
	write_all(ctl, "r", 1);
	while (c != 'e') {
		if (ibv_req_notify_cq(rcq, 0))
			die("cannot ask for an event");
		catch_up(ctl, &count);
		if (poll(fds, 2, -1) < 0)
			die("poll: %m");
		if (fds[1].revents)
			take_cq_event(chan);
		if (!fds[0].revents)
			continue;
		read_all(ctl, &c, 1);
		catch_up(ctl, &count);
		if (c == 'c')
			write_all(ctl, &caught_up, sizeof(caught_up));
	}
	look_at_places(&count);
	write_all(ctl, &ended, sizeof(ended));
	write_all(ctl, &count, sizeof(count));
}

/* ---- client ---- */

/* Waits until @most sends are left. They complete without an answer of the peer */
static void complete_sends(uint32_t most)
{
	struct ibv_wc wc;

	for (; pending > most; pending--) {
		if (!wait_wc(scq, &wc))
			die("a send doesn't complete");
		if (wc.status)
			die("a send failed: %s", ibv_wc_status_str(wc.status));
	}
}

static void post_send(uint32_t n)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct ibv_sge sge = { (uintptr_t)piece(n), length(n), pool_mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = opcodes[kind(n)],
		.imm_data = htonl(n),
	};

	if (kind(n) == WRITE) {
		wr.wr.rdma.remote_addr = peer.places + place[n];
		wr.wr.rdma.rkey = peer.places_rkey;
	} else if (is_write(n)) {
		wr.wr.rdma.remote_addr = peer.slots + (uint64_t)(n % (SLOTS / 2)) * me.longest;
		wr.wr.rdma.rkey = peer.rkey;
	}
	complete_sends(WINDOW - 1);
	if (ibv_post_send(qp, &wr, &bad))
		die("cannot post a send");
	pending++;
}

/* Reads the server's progress. Return: false if there was none for LATE_MS */
static bool hear(int ctl, uint32_t *heard, uint32_t *told)
{
	struct pollfd fd = { ctl, POLLIN, 0 };
	uint32_t at;

	if (poll(&fd, 1, LATE_MS) <= 0)
		return false;
	read_all(ctl, &at, sizeof(at));
	(*told)++;
	if ((int32_t)(at + 1 - *heard) > 0)
		*heard = at + 1;
	return true;
}

/* When the server has handled all completions, what is in flight is lost: reuse its buffers */
static void give_up(int ctl, uint32_t *told)
{
	uint32_t at;

	write_all(ctl, "c", 1);
	for (;;) {
		read_all(ctl, &at, sizeof(at));
		if (at == CAUGHT_UP)
			return;
		(*told)++;
	}
}

/* The server doesn't report the WRITEs without immediate data before message @n */
static void skip_writes(uint32_t *heard, uint32_t n)
{
	while (*heard < n && kind(*heard) == WRITE)
		(*heard)++;
}

static int drive(int ctl)
{
	uint32_t n, heard = 0, told = 0, at;
	struct count count;
	char c;

	read_all(ctl, &c, 1);
	for (n = 0; n < me.count; n++) {
		skip_writes(&heard, n);
		while (n - heard >= ahead || (!lossy && n - told >= ahead))
			if (!hear(ctl, &heard, &told)) {
				if (!lossy)
					die("of %u messages %u came", n, told);
				give_up(ctl, &told);
				heard = n;
			} else {
				skip_writes(&heard, n);
			}
		post_send(n);
		told += kind(n) == WRITE;	/* the receiver gets no completion */
	}
	while (told < me.count && hear(ctl, &heard, &told))
		;
	write_all(ctl, "e", 1);
	do {
		read_all(ctl, &at, sizeof(at));
	} while (at != ENDED);
	read_all(ctl, &count, sizeof(count));
	printf("sent %u, received %u, twice %u, wrong %u\n", me.count, count.received, count.twice,
	       count.wrong);
	if (count.wrong || count.received < least)
		return 1;
	return !lossy && (count.received != me.count || count.twice);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "listen", 1, NULL, 'L' }, { "connect", 1, NULL, 'C' }, {}
	};
	char *dev = NULL, *host = NULL, *port = NULL;
	int c, ctl, gid_index = 0, status = 0;

	while ((c = getopt_long(argc, argv, "d:g:n:m:s:w:l:", longs, NULL)) != -1) {
		switch (c) {
		case 'd': dev = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'n': me.count = atoi(optarg); break;
		case 'm': me.mtu = atoi(optarg); break;
		case 's': me.longest = atoi(optarg); break;
		case 'w': ahead = atoi(optarg); break;
		case 'l':
			lossy = true;
			least = atoi(optarg);
			break;
		case 'L': port = optarg; break;
		case 'C':
			host = optarg;
			port = strrchr(optarg, ':');
			if (!port)
				die("%s", usage);
			*port++ = 0;
			break;
		default: die("%s", usage);
		}
	}
	if (!port || optind != argc || me.longest < me.mtu || me.longest > SPAN || !ahead || ahead > WINDOW)
		die("%s", usage);
	ctl = tcp_open(host, port);
	if (host)
		write_all(ctl, &me, sizeof(me));
	else
		read_all(ctl, &me, sizeof(me));
	open_end(dev, gid_index);
	write_all(ctl, &me, sizeof(me));
	read_all(ctl, &peer, sizeof(peer));
	seen = calloc(me.count, 1);
	connect_end(gid_index);
	if (host) {
		status = drive(ctl);
		complete_sends(0);
	} else {
		serve(ctl);
	}
	return status;
}
