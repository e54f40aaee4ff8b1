/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 as by crc32_le() (no inversion), with the CPU's instructions where possible.
 *
 * Before 6.14, crc32_le() uses a table on x86. There, only the hash "crc32" of the crypto
 * API uses the instructions.
 */
#ifndef RXE_COMPAT_CRC32_H
#define RXE_COMPAT_CRC32_H

#include <linux/crc32.h>
#include <compat/have.h>

#if defined(HAVE_CRC32_OPTIMIZATIONS) || !IS_REACHABLE(CONFIG_CRYPTO_HASH)

static inline int rxe_crc32_init(void)
{
	return 0;
}

static inline void rxe_crc32_exit(void)
{
}

static inline u32 rxe_crc32(u32 crc, const void *p, size_t len)
{
	return crc32_le(crc, p, len);
}

static inline u32 rxe_crc32_with_room(u32 crc, void *p, size_t len)
{
	return crc32_le(crc, p, len);
}

#else

#define RXE_CRC32_SHASH

int rxe_crc32_init(void);
void rxe_crc32_exit(void);
u32 rxe_crc32(u32 crc, const void *p, size_t len);
u32 rxe_crc32_with_room(u32 crc, void *p, size_t len);

#endif

#endif /* RXE_COMPAT_CRC32_H */
