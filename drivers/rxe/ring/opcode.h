/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opcodes that a process has posted, and flags that a row of the table allows; private to ring/.
 */
#ifndef RXE_RING_OPCODE_H
#define RXE_RING_OPCODE_H

#include <rxe/wr.h>

/*
 * Flags that a work request may have. FENCE and SOLICITED are always allowed, since
 * programs set them even where they have no effect. Other flags are refused, since
 * ignoring them would change what the work request does.
 */
#define RXE_WR_FETCH_FLAGS	(IB_SEND_SIGNALED | IB_SEND_FENCE | IB_SEND_SOLICITED)
#define RXE_WR_DATA_FLAGS	(RXE_WR_FETCH_FLAGS | IB_SEND_INLINE)

/* Table index of a posted opcode, which a process may have set to any value */
static inline u8 rxe_wr_opcode(u32 posted)
{
	return min_t(u32, posted, RXE_WR_NONE);
}

#endif /* RXE_RING_OPCODE_H */
