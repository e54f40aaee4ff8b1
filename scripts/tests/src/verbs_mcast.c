// SPDX-License-Identifier: GPL-2.0
/*
 * UD multicast.
 *
 * usage: verbs_mcast local DEV GID-INDEX GROUP	cases on one device: members, limits, errors
 *	  verbs_mcast recv DEV GID-INDEX GROUP COUNT	member: "ready", then "got N" at the end
 *	  verbs_mcast send DEV GID-INDEX GROUP COUNT	sends; fails if there's no route
 *	  verbs_mcast some DEV GID-INDEX GROUP COUNT	member where datagrams get lost: "ready", then
 *							"got N" when that of "end" comes
 *	  verbs_mcast end DEV GID-INDEX GROUP		sends the last datagram to "some"
 *	  verbs_mcast hold DEV GID-INDEX GROUP [COUNT]	member of that and the next groups: "ready",
 *							and waits to be killed
 *
 * GROUP is an IPv4 or IPv6 multicast address. recv, some and hold work with any GID.
 */
#include "verbs_util.h"

#define MEMBERS 8
#define QKEY 0x1234567
#define GRH 40
#define LEN 100
#define GROUP_QPN 0xffffff
#define SLOTS 16
#define SLOT 256
#define SENT 1000		/* wr_id of a send; that of a receive is its slot */
#define MOST_SOME 255		/* datagrams to "some": their bytes tell them apart */

static struct ibv_context *ctx;
static struct ibv_device_attr dev;
static struct ibv_pd *pd;
static union ibv_gid group, own;
static int gid_index;
static int slots = SLOTS;	/* receive buffers of an end */

struct end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;		/* data to send, and receive buffers behind it */
};

static union ibv_gid parse_gid(const char *text)
{
	union ibv_gid gid = {};

	if (inet_pton(AF_INET6, text, gid.raw) == 1)
		return gid;
	memset(gid.raw + 10, 0xff, 2);
	if (inet_pton(AF_INET, text, gid.raw + 12) != 1)
		die("%s is no address", text);
	return gid;
}

static struct ibv_qp *new_qp(struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .sq_sig_all = 1,
		.cap = { .max_send_wr = 64, .max_recv_wr = slots, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return create_qp(pd, &ia);
}

static uint8_t *slot_of(const struct end *e, uint64_t slot)
{
	return e->buf + (1 + slot) * SLOT;
}

static void post_recv(struct end *e, uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)slot_of(e, slot), GRH + LEN, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(e->qp, &wr, &bad))
		die("post_recv: %s", strerror(errno));
}

static struct end new_end(uint32_t qkey)
{
	struct end e = { .buf = new_pages((1 + slots) * SLOT) };
	int i;

	e.mr = new_mr(pd, e.buf, (1 + slots) * SLOT, IBV_ACCESS_LOCAL_WRITE);
	e.cq = new_cq(ctx, 64 + slots);
	e.qp = new_qp(e.cq, IBV_QPT_UD);
	ud_up(e.qp, qkey, 0);
	for (i = 0; i < slots; i++)
		post_recv(&e, i);
	return e;
}

static void end_end(struct end *e)
{
	if (ibv_destroy_qp(e->qp) || ibv_destroy_cq(e->cq) || ibv_dereg_mr(e->mr))
		die("destroy: %s", strerror(errno));
	free(e->buf);
}

static struct ibv_ah *new_ah(const union ibv_gid *to)
{
	struct rc_attr attr = { .gid_index = gid_index, .hop_limit = 3 };

	return create_ah(pd, &attr, *to);
}

static void post_send(struct end *e, struct ibv_ah *ah, uint32_t qpn, uint32_t seq)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, LEN, e->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = SENT, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY },
	}, *bad;

	memset(e->buf, seq, LEN);
	if (ibv_post_send(e->qp, &wr, &bad))
		die("post_send: %s", strerror(errno));
}

