// SPDX-License-Identifier: GPL-2.0
/*
 * The device: its capabilities, and how it is added and removed.
 *
 * Context: process. add_lock makes sure that a netdev gets one device; nothing in
 * the fast path takes it.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/utsname.h>
#include <net/addrconf.h>
#include <compat/device.h>
#include <compat/mmu.h>
#include <compat/ops.h>
#include <compat/unaligned.h>
#include <compat/verbs.h>
#include <rxe/mcast.h>
#include <rxe/net.h>
#include <rxe/odp.h>
#include <rxe/qp.h>
#include <rxe/srq.h>
#include <rxe/transport.h>	/* sizeof(struct rxe_qp) */
#include <rxe/verbs.h>
#include <rxe/window.h>
#include "device.h"

#define RXE_VENDOR_ID	0xffffff	/* no OUI: a software device */

static DEFINE_MUTEX(add_lock);

/* The devices of all namespaces by node GUID */
static DEFINE_XARRAY(node_guids);

static void set_object_limits(struct ib_device_attr *attr)
{
	attr->max_qp = RXE_MAX_QP;
	attr->max_qp_wr = RXE_MAX_QP_WR;
	attr->max_send_sge = RXE_MAX_SGE;
	attr->max_recv_sge = RXE_MAX_SGE;
	attr->max_sge_rd = RXE_MAX_SGE;
	attr->max_cq = RXE_MAX_CQ;
	attr->max_cqe = RXE_MAX_CQE;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;	/* microseconds */
	attr->max_srq = RXE_MAX_SRQ;
	attr->max_srq_wr = RXE_MAX_SRQ_WR;
	attr->max_srq_sge = RXE_MAX_SGE;
	attr->max_mr = RXE_MAX_MR;
	attr->max_mr_size = RXE_MAX_MR_SIZE;
	attr->max_mw = RXE_MAX_MW;
	attr->max_fast_reg_page_list_len = RXE_MAX_FAST_PAGES;
	attr->max_pd = RXE_MAX_PD;
	attr->max_ah = RXE_MAX_AH;
	attr->max_mcast_grp = RXE_MAX_MCAST_GRP;
	attr->max_mcast_qp_attach = RXE_MAX_MCAST_QP_ATTACH;
	attr->max_total_mcast_qp_attach = RXE_MAX_TOTAL_MCAST_QP_ATTACH;
	attr->max_qp_rd_atom = RXE_MAX_RD_ATOM;
	attr->max_qp_init_rd_atom = RXE_MAX_RD_ATOM;
	attr->max_res_rd_atom = RXE_MAX_RD_ATOM * RXE_MAX_QP;
}

/* Every operation that reads or writes memory supports on-demand paging */
static void set_odp_caps(struct ib_device_attr *attr)
{
	struct ib_odp_caps *caps = &attr->odp_caps;

	if (!RXE_ODP_ACCESS)
		return;
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	caps->general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.ud_odp_caps = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
					       IB_ODP_SUPPORT_SRQ_RECV;
	caps->per_transport_caps.uc_odp_caps = caps->per_transport_caps.ud_odp_caps |
					       IB_ODP_SUPPORT_WRITE;
	caps->per_transport_caps.rc_odp_caps = caps->per_transport_caps.uc_odp_caps |
					       IB_ODP_SUPPORT_READ |
					       IB_ODP_SUPPORT_ATOMIC |
					       IB_ODP_SUPPORT_FLUSH |
					       IB_ODP_SUPPORT_ATOMIC_WRITE;
}

static int rxe_query_device(struct ib_device *ibdev,
			    struct ib_device_attr *attr, struct ib_udata *udata)
{
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	set_object_limits(attr);
	attr->vendor_id = RXE_VENDOR_ID;
	attr->sys_image_guid = ibdev->node_guid;
	attr->page_size_cap = RXE_PAGE_SIZE_CAP;
	attr->device_cap_flags = IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_FLUSH_GLOBAL |
				 IB_DEVICE_ATOMIC_WRITE;
	if (IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API))
		attr->device_cap_flags |= IB_DEVICE_FLUSH_PERSISTENT;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_pkeys = RXE_PKEY_TBL_LEN;
	attr->local_ca_ack_delay = RXE_CA_ACK_DELAY;
	set_odp_caps(attr);
	return 0;
}

