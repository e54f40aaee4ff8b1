// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_srq: shared receive queues: which queue pair gets which work request; few or no work
 * requests left; a resize under load; a queue pair that fails; a ring with garbage.
 *
 * All queue pairs are on one device (looped back), or the senders have another device (-D). Queue
 * pair i of "from" sends to queue pair i of "to", which receives from the shared queue. Prints
 * "ok NAME" or "fail NAME why" per case.
 */
#include <pthread.h>
#include <rdma/ib_user_verbs.h>

#include "verbs_case.h"

#include <rdma/rdma_user_rxe.h>	/* after netinet/in.h, whose definitions it then omits */

#define QPS		8
#define DEPTH		64
#define SLOT		64		/* bytes of a message */
#define SLOTS		1024		/* buffers of receives, used in turn */
#define MANY		20000u		/* messages of a case with load */

/* place[0] has the senders, place[1] the receivers */
static struct ibv_device_attr dev;	/* of the receivers */

struct setup {
	struct ibv_pd *from_pd, *pd, *srq_pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq;
	struct ibv_qp *from[QPS], *to[QPS];
	struct rc_attr attr;
	uint8_t *src, *dst;
	struct ibv_mr *src_mr, *dst_mr;
	uint32_t posted;		/* receives; also the next one's wr_id */
	int qps;
};

static struct ibv_srq *new_srq(struct ibv_pd *pd, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr ia = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };

	errno = 0;
	return ibv_create_srq(pd, &ia);
}

static struct ibv_qp *new_qp(struct setup *s, struct ibv_srq *srq, enum ibv_qp_type type)
{
	struct ibv_cq *cq = srq ? s->rcq : s->scq;
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = type,
		.cap = { DEPTH, srq ? 0 : 1, 1, srq ? 0 : 1, 0 },
	};

	return create_qp(srq ? s->pd : s->from_pd, &ia);
}

static void connect_pair(struct setup *s, int i)
{
	struct addr from = addr_of(s->from[i]), to = addr_of(s->to[i]);

	s->attr.gid_index = place[0].gid_index;
	rc_up(s->from[i], &s->attr, from.psn, &to);
	s->attr.gid_index = place[1].gid_index;
	rc_up(s->to[i], &s->attr, to.psn, &from);
}

/* Makes @qps pairs. The SRQ and the memory of receives have their own protection domain */
static struct setup *make_of(int qps, uint32_t max_wr, uint32_t max_sge)
{
	struct setup *s = calloc(1, sizeof(*s));
	int i;

	s->attr = rc_attr(place[1].gid_index);
	s->qps = qps;
	s->from_pd = new_pd(place[0].ctx);
	s->pd = new_pd(place[1].ctx);
	s->srq_pd = new_pd(place[1].ctx);
	s->scq = new_cq(place[0].ctx, QPS * DEPTH);
	s->rcq = new_cq(place[1].ctx, QPS * DEPTH + SLOTS);
	s->srq = new_srq(s->srq_pd, max_wr, max_sge);
	if (!s->srq)
		die("create_srq: %s", strerror(errno));
	s->src = new_pages(QPS * SLOT);
	s->dst = new_pages(SLOTS * SLOT);
	s->src_mr = new_mr(s->from_pd, s->src, QPS * SLOT, IBV_ACCESS_LOCAL_WRITE);
	s->dst_mr = new_mr(s->srq_pd, s->dst, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE);
	for (i = 0; i < qps; i++) {
		s->from[i] = new_qp(s, NULL, IBV_QPT_RC);
		s->to[i] = new_qp(s, s->srq, IBV_QPT_RC);
		connect_pair(s, i);
	}
	return s;
}

static struct setup *make(int qps, uint32_t max_wr)
{
	return make_of(qps, max_wr, 4);
}

