// SPDX-License-Identifier: GPL-2.0
/*
 * rc_random: the objects of one side (memory, queue pairs, connections), and the parameters that
 * both sides agree on.
 */
#include "rc_random.h"

static void init_flow(struct side *s, struct flow *f, uint32_t qp, bool of_master, uint32_t ops)
{
	f->rng = s->h.seed * 1000003 + qp * 2 + of_master;
	f->left = ops;
	f->shadow = new_pages(s->target_len);
	rnd_fill(f->shadow, s->target_len, f->rng);
	memcpy(f->words, f->shadow, sizeof(f->words));
}

static struct ibv_cq *make_cq(struct side *s, int cqe, uint32_t qp)
{
	struct ibv_cq *cq = ibv_create_cq(s->ctx, cqe, NULL, s->chan,
					  qp % s->ctx->num_comp_vectors);

	if (!cq)
		die("create_cq: %s", strerror(errno));
	return cq;
}

static void make_qp(struct side *s, struct conn *c, uint32_t q)
{
	uint64_t *local = &s->local;
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = c->depth, .max_recv_wr = ROUND,
			 .max_send_sge = s->h.max_sge, .max_recv_sge = s->h.max_sge,
			 .max_inline_data = rnd_range(local, 0, 3) ? rnd_range(local, 0, 256) : 0 },
		.sq_sig_all = c->sig_all,
	};

	c->scq = make_cq(s, c->depth + ROUND, q);
	c->rcq = q % 2 ? c->scq : make_cq(s, ROUND, q);
	ia.send_cq = c->scq;
	ia.recv_cq = c->rcq;
	c->qp = create_qp_ex(s->pd, &ia, s->h.ex);
	c->max_inline = ia.cap.max_inline_data;
	if (c->max_inline > INLINE_CAP)
		c->max_inline = INLINE_CAP;
}

/* Both sides draw the same random numbers from @cfg */
static void make_conn(struct side *s, uint32_t q, uint64_t *cfg)
{
	uint64_t *local = &s->local;
	struct conn *c = &s->c[q];
	uint32_t ops = (s->h.count + 2 * s->h.qps - 1) / (2 * s->h.qps);

	c->side = s;
	c->attr = rc_attr(s->gid[q % s->h.gids]);
	c->attr.mtu = rnd_range(cfg, IBV_MTU_256, s->h.mtu);
	c->attr.rd_atomic = c->attr.dest_rd_atomic = rnd_range(cfg, 1, s->h.max_rd);
	c->attr.timeout = s->timeout;
	if (s->h.ex & EX_FLUSH)
		c->attr.access |= ACCESS_FLUSH;
	c->attr.min_rnr_timer = rnd_range(local, 1, 14);
	c->depth = rnd_range(local, 0, 3) ? rnd_range(local, 8, 64) : rnd_range(local, 4, 8);
	c->sig_all = rnd_range(local, 0, 3) == 0;
	make_qp(s, c, q);
	c->target = new_pages(s->target_len);
	c->landing = new_pages(s->landing_len);
	c->recv = new_pages(s->recv_len);
	c->target_mr = new_mr(s->pd, c->target, s->target_len,
			      IBV_ACCESS_LOCAL_WRITE | c->attr.access);
	c->landing_mr = new_mr(s->pd, c->landing, s->landing_len, IBV_ACCESS_LOCAL_WRITE);
	c->recv_mr = new_mr(s->pd, c->recv, s->recv_len, IBV_ACCESS_LOCAL_WRITE);
	init_flow(s, &c->out, q, s->master, ops);
	init_flow(s, &c->in, q, !s->master, ops);
	memcpy(c->target, c->in.shadow, s->target_len);
	c->me.qpn = c->qp->qp_num;
	c->me.psn = rnd_range(local, 0, 3) ? rnd(local) & 0xffffff :
		    0xffffff - rnd_range(local, 0, 99);
	if (ibv_query_gid(s->ctx, 1, c->attr.gid_index, &c->me.gid))
		die("%s: no GID with index %d", s->dev, c->attr.gid_index);
}

static void connect_conn(struct side *s, struct conn *c)
{
	struct { struct addr a; uint64_t addr; uint32_t rkey, pad; } m = {
		.a = c->me, .addr = (uintptr_t)c->target, .rkey = c->target_mr->rkey,
	};

	write_all(s->ctl, &m, sizeof(m));
	read_all(s->ctl, &m, sizeof(m));
	c->peer = m.a;
	c->peer_addr = m.addr;
	c->peer_rkey = m.rkey;
	rc_up(c->qp, &c->attr, c->me.psn, &c->peer);
}