static int rxe_modify_device(struct ib_device *ibdev, int mask,
			     struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

static unsigned long node_guid_key(const struct rxe_dev *rxe)
{
	return be64_to_cpu(rxe->ibdev.node_guid);
}

/*
 * Set the node GUID, which no other device of this host has. The CM of a peer takes queue pairs of
 * one number and one node GUID for the same, and disconnects the earlier one. Kernel consumers
 * share a PD between devices of one node GUID.
 *
 * The node GUID is an EUI-64 of the MAC address, which is random for netdevs without one (loopback,
 * tunnels). VLANs, ipvlans and bridges have the MAC address of another netdev: the two bytes in the
 * middle then count down from those of the first device.
 */
static int claim_node_guid(struct rxe_dev *rxe)
{
	u8 mac[ETH_ALEN], *guid = (u8 *)&rxe->ibdev.node_guid;
	const struct net_device *ndev = rxe->ndev;
	u16 middle = 0xfffe;
	int err;

	if (ndev->addr_len == ETH_ALEN && is_valid_ether_addr(ndev->dev_addr))
		ether_addr_copy(mac, ndev->dev_addr);
	else
		eth_random_addr(mac);
	addrconf_addr_eui48(guid, mac);
	do {
		put_unaligned_be16(middle, guid + 3);
		err = xa_insert(&node_guids, node_guid_key(rxe), rxe, GFP_KERNEL);
	} while (err == -EBUSY && middle--);
	return err;
}

/* A device that couldn't claim its node GUID leaves the entry of another device */
static void release_node_guid(struct rxe_dev *rxe)
{
	xa_cmpxchg(&node_guids, node_guid_key(rxe), rxe, NULL, 0);
}

/* The entry is replaced, which takes no memory */
static void move_node_guid(struct rxe_dev *heir, struct rxe_dev *rxe)
{
	release_node_guid(heir);
	heir->ibdev.node_guid = rxe->ibdev.node_guid;
	xa_store(&node_guids, node_guid_key(heir), heir, 0);
}

/* Keep the administrator's settings and the identity of the device */
static void hand_over_settings(struct rxe_dev *rxe, struct rxe_dev *heir)
{
	heir->tune = rxe->tune;
	heir->ttl = rxe->ttl;
	rxe_tclass_move(heir, rxe);
	heir->ibdev.use_cq_dim = rxe->ibdev.use_cq_dim;
	move_node_guid(heir, rxe);
	memcpy(heir->ibdev.node_desc, rxe->ibdev.node_desc,
	       sizeof(heir->ibdev.node_desc));
	rxe->heir = NULL;
}

/*
 * The last callback for a device, after it was removed or couldn't be added. The heir takes
 * over only if the renewer itself removes the device.
 */
static void rxe_dealloc_driver(struct ib_device *ibdev)
{
	struct rxe_dev *rxe = to_rxe_dev(ibdev);

	if (READ_ONCE(rxe->renewer) == current)
		hand_over_settings(rxe, rxe->heir);
	release_node_guid(rxe);
	rxe_net_del(rxe);
	rxe_gid_release(rxe);
	rxe_sysfs_del(rxe);
	rxe_tclass_free(rxe);
	xa_destroy(&rxe->qps);
	xa_destroy(&rxe->keys);
	xa_destroy(&rxe->ahs);
	xa_destroy(&rxe->counters);
	free_percpu(rxe->stats);
	rxe_txq_put(rxe->txq);
	netdev_put(rxe->ndev, &rxe->ndev_tracker);
}

/*
 * ib_device_ops.enable_driver: the RDMA core shows the device, for the first time or after "rdma
 * dev set netns". Earlier events of the netdev found no device.
 */
static int rxe_enable_driver(struct ib_device *ibdev)
{
	struct rxe_dev *rxe = to_rxe_dev(ibdev);

	rtnl_lock();
	if (rxe->ndev->reg_state == NETREG_REGISTERED)
		rxe_dev_changed(rxe);
	rtnl_unlock();
	return 0;
}

static const struct ib_device_ops rxe_dev_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_RXE,
	.uverbs_abi_ver		= 2,
	.device_group		= &rxe_attr_group,
	.enable_driver		= rxe_enable_driver,

	.query_device		= rxe_query_device,
	.modify_device		= rxe_modify_device,
	.query_port		= rxe_query_port,
	.query_pkey		= rxe_query_pkey,
	.get_port_immutable	= rxe_get_port_immutable,
	.get_link_layer		= rxe_get_link_layer,
	.add_gid		= rxe_add_gid,
	.del_gid		= rxe_del_gid,
	.alloc_hw_port_stats	= rxe_alloc_hw_port_stats,
	.get_hw_stats		= rxe_get_hw_stats,
	.counter_alloc_stats	= rxe_counter_alloc_stats,
	.counter_update_stats	= rxe_counter_update,
	.counter_dealloc	= rxe_counter_dealloc,
	.fill_res_qp_entry	= rxe_fill_qp,
	.fill_res_cq_entry	= rxe_fill_cq,
	.fill_res_mr_entry	= rxe_fill_mr,
	.process_mad		= rxe_process_mad,
	.dealloc_driver		= rxe_dealloc_driver,

	.alloc_ucontext		= rxe_alloc_ucontext,
	.dealloc_ucontext	= rxe_dealloc_ucontext,
	.disassociate_ucontext	= rxe_disassociate_ucontext,
	.mmap			= rxe_mmap,
	.mmap_free		= rxe_mmap_free,

	.alloc_pd		= rxe_alloc_pd,
	.dealloc_pd		= rxe_dealloc_pd,

	.create_ah		= rxe_create_ah,
	.create_user_ah		= rxe_create_ah,
	.modify_ah		= rxe_modify_ah,
	.query_ah		= rxe_query_ah,
	.destroy_ah		= rxe_destroy_ah,

	.attach_mcast		= rxe_attach_mcast,
	.detach_mcast		= rxe_detach_mcast,

	.modify_cq		= rxe_modify_cq,
	.destroy_cq		= rxe_destroy_cq,
	.poll_cq		= rxe_poll_cq,
	.req_notify_cq		= rxe_req_notify_cq,

	.create_srq		= rxe_create_srq,
	.modify_srq		= rxe_modify_srq,
	.query_srq		= rxe_query_srq,
	.destroy_srq		= rxe_destroy_srq,
	.post_srq_recv		= rxe_post_srq_recv,

	.get_dma_mr		= rxe_get_dma_mr,
	.rereg_user_mr		= rxe_rereg_user_mr,
	.dereg_mr		= rxe_dereg_mr,
	.advise_mr		= rxe_advise_mr,
	.alloc_mr		= rxe_alloc_mr,
	.map_mr_sg		= rxe_map_mr_sg,
	.alloc_mw		= rxe_alloc_mw,
	.dealloc_mw		= rxe_dealloc_mw,

	.create_qp		= rxe_create_qp,
	.modify_qp		= rxe_modify_qp,
	.query_qp		= rxe_query_qp,
	.destroy_qp		= rxe_destroy_qp,
	.post_send		= rxe_post_send,
	.post_recv		= rxe_post_recv,

	RXE_COMPAT_OPS

	INIT_RDMA_OBJ_SIZE(ib_ah, rxe_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, rxe_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, rxe_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, rxe_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, rxe_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, rxe_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rxe_ucontext, ibuc),
};

