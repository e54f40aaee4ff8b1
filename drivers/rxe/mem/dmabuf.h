/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of a dma-buf (dmabuf.c).
 */
#ifndef RXE_MEM_DMABUF_H
#define RXE_MEM_DMABUF_H

#include <rxe/mem.h>

struct rxe_dmabuf *rxe_dmabuf_get(struct device *dev, int fd);
void rxe_dmabuf_close(struct rxe_dmabuf *dmabuf);
void rxe_dmabuf_put(struct rxe_dmabuf *dmabuf);
bool rxe_dmabuf_may_move(const struct rxe_dmabuf *dmabuf);
int rxe_dmabuf_start(struct rxe_dmabuf *dmabuf, struct rxe_odp *odp);
int rxe_dmabuf_fault(struct rxe_dmabuf *dmabuf);
int rxe_dmabuf_charge(struct rxe_dmabuf *dmabuf, struct ib_device *ibdev, u64 length);
int rxe_dmabuf_check(const struct rxe_dmabuf *dmabuf, u64 offset, u64 length, int access);
void **rxe_dmabuf_pages(const struct rxe_dmabuf *dmabuf, u64 offset, u64 length);

#endif /* RXE_MEM_DMABUF_H */
