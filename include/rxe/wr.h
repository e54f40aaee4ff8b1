/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests: the kernel's copies of ring elements (ring/wqe.c).
 */
#ifndef RXE_WR_H
#define RXE_WR_H

#include <rdma/ib_verbs.h>
#include <compat/verbs.h>

struct rxe_ah_ref;

/**
 * struct rxe_swqe - the kernel's copy of a send work request
 * @wr_id: for the completion
 * @raddr: remote address (not for SEND)
 * @rkey: R_Key: of @raddr; to invalidate; of the window to bind; or of the region to register
 * @ah_num: UD, posted by a process: AH number, to look up @ah
 * @length: bytes of payload; READ: bytes to fetch; atomics: 8; FLUSH, local: 0
 * @imm: immediate data
 * @compare: compare operand
 * @swap_add: swap or add operand
 * @flush_len: FLUSH: bytes
 * @feth: FLUSH: types and level, see enum rxe_feth
 * @bind_len: Bind: bytes from @raddr on
 * @mr_lkey: Bind: L_Key of the region
 * @ah: UD: destination, reference held
 * @remote_qpn: UD: destination QP
 * @remote_qkey: UD: Q_Key
 * @new_rkey: Bind: the window's next R_Key
 * @access: Bind, Register: enum ib_access_flags
 * @first_psn: PSN of the first packet
 * @last_psn: PSN of the last packet (READ: of the last response)
 * @opcode: enum ib_wr_opcode, or RXE_WR_NONE
 * @flags: enum ib_send_flags
 * @status: enum ib_wc_status: not 0 if it can't be sent
 * @started: PSNs are assigned; local: it has been executed
 * @num_sge: entries in @sge; 0 if the data is inline
 * @sge: memory of the data
 * @data: the data, if IB_SEND_INLINE
 */
struct rxe_swqe {
	u64			wr_id;
	u64			raddr;
	union {
		u32		rkey;
		u32		ah_num;
	};
	u32			length;
	__be32			imm;
	union {
		struct {
			u64	compare;
			u64	swap_add;
		};
		struct {
			u32	flush_len;
			u32	feth;
		};
		struct {
			u64	bind_len;
			u32	mr_lkey;
		};
	};
	struct rxe_ah_ref	*ah;
	union {
		struct {
			u32	remote_qpn;
			u32	remote_qkey;
		};
		struct {
			u32	new_rkey;
			int	access;
		};
	};
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
 * struct rxe_rwqe - the kernel's copy of a receive work request
 * @wr_id: for the completion
 * @length: bytes that fit
 * @num_sge: entries in @sge
 * @valid: a work request is here
 * @sge: memory for the data; room for the QP's maximum of SGEs
 */
struct rxe_rwqe {
	u64			wr_id;
	u64			length;
	u32			num_sge;
	bool			valid;
	struct ib_sge		*sge;
};

/* The last row of the table: opcodes that no service supports */
#define RXE_WR_NONE		(IB_WR_REG_MR + 1)

/**
 * enum rxe_wr_kind - what a send work request does with its memory. The peer answers kinds behind
 *	RXE_WR_LOCAL with more than an ACK
 * @RXE_WR_NO_KIND: a row without a kind is refused
 * @RXE_WR_DATA: sends the memory's data
 * @RXE_WR_LOCAL: has no memory, and sends nothing: it changes a key of this device
 * @RXE_WR_READ: fills the memory, from one response packet per MTU
 * @RXE_WR_ATOMIC: fills eight bytes of memory, from one response
 * @RXE_WR_ATOMIC_WRITE: sends eight bytes of memory; the response has no data
 * @RXE_WR_FLUSH: has no memory; the response has no data
 */
enum rxe_wr_kind {
	RXE_WR_NO_KIND,
	RXE_WR_DATA,
	RXE_WR_LOCAL,
	RXE_WR_READ,
	RXE_WR_ATOMIC,
	RXE_WR_ATOMIC_WRITE,
	RXE_WR_FLUSH,
};

/* Who may post a work request: bits of rxe_wr_type.services, rxe_service.wrs and .kernel_wrs */
#define RXE_WR_FOR_RC	BIT(0)
#define RXE_WR_FOR_UD	BIT(1)
#define RXE_WR_FOR_UC	BIT(2)
#define RXE_WR_FOR_PROCESS	BIT(3)	/* connected; the kernel's API has no such work request */
#define RXE_WR_FOR_KERNEL_RC	BIT(4)	/* the ABI has no such work request */

/**
 * struct rxe_wr_type - a row of the table of send work requests
 * @services: bits of the services that support it (struct rxe_service.wrs)
 * @flags: enum ib_send_flags that it may have
 * @wc: enum ib_wc_opcode of its completion
 * @kind: enum rxe_wr_kind
 * @first: BTH opcode, without the service's bits, of the FIRST of several packets. MIDDLE
 *	packets have the next opcode [table 38]. Only RXE_WR_DATA has several packets
 * @last: likewise, of the LAST of several packets
 * @only: likewise, of an ONLY packet
 * @remote: it names memory of the peer
 * @inv: it has a key to invalidate, which is posted in the place of immediate data
 */
struct rxe_wr_type {
	u8	services;
	u8	flags;
	u8	wc;
	u8	kind;
	u8	first;
	u8	last;
	u8	only;
	bool	remote : 1;
	bool	inv : 1;
};

/**
 * struct rxe_wr_rules - limits of the work requests of a send queue
 * @services: bit of its service in rxe_wr_type.services
 * @datagram: each work request names its destination by an address handle
 * @max_sge: SGEs per work request
 * @max_inline: bytes of inline data per work request
 * @max_msg: bytes per message; for datagrams it follows the netdev's MTU
 */
struct rxe_wr_rules {
	u8		services;
	bool		datagram;
	u32		max_sge;
	u32		max_inline;
	const u32	*max_msg;
};

extern const struct rxe_wr_type rxe_wr_types[RXE_WR_NONE + 1];

static inline const struct rxe_wr_type *rxe_wr_type(const struct rxe_swqe *wqe)
{
	return &rxe_wr_types[wqe->opcode];
}

/* Does the peer answer with more than an ACK? Initiator depth limits such work requests */
static inline bool rxe_is_rd_atomic(const struct rxe_swqe *wqe)
{
	return rxe_wr_type(wqe)->kind > RXE_WR_LOCAL;
}

static inline bool rxe_is_local(const struct rxe_swqe *wqe)
{
	return rxe_wr_type(wqe)->kind == RXE_WR_LOCAL;
}

/* ring/wr.c */
bool rxe_wr_offered(const struct rxe_wr_rules *rules, u32 opcode, u32 flags);
u8 rxe_wr_check(const struct rxe_wr_rules *rules, struct rxe_swqe *wqe, u64 length);
void rxe_wr_set_operands(struct rxe_swqe *wqe, u64 compare_add, u64 swap);

/* ring/wqe.c: the ABI edge */
void rxe_import_send(const struct rxe_wr_rules *rules, const void *elem,
		     struct rxe_swqe *wqe);
void rxe_import_flushed(const void *elem, struct rxe_swqe *wqe);
void rxe_import_recv(u32 max_sge, const void *elem, struct rxe_rwqe *wqe);

#endif /* RXE_WR_H */