static bool finish(struct setup *s)
{
	bool bad = false;
	int i;

	drain_events();
	for (i = 0; i < s->qps; i++)
		bad |= ibv_destroy_qp(s->from[i]) || ibv_destroy_qp(s->to[i]);
	bad |= ibv_destroy_srq(s->srq) || ibv_destroy_cq(s->scq) || ibv_destroy_cq(s->rcq) ||
	       ibv_dereg_mr(s->src_mr) || ibv_dereg_mr(s->dst_mr) ||
	       ibv_dealloc_pd(s->from_pd) || ibv_dealloc_pd(s->pd) || ibv_dealloc_pd(s->srq_pd);
	free(s->src);
	free(s->dst);
	free(s);
	CHECK(!bad, "teardown failed: %s", strerror(errno));
	return true;
}

static bool no_event(void)
{
	struct ibv_async_event e;

	CHECK(!next_event(place[1].ctx, &e, 50), "event %d", e.event_type);
	return true;
}

/*
 * Waits for the next event but COMM_EST, which is that of the first message of a QP. Return: its
 * type, or -1
 */
static int next_event_type(struct ibv_async_event *e)
{
	while (next_event(place[1].ctx, e, 5000))
		if (e->event_type != IBV_EVENT_COMM_EST)
			return e->event_type;
	return -1;
}

static bool expect_low(struct setup *s)
{
	struct ibv_async_event e;
	int type = next_event_type(&e);

	CHECK(type == IBV_EVENT_SRQ_LIMIT_REACHED && e.element.srq == s->srq,
	      "event %d, expected that of the limit", type);
	return true;
}

static uint8_t *slot(const struct setup *s, uint64_t id)
{
	return s->dst + id % SLOTS * SLOT;
}

/* Return: 0 or an errno */
static int post(struct setup *s, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)slot(s, s->posted), SLOT, lkey };
	struct ibv_recv_wr wr = { .wr_id = s->posted, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = ibv_post_srq_recv(s->srq, &wr, &bad);

	if (!err)
		__atomic_store_n(&s->posted, s->posted + 1, __ATOMIC_RELEASE);
	return err;
}

static bool post_n(struct setup *s, int n)
{
	int err;

	while (n--) {
		err = post(s, s->dst_mr->lkey);
		CHECK(!err, "post_srq_recv: %s", strerror(err));
	}
	return true;
}