/*
 * Can the netdev have a device? The reason why not is logged, since the netlink interface
 * can't report it.
 */
static int check_ndev(struct net_device *ndev)
{
	struct ib_device *other;
	bool has_dev;

	if (!rxe_ndev_is_large(ndev)) {
		netdev_err(ndev, "rdma_rxe: MTU %u is too small, IB MTU %u takes %u\n",
			   ndev->mtu, RXE_LEAST_MTU,
			   RXE_LEAST_MTU + RXE_MAX_OVERHEAD);
		return -EINVAL;
	}
	other = ib_device_get_by_netdev(ndev, RDMA_DRIVER_RXE);
	if (other) {
		netdev_err(ndev, "rdma_rxe: has %s already\n",
			   dev_name(&other->dev));
		ib_device_put(other);
		return -EEXIST;
	}
	/* The RDMA core doesn't find a device that moves to another namespace, or is replaced */
	rcu_read_lock();
	has_dev = ndev->reg_state == NETREG_REGISTERED && rxe_net_has_dev(ndev);
	rcu_read_unlock();
	if (has_dev) {
		netdev_err(ndev, "rdma_rxe: has a device already, which is changing\n");
		return -EEXIST;
	}
	return 0;
}

static void set_node_desc(struct rxe_dev *rxe, const char *name)
{
	scnprintf(rxe->ibdev.node_desc, sizeof(rxe->ibdev.node_desc), "%s %s",
		  init_utsname()->nodename, name);
}

