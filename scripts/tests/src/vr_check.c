// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_random: handles completions, and compares them and the memory with the model.
 */
#include "vr.h"

static struct pair *pair_of(uint32_t serial)
{
	int i;

	for (i = 0; i < PAIRS; i++)
		if (pairs[i].qp[0] && pairs[i].serial == serial)
			return pairs + i;
	return NULL;
}

static struct pair *pair_of_qpn(uint32_t qpn)
{
	int i;

	for (i = 0; i < PAIRS; i++)
		if (pairs[i].qp[1] && pairs[i].qp[1]->qp_num == qpn)
			return pairs + i;
	return NULL;
}

static bool is_write(const struct flight *f)
{
	return f->opcode == IBV_WR_RDMA_WRITE || f->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* Does the work request need a receive? */
static bool is_message(const struct flight *f)
{
	return f->opcode == IBV_WR_SEND || f->opcode == IBV_WR_SEND_WITH_INV ||
	       f->opcode == IBV_WR_SEND_WITH_IMM || f->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(const struct flight *f)
{
	return f->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || f->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* The content of the stripe is unknown until the pair is destroyed */
void forget_stripe(struct pair *p, const struct flight *f)
{
	struct region *changed = f->opcode == IBV_WR_RDMA_READ ? f->local : f->remote;

	if (changed)
		changed->known[p - pairs] = false;
	if (is_atomic(f))
		f->local->known[p - pairs] = false;
}

static void apply_atomic(const struct flight *f)
{
	uint8_t *word = f->remote->copy + f->remote_off - CONST_LEN;
	uint64_t old, new;

	memcpy(&old, word, 8);
	new = old + f->operand[0];
	if (f->opcode == IBV_WR_ATOMIC_WRITE)
		new = f->operand[0];
	if (f->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		new = old == f->operand[0] ? f->operand[1] : old;
	memcpy(word, &new, 8);
	if (is_atomic(f))
		memcpy(f->local->copy + f->local_off - CONST_LEN, &old, 8);
	TALLY(atomics);
}

static void apply(struct pair *p, const struct flight *f)
{
	if (f->opcode == IBV_WR_FLUSH)
		TALLY(flushes);
	else if (is_write(f) && p->type == IBV_QPT_RC)
		memcpy(f->remote->copy + f->remote_off - CONST_LEN, f->local->mem + f->local_off,
		       f->len);
	else if (f->opcode == IBV_WR_RDMA_READ)
		memcpy(f->local->copy + f->local_off - CONST_LEN, f->remote->mem + f->remote_off,
		       f->len);
	else if (is_atomic(f) || f->opcode == IBV_WR_ATOMIC_WRITE)
		apply_atomic(f);
	else
		forget_stripe(p, f);
}

static void send_done(struct pair *p, const struct ibv_wc *wc)
{
	struct flight *f = p->flight + p->done % SQ_DEPTH;

	ENSURE(p->done != p->posted, "a completion more than there are work requests");
	ENSURE((wc->wr_id & 0xffffff) == (p->done & 0xffffff), "completion %d, expected %d",
	       (int)(wc->wr_id & 0xffffff), (int)(p->done & 0xffffff));
	p->done++;
	TALLY(completed);
	if (p->failed) {
		ENSURE(wc->status == IBV_WC_WR_FLUSH_ERR, "%s after an error",
		       ibv_wc_status_str(wc->status));
		forget_stripe(p, f);
	} else if (wc->status) {
		ENSURE(f->expect != MUST || p->peer_failed, "work request %d (opcode %d): %s",
		       (int)p->done - 1, f->opcode, ibv_wc_status_str(wc->status));
		p->failed = true;
		TALLY(failed);
		forget_stripe(p, f);
	} else {
		ENSURE(f->expect != MUST_NOT || p->type != IBV_QPT_RC,
		       "work request %d (opcode %d) succeeded", (int)p->done - 1, f->opcode);
		p->sends_done += is_message(f);
		apply(p, f);
	}
}

/* Datagrams to a group may overtake others, but arrive only once */
static void check_order(struct pair *p, uint32_t seq)
{
	ENSURE(seq < p->sends, "message %d of %d", seq, p->sends);
	if (p->type == IBV_QPT_UD) {
		ENSURE(p->got[seq % RECVS] != seq + 1, "message %d comes twice", seq);
		p->got[seq % RECVS] = seq + 1;
	} else if (p->type == IBV_QPT_RC) {
		ENSURE(seq == p->recv_seq, "message %d, expected %d", seq, p->recv_seq);
		p->recv_seq = seq + 1;
	} else if (seq >= p->first_seq) {	/* else it was in flight at the reset */
		ENSURE(seq >= p->recv_seq, "message %d, expected %d", seq, p->recv_seq);
		p->recv_seq = seq + 1;
	}
	TALLY(messages);
}

/* Checks a received message: its pair, its order and its bytes */
static void check_message(struct pair *p, const struct ibv_wc *wc, const struct message *m)
{
	uint32_t skip = p->type == IBV_QPT_UD ? GRH_LEN : 0;

	ENSURE(m->serial == p->serial, "a message of another pair");
	ENSURE(wc->byte_len == sizeof(*m) + m->len + skip, "%d bytes of a message of %d",
	       wc->byte_len, m->len);
	ENSURE(!(wc->wc_flags & IBV_WC_WITH_IMM) || ntohl(wc->imm_data) == m->seq,
	       "immediate data %d with message %d", ntohl(wc->imm_data), m->seq);
	check_order(p, m->seq);
	ENSURE(!memcmp(m + 1, regions[m->region].mem + m->off, m->len), "wrong bytes in message %d",
	       m->seq);
}

static void recv_done(const struct ibv_wc *wc, const struct recvs *recvs)
{
	struct pair *p = pair_of_qpn(wc->qp_num);
	uint32_t skip = p && p->type == IBV_QPT_UD ? GRH_LEN : 0;

	if (!p)
		return;		/* the pair was destroyed */
	p->recv_seen++;
	if (wc->status) {
		p->peer_failed = true;
		return;
	}
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		check_order(p, ntohl(wc->imm_data));
		return;
	}
	check_message(p, wc, (void *)(recvs->mem + (wc->wr_id & 0xffffff) * RECV_LEN + skip));
}

/* An SRQ's receives have its number, a pair's have its serial */
static const struct recvs *recvs_of(uint32_t serial)
{
	struct pair *p = pair_of(serial);

	return serial < SRQS ? &srqs[serial].recvs : p ? &p->recvs : NULL;
}

static void handle_wc(const struct ibv_wc *wc)
{
	uint32_t serial = wc->wr_id >> 32, what = wc->wr_id >> 24 & 0xff;
	const struct recvs *recvs = what == ID_RECV ? recvs_of(serial) : NULL;
	struct pair *p = pair_of(serial);

	if (recvs)
		recv_done(wc, recvs);
	else if (p && what == ID_SEND)
		send_done(p, wc);
	else if (p && what == ID_CONTROL)
		p->control_status = wc->status;
}

/* Return: number of completions */
static uint32_t poll_end(struct cq *cq, int end)
{
	uint32_t came = 0;
	struct ibv_wc wc[16];
	int n, i;

	while ((n = ibv_poll_cq(cq->cq[end], 16, wc)) > 0) {
		for (i = 0; i < n; i++)
			handle_wc(wc + i);
		came += n;
	}
	ENSURE(!n, "poll_cq failed");
	return came;
}

/* @cq may have none */
uint32_t poll_cq(struct cq *cq)
{
	return poll_end(cq, 0) + poll_end(cq, 1);
}

void poll_all(void)
{
	int i;

	for (i = 0; i < CQS; i++)
		if (cqs[i].cq[0])
			poll_cq(cqs + i);
}

/* Arms the CQs and sleeps, unless a completion has come */
static void sleep_for_event(struct cq *cq, uint64_t end)
{
	struct pollfd f[2];
	int i;

	for (i = 0; i < 2; i++) {
		f[i] = (struct pollfd){ .fd = cq->chan[i]->fd, .events = POLLIN };
		ENSURE(!ibv_req_notify_cq(cq->cq[i], 0), "req_notify_cq failed");
	}
	if (poll_cq(cq))
		return;
	ENSURE(poll(f, 2, now_ms() < end ? end - now_ms() : 0) > 0, "no event");
	for (i = 0; i < 2; i++)
		if (f[i].revents)
			take_cq_event(cq->chan[i]);
}

static bool settled(const struct pair *p)
{
	if (p->done != p->posted)
		return false;
	/* An acknowledged message was received, but its completion may come a little later */
	return p->type != IBV_QPT_RC || p->failed || p->peer_failed || p->recv_seq == p->sends_done;
}

void wait_settled(struct pair *p, bool sleeps)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	for (poll_cq(p->cq); !settled(p); poll_cq(p->cq)) {
		ENSURE(now_ms() < end, "%d of %d work requests and %d of %d messages completed",
		       p->done, p->posted, p->recv_seq, p->sends_done);
		if (sleeps)
			sleep_for_event(p->cq, end);
		else
			usleep(50);
	}
}

static void check_stripe(struct pair *p, struct region *r)
{
	uint32_t off = stripe_of(p);

	if (r->known[p - pairs])
		ENSURE(!memcmp(r->mem + off, r->copy + off - CONST_LEN, STRIPE),
		       "region %d has wrong bytes for pair %d", (int)(r - regions),
		       (int)(p - pairs));
}

void check_stripes(struct pair *p)
{
	int i;

	for (i = 0; i < REGIONS; i++)
		check_stripe(p, regions + i);
}

/* Return: completions that may still come to a CQ, also of messages before a reset. */
uint32_t open_of(const struct cq *cq)
{
	uint32_t open = 0;
	int i;

	for (i = 0; i < PAIRS; i++) {
		const struct pair *p = pairs + i;

		if (p->qp[0] && p->cq == cq)
			open += p->posted - p->done +
				(p->sends > p->recv_seen ? p->sends - p->recv_seen : 0);
	}
	return open;
}

bool has_room(const struct pair *p, uint32_t completions)
{
	return open_of(p->cq) + completions <= (uint32_t)p->cq->cq[0]->cqe;
}

bool usable(const struct pair *p)
{
	return p->qp[0] && !p->failed && !p->peer_failed;
}

/* Return: a usable pair, if there is one. @rc: of RC, if there is one */
struct pair *pick_pair(uint32_t n, bool rc)
{
	int i;

	for (i = 0; i < PAIRS; i++, n++) {
		struct pair *p = pairs + n % PAIRS;

		if (usable(p) && (!rc || p->type == IBV_QPT_RC))
			return p;
	}
	return pairs + n % PAIRS;
}

/* Return: a registered region with these rights, if there is one. @wild: its PD may be wrong. */
struct region *pick_region(uint32_t n, int rights, bool wild)
{
	int i;

	for (i = 0; i < REGIONS; i++, n++) {
		struct region *r = regions + n % REGIONS;

		if (r->mr[0] && !(rights & ~r->access) && (wild || !r->foreign))
			break;
	}
	return regions + n % REGIONS;
}
