// SPDX-License-Identifier: GPL-2.0
/*
 * Persistent memory (annex A19): which regions consist of it, and how written data becomes
 * persistent.
 *
 * A region may have IB_ACCESS_FLUSH_PERSISTENT only if all of its memory is persistent. The
 * responder writes with the CPU. Written data survives a loss of power once it has left the
 * caches for persistent memory: a persistent FLUSH writes the caches back.
 */
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include <linux/scatterlist.h>
#include <mem/pmem.h>

/*
 * Does the firmware describe the memory as persistent? LEGACY: on machines without NVDIMM
 * tables, or by the kernel command line. Persistent memory that is used as RAM (kmem) isn't
 * zone device memory: its contents are useless after a loss of power.
 */
static bool is_persistent(struct scatterlist *sg)
{
	if (!is_zone_device_page(sg_page(sg)))
		return false;
	return region_intersects(sg_phys(sg), sg->length, IORESOURCE_MEM,
				 IORES_DESC_PERSISTENT_MEMORY) == REGION_INTERSECTS ||
	       region_intersects(sg_phys(sg), sg->length, IORESOURCE_MEM,
				 IORES_DESC_PERSISTENT_MEMORY_LEGACY) == REGION_INTERSECTS;
}

/**
 * rxe_pmem_holds - is all of the pinned memory persistent?
 * @umem: the memory
 *
 * Context: process, may sleep.
 *
 * Return: true if it is, and this kernel can write caches back to it.
 */
bool rxe_pmem_holds(const struct ib_umem *umem)
{
	const struct sg_table *sgt = &umem->sgt_append.sgt;
	struct scatterlist *sg;
	u32 i;

	if (!IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API))
		return false;
	for_each_sgtable_sg(sgt, sg, i) {
		if (!is_persistent(sg))
			return false;
		cond_resched();
	}
	return true;
}

/**
 * rxe_key_persist - make written data persistent
 * @key: from rxe_key_get() with IB_ACCESS_FLUSH_PERSISTENT
 * @va: first byte
 * @len: bytes, in the key's range
 *
 * Context: bottom halves off.
 */
void rxe_key_persist(const struct rxe_key *key, u64 va, u32 len)
{
	while (len) {
		u32 run = len;
		void *p = rxe_key_run(key, va, &run);

		arch_wb_cache_pmem(p, run);
		va += run;
		len -= run;
	}
	pmem_wmb();
}
