// SPDX-License-Identifier: GPL-2.0
/*
 * wire_sink: UD queue pairs and one RC queue pair, which report each received message.
 *
 * Prints "ud QPN..." and "rc QPN" at first. After each line on stdin, it prints a line for each
 * completion since then, "wc QPN STATUS BYTES VALUE", and "end". It ends when stdin ends. VALUE is
 * the value of all bytes of the payload, or -1 if they differ. Before, buffers have only bytes
 * 0xee. The RC queue pair's peer is queue pair 0x654321 of the given GID, and starts at PSN 0x1000.
 */
#include <getopt.h>

#include "verbs_util.h"

#define QKEY	0x11223344
#define GRH	40
#define LEN	4096
#define RECVS	64
#define UDS	2
#define STALE	0xee

static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t *buf;
static struct ibv_qp *qps[UDS + 1];	/* the last one is RC */

static void post_recv(int q, int slot)
{
	struct ibv_sge sge = { (uintptr_t)buf + (q * RECVS + slot) * LEN, LEN, mr->lkey };
	struct ibv_recv_wr wr = {
		.wr_id = q * RECVS + slot, .sg_list = &sge, .num_sge = 1
	}, *bad;

	memset((void *)(uintptr_t)sge.addr, STALE, LEN);
	if (ibv_post_recv(qps[q], &wr, &bad))
		die("cannot post a receive: %m");
}

static struct ibv_qp *new_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .cap = { 4, RECVS, 1, 1, 0 },
	};

	return create_qp(pd, &ia);
}

static void setup(const char *dev, int gid_index, const union ibv_gid *peer_gid)
{
	struct addr peer = { .qpn = 0x654321, .psn = 0x1000, .gid = *peer_gid };
	struct rc_attr attr = rc_attr(gid_index);
	struct ibv_context *ctx = open_device(dev);
	size_t size = (UDS + 1) * RECVS * LEN;
	int q, slot;

	pd = new_pd(ctx);
	cq = new_cq(ctx, 4 * RECVS);
	buf = new_pages(size);
	mr = new_mr(pd, buf, size, IBV_ACCESS_LOCAL_WRITE);
	for (q = 0; q <= UDS; q++) {
		qps[q] = new_qp(q < UDS ? IBV_QPT_UD : IBV_QPT_RC);
		if (q < UDS)
			ud_to_rtr(qps[q], QKEY);
		else
			rc_up(qps[q], &attr, 0x2000, &peer);
		for (slot = 0; slot < RECVS; slot++)
			post_recv(q, slot);
	}
}

/* Return: the value of all bytes; -1 if they differ */
static int value(const uint8_t *p, uint32_t len)
{
	uint32_t i;

	for (i = 1; i < len; i++)
		if (p[i] != p[0])
			return -1;
	return len ? p[0] : -1;
}

static void report(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		int q = wc.wr_id / RECVS, slot = wc.wr_id % RECVS;
		uint32_t skip = q < UDS ? GRH : 0;
		const uint8_t *p = buf + wc.wr_id * LEN + skip;

		printf("wc %u %s %u %d\n", wc.qp_num, wc.status ? "error" : "success",
		       wc.byte_len - skip, wc.status ? -1 : value(p, wc.byte_len - skip));
		post_recv(q, slot);
	}
	puts("end");
	fflush(stdout);
}

static const char usage[] =
"usage: wire_sink -d DEV -g GID_INDEX -p PEER_GID\n"
"Receives raw packets; a line on stdin asks what completed since the last one.\n";

int main(int argc, char **argv)
{
	const char *dev = NULL;
	union ibv_gid peer;
	int gid_index = 0, o;
	char line[64];

	while ((o = getopt(argc, argv, "d:g:p:h")) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'p': peer = gid_of_text(optarg); break;
		default: return print_usage(usage, o);
		}
	}
	setup(dev, gid_index, &peer);
	printf("ud %u %u\nrc %u\n", qps[0]->qp_num, qps[1]->qp_num, qps[UDS]->qp_num);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		report();
	return 0;
}
