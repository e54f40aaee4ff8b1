// SPDX-License-Identifier: GPL-2.0
/*
 * The module: starts and connects the parts. No other file refers to all of them.
 *
 * Context: process.
 */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>
#include <compat/crc32.h>
#include <doorbell/cork.h>
#include <rxe/knobs.h>
#include <rxe/net.h>
#include <rxe/odp.h>
#include <rxe/qp.h>
#include <rxe/verbs.h>
#include <transport/receive.h>
#include "device.h"
#include "work.h"

/* `rdma link add NAME type rxe netdev NDEV` */
static int rxe_newlink(const char *name, struct net_device *ndev)
{
	return rxe_dev_add(name, ndev);
}

static struct rdma_link_ops rxe_link_ops = {
	.type		= "rxe",
	.newlink	= rxe_newlink,
};

static const struct rxe_net_ops rxe_net_ops = {
	.rcv		= rxe_demux,
	.sent		= rxe_sent,
	.changed	= rxe_dev_changed,
	.rerouted	= rxe_qps_rerouted,
};

static const struct rxe_sysfs_ops rxe_sysfs_ops = {
	.set_roce	= rxe_dev_set_roce,
};

static const struct rxe_cq_ops rxe_cq_ops = {
	.failed		= rxe_qp_cq_error,
	.armed		= rxe_qp_cq_armed,
};

static int __init rxe_init(void)
{
	int err;

	rxe_cq_set_ops(&rxe_cq_ops);
	rxe_sysfs_set_ops(&rxe_sysfs_ops);
	rxe_fault_set_wake(rxe_page_came);
	err = rxe_crc32_init();
	if (err)
		return err;
	err = rxe_work_start();
	if (err)
		goto err_crc32;
	err = rxe_qp_start();
	if (err)
		goto err_work;
	err = rxe_cork_start();
	if (err)
		goto err_qp;
	err = rxe_odp_start();
	if (err)
		goto err_cork;
	err = rxe_net_init(&rxe_net_ops);
	if (err)
		goto err_odp;
	rxe_debugfs_start();
	rdma_link_register(&rxe_link_ops);
	return 0;

err_odp:
	rxe_odp_stop();
err_cork:
	rxe_cork_stop();
err_qp:
	rxe_qp_stop();
err_work:
	rxe_work_stop();
err_crc32:
	rxe_crc32_exit();
	return err;
}

/*
 * No process has a device open, since an open device holds a reference to the module. A task
 * that has put its reference may still be preempted in the module's text, such as in
 * rxe_dev_set_roce(). rxe_net_exit() waits for such tasks, too (rxe_tx_wait()).
 */
static void __exit rxe_exit(void)
{
	rdma_link_unregister(&rxe_link_ops);
	ib_unregister_driver(RDMA_DRIVER_RXE);
	rxe_debugfs_stop();
	rxe_net_exit();
	rxe_odp_stop();
	rxe_cork_stop();
	rxe_qp_stop();
	rxe_work_stop();
	rxe_crc32_exit();
	/* Wait for RCU callbacks that are in the module's text */
	rcu_barrier();
}

module_init(rxe_init);
module_exit(rxe_exit);

MODULE_DESCRIPTION("Soft RoCE: RDMA over Converged Ethernet v1 and v2 on any Ethernet device");
MODULE_LICENSE("GPL");
MODULE_VERSION(RXE_VERSION);
MODULE_INFO(commit, RXE_COMMIT);
MODULE_ALIAS_RDMA_LINK("rxe");
