// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_random: the operations of a process, and the model of their results.
 *
 * A slot of a table holds an object, or none. Slot i of the regions has its own memory, whether a
 * region is registered or not. The memory begins with constant bytes, the source of READs and
 * WRITEs. Then it has a stripe for each pair, which only WRITEs and READs of this pair change. A
 * copy of the stripes has the expected bytes. If a work request for a stripe may have failed, the
 * stripe is unknown until the pair is destroyed. From then on, nothing may change it.
 *
 * Queue pair 0 of a pair sends to queue pair 1, which may be on another device. The process waits
 * for a bind or a local invalidation. Other work requests are in flight until an operation waits
 * for the pair ("drain"), destroys it, or happens to poll its CQ.
 */
#include "vr.h"

struct ibv_context *ctx[2];
struct ibv_pd *pd[2], *other_pd[2];
unsigned int ex_offered;
const struct world *world;
struct region regions[REGIONS];
struct window windows[WINDOWS];
struct cq cqs[CQS];
struct srq srqs[SRQS];
struct pair pairs[PAIRS];
static struct message *headers;	/* of SENDs, by pair and number */
static struct ibv_mr *headers_mr;
static char *why_text;
static size_t why_size;
static uint32_t op_at;

void __attribute__((noreturn, format(printf, 1, 2))) wrong(const char *fmt, ...)
{
	int n = snprintf(why_text, why_size, "operation %u: ", op_at);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why_text + n, why_size - n, fmt, ap);
	va_end(ap);
	_exit(1);
}

/* --- work requests --- */

static bool region_grants(const struct region *r, int access)
{
	return r->mr[0] && !r->foreign && (r->access & access) == access;
}

static enum expect window_grants(const struct window *w, const struct pair *p, int access)
{
	if (!w->on || !w->mw)
		return MUST_NOT;
	if (w->unsure)
		return w->by == p ? MUST_NOT : MAY;
	return (!w->by || w->by == p) && (w->access & access) == access ? MUST : MUST_NOT;
}

/* Return: how many work requests the send queue and the CQs have room for */
static uint32_t burst(struct pair *p, uint32_t wanted, uint32_t completions)
{
	uint32_t n = 1 + wanted % BURST;

	poll_all();
	if (!usable(p) || !has_room(p, n * completions) || p->posted - p->done + n > SQ_DEPTH)
		return 0;
	return n;
}

static void post(struct pair *p, struct ibv_send_wr *wr, struct flight f)
{
	struct ibv_send_wr *bad;
	int err;

	wr->wr_id = wr_id(p->serial, ID_SEND, p->posted);
	wr->opcode = f.opcode;
	err = ibv_post_send(p->qp[0], wr, &bad);
	ENSURE(!err, "post_send: %s", strerror(err));
	p->flight[p->posted++ % SQ_DEPTH] = f;
}

/* @what: of enum EX_ */
static void post_extended(struct pair *p, int what, const struct flight *f, uint32_t rkey)
{
	int err = post_ex(p->qp[0], what, wr_id(p->serial, ID_SEND, p->posted),
			  IBV_SEND_SIGNALED | IBV_SEND_FENCE, rkey,
			  (uintptr_t)f->remote->mem + f->remote_off, f->operand, f->len);

	ENSURE(!err, "post of an atomic write or a flush: %s", strerror(err));
	p->flight[p->posted++ % SQ_DEPTH] = *f;
}

static void post_atomic(struct pair *p, struct flight f, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)f.local->mem + f.local_off, 8, f.local->mr[0]->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_FENCE,
		.wr.atomic = { (uintptr_t)f.remote->mem + f.remote_off, f.operand[0],
			       f.operand[1], rkey },
	};

	if (f.opcode == IBV_WR_ATOMIC_WRITE)
		post_extended(p, EX_ATOMIC_WRITE, &f, rkey);
	else
		post(p, &wr, f);
}

/* Return: in half of all cases a window, mostly one that the pair may use; or NULL */
static struct window *pick_window(uint32_t n, const struct pair *p, bool wild)
{
	struct window *w = windows + (n >> 1) % WINDOWS;

	if (!(n & 1))
		return NULL;
	return wild || (w->on && !w->unsure && (!w->by || w->by == p)) ? w : NULL;
}

