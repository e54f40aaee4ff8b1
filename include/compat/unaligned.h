/* SPDX-License-Identifier: GPL-2.0 */
/*
 * get_unaligned_be24() and friends: <linux/unaligned.h> from 6.12 on,
 * <asm/unaligned.h> before.
 */
#ifndef RXE_COMPAT_UNALIGNED_H
#define RXE_COMPAT_UNALIGNED_H

#include <compat/have.h>

#ifdef HAVE_LINUX_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* RXE_COMPAT_UNALIGNED_H */
