// SPDX-License-Identifier: GPL-2.0
/*
 * The table of protocols.
 */
#include <linux/udp.h>
#include "proto.h"

const struct rxe_l3 *const rxe_l3s[] = {
	[RXE_ROCE_V1]		= &rxe_l3_v1,
	[RXE_ROCE_V2_IPV4]	= &rxe_l3_ipv4,
	[RXE_ROCE_V2_IPV6]	= &rxe_l3_ipv6,
};

/**
 * rxe_l3_fix - make the headers of a train's first packet those of the n-th
 * @l3: the headers, up to the BTH; of a protocol with UDP
 * @proto: enum rxe_proto
 * @n: which packet
 * @len: its bytes, BTH to ICRC
 *
 * The headers that segmentation would make.
 */
void rxe_l3_fix(void *l3, u8 proto, u32 n, u32 len)
{
	struct udphdr *udp = l3 + rxe_l3(proto)->bytes - sizeof(*udp);

	len += sizeof(*udp);
	udp->len = htons(len);
	rxe_l3(proto)->fix(l3, n, len);
}
