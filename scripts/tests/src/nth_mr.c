// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_nth: rereg_mr. A failed one leaves keys, memory, rights and protection domain as they were.
 */
#include "nth.h"

#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define LEN 8

static struct ibv_pd *other_pd;
static struct ibv_mr *region;
static uint32_t lkey, rkey;	/* before the call */
static uint8_t *place;		/* of the region before the call */

static void begin(void)
{
	other_pd = new_pd(ctx);
	region = new_mr(pd, from, DATA_LEN, RIGHTS);
	place = from;
}

static void end(void)
{
	if (ibv_dereg_mr(region) || ibv_dealloc_pd(other_pd))
		die("cannot destroy the region: %s", strerror(errno));
}

static int change(int what, struct ibv_pd *to_pd, uint8_t *memory, int access)
{
	int err;

	lkey = region->lkey;
	rkey = region->rkey;
	err = rereg_mr(region, what, to_pd, memory, DATA_LEN, access);
	if (!err && (what & IBV_REREG_MR_CHANGE_TRANSLATION))
		place = memory;
	return err;
}

/*
 * Can a WRITE from the other half change the region? If not, its queue pair, which is connected to
 * itself, refuses it, and fails
 */
static bool is_writable(void)
{
	uint8_t *data = place == from ? to : from;
	struct ibv_sge sge = { (uintptr_t)data, LEN, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
	};
	struct ibv_wc wc;

	rnd_fill(data, LEN, now_ns());
	wr.wr.rdma.remote_addr = (uintptr_t)place;
	wr.wr.rdma.rkey = region->rkey;
	if (ibv_post_send(rc, &wr, &bad) || !wait_wc(cq, &wc))
		die("a WRITE doesn't complete");
	if (wc.status)
		connect_self(rc);
	if (!memcmp(data, place, LEN) == !!wc.status)
		die("%s, but the region doesn't show that", ibv_wc_status_str(wc.status));
	return !wc.status;
}

static const char *writable_if(bool should)
{
	if (is_writable() == should)
		return NULL;
	return should ? "it can't be written" : "it can be written";
}

static const char *keys_changed_if(bool may)
{
	bool changed = lkey != region->lkey || rkey != region->rkey;

	return changed == may ? NULL : changed ? "the keys changed" : "the keys are the old ones";
}

/* ---- rights ---- */

static int take_rights(void) { return change(IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0); }
static int give_rights(void) { return change(IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, RIGHTS); }

/* Changed in place */
static const char *after_take(int err)
{
	return keys_changed_if(false) ?: writable_if(err);
}

static const char *after_give(int err)
{
	return keys_changed_if(false) ?: writable_if(!err);
}

/* ---- protection domain ---- */

static int move_away(void) { return change(IBV_REREG_MR_CHANGE_PD, other_pd, NULL, 0); }
static int move_back(void) { return change(IBV_REREG_MR_CHANGE_PD, pd, NULL, 0); }

/* ---- memory ---- */

static int to_second(void) { return change(IBV_REREG_MR_CHANGE_TRANSLATION, NULL, to, 0); }
static int to_first(void) { return change(IBV_REREG_MR_CHANGE_TRANSLATION, NULL, from, 0); }

static const char *after_memory(int err)
{
	return keys_changed_if(!err) ?: writable_if(true);
}

/* ---- rights that the memory must be pinned anew for ---- */

#define ANEW (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS)

static int pin_to_read(void) { return change(ANEW, NULL, from, IBV_ACCESS_REMOTE_READ); }
static int pin_to_write(void) { return change(ANEW, NULL, to, RIGHTS); }

static const char *after_pin(int err)
{
	return keys_changed_if(!err) ?: writable_if(err);
}

static const char *after_pin_anew(int err)
{
	return keys_changed_if(!err) ?: writable_if(!err);
}

static const struct call calls[] = {
	{ "rereg-access", take_rights, give_rights, .after = after_take },
	{ "rereg-access-back", give_rights, take_rights, .after = after_give },
	{ "rereg-pd", move_away, move_back, .after = after_take },
	{ "rereg-pd-back", move_back, move_away, .after = after_give },
	{ "rereg-memory", to_second, to_first, .own = true, .after = after_memory },
	{ "rereg-read-only", pin_to_read, pin_to_write, .own = true, .after = after_pin },
	{ "rereg-writable", give_rights, pin_to_read, .own = true, .after = after_pin_anew },
	{}
};

const struct group nth_mr = { .calls = calls, .begin = begin, .end = end };
