/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of the kernel's headers as wire/, ring/wqe.c, loss/ and cc/ need, for user space;
 * every file that is compiled for a fuzzer begins with it. Memory that is shared
 * with a hostile process is read by what the fuzzer provides (struct shared).
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

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define U8_MAX			0xff
#define PAGE_SHIFT		12
#define _AC(n, suffix)		n##suffix
#define __read_mostly
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define unlikely(x)		(x)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define IS_REACHABLE(option)	0
#define __force
#define __aligned(n)		__attribute__((aligned(n)))
#define DECLARE_FLEX_ARRAY(type, name) \
	struct { struct { } empty_##name; type name[]; }

#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define min(a, b)		min_t(__typeof__(a), a, b)
#define max_t(type, a, b)	((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define max(a, b)		max_t(__typeof__(a), a, b)
#define max3(a, b, c)		max(max(a, b), c)
#define clamp_t(type, v, low, high)	min_t(type, max_t(type, v, low), high)
#define clamp(v, low, high)	clamp_t(__typeof__(v), v, low, high)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define sysfs_streq(a, b)	(!strcmp(a, b))
#define ilog2(n)		(31 - __builtin_clz(n))
#define __ffs(n)		__builtin_ctzl(n)

#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define NSEC_PER_SEC		1000000000L

typedef s64 ktime_t;
#define ktime_to_ns(t)		(t)
#define ktime_add_ns(t, ns)	((ktime_t)((u64)(t) + (ns)))
#define ktime_sub(a, b)		((ktime_t)((u64)(a) - (u64)(b)))
#define ktime_after(a, b)	((a) > (b))
#define ktime_before(a, b)	((a) < (b))

#define div_u64(n, d)		((u64)(n) / (u32)(d))
#define div64_u64(n, d)		((u64)(n) / (u64)(d))
#define int_sqrt(n)		((unsigned long)__builtin_sqrtl(n))
#define mul_u64_u64_div_u64(a, b, d)	((u64)((unsigned __int128)(a) * (b) / (d)))

#define cpu_to_be32(x)		htobe32(x)
#define cpu_to_le32(x)		htole32(x)

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

typedef u32 u24;
GET_PUT(16, 2)
GET_PUT(24, 3)
GET_PUT(32, 4)
GET_PUT(64, 8)

struct ib_ucontext;
struct rdma_user_mmap_entry;
struct vm_area_struct;

u32 crc32_le(u32 crc, const void *p, size_t len);

/* What may be shared memory is read by these, and by nothing else */
void shared_copy(void *dst, const void *src, size_t len);
u32 shared_index(const u32 *index);

#define READ_ONCE(x) ({ \
	u8 copy_[sizeof(x)] __aligned(8); \
	shared_copy(copy_, &(x), sizeof(x)); \
	*(__typeof__(x) *)copy_; \
})
#define WRITE_ONCE(x, v)	((void)((x) = (v)))
#define smp_load_acquire(p)	shared_index(p)
#define smp_store_release(p, v)	((void)(*(p) = (v)))

#ifdef FUZZ_DRIVER
#define memcpy(dst, src, len)	shared_copy(dst, src, len)
#endif

#endif /* RXE_FUZZ_KERNEL_H */
