// SPDX-License-Identifier: GPL-2.0
/*
 * A UD queue pair sends many datagrams to an address that nobody has any more, then one to
 * another address. The last one mustn't wait for the others. Prints the milliseconds that all sends
 * take.
 *
 * Both addresses must answer at first. The program prints "ready", and waits for a line of its
 * input, before which one of them goes away.
 *
 * usage: ud_dead DEV GID_INDEX DEAD_GID OTHER_GID BYTES
 */
#include "verbs_util.h"

#define QKEY	7
#define SENDS	200
#define MOST	4096

static struct ibv_qp *ready_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = SENDS + 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = create_qp(pd, &init);

	ud_up(qp, QKEY, 0);
	return qp;
}

static void post(struct ibv_qp *qp, struct ibv_ah *ah, struct ibv_sge *sge)
{
	struct ibv_send_wr *bad, wr = {
		.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND, .wr.ud = { ah, 1000, QKEY },
	};

	if (ibv_post_send(qp, &wr, &bad))
		die("cannot post: %m");
}

static void await_line(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		die("no input");
}

int main(int argc, char **argv)
{
	static char buf[MOST];
	struct rc_attr attr = { .hop_limit = 64 };
	struct ibv_ah *dead, *other;
	struct ibv_context *ctx;
	struct ibv_sge sge;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	uint64_t start;
	int i;

	if (argc != 6)
		die("usage: ud_dead DEV GID_INDEX DEAD_GID OTHER_GID BYTES");
	ctx = open_device(argv[1]);
	attr.gid_index = atoi(argv[2]);
	pd = new_pd(ctx);
	cq = new_cq(ctx, SENDS + 1);
	sge = (struct ibv_sge){ (uintptr_t)buf, atoi(argv[5]),
				new_mr(pd, buf, MOST, IBV_ACCESS_LOCAL_WRITE)->lkey };
	dead = create_ah(pd, &attr, gid_of_text(argv[3]));
	other = create_ah(pd, &attr, gid_of_text(argv[4]));
	qp = ready_qp(pd, cq);
	await_line();
	start = now_ms();
	for (i = 0; i < SENDS; i++)
		post(qp, dead, &sge);
	post(qp, other, &sge);
	for (i = 0; i <= SENDS; i++)
		if (wait_wc_ms(cq, &wc, 20000) <= 0 || wc.status)
			die("%d of %d completions came", i, SENDS + 1);
	printf("%u\n", (unsigned int)(now_ms() - start));
	return 0;
}
