// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_random: memory regions and windows, and changes of their pages. A window that a peer may
 * have invalidated isn't bound again, since it isn't known whether it is bound.
 */

#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>

#include "odp_util.h"
#include "vr.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

/* Every other region is shared memory */
void make_regions(void)
{
	int i;

	for (i = 0; i < REGIONS; i++) {
		struct region *r = regions + i;

		r->shared = i & 1;
		r->mem = mmap(NULL, REGION_LEN, PROT_READ | PROT_WRITE,
			      MAP_ANONYMOUS | (r->shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
		ENSURE(r->mem != MAP_FAILED, "mmap: %s", strerror(errno));
		r->copy = new_pages(REGION_LEN - CONST_LEN);
		rnd_fill(r->mem, REGION_LEN, i);
		memcpy(r->copy, r->mem + CONST_LEN, REGION_LEN - CONST_LEN);
		memset(r->known, true, sizeof(r->known));
	}
}

/* From now on, work requests in flight that use the region or window may fail or succeed */
void disturb(const struct region *r, const struct window *w)
{
	uint32_t i, n;

	for (i = 0; i < PAIRS; i++) {
		for (n = pairs[i].done; pairs[i].qp[0] && n != pairs[i].posted; n++) {
			struct flight *f = pairs[i].flight + n % SQ_DEPTH;

			if ((r && (f->local == r || f->remote == r)) || (w && f->window == w))
				f->expect = MAY;
		}
	}
}

/* The same for all work requests of a pair */
void disturb_pair(struct pair *p)
{
	uint32_t n;

	for (n = p->done; n != p->posted; n++)
		p->flight[n % SQ_DEPTH].expect = MAY;
}

static int random_access(uint32_t bits)
{
	int rights = RIGHTS | ex_access(ex_offered), access = bits & rights;

	/* Most regions get most rights, so most work requests succeed */
	if (bits >> 16 & 3)
		access |= rights;
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC))
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (bits >> 18 & 1)
		access |= IBV_ACCESS_ON_DEMAND;
	return access;
}

void do_reg_mr(const struct op *o)
{
	struct region *r = regions + o->a % REGIONS;
	int i;

	if (r->mr[0])
		return;
	r->access = random_access(o->b);
	r->foreign = false;
	for (i = 0; i < 2; i++) {
		r->mr[i] = ibv_reg_mr(pd[i], r->mem, REGION_LEN, r->access);
		ENSURE(r->mr[i], "reg_mr: %s", strerror(errno));
	}
	if (r->access & IBV_ACCESS_ON_DEMAND)
		TALLY(paged);
}

void do_dereg_mr(const struct op *o)
{
	struct region *r = regions + o->a % REGIONS;
	int err;

	if (!r->mr[0])
		return;
	err = ibv_dereg_mr(r->mr[1]);
	if (err) {
		ENSURE(err == EBUSY && (r->windows || r->unsure), "dereg_mr: %s", strerror(err));
		return;
	}
	ENSURE(!r->windows, "dereg_mr of a region with a window bound");
	ENSURE(!ibv_dereg_mr(r->mr[0]), "dereg_mr failed");
	r->mr[0] = r->mr[1] = NULL;
	disturb(r, NULL);
}

/* @what: of enum ibv_rereg_mr_flags. The memory stays the same. */
static int rereg_end(struct region *r, int end, int what, bool foreign, int access)
{
	struct ibv_pd *to = foreign ? other_pd[end] : pd[end];
	bool move = what & IBV_REREG_MR_CHANGE_TRANSLATION;

	return rereg_mr(r->mr[end], what, what & IBV_REREG_MR_CHANGE_PD ? to : NULL,
			move ? r->mem : NULL, move ? REGION_LEN : 0,
			what & IBV_REREG_MR_CHANGE_ACCESS ? access : 0);
}

