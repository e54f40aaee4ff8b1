// SPDX-License-Identifier: GPL-2.0
/*
 * The table of send work requests, and their checks. The checks apply to processes (wqe.c) and
 * to kernel consumers (qp/post.c).
 *
 * Pure; any context.
 */
#include <rdma/ib_pack.h>
#include <ring/opcode.h>
#include <rxe/constants.h>

/* Short names for the columns of the table */
#define RC		RXE_WR_FOR_RC
#define CONNECTED	(RXE_WR_FOR_RC | RXE_WR_FOR_UC)
#define EVERY		(CONNECTED | RXE_WR_FOR_UD)
#define PROCESS		RXE_WR_FOR_PROCESS
#define KERNEL_RC	RXE_WR_FOR_KERNEL_RC

const struct rxe_wr_type rxe_wr_types[RXE_WR_NONE + 1] = {
	[IB_WR_SEND] = {
		.services = EVERY, .flags = RXE_WR_DATA_FLAGS, .wc = IB_WC_SEND,
		.first = IB_OPCODE_SEND_FIRST, .last = IB_OPCODE_SEND_LAST,
		.only = IB_OPCODE_SEND_ONLY,
		.kind = RXE_WR_DATA,
	},
	[IB_WR_SEND_WITH_IMM] = {
		.services = EVERY, .flags = RXE_WR_DATA_FLAGS, .wc = IB_WC_SEND,
		.first = IB_OPCODE_SEND_FIRST, .last = IB_OPCODE_SEND_LAST_WITH_IMMEDIATE,
		.only = IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE,
		.kind = RXE_WR_DATA,
	},
	[IB_WR_RDMA_WRITE] = {
		.services = CONNECTED, .flags = RXE_WR_DATA_FLAGS, .wc = IB_WC_RDMA_WRITE,
		.first = IB_OPCODE_RDMA_WRITE_FIRST, .last = IB_OPCODE_RDMA_WRITE_LAST,
		.only = IB_OPCODE_RDMA_WRITE_ONLY, .remote = true,
		.kind = RXE_WR_DATA,
	},
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		.services = CONNECTED, .flags = RXE_WR_DATA_FLAGS, .wc = IB_WC_RDMA_WRITE,
		.first = IB_OPCODE_RDMA_WRITE_FIRST,
		.last = IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE,
		.only = IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE, .remote = true,
		.kind = RXE_WR_DATA,
	},
	[IB_WR_RDMA_READ] = {
		.services = RC, .flags = RXE_WR_FETCH_FLAGS, .wc = IB_WC_RDMA_READ,
		.only = IB_OPCODE_RDMA_READ_REQUEST, .remote = true,
		.kind = RXE_WR_READ,
	},
	[IB_WR_ATOMIC_CMP_AND_SWP] = {
		.services = RC, .flags = RXE_WR_FETCH_FLAGS, .wc = IB_WC_COMP_SWAP,
		.only = IB_OPCODE_COMPARE_SWAP, .remote = true,
		.kind = RXE_WR_ATOMIC,
	},
	[IB_WR_ATOMIC_FETCH_AND_ADD] = {
		.services = RC, .flags = RXE_WR_FETCH_FLAGS, .wc = IB_WC_FETCH_ADD,
		.only = IB_OPCODE_FETCH_ADD, .remote = true,
		.kind = RXE_WR_ATOMIC,
	},
	[IB_WR_FLUSH] = {
		.services = RC, .flags = RXE_WR_FETCH_FLAGS, .wc = IB_WC_FLUSH,
		.only = IB_OPCODE_RC_FLUSH, .remote = true,
		.kind = RXE_WR_FLUSH,
	},
	[IB_WR_ATOMIC_WRITE] = {
		.services = RC, .flags = RXE_WR_FETCH_FLAGS, .wc = IB_WC_ATOMIC_WRITE,
		.only = IB_OPCODE_RC_ATOMIC_WRITE, .remote = true,
		.kind = RXE_WR_ATOMIC_WRITE,
	},
	[IB_WR_SEND_WITH_INV] = {
		.services = RC, .flags = RXE_WR_DATA_FLAGS, .wc = IB_WC_SEND,
		.first = IB_OPCODE_SEND_FIRST, .last = IB_OPCODE_SEND_LAST_WITH_INVALIDATE,
		.only = IB_OPCODE_SEND_ONLY_WITH_INVALIDATE, .inv = true,
		.kind = RXE_WR_DATA,
	},
	[IB_WR_LOCAL_INV] = {
		.services = CONNECTED, .flags = RXE_WR_FETCH_FLAGS, .wc = IB_WC_LOCAL_INV,
		.inv = true, .kind = RXE_WR_LOCAL,
	},
	[IB_WR_BIND_MW] = {
		.services = PROCESS, .flags = RXE_WR_FETCH_FLAGS, .wc = IB_WC_BIND_MW,
		.kind = RXE_WR_LOCAL,
	},
	[IB_WR_REG_MR] = {
		.services = KERNEL_RC, .flags = RXE_WR_FETCH_FLAGS, .wc = IB_WC_REG_MR,
		.kind = RXE_WR_LOCAL,
	},
	[RXE_WR_NONE] = { .wc = IB_WC_SEND },
};

/**
 * rxe_wr_offered - does a queue take this kind of work request? [10.8.2.1]
 * @rules: of the queue
 * @opcode: enum ib_wr_opcode, as posted
 * @flags: enum ib_send_flags, as posted
 *
 * Return: true if it does; false also if a flag isn't allowed with the opcode.
 */
bool rxe_wr_offered(const struct rxe_wr_rules *rules, u32 opcode, u32 flags)
{
	const struct rxe_wr_type *type;

	type = &rxe_wr_types[rxe_wr_opcode(opcode)];
	return (type->services & rules->services) && !(flags & ~type->flags);
}

/**
 * rxe_wr_check - set a work request's length, and check it against the queue's limits [11.4.1.1]
 * @rules: of the queue, which offers it
 * @wqe: the work request; opcode, flags and num_sge are set
 * @length: bytes of payload, or of the SGEs to fetch into
 *
 * The SGEs of an atomic may have room for more than its 8 bytes, as on other adapters.
 *
 * Return: IB_WC_SUCCESS, or the enum ib_wc_status that it fails with. For a kernel
 * consumer, posting fails.
 */
u8 rxe_wr_check(const struct rxe_wr_rules *rules, struct rxe_swqe *wqe, u64 length)
{
	u8 kind = rxe_wr_type(wqe)->kind;

	if (kind == RXE_WR_ATOMIC && length > sizeof(u64))
		length = sizeof(u64);
	wqe->length = length;
	if (wqe->num_sge > rules->max_sge)
		return IB_WC_LOC_QP_OP_ERR;
	if (length > READ_ONCE(*rules->max_msg) ||
	    ((wqe->flags & IB_SEND_INLINE) && length > rules->max_inline) ||
	    ((kind == RXE_WR_ATOMIC || kind == RXE_WR_ATOMIC_WRITE) &&
	     length != sizeof(u64)))
		return IB_WC_LOC_LEN_ERR;
	return IB_WC_SUCCESS;
}

/**
 * rxe_wr_set_operands - set an atomic's operands as in its packet [9.2.7]
 * @wqe: the work request; opcode is set
 * @compare_add: to compare with, or to add
 * @swap: to swap in
 */
void rxe_wr_set_operands(struct rxe_swqe *wqe, u64 compare_add, u64 swap)
{
	bool add = wqe->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;

	wqe->compare = add ? 0 : compare_add;
	wqe->swap_add = add ? compare_add : swap;
}
