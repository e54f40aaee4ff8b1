/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests, as the kernel copied them out of a ring (ring/wqe.c).
 */
#ifndef RXE_WR_H
#define RXE_WR_H

#include <rdma/ib_verbs.h>

struct rxe_ah_ref;
struct rxe_qp;

/**
 * struct rxe_swqe - a send work request, as the kernel copied it
 * @wr_id: for the completion
 * @raddr: remote address (WRITE, READ, atomics)
 * @rkey: R_Key of @raddr
 * @length: bytes of payload; READ: bytes to fetch; atomics: 8
 * @imm: immediate data
 * @compare_add: compare or add operand
 * @swap: swap operand
 * @ah: UD: where to, reference held
 * @remote_qpn: UD: destination QP
 * @remote_qkey: UD: Q_Key
 * @first_psn: PSN of the first packet
 * @last_psn: PSN of the last packet (READ: of the last response)
 * @opcode: enum ib_wr_opcode
 * @flags: enum ib_send_flags
 * @status: enum ib_wc_status: set when it can't be sent
 * @started: PSNs are assigned
 * @num_sge: entries in @sge; 0 if the data is inline
 * @sge: where the data is
 * @data: the data, if IB_SEND_INLINE
 */
struct rxe_swqe {
	u64			wr_id;
	u64			raddr;
	u32			rkey;
	u32			length;
	__be32			imm;
	u64			compare_add;
	u64			swap;
	struct rxe_ah_ref	*ah;
	u32			remote_qpn;
	u32			remote_qkey;
	u32			first_psn;
	u32			last_psn;
	u8			opcode;
	u8			flags;
	u8			status;
	bool			started;
	u32			num_sge;
	union {
		DECLARE_FLEX_ARRAY(struct ib_sge, sge);
		DECLARE_FLEX_ARRAY(u8, data);
	};
};

/**
 * struct rxe_rwqe - a receive work request, as the kernel copied it
 * @wr_id: for the completion
 * @length: bytes that fit
 * @num_sge: entries in @sge
 * @valid: there is one
 * @sge: where the data goes; room for as many as the QP may have
 */
struct rxe_rwqe {
	u64			wr_id;
	u64			length;
	u32			num_sge;
	bool			valid;
	struct ib_sge		*sge;
};

static inline bool rxe_is_atomic(u32 opcode)
{
	return opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/* Does the peer answer it with data, and count it against initiator depth? */
static inline bool rxe_is_rd_atomic(const struct rxe_swqe *wqe)
{
	return wqe->opcode == IB_WR_RDMA_READ || rxe_is_atomic(wqe->opcode);
}

/* ring/wqe.c: the ABI edge */
void rxe_import_send(struct rxe_qp *qp, const void *elem,
		     struct rxe_swqe *wqe);
bool rxe_import_recv(struct rxe_qp *qp, const void *elem,
		     struct rxe_rwqe *wqe);
bool rxe_wr_offered(const struct rxe_qp *qp, u32 opcode, u32 flags);
enum ib_wc_opcode rxe_wc_opcode(u8 wr_opcode);

#endif /* RXE_WR_H */