static bool payload_ok(const struct end *e, uint64_t slot, uint32_t seq)
{
	const uint8_t *p = slot_of(e, slot) + GRH;
	int i;

	for (i = 0; i < LEN; i++)
		if (p[i] != (uint8_t)seq)
			return false;
	return true;
}

/* The group is the destination in the GRH; in IPv4, in the last four bytes of 40 */
static bool grh_names_group(const struct end *e, uint64_t slot)
{
	return !memcmp(slot_of(e, slot) + GRH - 4, group.raw + 12, 4);
}

/* Return: true for the completion of a received datagram, which must be right; false: a send */
static bool take(struct end *e, const struct ibv_wc *wc, uint32_t seq)
{
	if (wc->status)
		die("%s: %s", wc->wr_id == SENT ? "send" : "receive",
		    ibv_wc_status_str(wc->status));
	if (wc->wr_id == SENT)
		return false;
	if (wc->byte_len != GRH + LEN || !(wc->wc_flags & IBV_WC_GRH) ||
	    !payload_ok(e, wc->wr_id, seq) || !grh_names_group(e, wc->wr_id))
		die("a copy is wrong: %u bytes", wc->byte_len);
	post_recv(e, wc->wr_id);
	return true;
}

static int detach(struct ibv_qp *qp, const union ibv_gid *gid, int lid)
{
	return ibv_detach_mcast(qp, gid, lid) ? errno : 0;
}

static int attach(struct ibv_qp *qp, const union ibv_gid *gid, int lid)
{
	return ibv_attach_mcast(qp, gid, lid) ? errno : 0;
}