static void agree_with_peer(struct side *s)
{
	struct ibv_device_attr d;
	struct ibv_port_attr p;
	struct hello o;

	if (ibv_query_device(s->ctx, &d) || ibv_query_port(s->ctx, 1, &p))
		die("%s: query failed", s->dev);
	if (p.state != IBV_PORT_ACTIVE)
		die("%s: port is not active", s->dev);
	s->h.magic = MAGIC;
	s->h.max_sge = least(least(d.max_sge, d.max_sge_rd ? d.max_sge_rd : 1), SGE_CAP);
	s->h.max_rd = least(least(d.max_qp_rd_atom, d.max_qp_init_rd_atom), 16);
	s->h.mtu = p.active_mtu;
	s->h.gids = s->gids;
	s->h.atomics = d.atomic_cap != IBV_ATOMIC_NONE;
	s->h.ex = ex_ops(s->ctx) & ~(s->no_flush ? EX_FLUSH : 0);
	write_all(s->ctl, &s->h, sizeof(s->h));
	read_all(s->ctl, &o, sizeof(o));
	if (o.magic != MAGIC)
		die("%s: the peer is not the same program", s->name);
	if (!s->master) {
		s->h.seed = o.seed;
		s->h.count = o.count;
		s->h.qps = o.qps;
		s->h.max_size = o.max_size;
	}
	s->h.max_sge = least(s->h.max_sge, o.max_sge);
	s->h.max_rd = least(s->h.max_rd, o.max_rd);
	s->h.mtu = least(s->h.mtu, o.mtu);
	s->h.gids = least(s->h.gids, o.gids);
	s->h.atomics &= o.atomics;
	s->h.ex &= o.ex;
}

void set_up_side(struct side *s)
{
	uint64_t cfg;
	uint32_t q;
	char ready;

	s->ctx = open_device(s->dev);
	if (!s->gids) {
		s->gid[0] = find_gid(s->ctx, "v2");
		s->gids = 1;
	}
	agree_with_peer(s);
	cfg = s->h.seed;
	s->local = s->h.seed * 77 + s->master;
	s->pd = ibv_alloc_pd(s->ctx);
	s->chan = ibv_create_comp_channel(s->ctx);
	if (!s->pd || !s->chan)
		die("%s: cannot make a PD or channel: %s", s->dev, strerror(errno));
	s->pool_len = 2 * s->h.max_size + 65536;
	s->target_len = 2 * s->h.max_size + 4096;
	s->landing_len = s->recv_len = 2 * s->h.max_size + 65536;
	s->pool = new_pages(s->pool_len);
	rnd_fill(s->pool, s->pool_len, s->h.seed);
	s->pool_mr = new_mr(s->pd, s->pool, s->pool_len, 0);
	for (q = 0; q < s->h.qps; q++)
		make_conn(s, q, &cfg);
	for (q = 0; q < s->h.qps; q++) {
		struct conn *c = &s->c[q];

		gen_round(s, c, &c->out);
		gen_round(s, c, &c->in);
		connect_conn(s, c);
		post_recvs(c, c->in.recvs);
	}
	/* A packet that is sent before the peer's last queue pair is ready would be lost */
	write_all(s->ctl, "", 1);
	read_all(s->ctl, &ready, 1);
}

void tear_down_side(struct side *s)
{
	uint32_t q;

	for (q = 0; q < s->h.qps; q++) {
		struct conn *c = &s->c[q];

		if (ibv_destroy_qp(c->qp) || ibv_destroy_cq(c->scq) ||
		    (c->rcq != c->scq && ibv_destroy_cq(c->rcq)))
			die("%s: destroying a queue pair failed: %s", s->name, strerror(errno));
		ibv_dereg_mr(c->target_mr);
		ibv_dereg_mr(c->landing_mr);
		ibv_dereg_mr(c->recv_mr);
	}
	if (ibv_dereg_mr(s->pool_mr) || ibv_destroy_comp_channel(s->chan) || ibv_dealloc_pd(s->pd))
		die("%s: teardown failed: %s", s->name, strerror(errno));
	ibv_close_device(s->ctx);
}