/*
 * The device has no DMA. But an exporter of a dma-buf may tell of moves only if it has mapped the
 * buffer for DMA (mem/dmabuf.c). A machine that can't map all addresses refuses this mapping.
 */
static void set_dma_mask(struct rxe_dev *rxe)
{
	struct ib_device *ibdev = &rxe->ibdev;

	ibdev->dev.dma_parms = &rxe->dma_parms;
	dma_set_max_seg_size(&ibdev->dev, UINT_MAX);
	if (dma_coerce_mask_and_coherent(&ibdev->dev, DMA_BIT_MASK(64)))
		ibdev_dbg(ibdev, "dma-bufs that may move can't be mapped\n");
}

static void init_ibdev(struct rxe_dev *rxe)
{
	struct ib_device *ibdev = &rxe->ibdev;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_online_cpus();
	ibdev->local_dma_lkey = 0;
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	set_dma_mask(rxe);
	rxe_mark_name_assigned_by_user(ibdev);
	ib_set_device_ops(ibdev, &rxe_dev_ops);
	rxe_gid_init(rxe);
}

static const struct rxe_tune default_tune = {
	.trains		= true,
	.zero_copy	= true,
	.same_device	= true,
	.trust_local	= true,
	.cork		= true,
	.guard_port	= true,
	.roce_np	= true,
	.ecn_priorities	= U8_MAX,
	.capture_singly	= true,
};

/* @owner: the RDMA core's namespace for the device */
static struct rxe_dev *alloc_dev(struct net *owner, struct net_device *ndev, u8 roce)
{
	struct rxe_dev *rxe = rxe_alloc_dev(owner);

	if (!rxe)
		return NULL;
	rxe->roce = roce;
	rxe->tune = default_tune;
	rxe->stats = alloc_percpu(struct rxe_stats);
	rxe->txq = rxe_txq_find(ndev, 0);
	if (!rxe->stats || !rxe->txq) {
		free_percpu(rxe->stats);
		rxe_txq_put(rxe->txq);
		ib_dealloc_device(&rxe->ibdev);
		return NULL;
	}
	rxe->ndev = ndev;
	netdev_hold(ndev, &rxe->ndev_tracker, GFP_KERNEL);
	INIT_LIST_HEAD(&rxe->list);
	/* Scattered numbers take an xarray node each: charge it to the owner of the object */
	xa_init_flags(&rxe->qps, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&rxe->keys, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&rxe->ahs, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&rxe->counters, XA_FLAGS_ALLOC1);
	rxe_mcast_init(&rxe->mcast);
	/*
	 * Packets under way to QPs of an earlier device should find no QP here. The number is
	 * small, so that lookups are quick.
	 */
	rxe->next_qpn = get_random_u32() % RXE_FIRST_QPNS;
	rxe_port_init(rxe);
	init_ibdev(rxe);
	return rxe;
}

/* The device may have been deleted already, and the netdev may be going away */
static int finish_registration(struct rxe_dev *rxe)
{
	bool alive;
	int err;

	if (!ib_device_try_get(&rxe->ibdev))
		return 0;
	err = rxe_sysfs_add(rxe);
	rtnl_lock();
	alive = rxe->ndev->reg_state == NETREG_REGISTERED;
	rtnl_unlock();
	if (alive)
		rxe_gid_claim(rxe);
	if (!alive || err) {
		ib_unregister_device_and_put(&rxe->ibdev);
		return err ?: -ENODEV;
	}
	ib_device_put(&rxe->ibdev);
	return 0;
}

