/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device: one struct rxe_dev a netdev, from `rdma link add` to `rdma link
 * delete` or until the netdev goes.
 */
#ifndef RXE_DEV_H
#define RXE_DEV_H

#include <linux/netdevice.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rxe/memory.h>
#include <rxe/stats.h>

struct rxe_netns;
struct rxe_txq;

/* What query_device advertises; each is enforced where the object is made. */
enum rxe_limits {
	RXE_MAX_QP		= 1 << 16,
	RXE_MIN_QPN		= 16,		/* 0 and 1 are SMI and GSI */
	RXE_MAX_QP_WR		= 1 << 15,
	RXE_MAX_SGE		= 32,
	RXE_MAX_INLINE		= 512,
	RXE_MAX_CQ		= 1 << 16,
	RXE_MAX_CQE		= (1 << 20) - 1,	/* a ring of 2^20 */
	RXE_MAX_MR		= 1 << 20,
	RXE_MAX_PD		= 1 << 16,
	RXE_MAX_AH		= 1 << 20,
	RXE_MAX_UCONTEXT	= 1 << 16,
	RXE_MAX_RD_ATOM		= 128,
	RXE_MAX_MSG		= 1U << 31,
	RXE_PKEY_TBL_LEN	= 1,
	RXE_GID_TBL_LEN		= 1024,
	RXE_CA_ACK_DELAY	= 15,		/* 4.096 us * 2^15 = 134 ms */
};

#define RXE_MAX_MR_SIZE		(~0ULL)
#define RXE_PAGE_SIZE_CAP	(~(u64)(SZ_4K - 1))
#define RXE_PKEY		0xffff		/* the default partition, full member */

/**
 * struct rxe_tune - switches of a device (sysfs.c), all on by default
 * @trains: packets leave in trains where the way out takes them
 * @zero_copy: payload to a QP of the same device is copied once
 * @same_device: packets to a QP of the same device don't go through the network
 *	stack; for QPs and AHs that are connected or made from then on, the first
 *	of two QPs decides. RoCE v1 never does.
 * @trust_local: what never left this host's memory needs no ICRC check
 * @cork: small messages that are posted one after the other leave together
 * @guard_port: others need CAP_NET_RAW to send to UDP port 4791 from here
 */
struct rxe_tune {
	bool	trains;
	bool	zero_copy;
	bool	same_device;
	bool	trust_local;
	bool	cork;
	bool	guard_port;
};

/**
 * struct rxe_dev - one software RoCE device
 * @ibdev: the RDMA core's device; embeds the reference count
 * @ndev: the netdev underneath; a reference is held until the device is freed
 * @ndev_tracker: of that reference
 * @list: link in the namespace's list of devices (net/), RCU
 * @netns: the namespace it is known in, NULL when in none; net/'s own
 * @qps: QPN -> struct rxe_qpn; readers in RCU, writers in process context, whose
 *	lock needs no more: likewise the following
 * @keys: key index -> struct rxe_key; readers in RCU
 * @ahs: AH number -> struct rxe_ah_ref of user AHs; readers in RCU
 * @next_qpn: where the next search for a free QPN starts
 * @next_key: where the next search for a free key index starts
 * @next_ah: where the next search for a free AH number starts
 * @stats: per-CPU counters
 * @txq: the queues below it
 * @rx_queued: bytes of memory that wait in long receive queues, see inq.h
 * @rx_held: bytes of memory that came too early
 * @port_active: last port state that was reported as an event
 * @active_mtu: IB MTU in bytes that the netdev's MTU allows, 256 to 4096;
 *	written on netdev events, read locklessly
 * @tune: switches, read locklessly
 * @num_qp: QPs that exist, checked against RXE_MAX_QP; likewise the following
 * @num_cq: CQs
 * @num_mr: MRs
 * @num_pd: PDs
 * @num_ah: AHs
 * @num_ucontext: user contexts
 */
struct rxe_dev {
	struct ib_device	ibdev;
	struct net_device	*ndev;
	netdevice_tracker	ndev_tracker;
	struct list_head	list;
	struct rxe_netns	*netns;
	struct xarray		qps;
	struct xarray		keys;
	struct xarray		ahs;
	u32			next_qpn;
	u32			next_key;
	u32			next_ah;
	struct rxe_stats __percpu *stats;
	struct rxe_txq		*txq;
	atomic_t		rx_queued;
	atomic_t		rx_held;
	bool			port_active;
	u32			active_mtu;
	struct rxe_tune		tune;
	atomic_t		num_qp;
	atomic_t		num_cq;
	atomic_t		num_mr;
	atomic_t		num_pd;
	atomic_t		num_ah;
	atomic_t		num_ucontext;
};

static inline struct rxe_dev *to_rxe_dev(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct rxe_dev, ibdev);
}

/**
 * rxe_limit_get - take one of a limited number of objects
 * @num: how many exist
 * @max: how many may
 *
 * Return: true if the object may be made; undo with atomic_dec(). False also if
 * the machine's memory is short.
 */
static inline bool rxe_limit_get(atomic_t *num, int max)
{
	if (atomic_inc_return(num) <= max && rxe_memory_left(0))
		return true;
	atomic_dec(num);
	return false;
}

/* sysfs.c */
extern const struct attribute_group rxe_attr_group;

/* gid.c */
int rxe_add_gid(const struct ib_gid_attr *attr, void **context);
int rxe_del_gid(const struct ib_gid_attr *attr, void **context);
void rxe_gid_init(struct rxe_dev *rxe);
void rxe_gid_claim(struct rxe_dev *rxe);
void rxe_gid_release(struct rxe_dev *rxe);

/* device.c */
int rxe_dev_add(const char *name, struct net_device *ndev);
void rxe_dev_changed(struct rxe_dev *rxe);

#endif /* RXE_DEV_H */
