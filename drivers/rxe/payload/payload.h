/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payload: in trains and in memory (data.c), and by scatter lists (sge.c).
 */
#ifndef RXE_PAYLOAD_H
#define RXE_PAYLOAD_H

#include <rxe/odp.h>

struct rxe_swqe;
struct sk_buff;

/**
 * struct rxe_seg - a piece of memory
 * @key: names the memory, referenced until rxe_unmap(); NULL: the kernel's own memory
 * @va: address of the first byte: by @key, or a kernel address if @key is NULL
 * @len: bytes, not 0
 */
struct rxe_seg {
	struct rxe_key	*key;
	u64		va;
	u32		len;
};

/**
 * struct rxe_data - a packet's payload, and the position in it
 * @skb: the train that has the payload; NULL: @seg has it
 * @seg: the segment at the position; more may follow
 * @at: the position: contiguous bytes
 * @run: number of bytes at @at
 * @off: offset of the bytes behind these @run bytes, in the train or the segment
 * @chunk: payload bytes of each of several MIDDLE packets; 0: a single packet
 * @gap: bytes between the payload of two packets; 0 if each has a linear skb of its own
 * @taken: bytes consumed since the user last set it to 0
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
 * struct rxe_source - memory that sends read
 * @pd: protection domain of its L_Keys
 * @is_user: of a process: L_Key 0 isn't valid
 * @key: the key that was used last, or NULL; the caller drops it at the end of the run
 * @pager: for pages that aren't present
 */
struct rxe_source {
	struct ib_pd		*pd;
	bool			is_user;
	struct rxe_key		*key;
	struct rxe_pager	pager;
};

/**
 * struct rxe_list - a scatter list
 * @sge: the list
 * @num_sge: its length
 * @is_user: of a process: L_Key 0 isn't valid
 * @pd: protection domain of its L_Keys
 * @key: the key that was used last, or NULL; saves a lookup per packet. The caller
 *	drops it at the end of the run.
 * @pager: for pages that aren't present
 */
struct rxe_list {
	const struct ib_sge	*sge;
	u32			num_sge;
	bool			is_user;
	struct ib_pd		*pd;
	struct rxe_key		**key;
	struct rxe_pager	*pager;
};

/* data.c */
void *rxe_skb_run(const struct sk_buff *skb, u32 off, u32 *len);
bool rxe_skb_icrc(const struct sk_buff *skb, u32 off, u32 len, u32 *state);
void rxe_data_rewind(struct rxe_data *data);
void rxe_data_skip(struct rxe_data *data, u32 len);
bool rxe_data_read_runs(struct rxe_data *data, void *dst, u32 len);
bool rxe_data_write(struct rxe_data *data, u32 len, const struct rxe_key *key,
		    u64 va);

/**
 * rxe_data_read - copy payload to contiguous memory
 * @data: the payload; advances
 * @dst: where to
 * @len: bytes
 *
 * Inline for the next bytes of a contiguous piece, as in most packets.
 *
 * Return: false if the payload is too short.
 */
static inline bool rxe_data_read(struct rxe_data *data, void *dst, u32 len)
{
	if (data->run < len)
		return rxe_data_read_runs(data, dst, len);
	memcpy(dst, data->at, len);
	data->at += len;
	data->run -= len;
	data->taken += len;
	return true;
}

/* sge.c */
int rxe_map(struct rxe_source *source, const struct rxe_swqe *wqe, u32 off, u32 len,
	    struct rxe_seg *segs);
void rxe_unmap(const struct rxe_swqe *wqe, struct rxe_seg *segs, u32 num);
int rxe_gather(struct rxe_source *source, const struct rxe_swqe *wqe,
	       struct rxe_seg *segs, void *dst);
int rxe_scatter(const struct rxe_list *list, u64 dst_off, struct rxe_data *data, u32 len);

#endif /* RXE_PAYLOAD_H */
