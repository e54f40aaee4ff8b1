// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: reference counts that keep the memory while a task copies from or to it.
 *
 * Context: references: any but NMI.
 */
#include <mem/key.h>

/**
 * rxe_region_init - set up a region with one reference, the owner's
 * @region: the region
 */
void rxe_region_init(struct rxe_region *region)
{
	kref_init(&region->ref);
	init_completion(&region->idle);
	region->shift = PAGE_SHIFT;
}

static void set_region_idle(struct kref *kref)
{
	complete(&container_of(kref, struct rxe_region, ref)->idle);
}

/**
 * rxe_region_put - drop a reference
 * @region: the region
 */
void rxe_region_put(struct rxe_region *region)
{
	kref_put(&region->ref, set_region_idle);
}

/**
 * rxe_region_end - drop the owner's reference, and wait for the others
 * @region: the region, which no key names any more
 *
 * The pages must stay pinned until this returns. Process context.
 */
void rxe_region_end(struct rxe_region *region)
{
	rxe_region_put(region);
	wait_for_completion(&region->idle);
}
