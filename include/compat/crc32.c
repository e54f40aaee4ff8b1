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

/* Below this many bytes, calling the crypto API costs more than its instructions save */
#define RXE_CRC32_MIN	64

static struct crypto_shash *tfm;

/**
 * rxe_crc32_init - find the fastest CRC-32 of this machine
 *
 * Return: 0. Without a "crc32" hash, the table is used.
 */
int rxe_crc32_init(void)
{
	struct crypto_shash *t = crypto_alloc_shash("crc32", 0, 0);

	if (!IS_ERR(t) && crypto_shash_descsize(t) == sizeof(u32))
		tfm = t;
	else if (!IS_ERR(t))
		crypto_free_shash(t);
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

#endif /* RXE_CRC32_SHASH */
