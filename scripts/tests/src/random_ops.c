// SPDX-License-Identifier: GPL-2.0
/*
 * rc_random: the operations of a flow, which both sides derive alike from one seed, and the
 * model of the memory that they change.
 */
#include "rc_random.h"

const char * const kind_name[KINDS] = {
	"SEND", "SEND_IMM", "WRITE", "WRITE_IMM", "READ", "CMP_SWAP", "FETCH_ADD",
	"ATOMIC_WRITE", "FLUSH",
};

void __attribute__((noreturn)) wrong(struct conn *c, struct flow *f, uint32_t i,
				     const char *what)
{
	struct op *o = &f->ops[i];

	die("%s: qp %u (%s, mtu %d) round %u op %u: %s of %u bytes at %u: %s", c->side->name,
	    (unsigned int)(c - c->side->c), f == &c->out ? "out" : "in", mtu_bytes(c->attr.mtu),
	    f->round, i, kind_name[o->kind], o->len, o->roff, what);
}

static uint32_t pick_len(uint64_t *s, uint32_t mtu, uint32_t max)
{
	uint32_t p = rnd_range(s, 0, 999), top;

	if (p < 40)
		return 0;
	if (p < 400)
		top = 256;
	else if (p < 800)
		top = 4 * mtu;
	else if (p < 950)
		top = 16 << 10;
	else if (p < 998)
		top = 64 << 10;
	else
		top = max;
	/* Mistakes are likely at whole packets, and at a byte more or less */
	if (p % 5 == 0 && p < 950)
		return least(mtu * rnd_range(s, 1, 4) + rnd_range(s, 0, 2) - 1, max);
	return rnd_range(s, 1, least(top, max));
}

/* Cut len into n pieces of at least one byte; offsets are filled by the caller. */
static void cut_pieces(uint64_t *s, struct piece *p, uint32_t n, uint32_t len)
{
	uint32_t i, most;

	for (i = 0; i + 1 < n; i++) {
		most = len - (n - 1 - i);
		if (most > 2 * len / (n - i))
			most = 2 * len / (n - i);
		p[i].len = rnd_range(s, 1, most ? most : 1);
		len -= p[i].len;
	}
	if (n)
		p[n - 1].len = len;
}

static uint32_t pick_sges(uint64_t *s, uint32_t max, uint32_t len)
{
	uint32_t n = rnd_range(s, 0, 3) ? rnd_range(s, 1, 3) : rnd_range(s, 1, max);

	if (n > max)
		n = max;
	return n < len ? n : len ? len : 0;
}

/* Lay pieces out in a landing or receive area, a poisoned gap after each. */
static uint32_t lay_pieces(struct piece *p, uint32_t n, uint32_t at)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		p[i].off = at;
		at += p[i].len + GAP;
	}
	return (at + 7) & ~7u;
}

static bool overlaps_read(struct flow *f, uint32_t from, uint32_t i)
{
	struct op *o = &f->ops[i], *r;
	uint32_t k;

	for (k = from; k < i; k++) {
		r = &f->ops[k];
		if (lands(r) && r->roff < o->roff + o->len && o->roff < r->roff + r->len)
			return true;
	}
	return false;
}

static void gen_atomic(struct flow *f, struct op *o)
{
	uint32_t w = rnd_range(&f->rng, 0, ATOMIC_AREA / 8 - 1);

	o->len = 8;
	o->roff = w * 8;
	o->nsge = 1;
	o->sge[0].len = 8;
	o->value = rnd(&f->rng);
	o->compare = rnd_range(&f->rng, 0, 3) ? f->words[w] : rnd(&f->rng);
	o->before = f->words[w];
	if (o->kind == FETCH_ADD)
		f->words[w] += o->value;
	else if (o->kind == ATOMIC_WRITE || o->compare == o->before)
		f->words[w] = o->value;
}

/* A FLUSH changes no memory of the model */
static void gen_flush(struct side *s, struct flow *f, struct op *o)
{
	o->len = rnd_range(&f->rng, 0, s->h.max_size);
	o->roff = rnd_range(&f->rng, 0, s->target_len - o->len);
}

/* Does the operation write to the requester's memory? */
bool lands(const struct op *o)
{
	return o->kind >= READ && o->kind <= FETCH_ADD;
}

/* Is the operation posted by its own function of libibverbs, and not by ibv_post_send()? */
bool is_ex(const struct op *o)
{
	return o->kind == ATOMIC_WRITE || o->kind == FLUSH;
}

/* A kind of operation that both ends support */
static enum kind pick_kind(struct side *s, struct flow *f)
{
	enum kind kind = rnd_range(&f->rng, 0, s->h.atomics ? KINDS - 1 : READ);

