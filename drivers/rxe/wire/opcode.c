// SPDX-License-Identifier: GPL-2.0
/*
 * The table of opcodes (section 9.2, table 38): the kind of a packet, its headers, their length,
 * and the access rights that it needs. Parser, builder and transport use the table. An opcode
 * without a row isn't supported, and its packets are dropped.
 *
 * Constant data; any context.
 */
#include <wire/headers.h>
#include <compat/verbs.h>

/* Short names for the columns of the table */
#define DETH	RXE_OP_DETH
#define FETH	RXE_OP_FETH
#define RETH	RXE_OP_RETH
#define ATOMIC	RXE_OP_ATOMIC_ETH
#define AETH	RXE_OP_AETH
#define ATACK	RXE_OP_ATOMIC_ACK
#define IMM	RXE_OP_IMMDT
#define IETH	RXE_OP_IETH
#define START	RXE_OP_START
#define END	RXE_OP_END
#define ONLY	(RXE_OP_START | RXE_OP_END)
#define SND	(RXE_OP_SEND | RXE_OP_PAYLOAD)
#define WRT	(RXE_OP_WRITE | RXE_OP_PAYLOAD)
#define RDRESP	(RXE_OP_RESPONSE | RXE_OP_READ_RESP | RXE_OP_PAYLOAD)
#define RESP	RXE_OP_RESPONSE
#define CNP	RXE_OP_CNP

#define HDR_LEN(f) (RXE_BTH_BYTES + \
	((f) & DETH ? RXE_DETH_BYTES : 0) + \
	((f) & FETH ? RXE_FETH_BYTES : 0) + \
	((f) & RETH ? RXE_RETH_BYTES : 0) + \
	((f) & ATOMIC ? RXE_ATOMIC_ETH_BYTES : 0) + \
	((f) & AETH ? RXE_AETH_BYTES : 0) + \
	((f) & ATACK ? RXE_ATOMIC_ACK_BYTES : 0) + \
	((f) & IMM ? RXE_IMMDT_BYTES : 0) + \
	((f) & IETH ? RXE_IETH_BYTES : 0) + \
	((f) & CNP ? RXE_CNP_BYTES : 0))

#define ACCESS(f) ( \
	((f) & (RXE_OP_WRITE | RXE_OP_ATOMIC_WRITE) ? IB_ACCESS_REMOTE_WRITE : 0) | \
	((f) & RXE_OP_READ_REQ ? IB_ACCESS_REMOTE_READ : 0) | \
	((f) & RXE_OP_ATOMIC_REQ ? IB_ACCESS_REMOTE_ATOMIC : 0))

#define ROW(op, f) \
	[IB_OPCODE_##op] = { \
		.name = #op, .flags = RXE_OP_VALID | (f), .hdr_len = HDR_LEN(f), \
		.access = ACCESS(f) \
	}

/* The bytes behind the BTH aren't known. All responses are defined: this counts as a request */
#define RC_RESERVED(num) \
	[IB_OPCODE_RC + (num)] = { \
		.name = "RC_RESERVED_" #num, \
		.flags = RXE_OP_VALID | RXE_OP_RESERVED | RXE_OP_PAYLOAD | ONLY, \
		.hdr_len = RXE_BTH_BYTES, \
	}

const struct rxe_opcode rxe_opcode[256] = {
	ROW(RC_SEND_FIRST,			SND | START),
	ROW(RC_SEND_MIDDLE,			SND),
	ROW(RC_SEND_LAST,			SND | END),
	ROW(RC_SEND_LAST_WITH_IMMEDIATE,	SND | END | IMM),
	ROW(RC_SEND_ONLY,			SND | ONLY),
	ROW(RC_SEND_ONLY_WITH_IMMEDIATE,	SND | ONLY | IMM),
	ROW(RC_RDMA_WRITE_FIRST,		WRT | START | RETH),
	ROW(RC_RDMA_WRITE_MIDDLE,		WRT),
	ROW(RC_RDMA_WRITE_LAST,			WRT | END),
	ROW(RC_RDMA_WRITE_LAST_WITH_IMMEDIATE,	WRT | END | IMM),
	ROW(RC_RDMA_WRITE_ONLY,			WRT | ONLY | RETH),
	ROW(RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,	WRT | ONLY | RETH | IMM),
	ROW(RC_RDMA_READ_REQUEST,		RXE_OP_READ_REQ | ONLY | RETH),
	ROW(RC_RDMA_READ_RESPONSE_FIRST,	RDRESP | START | AETH),
	ROW(RC_RDMA_READ_RESPONSE_MIDDLE,	RDRESP),
	ROW(RC_RDMA_READ_RESPONSE_LAST,		RDRESP | END | AETH),
	ROW(RC_RDMA_READ_RESPONSE_ONLY,		RDRESP | ONLY | AETH),
	ROW(RC_ACKNOWLEDGE,			RESP | ONLY | AETH),
	ROW(RC_ATOMIC_ACKNOWLEDGE,		RESP | ONLY | AETH | ATACK),
	ROW(RC_COMPARE_SWAP,			RXE_OP_ATOMIC_REQ | ONLY | ATOMIC),
	ROW(RC_FETCH_ADD,			RXE_OP_ATOMIC_REQ | ONLY | ATOMIC),
	RC_RESERVED(0x15),
	ROW(RC_SEND_LAST_WITH_INVALIDATE,	SND | END | IETH),
	ROW(RC_SEND_ONLY_WITH_INVALIDATE,	SND | ONLY | IETH),
	RC_RESERVED(0x18),
	RC_RESERVED(0x19),
	RC_RESERVED(0x1a),
	RC_RESERVED(0x1b),
	ROW(RC_FLUSH,				RXE_OP_FLUSH | ONLY | FETH | RETH),
	ROW(RC_ATOMIC_WRITE,			RXE_OP_ATOMIC_WRITE | RXE_OP_PAYLOAD | ONLY | RETH),
	RC_RESERVED(0x1e),
	RC_RESERVED(0x1f),
	ROW(UC_SEND_FIRST,			SND | START),
	ROW(UC_SEND_MIDDLE,			SND),
	ROW(UC_SEND_LAST,			SND | END),
	ROW(UC_SEND_LAST_WITH_IMMEDIATE,	SND | END | IMM),
	ROW(UC_SEND_ONLY,			SND | ONLY),
	ROW(UC_SEND_ONLY_WITH_IMMEDIATE,	SND | ONLY | IMM),
	ROW(UC_RDMA_WRITE_FIRST,		WRT | START | RETH),
	ROW(UC_RDMA_WRITE_MIDDLE,		WRT),
	ROW(UC_RDMA_WRITE_LAST,			WRT | END),
	ROW(UC_RDMA_WRITE_LAST_WITH_IMMEDIATE,	WRT | END | IMM),
	ROW(UC_RDMA_WRITE_ONLY,			WRT | ONLY | RETH),
	ROW(UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,	WRT | ONLY | RETH | IMM),
	ROW(UD_SEND_ONLY,			SND | ONLY | DETH),
	ROW(UD_SEND_ONLY_WITH_IMMEDIATE,	SND | ONLY | DETH | IMM),
	/* For any service. A CNP counts as a response, so that it never waits behind requests */
	[RXE_OPCODE_CNP] = {
		.name = "CNP", .flags = RXE_OP_VALID | RESP | ONLY | CNP,
		.hdr_len = HDR_LEN(CNP),
	},
};
