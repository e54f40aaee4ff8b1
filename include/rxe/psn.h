/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet sequence numbers: 24 bits, on a circle (section 9.7.3.1).
 */
#ifndef RXE_PSN_H
#define RXE_PSN_H

#include <linux/types.h>

#define RXE_PSN_MASK		0xffffffu

/**
 * rxe_psn_diff - signed distance of two PSNs on the 24-bit circle
 * @a: a PSN
 * @b: a PSN
 *
 * Return: negative if @a is before @b, 0 if they are the same, positive if
 * @a is after @b; -2^23 to 2^23 - 1 [9.7.3.1].
 */
static inline s32 rxe_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/**
 * rxe_psn_add - the PSN that is @n packets after @psn
 * @psn: a PSN
 * @n: packets, may be the two's complement of a negative number
 *
 * Return: a PSN, 24 bits.
 */
static inline u32 rxe_psn_add(u32 psn, u32 n)
{
	return (psn + n) & RXE_PSN_MASK;
}

/* The later of two PSNs */
static inline u32 rxe_psn_max(u32 a, u32 b)
{
	return rxe_psn_diff(a, b) > 0 ? a : b;
}

#endif /* RXE_PSN_H */
