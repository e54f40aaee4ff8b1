/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device: one struct rxe_dev per netdev. It exists from `rdma link add` to
 * `rdma link delete`, or until the netdev goes away.
 */
#ifndef RXE_DEV_H
#define RXE_DEV_H

#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rxe/constants.h>
#include <rxe/memory.h>
#include <rxe/recent.h>
#include <rxe/stats.h>

struct rxe_netns;
struct rxe_tclass;
struct rxe_txq;

/* RoCE versions that a device has, by the administrator's choice */
enum rxe_roce_enable {
	RXE_ENABLE_NONE,
	RXE_ENABLE_V1		= 1 << 0,
	RXE_ENABLE_V2		= 1 << 1,
	RXE_ENABLE_ALL		= RXE_ENABLE_V1 | RXE_ENABLE_V2,
};

#define RXE_SYSFS_DIRS		4	/* tc, tc/1, ttl, ttl/1 */
#define RXE_PKEY		0xffff		/* the default partition, full member */

/**
 * struct rxe_tune - settings of a device (sysfs.c), read without a lock. All switches are on
 *	by default
 * @trains: send packets in trains where the path supports it
 * @zero_copy: copy the payload to a QP of the same device only once
 * @same_device: bypass the network stack for packets to a QP of the same device.
 *	A change applies to QPs connected and AHs created afterwards; of two QPs,
 *	that connected first decides. RoCE v1 ignores the switch and always bypasses.
 * @trust_local: don't check the ICRC of packets that never left this host's memory
 * @cork: send small messages together that are posted one after the other
 * @guard_port: local senders other than this driver need CAP_NET_RAW to send to
 *	UDP port 4791
 * @roce_np: answer ECN marks by CNPs
 * @capture_singly: no trains while a packet socket captures on the netdev
 * @cc: congestion control of QPs that are created or reset afterwards: index in
 *	rxe_cc_rows, 0 by default
 * @ecn_priorities: priorities with ECN and CNPs, one bit each
 */
struct rxe_tune {
	bool	trains;
	bool	zero_copy;
	bool	same_device;
	bool	trust_local;
	bool	cork;
	bool	guard_port;
	bool	roce_np;
	bool	capture_singly;
	u8	cc;
	u8	ecn_priorities;
};

/**
 * struct rxe_mcast - the multicast groups of a device
 * @lock: one attach or detach at a time; RTNL is taken under it, never the reverse
 * @grps: MGID -> struct rxe_mcast_grp; readers in RCU, writers under @lock
 * @seed: random, so that an attacker can't choose MGIDs that share a bucket
 * @num_grps: groups
 * @num_attached: attachments, of all QPs to all groups
 */
struct rxe_mcast {
	struct mutex		lock;	/* writers of all below */
	DECLARE_HASHTABLE(grps, RXE_MCAST_HASH_BITS);
	u32			seed;
	u32			num_grps;
	u32			num_attached;
};

/**
 * struct rxe_mad_id - identifies a MAD of RDMA_CM
 * @dgid: its destination
 * @tid: its transaction ID
 * @attr_id: its attribute, the kind of message
 */
struct rxe_mad_id {
	union ib_gid		dgid;
	__be64			tid;
	__be16			attr_id;
};

/**
 * struct rxe_mads - the last MADs of RDMA_CM that the GSI has sent; its post_sq_lock protects them
 * @ids: the MADs
 * @next: index of the oldest
 */
struct rxe_mads {
	struct rxe_mad_id	ids[RXE_MADS];
	u32			next;
};