/*
 * The RDMA core takes a name with '%' for a pattern, even for a format string. It refuses to add
 * a device with such a name, but not to rename a device to it.
 */
static bool name_is_pattern(const char *name)
{
	return strchr(name, '%');
}

/* Register the device; on failure, remove it */
static int register_dev(struct rxe_dev *rxe, const char *name)
{
	int err;

	/* The device may be deleted at any time once it is registered */
	get_device(&rxe->ibdev.dev);
	err = name_is_pattern(name) ? -EINVAL :
				      ib_device_set_netdev(&rxe->ibdev, rxe->ndev, 1);
	if (!err)
		err = ib_register_device(&rxe->ibdev, name, NULL);
	if (err) {
		ib_dealloc_device(&rxe->ibdev);
	} else {
		smp_store_release(&rxe->registered, true);	/* pairs with rxe_rx_has_gid() */
		err = finish_registration(rxe);
	}
	put_device(&rxe->ibdev.dev);
	return err == -ENFILE ? -EEXIST : err;
}

/*
 * A netdev's namespace with a reference, or NULL if the netdev is going away. The namespace
 * of an unregistered netdev may be freed at any time. The RDMA core doesn't keep the namespace
 * of a device that isn't registered yet, either.
 */
static struct net *ndev_get_net(const struct net_device *ndev)
{
	struct net *net = NULL;

	rtnl_lock();
	if (ndev->reg_state == NETREG_REGISTERED)
		net = maybe_get_net(dev_net(ndev));
	rtnl_unlock();
	return net;
}

/*
 * Make a device that receives, but isn't registered yet. @net is the netdev's namespace, @owner
 * the one in which the RDMA core shows the device: an administrator may have moved it elsewhere.
 * The caller keeps both references until the device is registered.
 * Return: the device or an ERR_PTR
 */
static struct rxe_dev *create_dev(struct net *net, struct net *owner, struct net_device *ndev,
				  u8 roce)
{
	struct rxe_dev *rxe = alloc_dev(owner, ndev, roce);
	int err;

	if (!rxe)
		return ERR_PTR(-ENOMEM);
	err = claim_node_guid(rxe) ?: rxe_net_add(rxe, net);
	if (err) {
		ib_dealloc_device(&rxe->ibdev);
		return ERR_PTR(err);
	}
	return rxe;
}

static int add_dev(const char *name, struct net_device *ndev)
{
	struct net *net = ndev_get_net(ndev);
	struct rxe_dev *rxe;
	int err;

	if (!net)
		return -ENODEV;
	rxe = create_dev(net, net, ndev, RXE_ENABLE_ALL);
	err = PTR_ERR_OR_ZERO(rxe);
	if (!err) {
		set_node_desc(rxe, name);
		err = register_dev(rxe, name);
	}
	put_net(net);
	return err;
}

/**
 * rxe_dev_add - put a device on a netdev
 * @name: of the RDMA device
 * @ndev: the netdev; the caller holds a reference
 *
 * A failed add leaves nothing behind but a line in the log.
 *
 * Return: 0; -EINVAL for a netdev that can't have a device; -EEXIST if it has one
 * already or the name is taken; -ENODEV if the netdev is going away; -ENOMEM; -EINTR by a fatal
 * signal while another device is added or changed; errors of the sockets.
 */
int rxe_dev_add(const char *name, struct net_device *ndev)
{
	int err;

	if (mutex_lock_killable(&add_lock))
		return -EINTR;
	err = check_ndev(ndev);
	if (!err) {
		err = add_dev(name, ndev);
		if (err == -EEXIST)
			netdev_err(ndev, "rdma_rxe: the name %s is taken\n",
				   name);
		else if (err)
			netdev_err(ndev, "rdma_rxe: can't add %s: %pe\n", name,
				   ERR_PTR(err));
	}
	mutex_unlock(&add_lock);
	return err;
}

