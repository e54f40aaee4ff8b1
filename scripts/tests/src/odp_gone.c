// SPDX-License-Identifier: GPL-2.0
/*
 * odp_gone: the process asks for prefetches of much memory, and exits when they have begun. The
 * memory lives on while a worker makes its pages present.
 *
 * usage: odp_gone DEV MIB
 */
#include <sys/mman.h>

#include "odp_util.h"

#define PREFETCHES	8

int main(int argc, char **argv)
{
	struct ibv_context *ctx;
	struct ibv_sge sge;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint64_t len;
	void *addr;
	unsigned char there = 0;
	int i;

	if (argc != 3)
		die("usage: odp_gone DEV MIB");
	len = strtoull(argv[2], NULL, 0) << 20;
	ctx = open_device(argv[1]);
	pd = ibv_alloc_pd(ctx);
	/* The mapped ring of the CQ keeps the region while the memory lives */
	if (!pd || !ibv_create_cq(ctx, 1, NULL, NULL, 0))
		die("cannot make objects");
	addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	mr = addr == MAP_FAILED ? NULL :
		ibv_reg_mr(pd, addr, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		die("cannot register memory: %s", strerror(errno));
	sge = (struct ibv_sge){ (uintptr_t)addr, len, mr->lkey };
	for (i = 0; i < PREFETCHES; i++)
		if (advise(pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, sge))
			die("cannot prefetch: %s", strerror(errno));
	while (!(there & 1))	/* until a worker has begun */
		if (mincore(addr, PAGE, &there))
			die("mincore: %s", strerror(errno));
	_exit(0);
}
