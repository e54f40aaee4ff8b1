/* SPDX-License-Identifier: GPL-2.0 */
/*
 * get_unaligned_be24() and friends: <linux/unaligned.h> from 6.12 on,
 * <asm/unaligned.h> before.
 */
#ifndef RXE_COMPAT_UNALIGNED_H
#define RXE_COMPAT_UNALIGNED_H

#if __has_include(<linux/unaligned.h>)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* RXE_COMPAT_UNALIGNED_H */
