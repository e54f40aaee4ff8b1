// SPDX-License-Identifier: GPL-2.0
/*
 * The table of protocols. rxe_net_init() sets it, so that the files below the rows can use it.
 */
#include <linux/cache.h>
#include "proto.h"

const struct rxe_l3 *rxe_l3s[RXE_PROTOS] __ro_after_init;
