// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_odp: two ends, which may be on two devices, and messages of every kind between them.
 */
#define _GNU_SOURCE
#include "vo.h"

#define QKEY		0x1234567u
#define GRH		40
#define STALL_MS	10000	/* no message should take as long, even on a busy host */

uint64_t seed = 1;
uint32_t rounds = 60;
int on_demand = IBV_ACCESS_ON_DEMAND;

static uint8_t *map(enum backing backing, int *fd)
{
	uint8_t *p;

	*fd = backing == SHARED ? memfd_create("odp", 0) : -1;
	if (backing == SHARED && ftruncate(*fd, BYTES))
		die("memfd: %s", strerror(errno));
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		 backing == SHARED ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, *fd, 0);
	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	madvise(p, BYTES, MADV_NOHUGEPAGE);
	return p;
}

static struct ibv_mr *reg(struct end *e, bool implicit, int access)
{
	if (implicit)
		return ibv_reg_mr(e->pd, NULL, SIZE_MAX, access);
	return ibv_reg_mr(e->pd, e->buf, BYTES, access);
}

static void new_qp(struct end *e, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = e->cq, .recv_cq = e->cq, .srq = e->srq, .qp_type = type,
		.sq_sig_all = 1, .cap = { 16, 16, 2, 2, 0 },
	};

	e->qp = create_qp_ex(e->pd, &ia, EX_ATOMIC_WRITE | EX_FLUSH);
}

static void open_end(struct end *e, int at, enum ibv_qp_type type, enum backing backing,
		     bool implicit)
{
	e->at = place[at];
	open_place(&e->at);
	e->pd = new_pd(e->at.ctx);
	e->cq = new_cq(e->at.ctx, 64);
	e->buf = map(backing, &e->fd);
	e->mr = reg(e, implicit, ACCESS | on_demand);
	if (!e->mr)
		die("reg_mr: %s", strerror(errno));
	new_qp(e, type);
}

void connect_ends(struct end e[2])
{
	struct addr a[2] = { qp_addr(e[0].qp, e[0].at.gid), qp_addr(e[1].qp, e[1].at.gid) };
	int i;

	for (i = 0; i < 2; i++) {
		struct rc_attr r = rc_attr(e[i].at.gid_index);

		r.access |= ACCESS_FLUSH;
		r.timeout = 20;		/* 4 s: a page may take as long on a busy host */
		if (e[i].qp->qp_type != IBV_QPT_UD) {
			rc_up(e[i].qp, &r, a[i].psn, &a[!i]);
			continue;
		}
		ud_up(e[i].qp, QKEY, 1);
		e[i].ah = create_ah(e[i].pd, &r, a[!i].gid);
	}
}

void make(struct end e[2], enum ibv_qp_type type, enum backing backing, bool implicit)
{
	memset(e, 0, 2 * sizeof(*e));
	open_end(&e[0], 0, type, backing, implicit);
	open_end(&e[1], 1, type, backing, implicit);
	connect_ends(e);
}

bool finish(struct end e[2])
{
	int i, err = 0;

	for (i = 0; i < 2; i++) {
		if (e[i].ah)
			err |= ibv_destroy_ah(e[i].ah);
		err |= ibv_destroy_qp(e[i].qp);
		if (e[i].srq)
			err |= ibv_destroy_srq(e[i].srq);
		err |= ibv_dereg_mr(e[i].mr) |
		       ibv_destroy_cq(e[i].cq) | ibv_dealloc_pd(e[i].pd);
		err |= ibv_close_device(e[i].at.ctx);
		munmap(e[i].buf, BYTES);
		if (e[i].fd >= 0)
			close(e[i].fd);
	}
	CHECK(!err, "cannot destroy objects: %d", err);
	return true;
}

/* Connects the queue pairs again after an error */
void reconnect(struct end e[2])
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 2; i++) {
		enum ibv_qp_type type = e[i].qp->qp_type;

		if (e[i].ah)
			ibv_destroy_ah(e[i].ah);
		ibv_destroy_qp(e[i].qp);
		while (ibv_poll_cq(e[i].cq, 1, &wc) > 0)
			;
		new_qp(&e[i], type);
	}
	connect_ends(e);
}

