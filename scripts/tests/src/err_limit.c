// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: the largest sizes that the device reports. A case uses all of an object of such a
 * size, up to the last element. One more element is refused.
 */
#include <sched.h>

#include "verbs_err.h"

#define MAX_INLINE	512	/* not in query_device: "Limits" of the administrator's guide */
#define PIECE		128	/* bytes between the scatter entries of a message */

/* A connected pair whose queue pairs and completion queues have these sizes */
static struct pair *pair_of(const struct ibv_qp_cap *cap, int cqe)
{
	struct pair *p = pair_make();
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = *cap }, b = a;

	if (ibv_destroy_qp(p->a) || ibv_destroy_qp(p->b) || ibv_destroy_cq(p->ca) ||
	    ibv_destroy_cq(p->cb))
		die("the small objects can't be destroyed");
	p->ca = a.send_cq = a.recv_cq = new_cq(place[0].ctx, cqe);
	p->cb = b.send_cq = b.recv_cq = new_cq(place[1].ctx, cqe);
	p->a = create_qp(p->pd, &a);
	p->b = create_qp(p->pd_b, &b);
	pair_connect(p);
	return p;
}

static bool expect_next(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	CHECK(wait_wc(cq, &wc), "no completion %d", (int)id);
	CHECK(wc.wr_id == id && wc.status == status, "completion of %d, expected %d: %s",
	      (int)wc.wr_id, (int)id, ibv_wc_status_str(wc.status));
	return true;
}

/* Sends of a queue pair in SQD wait, and so do the receives of its peer */
static bool fill_queues(struct pair *p, int num, struct ibv_mr *from, struct ibv_mr *to)
{
	struct ibv_sge sge = sge_of(from->addr, 4, from->lkey);
	struct ibv_send_wr wr = wr_of(IBV_WR_SEND, &sge, 1);
	uint32_t *target = to->addr;
	int i;

	CHECK(!qp_to_state(p->a, IBV_QPS_SQD), "to SQD failed");
	for (i = 0; i < num; i++, sge.addr += 4) {
		wr.wr_id = i;
		CHECK(!post_one(p->a, &wr), "only %d of %d sends fit", i, num);
		CHECK(!recv_one(p->b, i, target + i, 4, to->lkey), "only %d of %d receives fit",
		      i, num);
	}
	sge.addr = (uintptr_t)from->addr;
	CHECK(post_one(p->a, &wr) == ENOMEM, "max_qp_wr+1 sends");
	CHECK(recv_one(p->b, i, target, 4, to->lkey) == ENOMEM, "max_qp_wr+1 receives");
	CHECK(!qp_to_state(p->a, IBV_QPS_RTS), "to RTS failed");
	return true;
}

/* Both queues of a queue pair have max_qp_wr. All sends and all receives of a pair wait at once */
bool c_limit_wrs(void)
{
	uint32_t num = dev.max_qp_wr, i;
	struct ibv_qp_cap cap = { num, num, 1, 1, 0 };
	struct pair *p = pair_of(&cap, num);
	uint32_t *from = new_pages(4 * num), *to = new_pages(4 * num);
	struct ibv_mr *from_mr = new_mr(p->pd, from, 4 * num, 0);
	struct ibv_mr *to_mr = new_mr(p->pd_b, to, 4 * num, IBV_ACCESS_LOCAL_WRITE);

	for (i = 0; i < num; i++)
		from[i] = i + 1;
	memset(to, 0, 4 * num);
	if (!fill_queues(p, num, from_mr, to_mr))
		return false;
	for (i = 0; i < num; i++)
		if (!expect_next(p->ca, i, IBV_WC_SUCCESS) ||
		    !expect_next(p->cb, i, IBV_WC_SUCCESS))
			return false;
	CHECK(!memcmp(from, to, 4 * num), "wrong bytes");
	CHECK(!ibv_dereg_mr(from_mr) && !ibv_dereg_mr(to_mr), "dereg_mr failed");
	free(from);
	free(to);
	return pair_free(p);
}

/* Entries of 1, 2, ... bytes if @grow, else the other way round. One entry is beyond the limit */
static void scatter(struct ibv_sge *sge, const uint8_t *buf, uint32_t lkey, bool grow)
{
	int i;

	for (i = 0; i < dev.max_sge; i++)
		sge[i] = sge_of(buf + i * PIECE, grow ? i + 1 : dev.max_sge - i, lkey);
	sge[i] = sge[0];
}

/* Return: length of the message */
static int gather(uint8_t *bytes, const struct ibv_sge *sge)
{
	int i, at = 0;

	for (i = 0; i < dev.max_sge; at += sge[i++].length)
		memcpy(bytes + at, (void *)(uintptr_t)sge[i].addr, sge[i].length);
	return at;
}

static bool expect_same(const struct ibv_sge *from, const struct ibv_sge *to)
{
	uint8_t sent[BUF_LEN], got[BUF_LEN];
	int len = gather(sent, from);

	CHECK(gather(got, to) == len && !memcmp(sent, got, len), "wrong bytes");
	return true;
}

/* A send with max_sge entries is received into as many */
bool c_limit_sges(void)
{
	struct ibv_qp_cap cap = { 1, 1, dev.max_sge, dev.max_sge, 0 };
	struct pair *p = pair_of(&cap, 2);
	struct ibv_sge from[dev.max_sge + 1], to[dev.max_sge + 1];
	struct ibv_send_wr send = wr_of(IBV_WR_SEND, from, dev.max_sge + 1);
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = to, .num_sge = dev.max_sge + 1 }, *bad;

	scatter(from, p->src, p->src_mr->lkey, true);
	scatter(to, p->dst, p->dst_mr->lkey, false);
	CHECK(post_one(p->a, &send) == EINVAL, "a send of max_sge+1 SGEs");
	CHECK(ibv_post_recv(p->b, &recv, &bad) == EINVAL, "a receive of max_sge+1 SGEs");
	send.num_sge--;
	recv.num_sge--;
	CHECK(!ibv_post_recv(p->b, &recv, &bad) && !post_one(p->a, &send), "max_sge itself refused");
	return expect_next(p->ca, 1, IBV_WC_SUCCESS) && expect_next(p->cb, 1, IBV_WC_SUCCESS) &&
	       expect_same(from, to) && pair_free(p);
}

