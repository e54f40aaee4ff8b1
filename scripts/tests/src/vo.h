/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of verbs_odp, some of which are also in other programs: two ends and the
 * messages between them (vo_ends.c), changes of their memory meanwhile (vo_disturb.c), merged pages
 * (vo_merge.c), and processes that are killed (vo_killed.c).
 */
#ifndef VO_H
#define VO_H

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "odp_util.h"
#include "verbs_case.h"

#define BYTES		(64 * PAGE)		/* memory of an end */
#define ACCESS		(ACCESS_ALL | ACCESS_FLUSH)
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

enum backing { ANON, SHARED };

struct end {
	struct place at;		/* with its own context */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;		/* or NULL */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;		/* UD: to the other end */
	uint8_t *buf;
	int fd;
};

struct disturber {
	pthread_t thread;
	struct end *e;
	enum backing backing;
	volatile bool stop;
};

extern uint64_t seed;
extern uint32_t rounds;
extern int on_demand;		/* IBV_ACCESS_ON_DEMAND or 0 */

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
long read_number(const char *file);
int transfer(struct end e[2], enum ibv_wr_opcode op, struct ibv_sge s, uint64_t to);
bool traffic(struct end e[2], uint32_t num);

/* vo_disturb.c */
bool replace_page(uint8_t *p);
bool is_swap_there(void);
bool swap_out(struct end *e);
void start_disturber(struct disturber *d, struct end e[2], enum backing backing);
void stop_disturber(struct disturber *d);

/* vo_merge.c */
bool ksm(void);

/* vo_killed.c */
void say(int fd);
bool heard(int fd);
bool kill_amidst(void (*work)(int turn, int told));

#endif
