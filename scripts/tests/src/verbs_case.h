/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For programs with many cases: the table of cases, running them, checks that end a case, and the
 * devices of the two ends.
 */
#ifndef VERBS_CASE_H
#define VERBS_CASE_H

#include <getopt.h>

#include "verbs_util.h"

/* Device and GID of an end. Without -D, both ends have the same */
struct place {
	const char *dev;
	int gid_index;		/* negative: that of the first RoCE v2 GID */
	union ibv_gid gid;
	struct ibv_context *ctx;
};

struct test_case {
	const char *name;
	bool (*run)(void);
};

/* Weak: all files of a program share it */
struct place place[2] __attribute__((weak));
const char *this_case __attribute__((weak));

#define FAIL(...) do { case_fail(this_case, __VA_ARGS__); return false; } while (0)
#define CHECK(cond, ...) do { if (!(cond)) FAIL(__VA_ARGS__); } while (0)

/* ---- places ---- */

#define PLACE_OPTIONS \
	{ "dev", 1, NULL, 'd' }, { "gid", 1, NULL, 'g' }, \
	{ "dev2", 1, NULL, 'D' }, { "gid2", 1, NULL, 'G' }

/* Return: true if it was an option of a place */
static UNUSED bool place_option(int option)
{
	switch (option) {
	case 'd': place[0].dev = optarg; return true;
	case 'g': place[0].gid_index = atoi(optarg); return true;
	case 'D': place[1].dev = optarg; return true;
	case 'G': place[1].gid_index = atoi(optarg); return true;
	}
	return false;
}

/* Called when all options are known */
static UNUSED void complete_places(void)
{
	if (!place[1].dev)
		place[1] = place[0];
}

static UNUSED void open_place(struct place *p)
{
	p->ctx = open_device(p->dev);
	p->gid_index = choose_gid(p->ctx, p->gid_index);
	p->gid = gid_at(p->ctx, p->gid_index);
}

/* Does what complete_places() does, and opens a context per place. Reading events doesn't block */
static UNUSED void open_places(void)
{
	int i;

	open_place(&place[0]);
	if (place[1].dev)
		open_place(&place[1]);
	complete_places();
	for (i = 0; i < 2; i++)
		fcntl(place[i].ctx->async_fd, F_SETFL, O_NONBLOCK);
}

static UNUSED void close_places(void)
{
	if (place[1].ctx != place[0].ctx)
		ibv_close_device(place[1].ctx);
	ibv_close_device(place[0].ctx);
}

/* Return: the address of a queue pair at an open place */
static UNUSED struct addr addr_of(const struct ibv_qp *qp)
{
	return qp_addr(qp, place[qp->context != place[0].ctx].gid);
}

/* ---- cases ---- */

static UNUSED bool is_same(const char *name, const char *wanted)
{
	return !strcmp(name, wanted);
}

static UNUSED bool is_prefixed(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* @names: of an argv. If there is none, all cases are wanted */
static UNUSED bool is_wanted(const char *name, char **names,
			     bool (*fits)(const char *name, const char *wanted))
{
	char **n = names;

	while (*n && !fits(name, *n))
		n++;
	return !*names || *n;
}

static UNUSED void run_case(const struct test_case *c)
{
	this_case = c->name;
	if (c->run())
		case_ok(this_case);
}

/* Return: number of wanted cases */
static UNUSED int run_cases(const struct test_case *cases, size_t num, char **names)
{
	const struct test_case *c;
	int ran = 0;

	for (c = cases; c < cases + num; c++) {
		if (!is_wanted(c->name, names, is_same))
			continue;
		run_case(c);
		ran++;
	}
	return ran;
}

/* ---- events and states ---- */

/* Waits @ms for an event. Return: false if there was none */
static UNUSED bool next_event(struct ibv_context *ctx, struct ibv_async_event *e, int64_t ms)
{
	struct pollfd f = { .fd = ctx->async_fd, .events = POLLIN };

	if (poll(&f, 1, ms > 0 ? ms : 0) <= 0 || ibv_get_async_event(ctx, e))
		return false;
	ibv_ack_async_event(e);
	return true;
}

static UNUSED void drain_events(void)
{
	struct ibv_async_event e;

	while (next_event(place[0].ctx, &e, 0) || next_event(place[1].ctx, &e, 0))
		;
}

/* Waits until the queue pair has the state */
static UNUSED bool expect_state(struct ibv_qp *qp, enum ibv_qp_state want)
{
	uint64_t end = now_ms() + 5000;

	while (qp_state(qp) != want && now_ms() < end)
		usleep(1000);
	CHECK(qp_state(qp) == want, "queue pair is in state %d, expected %d", qp_state(qp), want);
	return true;
}

#endif
