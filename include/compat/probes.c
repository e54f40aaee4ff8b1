// SPDX-License-Identifier: GPL-2.0
/*
 * Compile probes: what this kernel's headers offer.
 *
 * probe.sh has the compiler check this file once. A section, from one #line to
 * the next, that compiles without an error becomes "#define <its name> 1" in
 * the generated <compat/have.h>. Nothing here is ever linked or run.
 *
 * Write a section as functions without macros of the kernel, so that an error
 * is reported in the section and not in the header that has the macro. The code
 * before the first section must compile everywhere.
 */
#include <linux/crc32.h>
#include <linux/dma-buf.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/skbuff.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct probe_ops {
	int (*cq_attrs)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs);
	struct ib_mr *(*mr_dmah)(struct ib_pd *pd, u64 start, u64 length,
				 u64 iova, int access, struct ib_dmah *dmah,
				 struct ib_udata *udata);
	struct ib_mr *(*dmabuf_attrs)(struct ib_pd *pd, u64 offset, u64 length,
				      u64 iova, int fd, int access,
				      struct uverbs_attr_bundle *attrs);
};

/* 6.11: create_cq takes the attribute bundle in place of the udata */
#line 1 "HAVE_CREATE_CQ_ATTRS"
void probe_create_cq(struct probe_ops *p, const struct ib_device_ops *ops);
void probe_create_cq(struct probe_ops *p, const struct ib_device_ops *ops)
{
	p->cq_attrs = ops->create_cq;
}

/* 7.1: user CQs have an operation of their own */
#line 1 "HAVE_CREATE_USER_CQ"
void probe_create_user_cq(struct probe_ops *p,
			  const struct ib_device_ops *ops);
void probe_create_user_cq(struct probe_ops *p,
			  const struct ib_device_ops *ops)
{
	p->cq_attrs = ops->create_user_cq;
}

/* 6.16: the core tells the driver before it cancels the work that polls a CQ */
#line 1 "HAVE_PRE_DESTROY_CQ"
int probe_pre_destroy_cq(const struct ib_device_ops *ops, struct ib_cq *cq);
int probe_pre_destroy_cq(const struct ib_device_ops *ops, struct ib_cq *cq)
{
	return ops->pre_destroy_cq(cq);
}

/* 7.1: resize_cq became resize_user_cq, with an unsigned size */
#line 1 "HAVE_RESIZE_USER_CQ"
void *probe_resize_user_cq(const struct ib_device_ops *ops);
void *probe_resize_user_cq(const struct ib_device_ops *ops)
{
	return ops->resize_user_cq;
}

/* 6.17: reg_user_mr takes a DMA handle */
#line 1 "HAVE_REG_USER_MR_DMAH"
void probe_reg_user_mr(struct probe_ops *p, const struct ib_device_ops *ops);
void probe_reg_user_mr(struct probe_ops *p, const struct ib_device_ops *ops)
{
	p->mr_dmah = ops->reg_user_mr;
}

/* 7.0: the importer's move_notify became invalidate_mappings */
#line 1 "HAVE_DMA_BUF_INVALIDATE_MAPPINGS"
void *probe_invalidate_mappings(const struct dma_buf_attach_ops *ops);
void *probe_invalidate_mappings(const struct dma_buf_attach_ops *ops)
{
	return ops->invalidate_mappings;
}

/* 6.2: the mapping of a dma-buf takes its lock */
#line 1 "HAVE_DMA_BUF_VMAP_UNLOCKED"
int probe_dma_buf_vmap(struct dma_buf *buf, struct iosys_map *map);
int probe_dma_buf_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	return dma_buf_vmap_unlocked(buf, map);
}

/* 6.17: reg_user_mr_dmabuf takes a DMA handle, too; since 6.11 the attribute bundle */
#line 1 "HAVE_REG_DMABUF_MR_ATTRS"
void probe_reg_dmabuf_mr(struct probe_ops *p, const struct ib_device_ops *ops);
void probe_reg_dmabuf_mr(struct probe_ops *p, const struct ib_device_ops *ops)
{
	p->dmabuf_attrs = ops->reg_user_mr_dmabuf;
}

/* 6.13: the core reports port events for the netdev unless the driver does */
#line 1 "HAVE_REPORT_PORT_EVENT"
void *probe_report_port_event(const struct ib_device_ops *ops);
void *probe_report_port_event(const struct ib_device_ops *ops)
{
	return ops->report_port_event;
}

/* 6.7: drivers can describe SRQs, too */
#line 1 "HAVE_FILL_RES_SRQ_ENTRY"
void *probe_fill_srq(const struct ib_device_ops *ops);
void *probe_fill_srq(const struct ib_device_ops *ops)
{
	return ops->fill_res_srq_entry;
}