/*
 * Replace @rxe by @heir. The caller holds references to @rxe, one of them from
 * ib_device_try_get(). If another task removed @rxe first, @heir is dropped: the
 * administrator wants no device.
 */
static int replace_dev(struct rxe_dev *rxe, struct rxe_dev *heir)
{
	const char *name;
	int err;

	rxe->heir = heir;
	WRITE_ONCE(rxe->renewer, current);
	ib_unregister_device_and_put(&rxe->ibdev);
	if (rxe->heir) {
		ib_dealloc_device(&heir->ibdev);
		return -ENODEV;
	}
	name = dev_name(&rxe->ibdev.dev);	/* unregistered: the name is stable */
	err = register_dev(heir, name);
	if (err)
		pr_err("rdma_rxe: %s is lost: its RoCE versions were to change, and it can't be added again: %pe\n",
		       name, ERR_PTR(err));
	return err;
}

/*
 * Make the device that replaces @rxe, in the namespaces @net and @owner. These are NULL if the
 * netdev or the namespace is going away.
 * Return: the device, or an ERR_PTR: nothing has changed
 */
static struct rxe_dev *make_heir(struct rxe_dev *rxe, struct net *net, struct net *owner, u8 roce)
{
	struct rxe_dev *heir;

	if (roce == RXE_ENABLE_V1 && !rxe_ndev_is_ethernet(rxe->ndev)) {
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "roce_enable: %s isn't Ethernet, and has RoCE v2 only\n",
				       netdev_name(rxe->ndev));
		return ERR_PTR(-EINVAL);
	}
	if (name_is_pattern(rxe->ibdev.name)) {
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "roce_enable: the name has a %%, rename the device first\n");
		return ERR_PTR(-EINVAL);
	}
	heir = net && owner ? create_dev(net, owner, rxe->ndev, roce) : ERR_PTR(-ENODEV);
	if (IS_ERR(heir))
		ibdev_warn_ratelimited(&rxe->ibdev,
				       "roce_enable: can't change, all stays as it is: %pe\n",
				       heir);
	return heir;
}

static int renew_dev(struct rxe_dev *rxe, u8 roce)
{
	struct rxe_dev *heir = NULL;
	struct net *net, *owner;
	int err;

	/* As long as this reference is held, the RDMA core moves the device nowhere */
	if (!ib_device_try_get(&rxe->ibdev))
		return -ENODEV;
	owner = maybe_get_net(read_pnet(&rxe->ibdev.coredev.rdma_net));
	net = ndev_get_net(rxe->ndev);
	if (roce != rxe->roce)
		heir = make_heir(rxe, net, owner, roce);
	if (IS_ERR_OR_NULL(heir)) {
		ib_device_put(&rxe->ibdev);
		err = PTR_ERR_OR_ZERO(heir);
	} else {
		err = replace_dev(rxe, heir);
	}
	if (net)
		put_net(net);
	if (owner)
		put_net(owner);
	return err;
}

/**
 * rxe_dev_set_roce - enable and disable RoCE versions
 * @rxe: device; the caller holds a reference of struct device, and to the module
 * @roce: the versions (enum rxe_roce_enable)
 *
 * The RDMA core asks for a port's protocols once, when a device is registered. A change
 * therefore removes the device, and adds another device with its name and settings; users see
 * a removal. Steps that may fail for a reason that the administrator can fix (memory, the UDP
 * port) come before the removal.
 *
 * Context: process, no lock held, outside of the files' active protection.
 * Return: 0; -ENODEV if the device or its netdev is going away; -EINVAL for RoCE v1 alone
 * where the netdev isn't Ethernet, or if the name has a '%'; -ENOMEM; -EINTR by a fatal signal
 * while another device is added or changed; errors of the sockets and of registering.
 */
int rxe_dev_set_roce(struct rxe_dev *rxe, u8 roce)
{
	int err;

	/* A removal waits for system calls of the device's users, which may take any time */
	if (mutex_lock_killable(&add_lock))
		return -EINTR;
	err = renew_dev(rxe, roce);
	mutex_unlock(&add_lock);
	return err;
}
