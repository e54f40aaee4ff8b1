// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the cost of a multicast datagram.  The sender and the members of the group are in this
 * process, on one device, with 16 datagrams outstanding.  It waits and prints as rc_cost does.
 *
 * usage: mcast_cost DEV GID-INDEX GROUP MEMBERS SIZE COUNT
 *
 * GROUP is an IPv4 multicast address.  The processor's idle time isn't counted.
 */
#include "cost.h"

#define DEPTH		16
#define SLOTS		(2 * DEPTH)	/* receive buffers of a member */
#define MOST_MEMBERS	8
#define QKEY		0x1234567
#define GRH		40
#define GROUP_QPN	0xffffff

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_ah *ah;
static struct ibv_mr *mr;
static struct ibv_qp *sender, *member[MOST_MEMBERS];
static unsigned int members, size, stride, sends, receives;
static char *buf;			/* data to send, then the slots of each member */

static char *slot_of(unsigned int m, unsigned int slot)
{
	return buf + (1 + m * SLOTS + slot) * stride;
}

/* A receive's wr_id is its member and its slot; that of a send is larger. */
static void post_receive(unsigned int id)
{
	unsigned int m = id / SLOTS;
	struct ibv_sge sge = { (uintptr_t)slot_of(m, id % SLOTS), GRH + size, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(member[m], &wr, &bad))
		die("cannot post a receive");
}

static void post_send(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, size, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = MOST_MEMBERS * SLOTS, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah, .remote_qpn = GROUP_QPN, .remote_qkey = QKEY },
	}, *bad;

	if (ibv_post_send(sender, &wr, &bad))
		die("cannot post");
}

static int poll_all(void)
{
	struct ibv_wc wc[64];
	int i, n = ibv_poll_cq(cq, ARRAY_LEN(wc), wc);

	for (i = 0; i < n; i++) {
		if (wc[i].status)
			die("%s", ibv_wc_status_str(wc[i].status));
		if (wc[i].wr_id == MOST_MEMBERS * SLOTS) {
			sends++;
		} else {
			receives++;
			post_receive(wc[i].wr_id);
		}
	}
	return n;
}

static void sleep_for_event(void)
{
	struct pollfd fd = { channel->fd, POLLIN, 0 };

	if (ibv_req_notify_cq(cq, 0))
		die("cannot ask for an event");
	if (poll_all())
		return;
	cost_sleeps++;
	if (poll(&fd, 1, -1) < 0)
		die("poll: %m");
	take_cq_event(channel);
}

/* Return: number of datagrams that were sent, and received by each member */
static unsigned int messages(void)
{
	unsigned int all = members ? receives / members : sends;

	return all < sends ? all : sends;
}

static void run_to(unsigned int total)
{
	unsigned int posted = messages();

	while (messages() != total) {
		for (; posted != total && posted - messages() < DEPTH; posted++)
			post_send();
		cost_wait(poll_all, sleep_for_event);
	}
}

static struct ibv_qp *new_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .sq_sig_all = 1, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = SLOTS,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = create_qp(pd, &init);

	ud_up(qp, QKEY, 0);
	return qp;
}

static void join(union ibv_gid *group)
{
	unsigned int m, slot;

	for (m = 0; m < members; m++) {
		member[m] = new_qp();
		if (ibv_attach_mcast(member[m], group, 0))
			die("attach: %m");
		for (slot = 0; slot < SLOTS; slot++)
			post_receive(m * SLOTS + slot);
	}
}

static void set_up(const char *dev, int gid_index, union ibv_gid *group)
{
	size_t bytes = (size_t)stride * (1 + members * SLOTS);
	struct rc_attr near = { .gid_index = gid_index, .hop_limit = 1 };

	ctx = open_device(dev);
	pd = new_pd(ctx);
	channel = ibv_create_comp_channel(ctx);
	cq = ibv_create_cq(ctx, SLOTS * (members + 1), NULL, channel, 0);
	ah = create_ah(pd, &near, *group);
	if (!channel || !cq)
		die("cannot set up %s: %m", dev);
	buf = new_pages(bytes);
	rnd_fill(buf, bytes, 1);
	mr = new_mr(pd, buf, bytes, IBV_ACCESS_LOCAL_WRITE);
	sender = new_qp();
	join(group);
}

static void check_data(void)
{
	unsigned int m, slot;

	for (m = 0; m < members; m++)
		for (slot = 0; slot < SLOTS; slot++)
			if (memcmp(slot_of(m, slot) + GRH, buf, size))
				die("wrong data");
}

int main(int argc, char **argv)
{
	union ibv_gid group = { .raw[10] = 0xff, .raw[11] = 0xff };
	unsigned int count, warm;
	uint64_t start;

	if (argc != 7 || inet_pton(AF_INET, argv[3], group.raw + 12) != 1)
		die("usage: %s DEV GID-INDEX GROUP MEMBERS SIZE COUNT", argv[0]);
	members = atoi(argv[4]);
	size = atoi(argv[5]);
	count = atoi(argv[6]);
	if (members > MOST_MEMBERS || !size || !count)
		die("%u members, %u bytes, %u datagrams", members, size, count);
	stride = (GRH + size + 63) & ~63;
	cost_without_idle = true;
	set_up(argv[1], atoi(argv[2]), &group);
	warm = count / 8 > SLOTS ? count / 8 : SLOTS;
	run_to(warm);
	start = cost_start();
	run_to(warm + count);
	cost_stop(start, count);
	check_data();
	return 0;
}