static void check(const char *name, const char *want, const char *fmt, ...)
{
	char got[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(got, sizeof(got), fmt, ap);
	va_end(ap);
	if (strcmp(want, got))
		case_fail(name, "%s, not %s", got, want);
	else
		case_ok(name);
}

/*
 * Takes @want completions, and others that are there. @sent: grows by those of sends. Return:
 * datagrams
 */
static int completions(struct end *e, int want, uint32_t seq, int *sent)
{
	struct ibv_wc wc;
	int n = 0, got = 0;

	for (; got < want ? wait_wc(e->cq, &wc) : ibv_poll_cq(e->cq, 1, &wc); got++) {
		if (take(e, &wc, seq))
			n++;
		else
			++*sent;
	}
	return n;
}

/* The first end sends. @want: a digit for each end, the number of copies that it gets */
static void check_sent(const char *name, const char *want, struct end *e, struct ibv_ah *ah,
		       uint32_t qpn)
{
	char got[MEMBERS + 1] = "";
	static uint32_t seq;
	int i, sent = 0;

	post_send(&e[0], ah, qpn, ++seq);
	for (i = 0; i < MEMBERS; i++)
		got[i] = '0' + completions(&e[i], want[i] - '0' + !i, seq, &sent);
	check(name, want, "%s", got);
	if (sent != 1)
		case_fail(name, "sent %d times", sent);
}

static void members(void)
{
	struct ibv_ah *ah = new_ah(&group), *unicast = new_ah(&own);
	struct end e[MEMBERS];
	int i;

	for (i = 0; i < MEMBERS; i++)
		e[i] = new_end(i == 5 ? QKEY + 1 : QKEY);
	check_sent("nobody", "00000000", e, ah, GROUP_QPN);
	for (i = 1; i < MEMBERS - 1; i++)
		if (attach(e[i].qp, &group, 0))
			die("attach: %s", strerror(errno));
	check_sent("members", "01111010", e, ah, GROUP_QPN);
	check("attach-own", "0", "%d", attach(e[0].qp, &group, 0));
	check_sent("own-copy", "11111010", e, ah, GROUP_QPN);
	check_sent("other-qpn", "00000000", e, ah, e[1].qp->qp_num);
	check_sent("unicast-qpn", "00000000", e, unicast, GROUP_QPN);
	check("attach-again", "0 0", "%d %d", attach(e[1].qp, &group, 0),
	      attach(e[1].qp, &group, 7));
	check_sent("attached-twice", "11111010", e, ah, GROUP_QPN);
	check("detach-one", "0", "%d", detach(e[1].qp, &group, 0));
	check_sent("attached-still", "11111010", e, ah, GROUP_QPN);
	check("detach-other", "0", "%d", detach(e[1].qp, &group, 7));
	check_sent("detached", "10111010", e, ah, GROUP_QPN);
	check("stranger", "22", "%d", detach(e[7].qp, &group, 0));
	check("qp-to-reset", "0", "%d", qp_to_state(e[2].qp, IBV_QPS_RESET));
	check_sent("reset-gets-none", "10011010", e, ah, GROUP_QPN);
	ibv_destroy_ah(ah);
	ibv_destroy_ah(unicast);
	/* Some are still attached: the kernel must detach them */
	for (i = 0; i < MEMBERS; i++) {
		if (i != 0 && i != 1 && i != 7)
			detach(e[i].qp, &group, 0);
		else if (!i)
			check("destroy-attached", "16", "%d", ibv_destroy_qp(e[0].qp) ? errno : 0);
		if (!i)
			detach(e[0].qp, &group, 0);
		end_end(&e[i]);
	}
}

static union ibv_gid numbered(uint32_t n)
{
	union ibv_gid gid = group;

	gid.raw[14] = n >> 8;
	gid.raw[15] = n;
	return gid;
}

/* The member of a group sends to it, and gets its own copy */
static int sends_to(struct end *e, union ibv_gid to)
{
	union ibv_gid before = group;
	struct ibv_ah *ah = new_ah(&to);
	int sent = 0, got;

	group = to;	/* take() expects it in the GRH */
	post_send(e, ah, GROUP_QPN, 1);
	got = completions(e, 2, 1, &sent);
	group = before;
	ibv_destroy_ah(ah);
	return got;
}

/*
 * Attaches a QP to as many groups as possible, and prints their number and the errno. The last
 * group works
 */
static void most_groups(void)
{
	struct end e = new_end(QKEY);
	union ibv_gid gid;
	int n, err = 0;
	char want[32];

	for (n = 0; !err; n += !err) {
		gid = numbered(n);
		err = attach(e.qp, &gid, 0);
	}
	snprintf(want, sizeof(want), "%d %d", dev.max_mcast_grp, ENOMEM);
	check("most-groups", want, "%d %d", n, err);
	check("last-group", "1", "%d", sends_to(&e, numbered(n - 1)));
	for (err = 0; n-- && !err; ) {
		gid = numbered(n);
		err = detach(e.qp, &gid, 0);
	}
	check("leave-most-groups", "0", "%d", err);
	end_end(&e);
}

/* Each of the most members gets a copy, also the one that sends */
static void most_members(void)
{
	int most = dev.max_mcast_qp_attach, n, i, err = 0, sent = 0, copies = 0;
	struct ibv_ah *ah = new_ah(&group);
	struct end e[most + 1];
	char want[32];

	for (n = 0; n <= most; n++)
		e[n] = new_end(QKEY);
	for (n = 0; n <= most && !err; n += !err)
		err = attach(e[n].qp, &group, 0);
	snprintf(want, sizeof(want), "%d %d", most, ENOMEM);
	check("most-members", want, "%d %d", n, err);
	post_send(&e[0], ah, GROUP_QPN, 1);
	for (i = 0; i <= most; i++)
		copies += completions(&e[i], (i < n) + !i, 1, &sent);
	snprintf(want, sizeof(want), "%d", most);
	check("copy-per-member", want, "%d", copies);
	while (n--)
		detach(e[n].qp, &group, 0);
	for (i = 0; i <= most; i++)
		end_end(&e[i]);
	ibv_destroy_ah(ah);
}

static void refused(void)
{
	struct ibv_cq *cq = new_cq(ctx, 64);
	struct ibv_qp *ud = new_qp(cq, IBV_QPT_UD), *rc = new_qp(cq, IBV_QPT_RC);
	struct addr peer = { .qpn = GROUP_QPN, .gid = group };
	struct rc_attr attr = rc_attr(gid_index);

	check("attach-unicast", "22", "%d", attach(ud, &own, 0));
	check("attach-rc", "22", "%d", attach(rc, &group, 0));
	if (rc_to_init(rc, &attr))
		die("RC to INIT: %s", strerror(errno));
	check("rc-to-group", "22", "%d", rc_to_rtr(rc, &attr, &peer));
	ibv_destroy_qp(ud);
	ibv_destroy_qp(rc);
	ibv_destroy_cq(cq);
}

static struct end new_member(void)
{
	struct end e = new_end(QKEY);

	if (attach(e.qp, &group, 0))
		die("attach: %s", strerror(errno));
	printf("ready\n");
	fflush(stdout);
	return e;
}

/* @n datagrams came. One more would be a second copy, which comes before the next datagram */
static void end_member(struct end *e, int n)
{
	struct ibv_wc wc;

	printf("got %d\n", n + ibv_poll_cq(e->cq, 1, &wc));
	detach(e->qp, &group, 0);
	end_end(e);
}

static void receive(int count)
{
	struct end e = new_member();
	struct ibv_wc wc;
	int n;

	for (n = 0; n < count; n++) {
		if (!wait_wc(e.cq, &wc))
			die("only %d of %d came", n, count);
		take(&e, &wc, n + 1);
	}
	end_member(&e, n);
}

/* Datagrams may be missing, but are whole, in order, and come once. That of zeros is the last */
static void receive_some(int count)
{
	uint8_t seq, last = 0;
	struct ibv_wc wc;
	struct end e;
	int n;

	if (count < 1 || count > MOST_SOME)
		die("1 to %d datagrams, not %d", MOST_SOME, count);
	slots = count + 1;
	e = new_member();
	for (n = 0; ; n++) {
		if (!wait_wc(e.cq, &wc))
			die("%d came, but not the last", n);
		seq = wc.wr_id < (uint64_t)slots ? slot_of(&e, wc.wr_id)[GRH] : 0;
		take(&e, &wc, seq);
		if (!seq)
			break;
		if (seq <= last)
			die("datagram %u came behind %u", seq, last);
		last = seq;
	}
	end_member(&e, n);
}

static void hold(int count)
{
	struct end e = new_end(QKEY);
	union ibv_gid mgid = group;

	for (; count > 0; count--, mgid.raw[15]++) {
		if (attach(e.qp, &mgid, 0))
			die("attach: %s", strerror(errno));
	}
	printf("ready\n");
	fflush(stdout);
	pause();
}

/* Sends no more datagrams than receivers have slots for. @first: bytes of the first one */
static void send_many(int first, int count)
{
	struct end e = new_end(QKEY);
	struct ibv_ah *ah = new_ah(&group);
	struct ibv_wc wc;
	int i;

	for (i = 0; i < count; i++) {
		post_send(&e, ah, GROUP_QPN, first + i);
		if (!wait_wc(e.cq, &wc) || take(&e, &wc, 0))
			die("a send didn't complete");
	}
	ibv_destroy_ah(ah);
	end_end(&e);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		die("usage: %s local|recv|send|some|end|hold DEV GID-INDEX GROUP [COUNT]", argv[0]);
	ctx = open_device(argv[2]);
	gid_index = atoi(argv[3]);
	group = parse_gid(argv[4]);
	own = gid_at(ctx, gid_index);
	pd = new_pd(ctx);
	if (ibv_query_device(ctx, &dev))
		die("%s: %s", argv[2], strerror(errno));
	if (!strcmp(argv[1], "local")) {
		members();
		refused();
		most_members();
		most_groups();
	} else if (!strcmp(argv[1], "send")) {
		send_many(1, atoi(argv[5]));
	} else if (!strcmp(argv[1], "end")) {
		send_many(0, 1);
	} else if (!strcmp(argv[1], "some")) {
		receive_some(atoi(argv[5]));
	} else if (!strcmp(argv[1], "hold")) {
		hold(argc > 5 ? atoi(argv[5]) : 1);
	} else {
		receive(atoi(argv[5]));
	}
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return cases_failed > 0;
}