static int send_one(struct setup *s, int i)
{
	struct ibv_sge sge = { (uintptr_t)s->src + i * SLOT, SLOT, s->src_mr->lkey };
	struct ibv_send_wr wr = { .wr_id = i, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	return ibv_post_send(s->from[i], &wr, &bad);
}

static bool expect_recv(struct setup *s, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	CHECK(wait_wc(s->rcq, &wc), "receive %d doesn't complete", (int)id);
	CHECK(wc.wr_id == id && wc.status == status, "receive %d: %s, expected %d: %s",
	      (int)wc.wr_id, ibv_wc_status_str(wc.status), (int)id, ibv_wc_status_str(status));
	return true;
}

/* Sends a message by pair @i, which takes work request @id */
static bool pass(struct setup *s, int i, uint64_t id)
{
	struct ibv_wc wc;

	memset(s->src + i * SLOT, id + 1, SLOT);
	CHECK(!send_one(s, i), "post_send failed");
	CHECK(wait_wc(s->scq, &wc) && wc.status == IBV_WC_SUCCESS, "send of pair %d", i);
	if (!expect_recv(s, id, IBV_WC_SUCCESS))
		return false;
	CHECK(!memcmp(slot(s, id), s->src + i * SLOT, SLOT), "wrong data in receive %d", (int)id);
	return true;
}

static struct ibv_srq_attr query(struct setup *s)
{
	struct ibv_srq_attr a;

	if (ibv_query_srq(s->srq, &a))
		die("query_srq: %s", strerror(errno));
	return a;
}

static int resize(struct setup *s, uint32_t max_wr)
{
	struct ibv_srq_attr a = { .max_wr = max_wr };

	return ibv_modify_srq(s->srq, &a, IBV_SRQ_MAX_WR);
}

static int set_limit(struct setup *s, uint32_t limit)
{
	struct ibv_srq_attr a = { .srq_limit = limit };

	return ibv_modify_srq(s->srq, &a, IBV_SRQ_LIMIT);
}

/* ---- the cases ---- */

static bool c_create_limits(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(place[1].ctx);
	struct ibv_srq *srq;

	CHECK(dev.max_srq > 0 && dev.max_srq_wr > 0 && dev.max_srq_sge > 0, "none advertised");
	CHECK(dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, "no IBV_DEVICE_SRQ_RESIZE");
	CHECK(!new_srq(pd, dev.max_srq_wr + 1, 1) && errno == EINVAL, "max_srq_wr+1");
	CHECK(!new_srq(pd, 1, dev.max_srq_sge + 1) && errno == EINVAL, "max_srq_sge+1");
	CHECK(!new_srq(pd, 0, 1) && errno == EINVAL, "0 work requests");
	srq = new_srq(pd, dev.max_srq_wr, 1);
	CHECK(srq, "max_srq_wr itself: %s", strerror(errno));
	CHECK(!ibv_destroy_srq(srq), "destroy_srq: %s", strerror(errno));
	srq = new_srq(pd, 1, dev.max_srq_sge);
	CHECK(srq, "max_srq_sge itself: %s", strerror(errno));
	CHECK(ibv_dealloc_pd(pd), "the PD went before the SRQ");
	CHECK(!ibv_destroy_srq(srq) && !ibv_dealloc_pd(pd), "destroy: %s", strerror(errno));
	return true;
}

/* Sends @n messages by pair 0, which take the work requests from @id on */
static bool pass_n(struct setup *s, uint32_t id, int n)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++)
		CHECK(!send_one(s, 0), "post_send failed");
	for (i = 0; i < n; i++)
		CHECK(wait_wc(s->scq, &wc) && wc.status == IBV_WC_SUCCESS, "send %d", i);
	for (i = 0; i < n; i++)
		if (!expect_recv(s, id + i, IBV_WC_SUCCESS))
			return false;
	return true;
}

/* max_srq_wr receives wait at once. Messages take all of them, in order */
static bool c_most_wrs(void)
{
	uint32_t most = dev.max_srq_wr, id, n;
	struct setup *s = make(2, most);

	if (!post_n(s, most))
		return false;
	CHECK(post(s, s->dst_mr->lkey) == ENOMEM, "max_srq_wr+1 work requests");
	if (!pass(s, 1, 0))
		return false;
	for (id = 1; id < most - 1; id += n) {
		n = most - 1 - id < DEPTH ? most - 1 - id : DEPTH;
		if (!pass_n(s, id, n))
			return false;
	}
	return pass(s, 1, most - 1) && finish(s);
}

/* A message is scattered to max_srq_sge entries: a byte each, and the rest to the last one */
static bool c_most_sges(void)
{
	struct setup *s = make_of(1, 1, dev.max_srq_sge);
	struct ibv_sge sge[dev.max_srq_sge + 1];
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = dev.max_srq_sge + 1 }, *bad;
	int i, last = dev.max_srq_sge - 1;

	for (i = 0; i <= last + 1; i++)
		sge[i] = (struct ibv_sge) { (uintptr_t)slot(s, i), i < last ? 1 : SLOT - last,
					    s->dst_mr->lkey };
	CHECK(ibv_post_srq_recv(s->srq, &wr, &bad) == EINVAL, "max_srq_sge+1 entries");
	wr.num_sge--;
	CHECK(!ibv_post_srq_recv(s->srq, &wr, &bad), "max_srq_sge entries refused");
	rnd_fill(s->src, SLOT, 1);
	CHECK(!send_one(s, 0), "post_send failed");
	if (!expect_recv(s, 0, IBV_WC_SUCCESS))
		return false;
	for (i = 0; i < SLOT; i++)
		CHECK(s->src[i] == (i < last ? *slot(s, i) : slot(s, last)[i - last]),
		      "byte %d is wrong", i);
	return finish(s);
}