/* 7.0: a counter is bound to a QP on a port; the driver gives its size and initializes it */
#line 1 "HAVE_COUNTER_BIND_QP_PORT"
int probe_counter_bind(const struct ib_device_ops *ops, struct rdma_counter *c);
int probe_counter_bind(const struct ib_device_ops *ops, struct rdma_counter *c)
{
	ops->counter_init(c);
	return ops->counter_bind_qp(c, NULL, 1) + (int)ops->size_rdma_counter;
}

/* 7.3: ib_umem_get_va() in place of ib_umem_get(), for memory by its address */
#line 1 "HAVE_IB_UMEM_GET_VA"
struct ib_umem *probe_umem_get_va(struct ib_device *dev);
struct ib_umem *probe_umem_get_va(struct ib_device *dev)
{
	return ib_umem_get_va(dev, 0, 0, 0);
}

/* 6.16: a device can be allocated for a network namespace */
#line 1 "HAVE_IB_ALLOC_DEVICE_WITH_NET"
#ifndef ib_alloc_device_with_net
#error "none"
#endif

/* 6.11: a name given by the user is not changed by udev */
#line 1 "HAVE_IB_MARK_NAME_ASSIGNED_BY_USER"
void probe_mark_name(struct ib_device *dev);
void probe_mark_name(struct ib_device *dev)
{
	ib_mark_name_assigned_by_user(dev);
}

/* 6.12: the GIDs of a netdev can be taken from a device */
#line 1 "HAVE_ROCE_DEL_ALL_NETDEV_GIDS"
void *probe_roce_del_all_netdev_gids(void);
void *probe_roce_del_all_netdev_gids(void)
{
	return roce_del_all_netdev_gids;
}

/* 6.3: FLUSH and ATOMIC WRITE (annex A19) */
#line 1 "HAVE_IB_FLUSH"
int probe_ib_flush(void);
int probe_ib_flush(void)
{
	return IB_WR_FLUSH + IB_WR_ATOMIC_WRITE + IB_ACCESS_FLUSH_GLOBAL;
}

/* 6.13: hrtimer_setup() in place of hrtimer_init() and an assignment */
#line 1 "HAVE_HRTIMER_SETUP"
void *probe_hrtimer_setup(void);
void *probe_hrtimer_setup(void)
{
	return hrtimer_setup;
}

/* 6.14: crc32_le() itself uses the CPU's instructions */
#line 1 "HAVE_CRC32_OPTIMIZATIONS"
void *probe_crc32_optimizations(void);
void *probe_crc32_optimizations(void)
{
	return crc32_optimizations;
}

/* 6.12: a netdev may put payload into memory that no CPU can read */
#line 1 "HAVE_SKB_FRAGS_READABLE"
bool probe_skb_frags_readable(const struct sk_buff *skb);
bool probe_skb_frags_readable(const struct sk_buff *skb)
{
	return skb_frags_readable(skb);
}

/* Until 7.2 or so modules reach the routing tables of IPv6 by a table of functions */
#line 1 "HAVE_IPV6_STUBS_H"
#if !__has_include("net/ipv6_stubs.h")
#error "none"
#endif

/* 6.12: <linux/unaligned.h> in place of <asm/unaligned.h> */
#line 1 "HAVE_LINUX_UNALIGNED_H"
#if !__has_include("linux/unaligned.h")
#error "none"
#endif

/* CONFIG_MMU_NOTIFIER: interval notifiers of a process's memory */
#line 1 "HAVE_MMU_INTERVAL_NOTIFIER"
void *probe_mmu_interval_notifier(void);
void *probe_mmu_interval_notifier(void)
{
	return mmu_interval_notifier_insert;
}

/* Until 6.5: get_user_pages_remote() returns VMAs, too */
#line 1 "HAVE_GUP_REMOTE_VMAS"
long probe_gup_remote_vmas(struct mm_struct *mm, struct page **pages, int *locked);
long probe_gup_remote_vmas(struct mm_struct *mm, struct page **pages, int *locked)
{
	return get_user_pages_remote(mm, 0, 1, 0, pages, NULL, locked);
}

/* 6.15: ODP for FLUSH and ATOMIC WRITE */
#line 1 "HAVE_IB_ODP_FLUSH"
int probe_ib_odp_flush(void);
int probe_ib_odp_flush(void)
{
	return IB_ODP_SUPPORT_FLUSH + IB_ODP_SUPPORT_ATOMIC_WRITE;
}

/* Not a feature: this error proves to the script that errors are reported */
#line 1 "HAVE_NOTHING"
void *probe_nothing(void);
void *probe_nothing(void)
{
	return rxe_no_such_thing;
}
