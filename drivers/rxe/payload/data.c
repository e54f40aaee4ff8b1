// SPDX-License-Identifier: GPL-2.0
/*
 * Copying payload, one contiguous run of bytes at a time. The source is a received
 * train, or the memory of a sender on this machine.
 *
 * Context: any; the caller holds the skb and the region. Memory is always
 * mapped: CONFIG_INFINIBAND_VIRT_DMA rules out highmem.
 */
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <rxe/wire.h>
#include <payload/payload.h>

/**
 * rxe_skb_run - contiguous bytes of an skb
 * @skb: linear part and page frags; a frag_list isn't looked at
 * @off: offset from skb->data
 * @len: out: contiguous bytes there; 0 if the skb ends before @off
 *
 * Return: their address, or NULL.
 */
void *rxe_skb_run(const struct sk_buff *skb, u32 off, u32 *len)
{
	u32 end = skb_headlen(skb);
	int i;

	if (off < end) {
		*len = end - off;
		return skb->data + off;
	}
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		off -= end;
		end = skb_frag_size(frag);
		if (off < end) {
			*len = end - off;
			return skb_frag_address(frag) + off;
		}
	}
	*len = 0;
	return NULL;
}

/**
 * rxe_skb_icrc - continue an ICRC over bytes of an skb
 * @skb: see rxe_skb_run()
 * @off: offset of the first byte
 * @len: number of bytes
 * @state: in and out: the ICRC state
 *
 * Return: false if the skb is too short.
 */
bool rxe_skb_icrc(const struct sk_buff *skb, u32 off, u32 len, u32 *state)
{
	while (len) {
		u32 run;
		void *p = rxe_skb_run(skb, off, &run);

		if (!run)
			return false;
		run = min(run, len);
		*state = rxe_icrc_update(*state, p, run);
		off += run;
		len -= run;
	}
	return true;
}

static void find_seg_run(struct rxe_data *data)
{
	const struct rxe_seg *seg = data->seg;

	if (data->off == seg->len) {
		seg = ++data->seg;
		data->off = 0;
	}
	/* More don't fit into a train. A longer search would walk all pages of a large region */
	data->run = min_t(u32, seg->len - data->off, SZ_64K);
	if (seg->key)
		data->at = rxe_key_run(seg->key, seg->va + data->off, &data->run);
	else
		data->at = (void *)(uintptr_t)(seg->va + data->off);
}

/* The payload of the next MIDDLE packet, whose only header is a BTH */
static void find_chunk_run(struct rxe_data *data)
{
	if (data->gap) {
		data->at += data->gap;
	} else {
		data->skb = data->skb->next;
		data->at = data->skb->data + RXE_BTH_BYTES;
	}
	data->run = data->chunk;
}

/* Find the next contiguous bytes */
static noinline void find_run(struct rxe_data *data)
{
	if (data->chunk)
		find_chunk_run(data);
	else if (data->skb)
		data->at = rxe_skb_run(data->skb, data->off, &data->run);
	else
		find_seg_run(data);
	data->off += data->run;
}

/* Consume the next contiguous bytes, *@len at most */
static const void *take_run(struct rxe_data *data, u32 *len)
{
	const void *p;

	if (!data->run)
		find_run(data);
	*len = min(*len, data->run);
	p = data->at;
	data->at += *len;
	data->run -= *len;
	data->taken += *len;
	return p;
}

/**
 * rxe_data_rewind - go back by @data->taken bytes
 * @data: payload in segments, whose keys are still held
 */
void rxe_data_rewind(struct rxe_data *data)
{
	u32 back = data->taken, here = data->off - data->run;

	if (!back)
		return;
	while (back > here) {
		back -= here;
		data->seg--;
		here = data->seg->len;
	}
	data->off = here - back;
	data->run = 0;
	data->taken = 0;
}

/**
 * rxe_data_skip - skip payload
 * @data: the payload; advances
 * @len: bytes; no more than are left
 */
void rxe_data_skip(struct rxe_data *data, u32 len)
{
	while (len) {
		u32 run = len;

		take_run(data, &run);
		if (!run)
			break;
		len -= run;
	}
}

/**
 * rxe_data_read_runs - copy payload that isn't contiguous to contiguous memory
 * @data: the payload; advances
 * @dst: where to
 * @len: bytes
 *
 * Return: false if the payload is too short.
 */
bool rxe_data_read_runs(struct rxe_data *data, void *dst, u32 len)
{
	while (len) {
		u32 run = len;
		const void *p = take_run(data, &run);

		if (!run)
			return false;
		memcpy(dst, p, run);
		dst += run;
		len -= run;
	}
	return true;
}

/**
 * rxe_data_write - copy payload to memory that a key names
 * @data: the payload; advances
 * @len: bytes
 * @key: covers @va to @va + @len, writable
 * @va: where to
 *
 * Return: false if the payload is too short.
 */
bool rxe_data_write(struct rxe_data *data, u32 len, const struct rxe_key *key,
		    u64 va)
{
	while (len) {
		u32 run = len;
		void *dst = rxe_key_run(key, va, &run);

		if (!rxe_data_read(data, dst, run))
			return false;
		va += run;
		len -= run;
	}
	return true;
}
