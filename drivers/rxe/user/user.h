/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Users by their number.
 */
#ifndef RXE_USER_USER_H
#define RXE_USER_USER_H

#include <rxe/user.h>

struct rxe_user *rxe_user_get(kuid_t uid);

#endif /* RXE_USER_USER_H */