/* With an SRQ, the sizes of the QP's own receive queue are ignored (ibv_create_qp(3)) */
static bool ignores_recv_cap(struct setup *s)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = s->rcq, .recv_cq = s->rcq, .srq = s->srq, .qp_type = IBV_QPT_RC,
		.cap = { 1, dev.max_qp_wr + 1, 1, dev.max_sge + 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &ia);

	return qp && !ia.cap.max_recv_wr && !ibv_destroy_qp(qp);
}

static bool c_attributes(void)
{
	struct setup *s = make(1, 100);
	struct ibv_srq_attr a = query(s);
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr q;
	struct ibv_recv_wr wr = {}, *bad;

	CHECK(a.max_wr >= 100 && (int)a.max_wr <= dev.max_srq_wr, "max_wr %u", a.max_wr);
	CHECK(a.max_sge >= 4 && !a.srq_limit, "max_sge %u, limit %u", a.max_sge, a.srq_limit);
	CHECK(!ibv_query_qp(s->to[0], &q, IBV_QP_CAP, &ia), "query_qp");
	CHECK(!q.cap.max_recv_wr && !q.cap.max_recv_sge, "it has receives of its own");
	CHECK(ibv_post_recv(s->to[0], &wr, &bad) == EINVAL, "post_recv to a queue pair with SRQ");
	CHECK(ignores_recv_cap(s), "max_recv_wr, with an SRQ: %s", strerror(errno));
	CHECK(ibv_destroy_srq(s->srq) == EBUSY, "destroy_srq with queue pairs");
	CHECK(set_limit(s, a.max_wr + 1) == EINVAL, "a limit that doesn't fit");
	CHECK(resize(s, dev.max_srq_wr + 1) == EINVAL, "resize to max_srq_wr+1");
	CHECK(resize(s, 0) == EINVAL, "resize to 0");
	return finish(s);
}

/* A QP that needs a work request gets the oldest. Posts beyond the size are refused */
static bool c_in_order(void)
{
	struct setup *s = make(QPS, 15);
	uint32_t id;

	if (!post_n(s, 15))
		return false;
	CHECK(post(s, s->dst_mr->lkey) == ENOMEM, "a work request beyond the size");
	for (id = 0; id < 200; id++)
		if (!pass(s, id * 5 % QPS, id) || !post_n(s, 1))
			return false;
	return finish(s);
}

static bool c_limit(void)
{
	struct setup *s = make(2, 32);
	int id;

	if (!post_n(s, 10))
		return false;
	CHECK(!set_limit(s, 7) && query(s).srq_limit == 7, "the limit isn't set");
	for (id = 0; id < 3; id++)
		if (!pass(s, id % 2, id))
			return false;
	drain_events();		/* COMM_EST */
	if (!no_event() || !pass(s, 0, 3) || !expect_low(s) || !pass(s, 0, 4) || !no_event())
		return false;
	CHECK(!query(s).srq_limit, "still set after the event");
	/* Fewer than the new limit are left already */
	CHECK(!set_limit(s, 6), "set again");
	if (!expect_low(s))
		return false;
	CHECK(!set_limit(s, 5) && !set_limit(s, 0), "set and reset");
	if (!pass(s, 1, 5) || !no_event())
		return false;
	return finish(s);
}

