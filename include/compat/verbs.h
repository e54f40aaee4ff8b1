/* SPDX-License-Identifier: GPL-2.0 */
/*
 * FLUSH and ATOMIC WRITE (annex A19): names that kernels before 6.3 lack, with the
 * values of later ones.
 *
 * Such a kernel refuses to register memory for FLUSH, so the device doesn't claim it
 * there.
 */
#ifndef RXE_COMPAT_VERBS_H
#define RXE_COMPAT_VERBS_H

#include <rdma/ib_pack.h>
#include <rdma/ib_verbs.h>
#include <compat/have.h>

#ifndef HAVE_IB_FLUSH
#define IB_OPCODE_RC_FLUSH		(IB_OPCODE_RC + 0x1c)
#define IB_OPCODE_RC_ATOMIC_WRITE	(IB_OPCODE_RC + 0x1d)
#define IB_WR_FLUSH			14
#define IB_WR_ATOMIC_WRITE		15
#define IB_WC_FLUSH			8
#define IB_WC_ATOMIC_WRITE		9
#define IB_FLUSH_GLOBAL			1
#define IB_FLUSH_PERSISTENT		2
#define IB_FLUSH_RANGE			0
#define IB_FLUSH_MR			1
#define IB_ACCESS_FLUSH_GLOBAL		BIT(8)
#define IB_ACCESS_FLUSH_PERSISTENT	BIT(9)
#define IB_DEVICE_FLUSH_GLOBAL		0
#define IB_DEVICE_FLUSH_PERSISTENT	0
#define IB_DEVICE_ATOMIC_WRITE		BIT_ULL(40)
#endif

#ifndef HAVE_IB_ODP_FLUSH
#define IB_ODP_SUPPORT_FLUSH		0
#define IB_ODP_SUPPORT_ATOMIC_WRITE	0
#endif

/**
 * struct rxe_flush_wr - member "flush" of struct rxe_send_wr, which 6.1's lacks
 * @remote_addr: first byte
 * @length: 0: the number of bytes is in struct rxe_dma_info
 * @rkey: R_Key
 * @type: enum ib_placement_type
 * @level: enum ib_selectivity_level
 */
struct rxe_flush_wr {
	__aligned_u64	remote_addr;
	__u32		length;
	__u32		rkey;
	__u8		type;
	__u8		level;
};

#endif /* RXE_COMPAT_VERBS_H */
