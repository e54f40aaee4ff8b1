// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: UD multicast. The netdev has joined a group if a queue pair is attached to it, else
 * not. A datagram may get lost.
 */
#include <ctype.h>

#include "nth.h"

#define GRH 40
#define LEN 100
#define SLOT 256
#define SLOTS 8
#define QKEY 0x1234567

/* A group, and the lines that it has in files of /proc for each netdev that has joined it */
struct mgroup {
	const char *gid;
	const char *file, *line;
	const char *mac;
	int netdevs;	/* of the device, and VLANs on it; 0: not counted yet */
};

static struct mgroup v4 = {
	"::ffff:239.1.2.3", "/proc/net/igmp", "030201EF", "01005e010203", 0,
};

static struct mgroup v6 = {
	"ff0e::1:203", "/proc/net/igmp6", "ff0e0000000000000000000000010203", "333300010203", 0,
};

static struct ibv_ah *ah;	/* to the IPv4 group */
static struct ibv_mr *slots_mr;
static uint8_t *slots;

static void post_recv(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)slots + slot * SLOT, SLOT, slots_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(ud, &wr, &bad))
		die("post_recv: %s", strerror(errno));
}

static void begin(void)
{
	uint64_t i;

	slots = new_pages(SLOTS * SLOT);
	slots_mr = new_mr(pd, slots, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE);
	ud_up(ud, QKEY, 0);
	for (i = 0; i < SLOTS; i++)
		post_recv(i);
}

static void end(void)
{
	if (qp_to_state(ud, IBV_QPS_RESET) || ibv_dereg_mr(slots_mr))
		die("cannot end: %s", strerror(errno));
	free(slots);
}

static int attach(const struct mgroup *g)
{
	union ibv_gid gid = gid_of_text(g->gid);

	return ibv_attach_mcast(ud, &gid, 0) ? errno : 0;
}

static int detach(const struct mgroup *g)
{
	union ibv_gid gid = gid_of_text(g->gid);

	return ibv_detach_mcast(ud, &gid, 0) ? errno : 0;
}

static int attach_4(void) { return attach(&v4); }
static int attach_6(void) { return attach(&v6); }
static int detach_4(void) { return detach(&v4); }
static int detach_6(void) { return detach(&v6); }

static int count_lines(const char *file, const char *text)
{
	FILE *f = fopen(file, "r");
	char line[512];
	int num = 0;

	if (!f)
		die("%s: %s", file, strerror(errno));
	while (fgets(line, sizeof(line), f))
		num += !!strstr(line, text);
	fclose(f);
	return num;
}

/* All netdevs have joined or none has. The first call has no faults */
static const char *joined_if(struct mgroup *g, bool should)
{
	int ip = count_lines(g->file, g->line), mac = count_lines("/proc/net/dev_mcast", g->mac);

	if (!g->netdevs)
		g->netdevs = ip;
	if (ip != (should ? g->netdevs : 0))
		return should ? "the group isn't joined by IP" : "the group is still joined by IP";
	if (mac != (should ? g->netdevs : 0))
		return should ? "its MAC address isn't let in" : "its MAC address is still let in";
	return should && !ip ? "no netdev joins the group" : NULL;
}

static const char *after_attach_4(int err) { return joined_if(&v4, !err); }
static const char *after_attach_6(int err) { return joined_if(&v6, !err); }
static const char *after_detach_4(int err) { return joined_if(&v4, err); }
static const char *after_detach_6(int err) { return joined_if(&v6, err); }

/* It needs no MAC address of a neighbour */
static int make_ah(void)
{
	struct ibv_ah_attr attr = path_to(&rc_attrs, gid_of_text(v4.gid));

	ah = ibv_create_ah(pd, &attr);
	return made(ah);
}

static int destroy_ah(void)
{
	return ibv_destroy_ah(ah);
}

static void check_datagram(const struct ibv_wc *wc)
{
	const uint8_t *data = slots + wc->wr_id * SLOT + GRH;

	if (wc->byte_len != GRH + LEN || memcmp(data, from, LEN))
		die("a datagram is wrong: %u bytes", wc->byte_len);
	post_recv(wc->wr_id);
}

static int send_one(void)
{
	struct ibv_sge sge = { (uintptr_t)from, LEN, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = SLOTS, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = QKEY },
	}, *bad;

	return ibv_post_send(ud, &wr, &bad);
}

/* Another one, without faults, arrives behind the first. There is no third */
static const char *after_send(int err)
{
	int sends = 2 - !!err, received = 0;
	struct ibv_wc wc;

	if (send_one())
		return "the next send is refused";
	while (sends || !received) {
		if (!wait_wc(cq, &wc))
			return sends ? "a send doesn't complete" : "the next datagram is lost";
		if (wc.status)
			return ibv_wc_status_str(wc.status);
		if (wc.wr_id < SLOTS)
			check_datagram(&wc);
		*(wc.wr_id < SLOTS ? &received : &sends) += wc.wr_id < SLOTS ? 1 : -1;
	}
	while (ibv_poll_cq(cq, 1, &wc) > 0 && ++received)
		check_datagram(&wc);
	return received <= 2 ? NULL : "a datagram came twice";
}

static const struct call calls[] = {
	{ "attach-v4", attach_4, detach_4, .own = true, .after = after_attach_4 },
	{ "attach-v6", attach_6, detach_6, .own = true, .after = after_attach_6 },
	{ "mcast-ah", make_ah, destroy_ah, .own = true },
	{ "mcast-send", send_one, .after = after_send },
	{ "destroy-mcast-ah", destroy_ah, make_ah, .own = false },
	{ "detach-v6", detach_6, attach_6, .after = after_detach_6 },
	{ "detach-v4", detach_4, attach_4, .after = after_detach_4 },
	{}
};

const struct group nth_mcast = { .calls = calls, .begin = begin, .end = end };
