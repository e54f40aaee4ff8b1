/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for all kinds of regions (mr.c).
 */
#ifndef RXE_MEM_MR_H
#define RXE_MEM_MR_H

#include <rxe/mem.h>

struct rxe_mr *rxe_mr_alloc(struct rxe_dev *rxe, struct ib_pd *ibpd, int access);
void rxe_mr_free(struct rxe_dev *rxe, struct rxe_mr *mr);
int rxe_mr_publish(struct rxe_dev *rxe, struct rxe_mr *mr);

#endif /* RXE_MEM_MR_H */
