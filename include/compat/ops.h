/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct ib_device_ops: members whose name or prototype differs. Included by
 * device.c alone, which puts RXE_COMPAT_OPS into its table.
 */
#ifndef RXE_COMPAT_OPS_H
#define RXE_COMPAT_OPS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rxe/mem.h>
#include <rxe/qp.h>
#include <rxe/verbs.h>
#include <compat/have.h>

#ifdef HAVE_CREATE_CQ_ATTRS
static int rxe_op_create_cq(struct ib_cq *ibcq,
			    const struct ib_cq_init_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	return rxe_create_cq(ibcq, attr, attrs ? &attrs->driver_udata : NULL);
}
#else
#define rxe_op_create_cq rxe_create_cq
#endif

#ifdef HAVE_CREATE_USER_CQ
#define RXE_OP_USER_CQ	.create_user_cq = rxe_op_create_cq,
#else
#define RXE_OP_USER_CQ
#endif

/* Without it, rxe_destroy_cq() does the same, and cancels the RDMA core's work again */
#ifdef HAVE_PRE_DESTROY_CQ
#define RXE_OP_PRE_DESTROY_CQ .pre_destroy_cq = rxe_pre_destroy_cq,
#else
#define RXE_OP_PRE_DESTROY_CQ
#endif

#ifdef HAVE_RESIZE_USER_CQ
#define RXE_OP_RESIZE_CQ .resize_user_cq = rxe_resize_cq,
#else
static int rxe_op_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	return cqe < 0 ? -EINVAL : rxe_resize_cq(ibcq, cqe, udata);
}

#define RXE_OP_RESIZE_CQ .resize_cq = rxe_op_resize_cq,
#endif

#ifdef HAVE_REG_USER_MR_DMAH
static struct ib_mr *rxe_op_reg_user_mr(struct ib_pd *ibpd, u64 start,
					u64 length, u64 iova, int access,
					struct ib_dmah *dmah,
					struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return rxe_reg_user_mr(ibpd, start, length, iova, access, udata);
}
#else
#define rxe_op_reg_user_mr rxe_reg_user_mr
#endif

#if defined(HAVE_REG_USER_MR_DMAH)
static struct ib_mr *rxe_op_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length,
					  u64 iova, int fd, int access,
					  struct ib_dmah *dmah,
					  struct uverbs_attr_bundle *attrs)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return rxe_reg_dmabuf_mr(ibpd, offset, length, iova, fd, access);
}
#elif defined(HAVE_REG_DMABUF_MR_ATTRS)
static struct ib_mr *rxe_op_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length,
					  u64 iova, int fd, int access,
					  struct uverbs_attr_bundle *attrs)
{
	return rxe_reg_dmabuf_mr(ibpd, offset, length, iova, fd, access);
}
#else
static struct ib_mr *rxe_op_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length,
					  u64 iova, int fd, int access,
					  struct ib_udata *udata)
{
	return rxe_reg_dmabuf_mr(ibpd, offset, length, iova, fd, access);
}
#endif

/*
 * Since 6.13, the RDMA core dispatches port events for a netdev unless the driver has this
 * operation. It skips members and masters of a bond, so this driver dispatches events itself,
 * from its own notifier (net/events.c). Nothing is left to do here.
 */
#ifdef HAVE_REPORT_PORT_EVENT
static void rxe_op_report_port_event(struct ib_device *ibdev,
				     struct net_device *ndev,
				     unsigned long event)
{
}

#define RXE_OP_PORT_EVENT .report_port_event = rxe_op_report_port_event,
#else
#define RXE_OP_PORT_EVENT
#endif

#ifdef HAVE_COUNTER_BIND_QP_PORT
static int rxe_op_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	return rxe_counter_bind(counter, ibqp);
}

static int rxe_op_counter_unbind(struct ib_qp *ibqp, u32 port)
{
	return rxe_counter_unbind(ibqp);
}

/* The RDMA core allocates as many bytes as the driver says, which must not be 0 */
struct rxe_op_counter {
	struct rdma_counter rdma_counter;
};

/* The RDMA core always calls this. Nothing to do: the memory is zeroed */
static void rxe_op_counter_init(struct rdma_counter *counter)
{
}

#define RXE_OP_COUNTER						\
	.counter_init = rxe_op_counter_init,			\
	INIT_RDMA_OBJ_SIZE(rdma_counter, rxe_op_counter, rdma_counter),
#else
#define rxe_op_counter_bind rxe_counter_bind
#define rxe_op_counter_unbind rxe_counter_unbind
#define RXE_OP_COUNTER
#endif

#ifdef HAVE_FILL_RES_SRQ_ENTRY
#define RXE_OP_FILL_SRQ .fill_res_srq_entry = rxe_fill_srq,
#else
#define RXE_OP_FILL_SRQ
#endif

#define RXE_COMPAT_OPS				\
	RXE_OP_FILL_SRQ				\
	.counter_bind_qp = rxe_op_counter_bind,	\
	.counter_unbind_qp = rxe_op_counter_unbind, \
	RXE_OP_COUNTER				\
	.create_cq = rxe_op_create_cq,		\
	.reg_user_mr = rxe_op_reg_user_mr,	\
	.reg_user_mr_dmabuf = rxe_op_reg_dmabuf_mr, \
	RXE_OP_USER_CQ				\
	RXE_OP_PRE_DESTROY_CQ			\
	RXE_OP_RESIZE_CQ			\
	RXE_OP_PORT_EVENT

#endif /* RXE_COMPAT_OPS_H */