	if ((kind == ATOMIC_WRITE && !(s->h.ex & EX_ATOMIC_WRITE)) ||
	    (kind == FLUSH && !(s->h.ex & EX_FLUSH)))
		return WRITE;
	return kind;
}

static void gen_data(struct side *s, struct conn *c, struct flow *f, struct op *o)
{
	uint32_t lo = o->kind == READ ? 0 : ATOMIC_AREA, i;

	o->len = pick_len(&f->rng, mtu_bytes(c->attr.mtu), s->h.max_size);
	o->roff = rnd_range(&f->rng, lo, s->target_len - o->len);
	o->nsge = pick_sges(&f->rng, s->h.max_sge, o->len);
	cut_pieces(&f->rng, o->sge, o->nsge, o->len);
	for (i = 0; i < o->nsge && o->kind != READ; i++)
		o->sge[i].off = rnd_range(&f->rng, 0, s->pool_len - o->sge[i].len);
}

bool takes_recv(const struct op *o)
{
	return o->kind == SEND || o->kind == SEND_IMM || o->kind == WRITE_IMM;
}

static void gen_op(struct side *s, struct conn *c, struct flow *f, uint32_t i)
{
	struct op *o = &f->ops[i];
	uint32_t cap, flags = rnd(&f->rng);

	memset(o, 0, offsetof(struct op, sge));
	o->kind = pick_kind(s, f);
	o->imm = rnd(&f->rng);
	o->fence = (flags & 15) == 0;
	o->solicited = flags & 16;
	o->signal = flags & 32;
	o->want_inline = flags & 64;
	if (o->kind == FLUSH)
		gen_flush(s, f, o);
	else if (o->kind >= CMP_SWAP)
		gen_atomic(f, o);
	else
		gen_data(s, c, f, o);
	if (!takes_recv(o))
		return;
	cap = (o->kind == WRITE_IMM ? 0 : o->len) + rnd_range(&f->rng, 0, SLACK);
	o->nrecv = pick_sges(&f->rng, s->h.max_sge, cap);
	cut_pieces(&f->rng, o->recv, o->nrecv, cap);
}

/* The next round of a flow; ends where the landing or receive area would overflow. */
void gen_round(struct side *s, struct conn *c, struct flow *f)
{
	uint32_t landing = 0, recv = 0, read_from = 0, i;
	struct op *o;

	f->nops = rnd_range(&f->rng, 1, f->left < ROUND ? f->left : ROUND);
	f->recvs = 0;
	for (i = 0; i < f->nops; i++) {
		o = &f->ops[i];
		gen_op(s, c, f, i);
		if ((o->kind == WRITE || o->kind == WRITE_IMM || o->kind >= CMP_SWAP) &&
		    overlaps_read(f, read_from, i))
			o->fence = true;
		if (o->fence)
			read_from = i;
		if (lands(o))
			landing = lay_pieces(o->sge, o->nsge, landing);
		if (takes_recv(o)) {
			recv = lay_pieces(o->recv, o->nrecv, recv);
			f->recv_idx[f->recvs++] = i;
		}
		/* Room for the largest operation must remain. Otherwise, the round ends here */
		if (landing + s->h.max_size + 4096 > s->landing_len ||
		    recv + s->h.max_size + 4096 > s->recv_len) {
			f->nops = i + 1;
			break;
		}
	}
	f->left -= f->nops;
	f->posted = f->completed = f->unsignalled = 0;
	f->recv_posted = f->recv_seen = 0;
	f->told = f->peer_done = false;
}

void begin_round(struct conn *c, struct flow *f)
{
	f->round++;
	if (!f->left)
		f->over = true;
	else
		gen_round(c->side, c, f);
}

static void model_write(struct side *s, struct flow *f, const struct op *o)
{
	uint32_t i, at = o->roff;

	for (i = 0; i < o->nsge; i++) {
		memcpy(f->shadow + at, s->pool + o->sge[i].off, o->sge[i].len);
		at += o->sge[i].len;
	}
}

static void model_atomic(struct flow *f, const struct op *o)
{
	uint64_t v;

	memcpy(&v, f->shadow + o->roff, 8);
	if (o->kind == FETCH_ADD)
		v += o->value;
	else if (o->kind == ATOMIC_WRITE || v == o->compare)
		v = o->value;
	memcpy(f->shadow + o->roff, &v, 8);
}

void model_op(struct side *s, struct flow *f, const struct op *o)
{
	if (o->kind == WRITE || o->kind == WRITE_IMM)
		model_write(s, f, o);
	else if (o->kind >= CMP_SWAP && o->kind != FLUSH)
		model_atomic(f, o);
}

bool poisoned(const uint8_t *p, uint32_t len)
{
	while (len--)
		if (*p++ != POISON)
			return false;
	return true;
}
