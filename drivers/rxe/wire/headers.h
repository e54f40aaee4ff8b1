/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lengths of the extended transport headers (chapter 9), private to wire/.
 */
#ifndef RXE_WIRE_HEADERS_H
#define RXE_WIRE_HEADERS_H

#include <rxe/wire.h>

#define RXE_DETH_BYTES		8
#define RXE_FETH_BYTES		4
#define RXE_RETH_BYTES		16
#define RXE_AETH_BYTES		4
#define RXE_ATOMIC_ACK_BYTES	8
#define RXE_IMMDT_BYTES		4
#define RXE_IETH_BYTES		4
#define RXE_CNP_BYTES		16	/* reserved, zero */

#endif /* RXE_WIRE_HEADERS_H */