/* Waiting work requests move, in order. If they don't fit, the resize fails and changes nothing */
static bool c_resize(void)
{
	static const int size[] = { 500, 63, 4000, 100 };
	struct setup *s = make(2, 100);
	uint32_t id = 0;
	unsigned int i, n;

	if (!post_n(s, 60))
		return false;
	for (i = 0; i < ARRAY_LEN(size); i++) {
		CHECK(!resize(s, size[i]), "to %d: %s", size[i], strerror(errno));
		CHECK((int)query(s).max_wr >= size[i], "%u, asked for %d", query(s).max_wr, size[i]);
		for (n = 0; n < 25; n++, id++)
			if (!pass(s, n % 2, id) || !post_n(s, 1))
				return false;
	}
	CHECK(resize(s, 10) == EINVAL, "to less than what waits");
	for (n = query(s).max_wr - 60; n; n--)
		CHECK(!post(s, s->dst_mr->lkey), "less room than max_wr");
	CHECK(post(s, s->dst_mr->lkey) == ENOMEM, "more room than max_wr");
	for (n = query(s).max_wr; n; n--, id++)
		if (!pass(s, n % 2, id))
			return false;
	return finish(s);
}

static volatile bool stop;
static volatile int posting_failed;

static void *poster(void *arg)
{
	struct setup *s = arg;
	uint32_t max = MANY;

	while (s->posted < max && !stop) {
		int err = post(s, s->dst_mr->lkey);

		if (err == ENOMEM)
			sched_yield();
		else if (err)
			posting_failed = err;
	}
	return NULL;
}

static void *resizer(void *arg)
{
	struct setup *s = arg;
	uint64_t seed = 1;
	long done = 0;
	int left = 1000;

	/*
 * On a slow host, there may be too few resizes during the load. Some more follow when nothing
 * waits: then any size is right.
 */
	while (!stop || (done <= 5 && !posting_failed && left--)) {
		int err = resize(s, rnd_range(&seed, 16, 600));

		if (err && err != EINVAL)	/* EINVAL: more receives wait than fit */
			posting_failed = err;
		done += !err;
		usleep(300);
	}
	return (void *)done;
}

/* Each work request must complete once. Return: the first that doesn't; MANY: all do */
static uint32_t count_recvs(struct setup *s, uint8_t *seen, bool ordered)
{
	uint32_t sent = 0, got = 0;
	struct ibv_wc wc[16];
	uint64_t end = now_ms() + 60000;
	int i, n, out[QPS] = {};

	while (got < MANY && now_ms() < end && !posting_failed) {
		i = sent % s->qps;
		if (sent < MANY && out[i] < DEPTH / 2 && !send_one(s, i)) {
			out[i]++;
			sent++;
		}
		for (n = ibv_poll_cq(s->scq, 16, wc); n > 0; n--) {
			if (wc[n - 1].status)
				return got;
			out[wc[n - 1].wr_id]--;
		}
		n = ibv_poll_cq(s->rcq, 16, wc);
		for (i = 0; i < n; i++, got++)
			if (wc[i].status || wc[i].wr_id >= MANY || seen[wc[i].wr_id]++ ||
			    (ordered && wc[i].wr_id != got))
				return wc[i].wr_id;
	}
	return got;
}

/* Posts, sends and resizes at the same time */
static bool load(int qps, bool resizes)
{
	struct setup *s = make(qps, 300);
	uint8_t *seen = calloc(MANY, 1);
	pthread_t p, r;
	void *done = NULL;
	uint32_t got;

	stop = false;
	posting_failed = 0;
	if (pthread_create(&p, NULL, poster, s) ||
	    (resizes && pthread_create(&r, NULL, resizer, s)))
		die("cannot start a thread");
	got = count_recvs(s, seen, qps == 1);
	stop = true;
	pthread_join(p, NULL);
	if (resizes)
		pthread_join(r, &done);
	free(seen);
	CHECK(!posting_failed, "posting or resizing: %s", strerror(posting_failed));
	CHECK(got == MANY, "work request %u is lost, or came twice, or out of order", got);
	CHECK(!resizes || (long)done > 5, "only %ld resizes", (long)done);
	return finish(s);
}

