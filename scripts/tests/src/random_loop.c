// SPDX-License-Identifier: GPL-2.0
/*
 * rc_random: the event loop of one side: completions, control messages, and steps of its flows.
 */
#include <sched.h>

#include "rc_random.h"

void tell_peer(struct side *s, uint32_t what, uint32_t qp, uint32_t round)
{
	struct msg m = { .what = what, .qp = qp, .round = round };

	write_all(s->ctl, &m, sizeof(m));
}

static struct conn *find_conn(struct side *s, uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < s->h.qps; i++)
		if (s->c[i].qp->qp_num == qpn)
			return &s->c[i];
	die("%s: completion of unknown qp %u", s->name, qpn);
}

static void take_wc(struct side *s, const struct ibv_wc *wc)
{
	struct conn *c = find_conn(s, wc->qp_num);
	struct flow *f;

	if (wc->status != IBV_WC_SUCCESS) {
		fprintf(stderr, "%s: completion with status %s, vendor error 0x%x, %u posted, "
			"%u completed, %u of %u received\n",
			s->name, ibv_wc_status_str(wc->status), wc->vendor_err, c->out.posted,
			c->out.completed, c->in.recv_seen, c->in.recvs);
		f = wc->wr_id < c->out.posted ? &c->out : &c->in;
		wrong(c, f, wc->wr_id < ROUND ? wc->wr_id : 0, "failed (operation is a guess)");
	}
	if (wc->opcode & IBV_WC_RECV)
		complete_recv(c, wc);
	else
		complete_send(c, wc);
}

static bool drain_cq(struct side *s, struct ibv_cq *cq)
{
	struct ibv_wc wc[16];
	bool did = false;
	int i, n;

	while ((n = ibv_poll_cq(cq, ARRAY_LEN(wc), wc)) > 0) {
		for (i = 0; i < n; i++)
			take_wc(s, &wc[i]);
		did = true;
	}
	if (n < 0)
		die("%s: poll_cq failed", s->name);
	return did;
}

static bool drain_cqs(struct side *s)
{
	bool did = false;
	uint32_t i;

	for (i = 0; i < s->h.qps; i++) {
		did |= drain_cq(s, s->c[i].scq);
		if (s->c[i].rcq != s->c[i].scq)
			did |= drain_cq(s, s->c[i].rcq);
	}
	return did;
}

static void take_msg(struct side *s, bool *bye)
{
	struct msg m;
	struct conn *c;

	read_all(s->ctl, &m, sizeof(m));
	if (m.what == MSG_BYE) {
		*bye = true;
		return;
	}
	if (m.qp >= s->h.qps)
		die("%s: bad control message", s->name);
	c = &s->c[m.qp];
	if (m.round != (m.what == MSG_DONE ? c->in.round : c->out.round))
		die("%s: qp %u: control message of round %u out of order", s->name, m.qp, m.round);
	if (m.what == MSG_DONE)
		c->in.peer_done = true;
	else
		begin_round(c, &c->out);
}

static void arm_cqs(struct side *s)
{
	uint32_t i;

	for (i = 0; i < s->h.qps; i++) {
		if (ibv_req_notify_cq(s->c[i].scq, 0) || ibv_req_notify_cq(s->c[i].rcq, 0))
			die("req_notify_cq: %s", strerror(errno));
	}
}

/* Nothing to do: sleep till a completion or a control message comes. */
static bool await_work(struct side *s, bool *bye)
{
	struct pollfd p[2] = {
		{ .fd = s->ctl, .events = POLLIN }, { .fd = s->chan->fd, .events = POLLIN },
	};
	int n;

	if (!s->busy_poll) {
		arm_cqs(s);
		if (drain_cqs(s))
			return true;
	} else {
		sched_yield();
	}
	n = poll(p, s->busy_poll ? 1 : 2, s->busy_poll ? 0 : 1000);
	if (n < 0 && errno != EINTR)
		die("poll: %s", strerror(errno));
	if (n > 0 && p[0].revents)
		take_msg(s, bye);
	if (n > 0 && p[1].revents)
		take_cq_event(s->chan);
	return n > 0;
}

static void die_stalled(struct side *s)
{
	uint32_t i;

	for (i = 0; i < s->h.qps; i++) {
		struct conn *c = &s->c[i];

		fprintf(stderr, "%s: qp %u state %d: out round %u, %u of %u posted, "
			"%u completed%s; in round %u, %u of %u received%s\n",
			s->name, i, qp_state(c->qp), c->out.round, c->out.posted, c->out.nops,
			c->out.completed, c->out.over ? ", over" : "", c->in.round,
			c->in.recv_seen, c->in.recvs, c->in.over ? ", over" : "");
	}
	die("%s: no progress for %d s", s->name, STALL_MS / 1000);
}

static bool all_over(struct side *s)
{
	uint32_t i;

	for (i = 0; i < s->h.qps; i++)
		if (!s->c[i].out.over || !s->c[i].in.over)
			return false;
	return true;
}

void run_side(struct side *s)
{
	bool said = false, bye = false, did;
	uint32_t i;

	s->progress_ms = now_ms();
	while (!said || !bye) {
		did = drain_cqs(s);
		for (i = 0; i < s->h.qps; i++) {
			did |= step_out(&s->c[i]);
			did |= step_in(&s->c[i]);
		}
		if (!said && all_over(s)) {
			tell_peer(s, MSG_BYE, 0, 0);
			said = true;
		}
		if (!did && !(said && bye))
			did = await_work(s, &bye);
		if (did)
			s->progress_ms = now_ms();
		else if (now_ms() - s->progress_ms > STALL_MS)
			die_stalled(s);
	}
}
