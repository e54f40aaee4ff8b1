// SPDX-License-Identifier: GPL-2.0
/*
 * rc_kept: some RC queue pairs and a UD queue pair, whose peers are raw packets.
 *
 * Messages are recorded when they complete. Each command on stdin gets one answer:
 *   messages N   what queue pair N received: status and first byte of each, in order
 *   reset N      RESET, and up again with the same PSNs
 *   quit
 */
#include <getopt.h>

#include "verbs_util.h"

#define NUM_RC		16
#define RECVS		64
#define SIZE		4096
#define PEER_QPN	0x654321
#define PSN		0x1000
#define QKEY		0x11223344

struct end {
	struct ibv_qp *qp;
	uint8_t *buf;		/* RECVS times SIZE */
	int num;
	int status[RECVS];
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct end ends[NUM_RC + 1];	/* the last one is UD */
static int gid_index;
static union ibv_gid peer_gid;

static void post(struct end *e, struct ibv_mr *mr, int i, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + i * SIZE, len, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(e->qp, &wr, &bad))
		die("post_recv: %s", strerror(errno));
}

static struct ibv_mr *make(struct end *e, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .cap = { 4, RECVS, 1, 1, 0 },
	};

	e->qp = create_qp(pd, &ia);
	e->buf = new_pages(RECVS * SIZE);
	memset(e->buf, 0, RECVS * SIZE);
	return new_mr(pd, e->buf, RECVS * SIZE, IBV_ACCESS_LOCAL_WRITE);
}

static void up(struct end *e, struct ibv_mr *mr)
{
	struct addr peer = { .qpn = PEER_QPN, .psn = PSN, .gid = peer_gid };
	struct rc_attr a = rc_attr(gid_index);
	int i;

	a.mtu = IBV_MTU_4096;
	rc_up(e->qp, &a, 0x2000, &peer);
	for (i = 0; i < RECVS - 1; i++)
		post(e, mr, i, SIZE);
}

/* Posts a receive that is too short for any datagram, and one that is long enough */
static void up_ud(struct end *e, struct ibv_mr *mr)
{
	ud_to_rtr(e->qp, QKEY);
	post(e, mr, 0, 40);
	post(e, mr, 1, SIZE);
}

static void take(void)
{
	struct ibv_wc wc;
	struct end *e;

	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		for (e = ends; e->qp->qp_num != wc.qp_num; e++)
			;
		if (e->num < RECVS)
			e->status[e->num++] = wc.status;
	}
}

static void print(const struct end *e, bool ud)
{
	int i;

	for (i = 0; i < e->num; i++)
		printf("%d:%02x ", e->status[i], e->buf[i * SIZE + (ud ? 40 : 0)]);
	printf("state:%d\n", qp_state(e->qp));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct ibv_mr *mr[NUM_RC + 1];
	const char *dev = NULL;
	char line[64];
	int o, n;

	while ((o = getopt(argc, argv, "d:g:p:")) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'p': peer_gid = gid_of_text(optarg); break;
		default:
			die("usage: rc_kept -d DEV -g GID_INDEX -p PEER_GID");
		}
	}
	ctx = open_device(dev);
	pd = new_pd(ctx);
	cq = new_cq(ctx, (NUM_RC + 1) * RECVS);
	for (n = 0; n <= NUM_RC; n++)
		mr[n] = make(&ends[n], n < NUM_RC ? IBV_QPT_RC : IBV_QPT_UD);
	for (n = 0; n < NUM_RC; n++)
		up(&ends[n], mr[n]);
	up_ud(&ends[NUM_RC], mr[NUM_RC]);
	for (n = 0; n <= NUM_RC; n++)
		printf("%u ", ends[n].qp->qp_num);
	printf("\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		take();
		if (sscanf(line, "messages %d", &n) == 1) {
			print(&ends[n], n == NUM_RC);
		} else if (sscanf(line, "reset %d", &n) == 1) {
			if (qp_to_state(ends[n].qp, IBV_QPS_RESET))
				die("RESET: %s", strerror(errno));
			take();
			memset(ends[n].buf, 0, RECVS * SIZE);
			ends[n].num = 0;
			up(&ends[n], mr[n]);
			print(&ends[n], false);
		} else {
			break;
		}
	}
	return 0;
}