static bool c_load(void)
{
	return load(QPS, false);
}

static bool c_load_resize(void)
{
	return load(QPS, true);
}

static bool c_load_resize_order(void)
{
	return load(1, true);
}

/* A QP that fails completes the work request that it has taken, and no other [11.6.3.1] */
static bool c_last_wqe(void)
{
	struct setup *s = make(2, 32);
	struct ibv_async_event e = {};
	struct ibv_wc wc;

	if (!post_n(s, 6) || !pass(s, 0, 0) || !pass(s, 1, 1))
		return false;
	drain_events();
	CHECK(!qp_to_state(s->to[0], IBV_QPS_ERR), "to ERR");
	CHECK(next_event(place[1].ctx, &e, 5000), "no event");
	CHECK(e.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && e.element.qp == s->to[0],
	      "event %d", e.event_type);
	CHECK(!wait_wc_ms(s->rcq, &wc, 50), "work request %d was flushed", (int)wc.wr_id);
	if (!pass(s, 1, 2) || !no_event())
		return false;
	/* After a reset, the queue pair receives again */
	CHECK(!qp_to_state(s->to[0], IBV_QPS_RESET) && !qp_to_state(s->from[0], IBV_QPS_RESET),
	      "to RESET");
	connect_pair(s, 0);
	if (!pass(s, 0, 3))
		return false;
	drain_events();
	CHECK(!qp_to_state(s->to[0], IBV_QPS_ERR) && next_event(place[1].ctx, &e, 5000) &&
	      e.event_type == IBV_EVENT_QP_LAST_WQE_REACHED, "no event the second time");
	return pass(s, 1, 4) && finish(s);
}

/* Each pair sends @n messages. All take work requests, in any order */
static bool all_pairs_send(struct setup *s, int n)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n * s->qps; i++)
		CHECK(!send_one(s, i % s->qps), "post_send failed");
	for (i = 0; i < n * s->qps; i++) {
		CHECK(wait_wc(s->scq, &wc) && !wc.status, "send: %s", ibv_wc_status_str(wc.status));
		CHECK(wait_wc(s->rcq, &wc) && !wc.status, "receive: %s",
		      ibv_wc_status_str(wc.status));
	}
	CHECK(!ibv_poll_cq(s->rcq, 1, &wc), "a receive too many");
	return true;
}

/* Each limit is told once, and each QP's end */
static bool c_events(void)
{
	const int each = 7, left = 8, rounds = 30;
	struct setup *s = make(QPS, QPS * each + left);
	struct ibv_async_event e;
	unsigned int ended = 0;
	int i, n;

	for (i = 0; i < rounds; i++) {
		if (!post_n(s, i ? QPS * each : QPS * each + left))
			return false;
		CHECK(!set_limit(s, 2 * left), "set the limit");
		if (!all_pairs_send(s, each) || !expect_low(s))
			return false;
		CHECK(!query(s).srq_limit, "the limit is still set");
	}
	if (!no_event())
		return false;
	for (i = 0; i < QPS; i++)
		CHECK(!qp_to_state(s->to[i], IBV_QPS_ERR), "to ERR");
	for (n = 0; n < QPS; n++) {
		CHECK(next_event_type(&e) == IBV_EVENT_QP_LAST_WQE_REACHED, "event %d", n);
		for (i = 0; i < QPS; i++)
			ended |= (s->to[i] == e.element.qp) << i;
	}
	CHECK(ended == (1u << QPS) - 1, "the QPs that told their end are %x", ended);
	return no_event() && finish(s);
}