/* The responder's receives are in an SRQ from now on */
void share_receives(struct end e[2])
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 2 } };

	e[1].srq = ibv_create_srq(e[1].pd, &attr);
	if (!e[1].srq)
		die("create_srq: %s", strerror(errno));
	reconnect(e);
}

void post_recv(struct end *e, struct ibv_sge s)
{
	struct ibv_recv_wr wr = { .sg_list = &s, .num_sge = 1 }, *bad;

	if (e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad))
		die("post_recv");
}

void post(struct end e[2], enum ibv_wr_opcode op, struct ibv_sge s, uint64_t to)
{
	struct ibv_send_wr wr = {
		.sg_list = &s, .num_sge = 1, .opcode = op,
		.wr.rdma = { (uintptr_t)e[1].buf + to, e[1].mr->rkey },
	}, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = (uintptr_t)e[1].buf + to;
		wr.wr.atomic.rkey = e[1].mr->rkey;
		wr.wr.atomic.compare_add = 1;
		if (op == IBV_WR_ATOMIC_CMP_AND_SWP)	/* it swaps in the complement */
			memcpy(&wr.wr.atomic.compare_add, e[1].buf + to, 8);
		wr.wr.atomic.swap = ~wr.wr.atomic.compare_add;
	} else if (e[0].qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = e[0].ah;
		wr.wr.ud.remote_qpn = e[1].qp->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	if (ibv_post_send(e[0].qp, &wr, &bad))
		die("post_send");
}

/* Prints the kernel stacks in the driver, and counters: for the log of a failure */
static void tell_stall(void)
{
	static const char script[] =
		"exec >&2; for s in /proc/[0-9]*/stack; do grep -q '\\[rdma_rxe\\]' $s 2>/dev/null &&"
		" echo stalled: $(cat ${s%stack}comm) $(sed 's/^[^ ]* //; s/+.*//' $s); done;"
		"cd /sys/class/infiniband; for d in *; do"
		" echo stalled: $d $(cd $d/ports/1/hw_counters && grep -v '^0$' * | tr '\\n' ' '); done";

	fflush(stdout);
	if (system(script))
		fprintf(stderr, "stalled: nothing is known\n");
}

/* Waits for a completion. Return: its status; -1: there was none */
int status_of(struct end *e)
{
	struct ibv_wc wc;

	if (wait_wc_ms(e->cq, &wc, STALL_MS))
		return wc.status;
	tell_stall();
	return wait_wc(e->cq, &wc) ? (int)wc.status : -1;
}

/* Posts a work request and waits. Return: its status; of a SEND's receive, if the SEND has none */
int transfer(struct end e[2], enum ibv_wr_opcode op, struct ibv_sge s, uint64_t to)
{
	int status;

	post(e, op, s, to);
	status = status_of(&e[0]);
	return status || op != IBV_WR_SEND ? status : status_of(&e[1]);
}

/* One message of @len bytes from a random place to another. Each byte is compared */
static bool message(struct end e[2], enum ibv_wr_opcode op, uint32_t len)
{
	uint32_t head = e[0].qp->qp_type == IBV_QPT_UD ? GRH : 0;
	uint64_t from = rnd_range(&seed, 0, BYTES - len), to = rnd_range(&seed, head, BYTES - len);
	bool read = op == IBV_WR_RDMA_READ;
	uint8_t *src = read ? e[1].buf + to : e[0].buf + from;
	uint8_t *dst = read ? e[0].buf + from : e[1].buf + to;
	uint8_t *want = malloc(len + 8);
	int got;

	rnd_fill(want, len + 8, rnd(&seed));
	memcpy(src, want, len);
	if (op == IBV_WR_SEND)
		post_recv(&e[1], sge(&e[1], to - head, len + head));
	got = transfer(e, op, sge(&e[0], from, len), to);
	CHECK(!got, "opcode %d, %u bytes: status %d", op, len, got);
	if (op != IBV_WR_SEND && e[0].qp->qp_type == IBV_QPT_UC) {
		uint64_t end = now_ms() + 60000;

		/* There is no completion here when the data has arrived */
		while (memcmp(dst, want, len) && now_ms() < end)
			usleep(100);
	}
	CHECK(!memcmp(dst, want, len), "opcode %d: %u bytes from %lu to %lu differ", op, len, from,
	      to);
	free(want);
	return true;
}