static bool post_recv(struct pair *p)
{
	struct recvs *r = p->srq ? &p->srq->recvs : &p->recvs;
	uint32_t num = r->next % RECVS;
	struct ibv_sge sge = { (uintptr_t)r->mem + num * RECV_LEN, RECV_LEN, r->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	wr.wr_id = wr_id(p->srq ? (uint32_t)(p->srq - srqs) : p->serial, ID_RECV, num);
	if (p->srq ? ibv_post_srq_recv(p->srq->srq, &wr, &bad) :
		     ibv_post_recv(p->qp[1], &wr, &bad))
		return false;
	r->next++;
	return true;
}

/* WRITE or READ between a region of the requester and one of the responder, or a window */
static void transfer(const struct op *o, enum ibv_wr_opcode opcode)
{
	bool reads = opcode == IBV_WR_RDMA_READ, imm = opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	int remote = reads ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	int local = reads ? IBV_ACCESS_LOCAL_WRITE : 0;
	bool wild = !(o->d >> 8 & 7);	/* the operation is chosen without regard to rights */
	struct pair *p = pick_pair(o->a, reads);
	struct window *w = pick_window(o->d, p, wild);
	struct flight f = {
		.opcode = opcode, .local = pick_region(o->b, wild ? 0 : local, wild),
		.remote = w && w->on ? w->on : pick_region(o->c, wild ? 0 : remote, wild),
		.window = w,
	};
	uint64_t rng = o->d;
	uint32_t rkey, n;

	if ((reads && p->type != IBV_QPT_RC) || p->type == IBV_QPT_UD || (w && !w->mw) ||
	    !f.local->mr[0] || (!w && !f.remote->mr[1]))
		return;
	rkey = w ? w->mw->rkey : f.remote->mr[1]->rkey;
	for (n = burst(p, o->c >> 8, 1 + imm); n && usable(p); n--) {
		struct ibv_sge sge;
		/* An earlier READ may write to the same stripe */
		struct ibv_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_FENCE,
		};
		uint32_t from = rnd_range(&rng, 0, CONST_LEN / 2);
		uint32_t to = rnd_range(&rng, 0, STRIPE - 1);

		if (imm && !post_recv(p))
			return;
		wr.imm_data = htonl(imm ? p->sends++ : 0);
		f.len = rnd_range(&rng, 1, STRIPE - to);
		if (!(o->d >> 12 & 3) && f.len > INLINE_LEN)
			f.len = INLINE_LEN;
		if (!reads && f.len <= INLINE_LEN)
			wr.send_flags |= IBV_SEND_INLINE;
		to += stripe_of(p);
		f.local_off = reads ? to : from;
		f.remote_off = reads ? from : to;
		f.expect = w ? window_grants(w, p, remote) :
			   region_grants(f.remote, remote) ? MUST : MUST_NOT;
		if (!(wr.send_flags & IBV_SEND_INLINE) && !region_grants(f.local, local))
			f.expect = MUST_NOT;
		sge = (struct ibv_sge){ (uintptr_t)f.local->mem + f.local_off, f.len,
					f.local->mr[0]->lkey };
		wr.wr.rdma.remote_addr = (uintptr_t)f.remote->mem + f.remote_off;
		wr.wr.rdma.rkey = rkey;
		post(p, &wr, f);
	}
}

static void send_one(struct pair *p, struct region *r, struct window *w, uint64_t *rng)
{
	uint32_t slot = (p - pairs) * SQ_DEPTH + p->posted % SQ_DEPTH;
	struct message *m = headers + slot;
	bool imm = !w && rnd(rng) & 1, to_group = p->type == IBV_QPT_UD && rnd(rng) & 1;
	struct flight f = { .opcode = w ? IBV_WR_SEND_WITH_INV :
				      imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
			    .local = r, .window = w, .expect = MUST };
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 2 };

	*m = (struct message){
		.serial = p->serial, .seq = p->sends++, .region = r - regions,
		.off = rnd_range(rng, 0, CONST_LEN / 2),
		.len = rnd_range(rng, 1, p->type == IBV_QPT_UD ? MTU - sizeof(*m) : MSG_LEN),
	};
	sge[0] = (struct ibv_sge){ (uintptr_t)m, sizeof(*m), headers_mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)r->mem + m->off, m->len, r->mr[0]->lkey };
	if (p->type == IBV_QPT_UD) {
		wr.wr.ud.ah = to_group ? p->group_ah : p->ah;
		wr.wr.ud.remote_qpn = to_group ? GROUP_QPN : p->qp[1]->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	if (w)
		wr.invalidate_rkey = w->mw->rkey;
	else
		wr.imm_data = htonl(m->seq);
	post(p, &wr, f);
}