static bool c_rnr(void)
{
	struct setup *s = make(2, 8);
	struct ibv_wc wc;

	/* The sender retries for ever, until a receive is posted */
	CHECK(!send_one(s, 0), "post_send");
	CHECK(!wait_wc_ms(s->scq, &wc, 50), "sent to nobody: %s", ibv_wc_status_str(wc.status));
	if (!post_n(s, 1) || !expect_recv(s, 0, IBV_WC_SUCCESS))
		return false;
	CHECK(wait_wc(s->scq, &wc) && wc.status == IBV_WC_SUCCESS, "send");
	/* The sender gives up */
	s->attr.rnr_retry = 1;
	CHECK(!qp_to_state(s->from[1], IBV_QPS_RESET) && !qp_to_state(s->to[1], IBV_QPS_RESET),
	      "to RESET");
	connect_pair(s, 1);
	CHECK(!send_one(s, 1), "post_send");
	CHECK(wait_wc(s->scq, &wc) && wc.status == IBV_WC_RNR_RETRY_EXC_ERR, "%s",
	      ibv_wc_status_str(wc.status));
	return finish(s);
}

static bool c_write_imm(void)
{
	struct setup *s = make(1, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = 77,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	if (!post_n(s, 2))
		return false;
	CHECK(!ibv_post_send(s->from[0], &wr, &bad), "post_send");
	CHECK(wait_wc(s->rcq, &wc) && wc.status == IBV_WC_SUCCESS && wc.wr_id == 0 &&
	      wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == 77, "completion");
	CHECK(wait_wc(s->scq, &wc), "send");
	return pass(s, 0, 1) && finish(s);
}

/* The SRQ's protection domain counts, not that of the queue pair */
static bool c_foreign_lkey(void)
{
	struct setup *s = make(2, 8);
	struct ibv_mr *mr = ibv_reg_mr(s->pd, s->dst, SLOT, IBV_ACCESS_LOCAL_WRITE);

	if (!post_n(s, 1) || !pass(s, 0, 0))
		return false;
	CHECK(mr && !post(s, mr->lkey), "post");
	CHECK(!post(s, s->dst_mr->lkey), "post");
	CHECK(!send_one(s, 0), "post_send");
	if (!expect_recv(s, 1, IBV_WC_LOC_PROT_ERR) || !expect_state(s->to[0], IBV_QPS_ERR))
		return false;
	if (!expect_state(s->from[0], IBV_QPS_ERR))
		return false;
	while (ibv_poll_cq(s->scq, 1, &(struct ibv_wc){}) > 0)
		;
	ibv_dereg_mr(mr);
	return pass(s, 1, 2) && finish(s);
}

static int send_ud(struct setup *s, struct ibv_qp *from, struct ibv_qp *to, struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)s->src, 8, s->src_mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { ah, to->qp_num, 1 } }, *bad;
	struct ibv_wc wc;

	return ibv_post_send(from, &wr, &bad) || !wait_wc(s->scq, &wc) || wc.status;
}

/* UD and RC queue pairs share the SRQ. Datagrams without a receive are dropped */
static bool c_ud(void)
{
	struct setup *s = make(1, 8);
	struct ibv_qp *from = new_qp(s, NULL, IBV_QPT_UD), *to = new_qp(s, s->srq, IBV_QPT_UD);
	struct rc_attr near = { .gid_index = place[0].gid_index, .hop_limit = 1 };
	struct ibv_ah *ah = create_ah(s->from_pd, &near, place[1].gid);
	struct ibv_wc wc;

	ud_up(from, 1, 0);
	ud_up(to, 1, 0);
	CHECK(!send_ud(s, from, to, ah), "send");
	CHECK(!wait_wc_ms(s->rcq, &wc, 50), "received without a receive");
	if (!post_n(s, 2))
		return false;
	CHECK(!send_ud(s, from, to, ah), "send");
	if (!expect_recv(s, 0, IBV_WC_SUCCESS) || !pass(s, 0, 1))
		return false;
	CHECK(!ibv_destroy_qp(from) && !ibv_destroy_qp(to) && !ibv_destroy_ah(ah), "destroy");
	return finish(s);
}

