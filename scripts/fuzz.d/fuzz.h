/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common functions of the fuzzers: they take pieces of the input, allocate memory of which ASAN
 * knows the exact end, and stop the run if a check fails.
 */
#ifndef RXE_FUZZ_H
#define RXE_FUZZ_H

#include <stdlib.h>

#define CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, \
			__LINE__, __func__, #condition); \
		abort(); \
	} \
} while (0)

struct input {
	const u8 *at;
	size_t left;
};

/* Takes the next @len bytes of the input. After its end, there are zeros */
static inline void take_bytes(struct input *in, void *dst, size_t len)
{
	size_t have = in->left < len ? in->left : len;

	memset(dst, 0, len);
	memcpy(dst, in->at, have);
	in->at += have;
	in->left -= have;
}

static inline u32 take_u8(struct input *in)
{
	u8 v;

	take_bytes(in, &v, sizeof(v));
	return v;
}

static inline u32 take_u32(struct input *in)
{
	u32 v;

	take_bytes(in, &v, sizeof(v));
	return v;
}

/* Allocates exactly @len bytes, and copies @src to them if it isn't NULL */
static inline void *alloc_exact(const void *src, size_t len)
{
	void *mem = malloc(len ?: 1);

	CHECK(mem);
	if (!len)
		return (u8 *)mem + 1;	/* ASAN reports any access there */
	if (src)
		memcpy(mem, src, len);
	return mem;
}

static inline void free_exact(void *mem, size_t len)
{
	free((u8 *)mem - !len);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif /* RXE_FUZZ_H */
