/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzzers share: input that is taken bit by bit, memory that ends where
 * the input does, and the check that ends the run.
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

/* The next @len bytes; zeros when there are no more */
static inline void take(struct input *in, void *dst, size_t len)
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

	take(in, &v, sizeof(v));
	return v;
}

static inline u32 take_u32(struct input *in)
{
	u32 v;

	take(in, &v, sizeof(v));
	return v;
}

/* Memory of exactly @len bytes, with a copy of @src if there is one */
static inline void *exact(const void *src, size_t len)
{
	void *mem = malloc(len ?: 1);

	CHECK(mem);
	if (!len)
		return (u8 *)mem + 1;	/* nothing may be read there */
	if (src)
		memcpy(mem, src, len);
	return mem;
}

static inline void exact_free(void *mem, size_t len)
{
	free((u8 *)mem - !len);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif /* RXE_FUZZ_H */