/* Return: the SRQ's ring: the mapping that is new since the last call */
static struct rxe_queue_buf *find_ring(uint32_t capacity, uint32_t elem)
{
	FILE *f = fopen("/proc/self/maps", "r");
	struct rxe_queue_buf *found = NULL;
	char line[512];
	unsigned long at;

	while (fgets(line, sizeof(line), f)) {
		struct rxe_queue_buf *q;

		if (!strstr(line, "/dev/infiniband/uverbs") || sscanf(line, "%lx", &at) != 1)
			continue;
		q = (void *)at;
		if (q->index_mask == capacity && 1u << q->log2_elem_size == elem)
			found = q;
	}
	fclose(f);
	return found;
}

/* The QP that takes a work request with garbage gets the error. The others go on */
static bool c_spoilt_wqe(void)
{
	struct setup *s = make(2, 2000);
	struct rxe_queue_buf *ring;
	struct rxe_recv_wqe *wqe;

	ring = find_ring(query(s).max_wr, 128);
	CHECK(ring, "the ring isn't found");
	if (!post_n(s, 2))
		return false;
	wqe = (void *)ring->data;
	wqe->dma.num_sge = 0xfffffff0;
	CHECK(!send_one(s, 0), "post_send");
	if (!expect_recv(s, 0, IBV_WC_LOC_LEN_ERR) || !expect_state(s->to[0], IBV_QPS_ERR) ||
	    !expect_state(s->from[0], IBV_QPS_ERR))
		return false;
	while (ibv_poll_cq(s->scq, 1, &(struct ibv_wc){}) > 0)
		;
	return pass(s, 1, 1) && finish(s);
}

/* A wild producer index yields work requests with garbage. A resize works nevertheless */
static bool c_spoilt_index(void)
{
	static const uint32_t wild[] = { ~0u, 0x80000001, 12345678, 3 };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(wild); i++) {
		struct setup *s = make(1, 2000);
		struct rxe_queue_buf *ring = find_ring(query(s).max_wr, 128);
		struct ibv_wc wc;

		CHECK(ring, "the ring isn't found");
		ring->producer_index = wild[i];
		ring->consumer_index = ~wild[i];
		ring->index_mask = wild[i];
		CHECK(!send_one(s, 0), "post_send");
		CHECK(wait_wc(s->rcq, &wc), "no completion");
		resize(s, 100);
		resize(s, 10000);
		if (!finish(s))
			return false;
	}
	return true;
}

#define CASES(X) X(create_limits) X(most_wrs) X(most_sges) X(attributes) X(in_order) X(limit) \
	X(resize) X(load) X(load_resize) X(load_resize_order) X(last_wqe) X(events) X(rnr) X(write_imm) \
	X(foreign_lkey) X(ud) X(spoilt_wqe) X(spoilt_index)
#define CASE(n) { #n, c_ ## n },

static const struct test_case cases[] = { CASES(CASE) };

static const char usage[] =
"usage: verbs_srq [-d DEV] [-g GID_INDEX] [-D DEV] [-G GID_INDEX] [CASE...]\n"
"Shared receive queues on one device, or with two.\n"
"  -d, --dev DEV     device of the senders (the first one)\n"
"  -g, --gid N       GID index (the first v2 one)\n"
"  -D, --dev2 DEV    device of the receivers (the same)\n"
"  -G, --gid2 N      its GID index\n"
"  -h, --help        this text\n";

static const struct option options[] = { PLACE_OPTIONS, { "help", 0, NULL, 'h' }, {} };

int main(int argc, char **argv)
{
	int o;

	place[0].gid_index = -1;
	while ((o = getopt_long(argc, argv, "d:g:D:G:h", options, NULL)) != -1)
		if (!place_option(o))
			return print_usage(usage, o);
	open_places();
	if (ibv_query_device(place[1].ctx, &dev))
		die("query failed");
	run_cases(cases, ARRAY_LEN(cases), argv + optind);
	close_places();
	return !!cases_failed;
}
