/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of BTH opcodes (section 9.2, table 38).
 */
#ifndef RXE_OPCODE_H
#define RXE_OPCODE_H

#include <linux/bits.h>
#include <linux/types.h>

/**
 * enum rxe_op_flags - what an opcode is and which headers follow its BTH
 * @RXE_OP_VALID: the opcode has a row in the table
 * @RXE_OP_DETH: a datagram's extended header follows
 * @RXE_OP_FETH: a flush extended header follows
 * @RXE_OP_RETH: an RDMA extended header follows
 * @RXE_OP_ATOMIC_ETH: an atomic's extended header follows
 * @RXE_OP_AETH: an acknowledgment's extended header follows
 * @RXE_OP_ATOMIC_ACK: an atomic's result follows
 * @RXE_OP_IMMDT: immediate data follows
 * @RXE_OP_IETH: an R_Key to invalidate follows
 * @RXE_OP_START: first packet of a message; an ONLY packet has RXE_OP_END, too
 * @RXE_OP_END: last packet of a message
 * @RXE_OP_SEND: part of a SEND
 * @RXE_OP_WRITE: part of an RDMA WRITE
 * @RXE_OP_READ_REQ: RDMA READ request
 * @RXE_OP_ATOMIC_REQ: CmpSwap or FetchAdd
 * @RXE_OP_FLUSH: FLUSH
 * @RXE_OP_ATOMIC_WRITE: ATOMIC WRITE
 * @RXE_OP_RESPONSE: ACK, READ response, atomic ACK, or CNP
 * @RXE_OP_READ_RESP: part of a READ response
 * @RXE_OP_PAYLOAD: may carry payload
 * @RXE_OP_CNP: congestion notification packet: 16 reserved bytes follow
 * @RXE_OP_RESERVED: a request of RC that isn't defined: it has a row, since it gets an answer
 * @RXE_OP_SINGLE: all requests of one packet that are answered by one packet
 * @RXE_OP_RD_ATOMIC: all requests that take one of the responder's resources
 * @RXE_OP_MESSAGE: all requests that may be one of several packets of a message
 * @RXE_OP_ANSWER: all responses that answer one request, and not all requests before it
 *
 * The order of the header flags is the order of the headers on the wire.
 */
enum rxe_op_flags {
	RXE_OP_VALID		= BIT(0),
	RXE_OP_DETH		= BIT(1),
	RXE_OP_FETH		= BIT(2),
	RXE_OP_RETH		= BIT(3),
	RXE_OP_ATOMIC_ETH	= BIT(4),
	RXE_OP_AETH		= BIT(5),
	RXE_OP_ATOMIC_ACK	= BIT(6),
	RXE_OP_IMMDT		= BIT(7),
	RXE_OP_IETH		= BIT(8),
	RXE_OP_START		= BIT(9),
	RXE_OP_END		= BIT(10),
	RXE_OP_SEND		= BIT(11),
	RXE_OP_WRITE		= BIT(12),
	RXE_OP_READ_REQ		= BIT(13),
	RXE_OP_ATOMIC_REQ	= BIT(14),
	RXE_OP_FLUSH		= BIT(15),
	RXE_OP_ATOMIC_WRITE	= BIT(16),
	RXE_OP_RESPONSE		= BIT(17),
	RXE_OP_READ_RESP	= BIT(18),
	RXE_OP_PAYLOAD		= BIT(19),
	RXE_OP_CNP		= BIT(20),
	RXE_OP_RESERVED		= BIT(21),
	RXE_OP_SINGLE		= RXE_OP_ATOMIC_REQ | RXE_OP_FLUSH | RXE_OP_ATOMIC_WRITE,
	RXE_OP_RD_ATOMIC	= RXE_OP_READ_REQ | RXE_OP_SINGLE,
	RXE_OP_MESSAGE		= RXE_OP_SEND | RXE_OP_WRITE,
	RXE_OP_ANSWER		= RXE_OP_READ_RESP | RXE_OP_ATOMIC_ACK,
};

/**
 * struct rxe_opcode - one row of the opcode table
 * @name: the specification's name, for traces
 * @flags: enum rxe_op_flags; 0 for an opcode whose packets are dropped
 * @hdr_len: bytes of BTH and all extended headers
 * @access: enum ib_access_flags that the QP must have for any such request
 */
struct rxe_opcode {
	const char	*name;
	u32		flags;
	u8		hdr_len;
	u8		access;
};

extern const struct rxe_opcode rxe_opcode[256];

#endif /* RXE_OPCODE_H */
