/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files that make, show and connect a device; the device itself is in rxe/dev.h.
 */
#ifndef RXE_DEVICE_H
#define RXE_DEVICE_H

#include <rxe/dev.h>
#include <rxe/wire.h>

struct sk_buff;

#define RXE_LEAST_MTU		256	/* smallest IB MTU, bytes */
#define RXE_MAX_MR_SIZE		(~0ULL)
#define RXE_PAGE_SIZE_CAP	(~(u64)(SZ_4K - 1))

/*
 * Bytes that RoCE adds to an IB MTU: GRH, UDP, the longest transport header, ICRC.
 * An Ethernet MTU carries an IB MTU if it is larger by at least this number.
 */
#define RXE_MAX_OVERHEAD	(RXE_GRH_BYTES + 8 + RXE_MAX_HDR_BYTES + RXE_ICRC_BYTES)

/**
 * struct rxe_sysfs_ops - callbacks from sysfs files to the layers above
 * @set_roce: rxe_dev_set_roce()
 */
struct rxe_sysfs_ops {
	int (*set_roce)(struct rxe_dev *rxe, u8 roce);
};

/* sysfs.c */
void rxe_sysfs_set_ops(const struct rxe_sysfs_ops *ops);
extern const struct attribute_group rxe_attr_group;
int rxe_sysfs_add(struct rxe_dev *rxe);
void rxe_sysfs_del(struct rxe_dev *rxe);

/* gid.c */
int rxe_add_gid(const struct ib_gid_attr *attr, void **context);
int rxe_del_gid(const struct ib_gid_attr *attr, void **context);
void rxe_gid_init(struct rxe_dev *rxe);
void rxe_gid_claim(struct rxe_dev *rxe);
void rxe_gid_release(struct rxe_dev *rxe);
void rxe_gid_moved(struct rxe_dev *rxe);

/* device.c */
int rxe_dev_add(const char *name, struct net_device *ndev);
int rxe_dev_set_roce(struct rxe_dev *rxe, u8 roce);

/* port.c */
void rxe_port_init(struct rxe_dev *rxe);
void rxe_dev_changed(struct rxe_dev *rxe);
bool rxe_ndev_is_large(const struct net_device *ndev);
bool rxe_ndev_is_ethernet(const struct net_device *ndev);
int rxe_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int rxe_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int rxe_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *immutable);
enum rdma_link_layer rxe_get_link_layer(struct ib_device *ibdev, u32 port);

/* resource.c */
int rxe_fill_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int rxe_fill_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int rxe_fill_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int rxe_fill_srq(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif /* RXE_DEVICE_H */
