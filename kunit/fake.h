/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair, usually of RC, on a device without netdev. The test is its peer: it gets the
 * packets that the QP sends, and injects packets that the QP receives, over the same-device
 * path. Nothing else of the driver is replaced.
 */
#ifndef RXE_KUNIT_FAKE_H
#define RXE_KUNIT_FAKE_H

#include <kunit/test.h>
#include <rxe/mcast.h>
#include <rxe/qp.h>
#include <rxe/srq.h>
#include <rxe/transport.h>
#include <stats/counters.h>

#define FAKE_MTU	256u
#define FAKE_MEM	SZ_32K		/* bytes at fake.mem */
#define FAKE_PEER	0x777u		/* the test's QP number */
#define FAKE_SQ_PSN	0xfffff0u	/* close to the wrap-around */
#define FAKE_RQ_PSN	0xfffff8u
#define FAKE_WR		16u		/* work requests that fit in a queue */

/**
 * struct fake - the device and its objects
 * @rxe: the device
 * @ndev: netdev of its GID; only its flags are ever looked at
 * @gid_attr: the GID
 * @pd: protection domain
 * @scq: completions of sends
 * @rcq: completions of receives
 * @srq: SRQ of @qp; NULL: it has a receive queue of its own
 * @qp: the queue pair, in RTS, everything allowed
 * @peer: path from the test to @qp
 * @sealed: injected packets count as received from outside: they have ICRCs
 * @broken: in which packet of a train, from 1 on, the ICRC is wrong; 0: in none
 * @marked: injected packets have an ECN mark
 * @pkey: P_Key of injected packets; 0: the right one
 * @gro: injected trains have the mark of those that GRO has made
 * @outside: injected packets didn't come by the same-device path
 * @sent: trains that @qp sent, oldest first
 * @taken: bytes of the first of them that fake_take() took
 * @mr: all of memory, everything allowed
 * @mem: memory for the QP to use
 * @events: a bit for each enum ib_event_type that came
 * @locked: an event came where a consumer may hold a lock that its handler takes
 */
struct fake {
	struct rxe_dev		*rxe;
	struct net_device	*ndev;
	struct ib_gid_attr	gid_attr;
	struct ib_pd		pd;
	struct rxe_cq		*scq;
	struct rxe_cq		*rcq;
	struct rxe_srq		*srq;
	struct rxe_qp		*qp;
	struct rxe_path		peer;
	bool			sealed;
	u32			broken;
	bool			marked;
	u16			pkey;
	bool			gro;
	bool			outside;
	struct sk_buff_head	sent;
	u32			taken;
	struct ib_mr		*mr;
	u8			*mem;
	unsigned long		events;
	bool			locked;
};

static inline struct fake *fake(struct kunit *test)
{
	return test->priv;
}

/* The state of the QP */
static inline u8 fake_state(struct kunit *test)
{
	return READ_ONCE(fake(test)->qp->state);
}

/* The address of fake.mem[off] */
static inline u64 fake_addr(struct kunit *test, u32 off)
{
	return (uintptr_t)fake(test)->mem + off;
}

/* kunit_suite.init and .exit; the struct fake is test->priv */
int fake_init(struct kunit *test);
int fake_init_uc(struct kunit *test);
int fake_init_ud(struct kunit *test);
int fake_init_gsi(struct kunit *test);
int fake_init_srq(struct kunit *test);
void fake_exit(struct kunit *test);

/* Wait until the QP's tasks have nothing to do */
void fake_settle(struct kunit *test);

/* A packet from the peer; qpn, pkey, pad and payload_len are filled in */
void fake_inject(struct kunit *test, struct rxe_pkt *pkt, const void *payload,
		 u32 len);

/* The same. The last @missing of @len bytes aren't in the skb, though its length includes them */
void fake_inject_short(struct kunit *test, struct rxe_pkt *pkt, const void *payload, u32 len,
		       u32 missing);

/* Create one more QP, with what the RDMA core sets in it. Return: as rxe_create_qp() */
int fake_create_qp(struct fake *f, struct rxe_qp *qp, struct ib_qp_init_attr *init);

/* As fake_inject(), without waiting until the QP's tasks have nothing to do */
void fake_arrive(struct kunit *test, struct rxe_pkt *pkt, const void *payload,
		 u32 len);

/* Several packets in a train, with payload_len set. All but the last have the same size */
void fake_inject_train(struct kunit *test, struct rxe_pkt *pkts, u32 num,
		       const void *payload);

/*
 * The next packet that the QP sent; @payload (room for FAKE_MTU bytes) may be
 * NULL. False if there is none, after fake_settle().
 */
bool fake_take(struct kunit *test, struct rxe_pkt *pkt, void *payload);

/* The same, for timers: up to 5 seconds */
bool fake_wait(struct kunit *test, struct rxe_pkt *pkt, void *payload);

/* The next packet that the QP sent must have this opcode and PSN */
void fake_expect(struct kunit *test, u8 opcode, u32 psn, struct rxe_pkt *pkt);
void fake_expect_nothing(struct kunit *test);

/* A counter of the device */
u64 fake_counter(struct kunit *test, enum rxe_counter which);

/* Post a receive, to the SRQ if there is one. Its memory is at @off of fake.mem */
void fake_post_recv(struct kunit *test, u64 wr_id, u32 off, u32 len);
void fake_post(struct kunit *test, struct ib_send_wr *wr, u32 off, u32 len);
void fake_send(struct kunit *test, u64 wr_id, u32 off, u32 len);
void fake_read(struct kunit *test, u64 wr_id, u32 off, u32 len);

/* Poll one completion and check it */
void fake_completion(struct kunit *test, struct rxe_cq *cq, u64 wr_id,
		     enum ib_wc_status status, struct ib_wc *wc);
void fake_no_completion(struct kunit *test, struct rxe_cq *cq);
bool fake_wait_completion(struct kunit *test, struct rxe_cq *cq,
			  struct ib_wc *wc);

/*
 * Fill a kernel consumer's CQ with completions of another QP, until a flush must wait. Return:
 * their number. The second function polls them
 */
u32 fake_fill_cq(struct rxe_cq *cq);
void fake_empty_cq(struct kunit *test, struct rxe_cq *cq, u32 num);

#endif /* RXE_KUNIT_FAKE_H */