void do_rereg_mr(const struct op *o)
{
	struct region *r = regions + o->a % REGIONS;
	int access = random_access(o->b), what = 1 + o->c % 7, err;
	bool foreign = !(o->d & 3);

	if (!r->mr[0])
		return;
	err = rereg_end(r, 1, what, foreign, access);
	if (err) {
		ENSURE(err == EBUSY && (r->windows || r->unsure), "rereg_mr: %s", strerror(err));
		return;
	}
	ENSURE(!r->windows, "rereg_mr of a region with a window bound");
	err = rereg_end(r, 0, what, foreign, access);
	ENSURE(!err, "rereg_mr: %s", strerror(err));
	if (what & IBV_REREG_MR_CHANGE_ACCESS)
		r->access = access;
	if (what & IBV_REREG_MR_CHANGE_PD)
		r->foreign = foreign;
	disturb(r, NULL);
}

void do_alloc_mw(const struct op *o)
{
	struct window *w = windows + o->a % WINDOWS;

	if (w->mw)
		return;
	w->mw = ibv_alloc_mw(pd[1], o->b & 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	ENSURE(w->mw, "alloc_mw: %s", strerror(errno));
}

void unbind(struct window *w)
{
	if (w->on && w->unsure)
		w->on->unsure--;
	else if (w->on)
		w->on->windows--;
	w->on = NULL;
	w->by = NULL;
	w->unsure = false;
}

void do_dealloc_mw(const struct op *o)
{
	struct window *w = windows + o->a % WINDOWS;
	int err;

	if (!w->mw)
		return;
	err = ibv_dealloc_mw(w->mw);
	ENSURE(!err, "dealloc_mw: %s", strerror(err));
	w->mw = NULL;
	disturb(NULL, w);
	unbind(w);
}

/* Waits for a bind or invalidation of queue pair 1. Return: false if it and the pair failed */
static bool wait_control(struct pair *p, const char *what)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	for (poll_cq(p->cq); p->control_status == WAITING; poll_cq(p->cq)) {
		ENSURE(now_ms() < end, "%s doesn't complete", what);
		usleep(50);
	}
	if (!p->control_status)
		return true;
	ENSURE(p->failed || p->peer_failed || p->posted != p->done, "%s: %s", what,
	       ibv_wc_status_str(p->control_status));
	p->peer_failed = true;
	return false;
}

static int post_bind(struct pair *p, struct window *w, struct region *r, int access)
{
	struct ibv_mw_bind_info info = {
		.mr = r->mr[1], .addr = (uintptr_t)r->mem, .length = REGION_LEN,
		.mw_access_flags = access,
	};
	uint64_t id = wr_id(p->serial, ID_CONTROL, p->control++);
	struct ibv_mw_bind bind = {
		.wr_id = id, .send_flags = IBV_SEND_SIGNALED, .bind_info = info,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = id, .send_flags = IBV_SEND_SIGNALED, .opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = w->mw, .rkey = ibv_inc_rkey(w->mw->rkey), .bind_info = info },
	};
	int err;

	p->control_status = WAITING;
	if (w->mw->type == IBV_MW_TYPE_1)
		return ibv_bind_mw(p->qp[1], w->mw, &bind);
	err = ibv_post_send(p->qp[1], &wr, &bad);
	if (!err)
		w->mw->rkey = wr.bind_mw.rkey;
	return err;
}

/* May the window be bound now? Refused binds would put pairs into error too often */
static bool bindable(const struct pair *p, const struct window *w, const struct region *r)
{
	return usable(p) && p->type == IBV_QPT_RC && w->mw && r->mr[1] && !r->foreign && !w->unsure &&
	       (r->access & IBV_ACCESS_MW_BIND) && has_room(p, 1) &&
	       !(w->on && w->mw->type == IBV_MW_TYPE_2);
}

void do_bind_mw(const struct op *o)
{
	struct window *w = windows + o->a % WINDOWS;
	struct region *r = pick_region(o->b, IBV_ACCESS_MW_BIND, false);
	struct pair *p = pick_pair(o->c, true);
	int access = IBV_ACCESS_REMOTE_READ, err;
	uint32_t rkey;

	poll_all();
	if (!bindable(p, w, r))
		return;
	if (r->access & IBV_ACCESS_LOCAL_WRITE && o->d & 3)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (r->access & IBV_ACCESS_LOCAL_WRITE && o->d & 12)
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	disturb(NULL, w);
	rkey = w->mw->rkey;
	err = post_bind(p, w, r, access);
	ENSURE(!err, "post of a bind: %s", strerror(err));
	if (!wait_control(p, "bind")) {
		w->mw->rkey = rkey;
		return;
	}
	unbind(w);
	w->on = r;
	w->by = w->mw->type == IBV_MW_TYPE_2 ? p : NULL;
	w->access = access;
	r->windows++;
	TALLY(binds);
}

