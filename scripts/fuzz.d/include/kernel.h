/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of the kernel's headers that wire/, ring/wqe.c, ring/wr.c, loss/, cc/ and config/knobs.c
 * need, for user space. The compiler includes this file first in each source. Each fuzzer defines
 * the functions that read memory shared with a hostile process.
 */
#ifndef RXE_FUZZ_KERNEL_H
#define RXE_FUZZ_KERNEL_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <linux/types.h>

/* For loss/, cc/ and config/knobs.c, which also use __read_mostly, READ_ONCE() and WRITE_ONCE() */
#define BIT_ULL(n)		(1ULL << (n))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define clamp(v, low, high)	min(max(v, low), high)
#define div64_u64(n, d)		((u64)(n) / (u64)(d))
#define int_sqrt(n)		((unsigned long)__builtin_sqrtl(n))
#define mul_u64_u64_div_u64(a, b, d)	((u64)((unsigned __int128)(a) * (b) / (d)))
#define sysfs_streq(a, b)	(!strcmp(a, b))
#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)

/* For wire/ and ring/ */
#define U8_MAX			0xff
#define U64_MAX			(~0ULL)
#define _AC(n, suffix)		n##suffix
#define __read_mostly
#define BIT(n)			(1UL << (n))
#define unlikely(x)		(x)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define IS_REACHABLE(option)	0
#define __force
#define __aligned(n)		__attribute__((aligned(n)))
#define DECLARE_FLEX_ARRAY(type, name) \
	struct { struct { } empty_##name; type name[]; }

#define min_t(type, a, b)	min((type)(a), (type)(b))
#define ilog2(n)		(31 - __builtin_clz(n))
#define __ffs(n)		__builtin_ctzl(n)
#define cpu_to_be32(x)		htobe32(x)

#define GET_PUT(bits, bytes) \
static inline u##bits get_unaligned_be##bits(const void *p) \
{ \
	const u8 *b = p; \
	u64 v = 0; \
	int i; \
\
	for (i = 0; i < (bytes); i++) \
		v = v << 8 | b[i]; \
	return v; \
} \
\
static inline void put_unaligned_be##bits(u64 v, void *p) \
{ \
	u8 *b = p; \
	int i; \
\
	for (i = (bytes) - 1; i >= 0; i--, v >>= 8) \
		b[i] = v; \
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline u32 get_unaligned_le32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

typedef u32 u24;
GET_PUT(16, 2)
GET_PUT(24, 3)
GET_PUT(32, 4)
GET_PUT(64, 8)

struct ib_ucontext;
struct rdma_user_mmap_entry;
struct vm_area_struct;

u32 crc32_le(u32 crc, const void *p, size_t len);

/* Only these functions read memory that may be shared with a process */
void copy_shared(void *dst, const void *src, size_t len);
u32 read_shared_index(const u32 *index);

#define READ_ONCE(x) ({ \
	u8 copy_[sizeof(x)] __aligned(8); \
	copy_shared(copy_, &(x), sizeof(x)); \
	*(__typeof__(x) *)copy_; \
})
#define WRITE_ONCE(x, v)	((void)((x) = (v)))
#define smp_load_acquire(p)	read_shared_index(p)
#define smp_store_release(p, v)	((void)(*(p) = (v)))

#ifdef FUZZ_DRIVER
#define memcpy(dst, src, len)	copy_shared(dst, src, len)
#endif

#endif /* RXE_FUZZ_KERNEL_H */