/* A READ into max_sge_rd entries */
bool c_limit_sges_read(void)
{
	struct ibv_qp_cap cap = { 1, 1, dev.max_sge_rd, 1, 0 };
	struct pair *p = pair_of(&cap, 2);
	struct ibv_sge sge[dev.max_sge + 1];
	struct ibv_send_wr wr;
	uint8_t got[BUF_LEN];

	CHECK(dev.max_sge_rd == dev.max_sge, "max_sge_rd is %d", dev.max_sge_rd);
	rnd_fill(p->dst, BUF_LEN, 2);
	scatter(sge, p->src, p->src_mr->lkey, true);
	wr = remote_wr(R, sge, ADDR(p, 0), p->dst_mr->rkey);
	wr.num_sge = dev.max_sge_rd + 1;
	CHECK(post_one(p->a, &wr) == EINVAL, "a READ into max_sge_rd+1 SGEs");
	wr.num_sge--;
	CHECK(!post_one(p->a, &wr), "max_sge_rd itself refused");
	if (!expect_next(p->ca, 1, IBV_WC_SUCCESS))
		return false;
	CHECK(!memcmp(p->dst, got, gather(got, sge)), "wrong bytes");
	return pair_free(p);
}

/* Inline data may change after the post, here while it waits in SQD */
bool c_limit_inline(void)
{
	struct ibv_qp_cap cap = { 1, 1, 1, 1, MAX_INLINE };
	struct pair *p = pair_of(&cap, 2);
	struct ibv_qp_init_attr more = {
		.send_cq = p->ca, .recv_cq = p->ca, .qp_type = IBV_QPT_RC, .cap = cap,
	};
	uint8_t data[MAX_INLINE + 1];
	struct ibv_sge sge = sge_of(data, sizeof(data), 0);
	struct ibv_send_wr wr = remote_wr(W, &sge, ADDR(p, 0), p->dst_mr->rkey);

	more.cap.max_inline_data++;
	CHECK(!ibv_create_qp(p->pd, &more) && errno == EINVAL, "%d bytes of inline data",
	      MAX_INLINE + 1);
	CHECK(!qp_to_state(p->a, IBV_QPS_SQD), "to SQD failed");
	wr.send_flags |= IBV_SEND_INLINE;
	CHECK(post_one(p->a, &wr) == EINVAL, "%u bytes posted", sge.length);
	sge.length--;
	memcpy(data, p->src, MAX_INLINE);
	CHECK(!post_one(p->a, &wr), "%u bytes refused", sge.length);
	memset(data, 0, sizeof(data));
	CHECK(!qp_to_state(p->a, IBV_QPS_RTS), "to RTS failed");
	if (!expect_next(p->ca, 1, IBV_WC_SUCCESS))
		return false;
	CHECK(!memcmp(p->dst, p->src, MAX_INLINE) && !p->dst[MAX_INLINE], "wrong bytes");
	return pair_free(p);
}

/* The test "huge" sends messages of max_msg_sz. One byte more is refused before the L_Key is */
bool c_limit_msg(void)
{
	struct pair *p = pair_up();

	return refused(p, W, port.max_msg_sz + 1, ADDR(p, 0), p->dst_mr->rkey,
		       IBV_WC_LOC_LEN_ERR);
}

/* Return: 0 or an errno. While the send queue is full, waits for it */
static int post_chain(struct ibv_qp *qp, struct ibv_send_wr *wr, int num, int first)
{
	struct ibv_send_wr *bad;
	int i, err;

	for (i = 0; i < num; i++) {
		wr[i] = wr_of(IBV_WR_SEND, NULL, 0);
		wr[i].wr_id = first + i;
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
	}
	for (bad = wr; (err = ibv_post_send(qp, bad, &bad)) == ENOMEM; )
		sched_yield();
	return err;
}

/*
 * A completion queue of max_cqe has room for so many, and the next one overruns it. They come from
 * a queue pair in the error state, which flushes what is posted
 */
bool c_limit_cqe(void)
{
	enum { CHAIN = 1024 };
	struct ibv_qp_cap cap = { 4 * CHAIN, 1, 1, 1, 0 };
	struct pair *p = pair_of(&cap, dev.max_cqe);
	struct ibv_send_wr wr[CHAIN];
	struct ibv_wc wc;
	int i, n;

	CHECK(p->ca->cqe == dev.max_cqe, "%d entries", p->ca->cqe);
	CHECK(!qp_to_state(p->a, IBV_QPS_ERR), "to ERR failed");
	for (i = 0; i <= dev.max_cqe; i += n) {
		n = dev.max_cqe + 1 - i < CHAIN ? dev.max_cqe + 1 - i : CHAIN;
		CHECK(!post_chain(p->a, wr, n, i), "post_send refused it");
	}
	CHECK(wait_event(IBV_EVENT_CQ_ERR, 60000), "no overrun by max_cqe+1");
	for (i = 0; i < dev.max_cqe; i++)
		if (!expect_next(p->ca, i, IBV_WC_WR_FLUSH_ERR))
			return false;
	CHECK(!ibv_poll_cq(p->ca, 1, &wc), "max_cqe+1 completions");
	return pair_free(p);
}
