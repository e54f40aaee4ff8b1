/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings: the queues of <rdma/rdma_user_rxe.h> that a process maps and writes.
 *
 * The process can change every byte of a ring at any time. The kernel therefore keeps its
 * own index, element size and mask in struct rxe_ring. It reads the other side's index with
 * acquire semantics and masks it. It copies an element once, and then checks the copy.
 * Kernel consumers use the same rings, without mmap.
 *
 * A ring of 2^n elements holds at most 2^n - 1 (producer == consumer: empty).
 */
#ifndef RXE_RING_H
#define RXE_RING_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_user_rxe.h>

/**
 * struct rxe_ring - the kernel's side of one ring
 * @buf: shared memory, in the kernel's map of it
 * @mmap: the mapping of @buf for user space; NULL for a kernel consumer's ring
 * @mask: number of elements minus one
 * @shift: log2 of the element size in bytes
 * @index: the kernel's own index, masked: next element to consume (send and
 *	receive rings) or to produce (completion rings); protected by the lock of
 *	the ring's owner
 */
struct rxe_ring {
	struct rxe_queue_buf	*buf;
	struct rxe_ring_mmap	*mmap;
	u32			mask;
	u32			shift;
	u32			index;
};

struct rxe_ring *rxe_ring_create(struct ib_ucontext *uctx, u32 num,
				 u32 elem_size);
int rxe_ring_charge(struct rxe_ring *ring, size_t bytes);
void rxe_ring_destroy(struct rxe_ring *ring);
void rxe_ring_mminfo(const struct rxe_ring *ring, struct mminfo *mi);

/* ib_device_ops */
int rxe_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void rxe_mmap_free(struct rdma_user_mmap_entry *entry);

static inline void *rxe_ring_get_elem(const struct rxe_ring *ring, u32 index)
{
	return ring->buf->data + ((size_t)(index & ring->mask) << ring->shift);
}

/**
 * rxe_ring_get_capacity - number of elements that fit
 * @ring: the ring
 *
 * Return: one less than the number of places.
 */
static inline u32 rxe_ring_get_capacity(const struct rxe_ring *ring)
{
	return ring->mask;
}

/*
 * The kernel consumes (send and receive rings).
 */

/**
 * rxe_ring_get_head - the element that the kernel may consume next
 * @ring: a ring whose producer is user space or a kernel poster
 *
 * Return: the element, in shared memory: copy it, check the copy; or NULL if
 * the ring is empty.
 */
static inline const void *rxe_ring_get_head(const struct rxe_ring *ring)
{
	/* Pairs with the producer's release */
	u32 prod = smp_load_acquire(&ring->buf->producer_index) & ring->mask;

	return prod == ring->index ? NULL : rxe_ring_get_elem(ring, ring->index);
}

/**
 * rxe_ring_count_pending - number of elements that wait to be consumed
 * @ring: a ring whose producer is user space or a kernel poster
 *
 * Return: at most rxe_ring_get_capacity(), even if the producer wrote a bad index.
 */
static inline u32 rxe_ring_count_pending(const struct rxe_ring *ring)
{
	/* Pairs with the producer's release */
	u32 prod = smp_load_acquire(&ring->buf->producer_index);

	return (prod - ring->index) & ring->mask;
}

/**
 * rxe_ring_peek - the element @n places behind the head
 * @ring: a ring
 * @n: less than rxe_ring_count_pending()
 *
 * Return: the element, in shared memory.
 */
static inline const void *rxe_ring_peek(const struct rxe_ring *ring, u32 n)
{
	return rxe_ring_get_elem(ring, ring->index + n);
}

/**
 * rxe_ring_pop - give the head's place back to the producer
 * @ring: a ring whose head has been copied
 */
static inline void rxe_ring_pop(struct rxe_ring *ring)
{
	ring->index = (ring->index + 1) & ring->mask;
	/* Copied: pairs with the producer's acquire */
	smp_store_release(&ring->buf->consumer_index, ring->index);
}

/**
 * rxe_ring_advance - advance to the next element; the other side doesn't see it yet
 * @ring: a ring whose head has been copied, or written
 *
 * Send rings: rxe_ring_release() frees the place when its work request has completed.
 * Completion rings: rxe_ring_publish() shows the element to the consumer.
 */
static inline void rxe_ring_advance(struct rxe_ring *ring)
{
	ring->index = (ring->index + 1) & ring->mask;
}

/**
 * rxe_ring_release - give places back to the producer
 * @ring: the ring
 * @index: the oldest place that is still in use, or the head
 */
static inline void rxe_ring_release(struct rxe_ring *ring, u32 index)
{
	/* Pairs with the producer's acquire */
	smp_store_release(&ring->buf->consumer_index, index & ring->mask);
}

/*
 * A kernel consumer posts (send and receive rings of its QPs). Posters are ordered by a
 * lock of the queue.
 */

/**
 * rxe_ring_get_post_place - the place of the next work request to be posted
 * @ring: a ring whose producer is a kernel poster
 *
 * Return: the place, or NULL if the ring is full.
 */
static inline void *rxe_ring_get_post_place(const struct rxe_ring *ring)
{
	u32 prod = ring->buf->producer_index;
	/* Pairs with rxe_ring_release() and rxe_ring_pop() */
	u32 cons = smp_load_acquire(&ring->buf->consumer_index);

	if (((prod + 1) & ring->mask) == (cons & ring->mask))
		return NULL;
	return rxe_ring_get_elem(ring, prod);
}

/**
 * rxe_ring_post - hand over the work request at rxe_ring_get_post_place()
 * @ring: the ring
 */
static inline void rxe_ring_post(struct rxe_ring *ring)
{
	u32 prod = (ring->buf->producer_index + 1) & ring->mask;

	/* Pairs with rxe_ring_get_head() */
	smp_store_release(&ring->buf->producer_index, prod);
}

/*
 * The kernel produces (completion rings).
 */

/**
 * rxe_ring_get_space - the place of the next element that the kernel produces
 * @ring: a ring whose consumer is user space or a kernel poller
 *
 * Return: the place, or NULL if the ring is full.
 */
static inline void *rxe_ring_get_space(const struct rxe_ring *ring)
{
	/* Pairs with the consumer's release */
	u32 cons = smp_load_acquire(&ring->buf->consumer_index) & ring->mask;

	if (((ring->index + 1) & ring->mask) == cons)
		return NULL;
	return rxe_ring_get_elem(ring, ring->index);
}

/**
 * rxe_ring_count_space - how many elements the kernel can produce now
 * @ring: a ring whose consumer is user space or a kernel poller
 *
 * Return: at most rxe_ring_get_capacity(), even if the consumer wrote a bad index.
 */
static inline u32 rxe_ring_count_space(const struct rxe_ring *ring)
{
	/* Pairs with the consumer's release */
	u32 cons = smp_load_acquire(&ring->buf->consumer_index);

	return (cons - ring->index - 1) & ring->mask;
}

/**
 * rxe_ring_publish - hand all new elements to the consumer
 * @ring: a ring; rxe_ring_advance() was called after writing each element
 */
static inline void rxe_ring_publish(struct rxe_ring *ring)
{
	/* Pairs with the consumer's acquire */
	smp_store_release(&ring->buf->producer_index, ring->index);
}

#endif /* RXE_RING_H */
