// SPDX-License-Identifier: GPL-2.0
/*
 * The table of protocols.
 */
#include "proto.h"

const struct rxe_l3 *const rxe_l3s[] = {
	[RXE_ROCE_V1]		= &rxe_l3_v1,
	[RXE_ROCE_V2_IPV4]	= &rxe_l3_ipv4,
	[RXE_ROCE_V2_IPV6]	= &rxe_l3_ipv6,
};