/**
 * struct rxe_dev - one software RoCE device
 * @ibdev: the RDMA core's device; embeds the reference count
 * @dma_parms: of @ibdev, which has no DMA, for exporters of dma-bufs
 * @ndev: the netdev underneath; a reference is held until the device is freed
 * @ndev_tracker: tracks the reference to @ndev
 * @roce: RoCE versions (enum rxe_roce_enable); fixed before it is registered
 * @registered: the RDMA core has its GIDs; set once, after it is registered
 * @heir: the device that replaces this device, see rxe_dev_set_roce()
 * @renewer: the task that replaces this device by @heir, or NULL
 * @list: link in the namespace's list of devices (net/), RCU
 * @netns: the namespace whose list has this device, or NULL; private to net/
 * @qps: QPN -> struct rxe_qpn; readers in RCU, writers in process context, so the
 *	xarray's plain lock is enough; the same holds for @keys and @ahs
 * @keys: key index -> struct rxe_key
 * @recent_qps: a short cut to @qps
 * @recent_keys: a short cut to @keys
 * @ahs: AH number -> struct rxe_ah_ref of user AHs
 * @counters: ID of a struct rdma_counter -> its counters (qp/counter.c)
 * @next_counter: where @counters looks for a free number; protected by its lock
 * @next_qpn: where the next search for a free QPN starts
 * @next_key: where the next search for a free key index starts
 * @next_ah: where the next search for a free AH number starts
 * @mcast: multicast groups
 * @mads: the last MADs that were sent
 * @stats: per-CPU counters
 * @txq: accounting of the stack's and the netdev's queues; other netdevs have their own
 * @rx_queued: bytes of memory in long receive queues, see inq.h
 * @rx_held: bytes of memory of packets that came too early
 * @port_active: port state that the last event reported; u32 for xchg()
 * @active_mtu: IB MTU in bytes that the netdev's MTU allows, 256 to 4096;
 *	written on netdev events, read locklessly
 * @tune: settings
 * @tclass: the administrator's traffic classes, or NULL; RCU, net/class.c
 * @ttl: TTL of all unicast packets; 0: the program chooses. Read without a lock
 * @dirs: folders in sysfs, see rxe_sysfs_add()
 * @num_qp: QPs that exist, checked against RXE_MAX_QP; the other counts likewise
 * @num_cq: CQs
 * @num_srq: SRQs
 * @num_mr: MRs
 * @num_mw: memory windows
 * @num_pd: PDs
 * @num_ah: AHs
 * @num_ucontext: user contexts
 */
struct rxe_dev {
	struct ib_device	ibdev;
	struct device_dma_parameters dma_parms;
	struct net_device	*ndev;
	netdevice_tracker	ndev_tracker;
	u8			roce;
	bool			registered;
	struct rxe_dev		*heir;
	struct task_struct	*renewer;
	struct list_head	list;
	struct rxe_netns	*netns;
	struct xarray		qps;
	struct xarray		keys;
	struct rxe_recent	recent_qps;
	struct rxe_recent	recent_keys;
	struct xarray		ahs;
	struct xarray		counters;
	u32			next_counter;
	u32			next_qpn;
	u32			next_key;
	u32			next_ah;
	struct rxe_mcast	mcast;
	struct rxe_mads		mads;
	struct rxe_stats __percpu *stats;
	struct rxe_txq		*txq;
	atomic_t		rx_queued;
	atomic_t		rx_held;
	u32			port_active;
	u32			active_mtu;
	struct rxe_tune		tune;
	struct rxe_tclass __rcu	*tclass;
	u8			ttl;
	struct kobject		*dirs[RXE_SYSFS_DIRS];
	atomic_t		num_qp;
	atomic_t		num_cq;
	atomic_t		num_srq;
	atomic_t		num_mr;
	atomic_t		num_mw;
	atomic_t		num_pd;
	atomic_t		num_ah;
	atomic_t		num_ucontext;
};

static inline struct rxe_dev *to_rxe_dev(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct rxe_dev, ibdev);
}

/**
 * rxe_limit_get - count one more object of a limited kind
 * @num: number of objects
 * @max: limit for processes
 * @user: the object is a process's
 *
 * A kernel consumer isn't refused. Otherwise, a process that makes all objects could stop
 * connections of others, and swapping over NFS/RDMA could not reconnect to free memory.
 *
 * Return: true if the object may be created; undo with atomic_dec(). False if the
 * limit is reached, or the machine's memory is short.
 */
static inline bool rxe_limit_get(atomic_t *num, int max, bool user)
{
	int n = atomic_inc_return(num);

	if (!user || (n <= max && rxe_has_memory_left(0)))
		return true;
	atomic_dec(num);
	return false;
}

#endif /* RXE_DEV_H */
