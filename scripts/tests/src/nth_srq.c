// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: shared receive queues: creating, resizing, a queue pair with one, and a message.
 */
#include "nth.h"

static struct ibv_srq *srq;
static struct ibv_qp *taker;	/* connected to itself */
static uint32_t room;		/* before a resize */

static int make_srq(void)
{
	struct ibv_srq_init_attr ia = { .attr = { .max_wr = DEPTH, .max_sge = 4 } };

	srq = ibv_create_srq(pd, &ia);
	return made(srq);
}

static int destroy_srq(void)
{
	return ibv_destroy_srq(srq);
}

static uint32_t get_room(void)
{
	struct ibv_srq_attr a;

	if (ibv_query_srq(srq, &a))
		die("query_srq: %s", strerror(errno));
	return a.max_wr;
}

/* An SRQ is unusable if the library couldn't map its new ring: make another one. */
static int resize(uint32_t max_wr)
{
	struct ibv_srq_attr a = { .max_wr = max_wr };
	int err = ibv_modify_srq(srq, &a, IBV_SRQ_MAX_WR);

	if (!err)
		return 0;
	no_faults();
	if (get_room() == room)
		return err;
	if (own)
		die("ibv_modify_srq() failed, but there are %u places, not %u", get_room(), room);
	if (destroy_srq() || make_srq())
		die("cannot make another SRQ");
	room = get_room();
	return err;
}

static int grow(void)
{
	return resize(4 * DEPTH);
}

static int shrink(void)
{
	return resize(DEPTH);
}

static const char *note_room(int err)
{
	if (!err)
		room = get_room();
	return NULL;
}

static int grow_back(void)
{
	int err = grow();

	note_room(err);
	return err;
}

static int shrink_back(void)
{
	int err = shrink();

	note_room(err);
	return err;
}

static int make_taker(void)
{
	taker = new_qp(IBV_QPT_RC, srq);
	return made(taker);
}

static int destroy_taker(void)
{
	return ibv_destroy_qp(taker);
}

static const char *connect_taker(int err)
{
	if (!err)
		connect_self(taker);
	return NULL;
}

static int transfer_send(void)
{
	return transfer(taker, srq, IBV_WR_SEND, 0);
}

static const struct call calls[] = {
	{ "srq", make_srq, destroy_srq, .own = true, .after = note_room },
	{ "grow-srq", grow, shrink_back, .own = true, .after = note_room },
	{ "shrink-srq", shrink, grow_back, .own = true, .after = note_room },
	{ "srq-qp", make_taker, destroy_taker, .own = true, .after = connect_taker },
	{ "srq-send", transfer_send, .undo = NULL },
	{ "destroy-srq-qp", destroy_taker, make_taker, .own = false },
	{ "destroy-srq", destroy_srq, make_srq, .own = false },
	{}
};

const struct group nth_srq = { .calls = calls };