void do_send(const struct op *o)
{
	struct pair *p = pick_pair(o->a, false);
	struct region *r = pick_region(o->b, 0, false);
	uint64_t rng = o->d;
	uint32_t n;

	if (!region_grants(r, 0))
		return;
	for (n = burst(p, o->c, 2); n && usable(p) && post_recv(p); n--)
		send_one(p, r, NULL, &rng);
}

/* From now until the window is deallocated, it isn't known whether it is bound */
void do_send_inv(const struct op *o)
{
	struct window *w = windows + o->a % WINDOWS;
	struct region *r = pick_region(o->b, 0, false);
	struct pair *p = w->by;
	uint64_t rng = o->d;

	if (!p || !region_grants(r, 0) || w->unsure || p->type != IBV_QPT_RC || !burst(p, 0, 2) || !w->by ||
	    !post_recv(p))
		return;
	disturb(NULL, w);
	w->unsure = true;
	w->on->windows--;
	w->on->unsure++;
	send_one(p, r, w, &rng);
}

void do_drain(const struct op *o)
{
	struct pair *p = pairs + o->a % PAIRS;

	if (!p->qp[0])
		return;
	wait_settled(p, o->b & 1);
	check_stripes(p);
}

/* Changes eight bytes of a stripe at the responder, and eight of the requester's */
static void atomic(const struct op *o, enum ibv_wr_opcode opcode, uint64_t *rng)
{
	bool writes = opcode == IBV_WR_ATOMIC_WRITE, wild = !(o->d >> 8 & 7);
	int remote = writes ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_ATOMIC;
	int local = writes ? 0 : IBV_ACCESS_LOCAL_WRITE;	/* a write's operand is inline */
	struct pair *p = pick_pair(o->a, true);
	struct window *w = pick_window(o->d, p, wild);
	struct flight f = {
		.opcode = opcode, .len = 8, .window = w,
		.local = pick_region(o->b, wild ? 0 : local, wild),
		.remote = w && w->on ? w->on : pick_region(o->c, wild ? 0 : remote, wild),
	};
	uint32_t n;

	if (p->type != IBV_QPT_RC || (w && !w->mw) || !f.local->mr[0] || (!w && !f.remote->mr[1]))
		return;
	for (n = burst(p, o->c >> 8, 1); n && usable(p); n--) {
		f.local_off = stripe_of(p) + 8 * rnd_range(rng, 0, STRIPE / 8 - 1);
		f.remote_off = stripe_of(p) + 8 * rnd_range(rng, 0, STRIPE / 8 - 1);
		f.expect = w ? window_grants(w, p, remote) :
			   region_grants(f.remote, remote) ? MUST : MUST_NOT;
		if (!writes && !region_grants(f.local, local))
			f.expect = MUST_NOT;
		f.operand[0] = rnd(rng);
		f.operand[1] = rnd(rng);
		/* Mostly compare with the present value */
		if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP && f.operand[0] & 3)
			memcpy(f.operand, f.remote->mem + f.remote_off, 8);
		post_atomic(p, f, w ? w->mw->rkey : f.remote->mr[1]->rkey);
	}
}

void do_atomic(const struct op *o)
{
	uint64_t rng = o->d;

	atomic(o, rnd(&rng) & 1 ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD, &rng);
}

void do_atomic_write(const struct op *o)
{
	uint64_t rng = o->d;

	atomic(o, IBV_WR_ATOMIC_WRITE, &rng);
}

void do_write(const struct op *o)
{
	transfer(o, IBV_WR_RDMA_WRITE);
}