void do_invalidate_mw(const struct op *o)
{
	struct window *w = windows + o->a % WINDOWS;
	struct pair *p = w->by;
	struct ibv_send_wr *bad, wr = {
		.send_flags = IBV_SEND_SIGNALED, .opcode = IBV_WR_LOCAL_INV,
	};

	poll_all();
	if (!w->mw || !p || w->unsure || !usable(p) || !has_room(p, 1))
		return;
	wr.wr_id = wr_id(p->serial, ID_CONTROL, p->control++);
	wr.invalidate_rkey = w->mw->rkey;
	p->control_status = WAITING;
	disturb(NULL, w);
	ENSURE(!ibv_post_send(p->qp[1], &wr, &bad), "post of an invalidation failed");
	if (wait_control(p, "invalidation") && !world->wrong_model)
		unbind(w);
}

/* --- pages --- */

struct range {
	uint8_t *first;
	size_t len;
};

static struct range pages_of(const struct region *r, const struct op *o)
{
	uint32_t pages = REGION_LEN / PAGE, first = o->b % pages;

	return (struct range){ r->mem + first * PAGE, (1 + o->c % (pages - first)) * PAGE };
}

void do_prefetch(const struct op *o)
{
	static const int advice[] = {
		IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
	};
	struct region *r = regions + o->a % REGIONS;
	struct range at = pages_of(r, o);
	int end = o->d & 1, kind = advice[(o->d >> 1) % ARRAY_LEN(advice)], err;
	bool writes = kind == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;

	if (!r->mr[0] || !(r->access & IBV_ACCESS_ON_DEMAND) || r->foreign ||
	    (writes && !(r->access & IBV_ACCESS_LOCAL_WRITE)))
		return;
	err = advise(pd[end], kind, o->d >> 8 & 1 ? IBV_ADVISE_MR_FLAG_FLUSH : 0,
		     (struct ibv_sge){ (uintptr_t)at.first, at.len, r->mr[end]->lkey });
	ENSURE(!err, "advise_mr: %s", strerror(err));
}

/* Memory of a region's slot is changed whether the region is registered or not */
void do_drop_pages(const struct op *o)
{
	struct region *r = regions + o->a % REGIONS;
	struct range at = pages_of(r, o);

	if (r->shared)
		ENSURE(!madvise(at.first, at.len, MADV_DONTNEED), "MADV_DONTNEED: %s",
		       strerror(errno));
}

void do_page_out(const struct op *o)
{
	struct range at = pages_of(regions + o->a % REGIONS, o);

	ENSURE(!madvise(at.first, at.len, MADV_PAGEOUT), "MADV_PAGEOUT: %s", strerror(errno));
}

/* Protects the memory for a moment. On-demand memory can't be used meanwhile */
void do_protect(const struct op *o)
{
	struct region *r = regions + o->a % REGIONS;
	struct range at = pages_of(r, o);

	poll_all();
	if (r->access & IBV_ACCESS_ON_DEMAND)
		disturb(r, NULL);
	ENSURE(!mprotect(at.first, at.len, o->d & 1 ? PROT_READ : PROT_NONE) &&
	       !mprotect(at.first, at.len, PROT_READ | PROT_WRITE), "mprotect: %s",
	       strerror(errno));
}

/* The child writes to its own copy */
void do_fork(const struct op *o)
{
	int status, i;
	pid_t pid;

	pid = fork();
	if (!pid) {
		for (i = 0; i < REGIONS; i++)
			if (!regions[i].shared)
				memset(regions[i].mem, o->a, REGION_LEN);
		_exit(0);
	}
	ENSURE(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "fork: %s",
	       strerror(errno));
}