static bool atomic(struct end e[2])
{
	uint64_t to = rnd_range(&seed, 0, BYTES / 8 - 1) * 8;
	uint64_t from = rnd_range(&seed, 0, BYTES / 8 - 1) * 8;
	uint64_t old = rnd(&seed), got;
	bool adds = rnd(&seed) & 1;
	uint64_t want = adds ? old + 1 : ~old;
	int status;

	memcpy(e[1].buf + to, &old, 8);
	status = transfer(e, adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP,
			  sge(&e[0], from, 8), to);
	CHECK(!status, "atomic: status %d", status);
	memcpy(&got, e[0].buf + from, 8);
	CHECK(got == old, "atomic returned %lx, not %lx", got, old);
	memcpy(&got, e[1].buf + to, 8);
	CHECK(got == want, "atomic left %lx, not %lx", got, want);
	return true;
}

/* Posts a work request that isn't in struct ibv_send_wr */
static void post_extended(struct end e[2], int what, uint64_t to, const void *data, uint32_t len)
{
	int err = post_ex(e[0].qp, what, 0, IBV_SEND_SIGNALED, e[1].mr->rkey,
			  (uintptr_t)e[1].buf + to, data, len);

	if (err)
		die("wr_complete: %s", strerror(err));
}

/* ATOMIC WRITE: the work request itself has the eight bytes */
static bool atomic_write(struct end e[2])
{
	uint64_t to = rnd_range(&seed, 0, BYTES / 8 - 1) * 8, want = rnd(&seed), got;
	int status;

	post_extended(e, EX_ATOMIC_WRITE, to, &want, 8);
	status = status_of(&e[0]);
	CHECK(!status, "atomic write: status %d", status);
	memcpy(&got, e[1].buf + to, 8);
	CHECK(got == want, "atomic write left %lx, not %lx", got, want);
	return true;
}

/* A WRITE, and a FLUSH of its bytes or of all of the region */
static bool flush(struct end e[2])
{
	uint32_t len = rnd_range(&seed, 1, BYTES / 4);
	uint64_t from = rnd_range(&seed, 0, BYTES - len), to = rnd_range(&seed, 0, BYTES - len);
	int what = rnd(&seed) & 1 ? EX_FLUSH : EX_FLUSH_ALL;
	int status, i;

	rnd_fill(e[0].buf + (from & ~7ul), len & ~7ul, rnd(&seed));
	post(e, IBV_WR_RDMA_WRITE, sge(&e[0], from, len), to);
	post_extended(e, what, to, NULL, len);
	for (i = 0; i < 2; i++) {
		status = status_of(&e[0]);
		CHECK(!status, "%s: status %d", i ? "flush" : "write before a flush", status);
	}
	CHECK(!memcmp(e[0].buf + from, e[1].buf + to, len), "%u flushed bytes differ", len);
	return true;
}

bool traffic(struct end e[2], uint32_t num)
{
	enum ibv_qp_type type = e[0].qp->qp_type;

	while (num--) {
		if (type == IBV_QPT_UD) {
			if (!message(e, IBV_WR_SEND, rnd_range(&seed, 1, 1024)))
				return false;
			continue;
		}
		if (!message(e, IBV_WR_SEND, rnd_range(&seed, 1, BYTES / 2)) ||
		    !message(e, IBV_WR_RDMA_WRITE, rnd_range(&seed, 1, BYTES / 2)))
			return false;
		if (type == IBV_QPT_RC &&
		    (!message(e, IBV_WR_RDMA_READ, rnd_range(&seed, 1, BYTES / 2)) || !atomic(e) ||
		     !atomic_write(e) || (HAVE_FLUSH && !flush(e))))
			return false;
	}
	return true;
}
