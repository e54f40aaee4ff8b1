/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of verbs_odp share, some of which other programs have, too: two ends and the
 * messages between them (vo_ends.c, vo_extended.c), what happens to their memory meanwhile
 * (vo_disturb.c), and merged pages (vo_merge.c).
 */
#ifndef VO_H
#define VO_H

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "odp_util.h"

#define BYTES		(64 * PAGE)		/* memory of an end */
#define ACCESS		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | ACCESS_FLUSH)
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

enum backing { ANON, SHARED };

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;		/* or NULL */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;		/* UD: to the other end */
	union ibv_gid gid;
	int gid_index;
	uint8_t *buf;
	int fd;
};

struct place {
	const char *dev;
	int gid_index;
};

struct disturber {
	pthread_t thread;
	struct end *e;
	enum backing backing;
	volatile bool stop;
};

extern struct place place[2];
extern const char *this_case;
extern uint64_t seed;
extern uint32_t rounds;
extern int on_demand;		/* IBV_ACCESS_ON_DEMAND or 0 */

#define FAIL(...) do { case_fail(this_case, __VA_ARGS__); return false; } while (0)
#define CHECK(cond, ...) do { if (!(cond)) FAIL(__VA_ARGS__); } while (0)

static inline struct ibv_sge sge(const struct end *e, uint64_t off, uint32_t len)
{
	return (struct ibv_sge) { (uintptr_t)e->buf + off, len, e->mr->lkey };
}

/* vo_ends.c */
void make(struct end e[2], enum ibv_qp_type type, enum backing backing, bool implicit);
bool finish(struct end e[2]);
void connect_ends(struct end e[2]);
void reconnect(struct end e[2]);
void share_receives(struct end e[2]);
void post_recv(struct end *e, struct ibv_sge s);
void post(struct end e[2], enum ibv_wr_opcode op, struct ibv_sge s, uint64_t to);
int status_of(struct end *e);
bool traffic(struct end e[2], uint32_t num);

/* vo_extended.c */
struct ibv_qp *new_extended_qp(struct end *e, const struct ibv_qp_init_attr *attr);
bool atomic_write(struct end e[2]);
bool flush(struct end e[2]);

/* vo_disturb.c */
bool replace_page(uint8_t *p);
bool is_swap_there(void);
bool swap_out(struct end *e);
void start_disturber(struct disturber *d, struct end e[2], enum backing backing);
void stop_disturber(struct disturber *d);

/* vo_merge.c */
bool ksm(void);

#endif
