/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payload, from where it is to where it belongs (copy.c).
 */
#ifndef RXE_TRANSPORT_PAYLOAD_H
#define RXE_TRANSPORT_PAYLOAD_H

#include <rxe/verbs.h>

struct rxe_qp;
struct rxe_swqe;
struct sk_buff;

/**
 * struct rxe_seg - a piece of memory
 * @mr: the region, reference held; NULL: the kernel's own memory
 * @va: first byte, an address in the region or the kernel's
 * @len: bytes, not 0
 */
struct rxe_seg {
	struct rxe_mr	*mr;
	u64		va;
	u32		len;
};

/**
 * struct rxe_data - a packet's payload, where it is now
 * @skb: in this train, or else
 * @seg: in this segment and those behind it
 * @at: contiguous bytes at hand
 * @run: how many
 * @off: what is behind those, in the train or the segment
 * @chunk: if not 0, the payload of several MIDDLE packets, so many bytes each
 * @gap: bytes between two of them; 0 if each has an skb, which are linear
 * @taken: bytes that it has moved on since somebody set this to 0
 */
struct rxe_data {
	const struct sk_buff	*skb;
	const struct rxe_seg	*seg;
	const void		*at;
	u32			run;
	u32			off;
	u32			chunk;
	u32			gap;
	u32			taken;
};

/**
 * struct rxe_list - a scatter list
 * @sge: the list
 * @num_sge: its length
 * @mr: the region that was used last, or NULL; one lookup for a run of packets.
 *	The caller gives it back at the end of the run.
 */
struct rxe_list {
	const struct ib_sge	*sge;
	u32			num_sge;
	struct rxe_mr		**mr;
};

void *rxe_skb_run(const struct sk_buff *skb, u32 off, u32 *len);
bool rxe_skb_icrc(const struct sk_buff *skb, u32 off, u32 len, u32 *state);
int rxe_map(struct rxe_qp *qp, const struct rxe_swqe *wqe, u32 off, u32 len,
	    struct rxe_seg *segs);
void rxe_unmap(struct rxe_seg *segs, u32 num);
void rxe_data_skip(struct rxe_data *data, u32 len);
bool rxe_data_read(struct rxe_data *data, void *dst, u32 len);
bool rxe_data_to_mr(struct rxe_data *data, u32 len, const struct rxe_mr *mr,
		    u64 va);
int rxe_gather(struct rxe_qp *qp, const struct rxe_swqe *wqe, void *dst);
bool rxe_mr_keep(struct rxe_qp *qp, struct rxe_mr **mr, u32 key, int access,
		 u64 va, u64 len);
int rxe_scatter(struct rxe_qp *qp, const struct rxe_list *list, u64 dst_off,
		struct rxe_data *data, u32 len);

/**
 * rxe_mr_drop - give back the region that was kept
 * @mr: where; NULL from now on
 */
static inline void rxe_mr_drop(struct rxe_mr **mr)
{
	if (*mr)
		rxe_mr_put(*mr);
	*mr = NULL;
}

#endif /* RXE_TRANSPORT_PAYLOAD_H */
