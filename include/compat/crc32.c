// SPDX-License-Identifier: GPL-2.0
/*
 * CRC-32 by way of the crypto API, on kernels whose crc32_le() is a table.
 *
 * Context: rxe_crc32() any but NMI; init and exit are called by the module's.
 */
#include <crypto/hash.h>
#include <linux/err.h>
#include <compat/crc32.h>

#ifdef RXE_CRC32_SHASH

/* x86's hash uses a table for fewer bytes, and for those before and behind whole blocks */
#define RXE_CRC32_MIN	79
#define RXE_CRC32_BLOCK	16

static struct crypto_shash *tfm;

/*
 * To undo a byte of 0: the CRC before it is the CRC behind it, shifted by 8 bits, XOR the entry
 * for the highest byte of the CRC behind it.
 */
static u32 before_zero[256] __ro_after_init;

static void __init fill_before_zero(void)
{
	u32 i, crc;

	for (i = 0; i < ARRAY_SIZE(before_zero); i++) {
		crc = crc32_le(i, "", 1);
		before_zero[crc >> 24] = crc << 8 | i;
	}
}

/**
 * rxe_crc32_init - find the fastest CRC-32 of this machine
 *
 * Return: 0. Without a "crc32" hash, the table is used.
 */
int __init rxe_crc32_init(void)
{
	struct crypto_shash *t = crypto_alloc_shash("crc32", 0, 0);

	if (!IS_ERR(t) && crypto_shash_descsize(t) == sizeof(u32))
		tfm = t;
	else if (!IS_ERR(t))
		crypto_free_shash(t);
	fill_before_zero();
	return 0;
}

/**
 * rxe_crc32_exit - undo rxe_crc32_init()
 */
void rxe_crc32_exit(void)
{
	crypto_free_shash(tfm);
	tfm = NULL;
}

/**
 * rxe_crc32 - continue a CRC-32
 * @crc: state so far
 * @p: data
 * @len: bytes of data
 *
 * The hash's own state is the bare CRC, as in the kernel's libcrc32c.
 *
 * Return: new state, not inverted.
 */
u32 rxe_crc32(u32 crc, const void *p, size_t len)
{
	u8 mem[sizeof(struct shash_desc) + sizeof(u32)]
		__aligned(__alignof__(struct shash_desc));
	struct shash_desc *desc = (struct shash_desc *)mem;
	u32 *state = shash_desc_ctx(desc);

	if (len < RXE_CRC32_MIN || !tfm)
		return crc32_le(crc, p, len);
	desc->tfm = tfm;
	*state = crc;
	if (WARN_ON_ONCE(crypto_shash_update(desc, p, len)))
		return crc32_le(crc, p, len);
	return *state;
}

/**
 * rxe_crc32_with_room - continue a CRC-32, if what is behind the data may be overwritten
 * @crc: state so far
 * @p: data, with four bytes of room behind it
 * @len: bytes of data
 *
 * The data of most packets ends four bytes before a whole block. The hash would take the last 12
 * bytes by a table. Instead, it takes four bytes of 0 as well, which are then undone.
 *
 * Return: new state, not inverted.
 */
u32 rxe_crc32_with_room(u32 crc, void *p, size_t len)
{
	u32 zeros = sizeof(u32);

	if (!IS_ALIGNED((uintptr_t)p + len + zeros, RXE_CRC32_BLOCK) ||
	    len + zeros < RXE_CRC32_MIN)
		return rxe_crc32(crc, p, len);
	memset(p + len, 0, zeros);
	crc = rxe_crc32(crc, p, len + zeros);
	while (zeros--)
		crc = crc << 8 ^ before_zero[crc >> 24];
	return crc;
}

#endif /* RXE_CRC32_SHASH */