/* The immediate data is the number of the message */
void do_write_imm(const struct op *o)
{
	transfer(o, IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* A FLUSH of a part of a region, or of all of it */
void do_flush(const struct op *o)
{
	bool wild = !(o->d >> 8 & 7), whole = o->d & 1;
	struct pair *p = pick_pair(o->a, true);
	struct flight f = {
		.opcode = IBV_WR_FLUSH, .remote_off = o->b % CONST_LEN, .len = 1 + o->c % CONST_LEN,
		.remote = pick_region(o->b, wild ? 0 : ACCESS_FLUSH, wild),
	};
	uint32_t n;

	if (!(ex_offered & EX_FLUSH) || p->type != IBV_QPT_RC || !f.remote->mr[1])
		return;
	f.expect = region_grants(f.remote, ACCESS_FLUSH) ? MUST : MUST_NOT;
	for (n = burst(p, o->c >> 8, 1); n && usable(p); n--)
		post_extended(p, whole ? EX_FLUSH_ALL : EX_FLUSH, &f, f.remote->mr[1]->rkey);
}

void do_read(const struct op *o)
{
	transfer(o, IBV_WR_RDMA_READ);
}

/* --- the process --- */

static void (* const run_op[])(const struct op *o) = {
#define X(name, often) do_ ## name,
	OP_KINDS(X)
#undef X
};

static void open_end(int end)
{
	ctx[end] = open_device(world->dev[end]);
	pd[end] = ibv_alloc_pd(ctx[end]);
	other_pd[end] = ibv_alloc_pd(ctx[end]);
	ENSURE(pd[end] && other_pd[end], "alloc_pd: %s", strerror(errno));
	ENSURE(!fcntl(ctx[end]->async_fd, F_SETFL, fcntl(ctx[end]->async_fd, F_GETFL) | O_NONBLOCK),
	       "fcntl failed");
}

static void close_end(int end)
{
	ENSURE(!ibv_dealloc_pd(pd[end]) && !ibv_dealloc_pd(other_pd[end]), "dealloc_pd failed");
	ENSURE(!ibv_close_device(ctx[end]), "close_device failed");
}

static void set_up(void)
{
	size_t bytes = PAIRS * SQ_DEPTH * sizeof(*headers);

	open_end(0);
	if (world->dev[1])
		open_end(1);
	else
		ctx[1] = ctx[0], pd[1] = pd[0], other_pd[1] = other_pd[0];
	ex_offered = ex_ops(ctx[0]) & EX_FLUSH;
	headers = new_pages(bytes);
	headers_mr = ibv_reg_mr(pd[0], headers, bytes, 0);
	ENSURE(headers_mr, "reg_mr: %s", strerror(errno));
	make_regions();
}

static void take_events_of(struct ibv_context *from)
{
	struct ibv_async_event e;

	while (!ibv_get_async_event(from, &e)) {
		ENSURE(e.event_type != IBV_EVENT_CQ_ERR && e.event_type != IBV_EVENT_QP_FATAL &&
		       e.event_type != IBV_EVENT_SRQ_ERR, "event %s",
		       ibv_event_type_str(e.event_type));
		if (e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
			take_srq_limit(e.element.srq);
		ibv_ack_async_event(&e);
	}
}

static void take_async_events(void)
{
	take_events_of(ctx[0]);
	if (ctx[1] != ctx[0])
		take_events_of(ctx[1]);
}

static void drain_all(void)
{
	struct op o;
	uint32_t i;

	for (i = 0; i < PAIRS; i++) {
		o = (struct op){ .a = i };
		do_drain(&o);
	}
}

/* Every second process leaves its objects to the kernel */
static void tear_down(void)
{
	struct op o = {};
	int i;

	for (i = 0; i < PAIRS; i++) {
		o.a = i;
		do_drain(&o);
		do_destroy_pair(&o);
		check_stripes(pairs + i);
		TALLY(steps);
	}
	for (i = 0; i < WINDOWS; i++) {
		o.a = i;
		do_dealloc_mw(&o);
		TALLY(steps);
	}
	for (i = 0; i < CQS; i++) {
		o.a = i;
		do_destroy_cq(&o);
		do_destroy_srq(&o);
		TALLY(steps);
	}
	for (i = 0; i < REGIONS; i++) {
		o.a = i;
		do_dereg_mr(&o);
		TALLY(steps);
	}
	ENSURE(!ibv_dereg_mr(headers_mr), "dereg_mr failed");
	take_async_events();
	close_end(0);
	if (ctx[1] != ctx[0])
		close_end(1);
}

void run_process(const struct world *w, const struct op *ops, uint32_t n, uint32_t proc,
		 char *why, size_t why_len)
{
	world = w;
	why_text = why;
	why_size = why_len;
	set_up();
	for (op_at = 0; op_at < n; op_at++) {
		if (ops[op_at].proc != proc)
			continue;
		run_op[ops[op_at].kind](ops + op_at);
		if (w->lockstep)
			drain_all();
		take_async_events();
		TALLY(steps);
	}
	if (proc & 1)
		_exit(0);
	tear_down();
}
