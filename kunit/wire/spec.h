/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The opcodes that are supported, and those of RC that are reserved, as in the specification
 * (section 9.2, tables 38 and 39), entered by hand. The suites compare the driver's table with
 * them.
 */
#ifndef RXE_KUNIT_SPEC_H
#define RXE_KUNIT_SPEC_H

#include <rxe/wire.h>

/**
 * struct spec_op - one opcode
 * @opcode: BTH opcode
 * @hdr: bytes of BTH and extended headers
 * @ext: the extended headers in their order on the wire
 * @kind: the other flags that its row must have
 */
struct spec_op {
	u8 opcode;
	u8 hdr;
	const char *ext;
	u32 kind;
};

#define S	RXE_OP_START
#define E	RXE_OP_END
#define SND	(RXE_OP_SEND | RXE_OP_PAYLOAD)
#define WRT	(RXE_OP_WRITE | RXE_OP_PAYLOAD)
#define RSV	(RXE_OP_RESERVED | RXE_OP_PAYLOAD)
#define RDR	(RXE_OP_RESPONSE | RXE_OP_READ_RESP | RXE_OP_PAYLOAD)

static const struct spec_op spec_ops[] = {
	{ 0x00, 12, "",		SND | S },
	{ 0x01, 12, "",		SND },
	{ 0x02, 12, "",		SND | E },
	{ 0x03, 16, "I",	SND | E },
	{ 0x04, 12, "",		SND | S | E },
	{ 0x05, 16, "I",	SND | S | E },
	{ 0x06, 28, "R",	WRT | S },
	{ 0x07, 12, "",		WRT },
	{ 0x08, 12, "",		WRT | E },
	{ 0x09, 16, "I",	WRT | E },
	{ 0x0a, 28, "R",	WRT | S | E },
	{ 0x0b, 32, "RI",	WRT | S | E },
	{ 0x0c, 28, "R",	RXE_OP_READ_REQ | S | E },
	{ 0x0d, 16, "A",	RDR | S },
	{ 0x0e, 12, "",		RDR },
	{ 0x0f, 16, "A",	RDR | E },
	{ 0x10, 16, "A",	RDR | S | E },
	{ 0x11, 16, "A",	RXE_OP_RESPONSE | S | E },
	{ 0x12, 24, "AK",	RXE_OP_RESPONSE | S | E },
	{ 0x13, 40, "T",	RXE_OP_ATOMIC_REQ | S | E },
	{ 0x14, 40, "T",	RXE_OP_ATOMIC_REQ | S | E },
	{ 0x15, 12, "",		RSV | S | E },
	{ 0x16, 16, "N",	SND | E },
	{ 0x17, 16, "N",	SND | S | E },
	{ 0x18, 12, "",		RSV | S | E },
	{ 0x19, 12, "",		RSV | S | E },
	{ 0x1a, 12, "",		RSV | S | E },
	{ 0x1b, 12, "",		RSV | S | E },
	{ 0x1c, 32, "FR",	RXE_OP_FLUSH | S | E },
	{ 0x1d, 28, "R",	RXE_OP_ATOMIC_WRITE | RXE_OP_PAYLOAD | S | E },
	{ 0x1e, 12, "",		RSV | S | E },
	{ 0x1f, 12, "",		RSV | S | E },
	{ 0x20, 12, "",		SND | S },
	{ 0x21, 12, "",		SND },
	{ 0x22, 12, "",		SND | E },
	{ 0x23, 16, "I",	SND | E },
	{ 0x24, 12, "",		SND | S | E },
	{ 0x25, 16, "I",	SND | S | E },
	{ 0x26, 28, "R",	WRT | S },
	{ 0x27, 12, "",		WRT },
	{ 0x28, 12, "",		WRT | E },
	{ 0x29, 16, "I",	WRT | E },
	{ 0x2a, 28, "R",	WRT | S | E },
	{ 0x2b, 32, "RI",	WRT | S | E },
	{ 0x64, 20, "D",	SND | S | E },
	{ 0x65, 24, "DI",	SND | S | E },
	{ 0x81, 28, "C",	RXE_OP_RESPONSE | S | E },
};

#undef S
#undef E
#undef SND
#undef WRT
#undef RSV
#undef RDR

/* A letter of spec_op.ext: its flag, its bytes */
static inline u32 spec_ext(char letter, u32 *bytes)
{
	switch (letter) {
	case 'D':
		*bytes = 8;
		return RXE_OP_DETH;
	case 'F':
		*bytes = 4;
		return RXE_OP_FETH;
	case 'R':
		*bytes = 16;
		return RXE_OP_RETH;
	case 'T':
		*bytes = 28;
		return RXE_OP_ATOMIC_ETH;
	case 'A':
		*bytes = 4;
		return RXE_OP_AETH;
	case 'K':
		*bytes = 8;
		return RXE_OP_ATOMIC_ACK;
	case 'I':
		*bytes = 4;
		return RXE_OP_IMMDT;
	case 'C':
		*bytes = 16;
		return RXE_OP_CNP;
	default:				/* 'N' */
		*bytes = 4;
		return RXE_OP_IETH;
	}
}

static inline const struct spec_op *spec_find(u8 opcode)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(spec_ops); i++)
		if (spec_ops[i].opcode == opcode)
			return &spec_ops[i];
	return NULL;
}

static inline void spec_name(const struct spec_op *op, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%02x-%s", op->opcode,
		 rxe_opcode[op->opcode].name ?: "?");
}

#endif /* RXE_KUNIT_SPEC_H */
