// SPDX-License-Identifier: GPL-2.0
/*
 * wire_target: the target of raw packets.
 *
 * It has a UD queue pair, which counts received datagrams, and an RC and a UC queue pair with a
 * writable MR. The peers of these two don't exist. If a packet puts one into the error state, it is
 * brought up again. The program prints the numbers of the queue pairs. After each line on stdin, it
 * prints what the queue pairs have received. The line "fresh" brings the RC and the UC queue pair and
 * the MR's bytes into their first state. If MARK is in the MR then, that is counted. The program
 * ends when stdin ends.
 */
#define _GNU_SOURCE
#include <getopt.h>

#include "verbs_util.h"

#define QKEY	0x11223344
#define RECVS	256
#define LEN	8192
#define CANARY	4096
#define FILL	0x5a
#define MARK	"wwww"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *rc, *uc, *ud;
static struct ibv_mr *mr, *ud_mr;
static uint8_t *buf;		/* canary, MR of LEN bytes, canary */
static uint8_t *ud_buf;		/* for datagrams, which thus overwrite no mark */
static int gid_index, flush;
static union ibv_gid peer_gid;
static unsigned long received, uc_received, deaths, marked;

static struct ibv_qp *new_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .cap = { 4, RECVS, 1, 1, 0 },
	};

	return create_qp(pd, &ia);
}

static void post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = qp == ud ? (struct ibv_sge){ (uintptr_t)ud_buf, LEN, ud_mr->lkey } :
			     (struct ibv_sge){ (uintptr_t)buf + CANARY, LEN, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = qp->qp_num, .sg_list = &sge, .num_sge = 1 }, *bad;

	ibv_post_recv(qp, &wr, &bad);
}

/* If a packet puts it into the error state again meanwhile, the next call brings it up. */
static void revive(struct ibv_qp *qp)
{
	struct rc_attr a = rc_attr(gid_index);
	struct addr peer = { .qpn = 0x654321, .psn = 0x1000, .gid = peer_gid };
	int i;

	a.access |= flush;
	if (qp_to_state(qp, IBV_QPS_RESET) || rc_to_init(qp, &a) || rc_to_rtr(qp, &a, &peer))
		die("a dead queue pair can't be brought up: %s", strerror(errno));
	rc_to_rts(qp, &a, 0x2000);
	for (i = 0; i < 16; i++)
		post_recv(qp);
}

static void setup(const char *dev)
{
	int i;

	ctx = open_device(dev);
	flush = ex_access(ex_ops(ctx));
	pd = new_pd(ctx);
	cq = new_cq(ctx, 4 * RECVS);
	buf = new_pages(LEN + 2 * CANARY);
	memset(buf, FILL, LEN + 2 * CANARY);
	mr = new_mr(pd, buf + CANARY, LEN, ACCESS_ALL | flush);
	ud_buf = new_pages(LEN);
	ud_mr = new_mr(pd, ud_buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	rc = new_qp(IBV_QPT_RC);
	uc = new_qp(IBV_QPT_UC);
	ud = new_qp(IBV_QPT_UD);
	ud_to_rtr(ud, QKEY);
	for (i = 0; i < RECVS; i++)
		post_recv(ud);
	revive(rc);
	revive(uc);
}

static void revive_dead(struct ibv_qp *qp)
{
	if (qp_state(qp) != IBV_QPS_ERR)
		return;
	deaths++;
	revive(qp);
}

static void take_completions(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0) {
		uc_received += wc.qp_num == uc->qp_num && wc.status == IBV_WC_SUCCESS;
		if (wc.qp_num != ud->qp_num)
			continue;
		received += wc.status == IBV_WC_SUCCESS;
		post_recv(ud);
	}
}

static void check_canary(void)
{
	int i;

	for (i = 0; i < CANARY; i++)
		if (buf[i] != FILL || buf[CANARY + LEN + i] != FILL)
			die("memory beside the MR was written");
}

/* The reset throws away the completions of receives that were posted before */
static void start_fresh(void)
{
	revive(rc);
	revive(uc);
	take_completions();
	marked += !!memmem(buf + CANARY, LEN, MARK, strlen(MARK));
	memset(buf + CANARY, FILL, LEN);
	uc_received = 0;
}

static void answer(const char *line)
{
	if (!strncmp(line, "fresh", 5))
		start_fresh();
	take_completions();
	check_canary();
	printf("received %lu deaths %lu uc %lu marked %lu\n", received, deaths, uc_received, marked);
	fflush(stdout);
}

static const char usage[] =
"usage: wire_target -d DEV -g GID_INDEX -p PEER_GID\n"
"Receives raw packets on a UD, an RC and a UC queue pair; a line on stdin asks for the count.\n";

int main(int argc, char **argv)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	const char *dev = NULL;
	char line[64];
	int o;

	while ((o = getopt(argc, argv, "d:g:p:h")) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'p': peer_gid = gid_of_text(optarg); break;
		default: return print_usage(usage, o);
		}
	}
	setup(dev);
	printf("ud %u rc %u uc %u rkey %u va %llu\n", ud->qp_num, rc->qp_num, uc->qp_num, mr->rkey,
	       (unsigned long long)(uintptr_t)buf + CANARY);
	fflush(stdout);
	for (;;) {
		take_completions();
		revive_dead(rc);
		revive_dead(uc);
		if (poll(&p, 1, 20) <= 0)
			continue;
		if (read(0, line, sizeof(line)) <= 0)
			break;
		answer(line);
	}
	check_canary();
	return 0;
}
