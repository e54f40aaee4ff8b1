// SPDX-License-Identifier: GPL-2.0
/*
 * A library that is loaded before others into qperf's server (LD_PRELOAD).  The server of qperf
 * 0.4.11 tells the client its port before it listens there, and the RDMA CM rejects a client that
 * is faster.  With this library, the server listens when it asks for its port.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <rdma/rdma_cma.h>

static void *next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		abort();
	return f;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	int (*listen)(struct rdma_cm_id *id, int backlog) = next("rdma_listen");
	__be16 (*port)(struct rdma_cm_id *id) = next("rdma_get_src_port");

	if (listen(id, 0))
		abort();
	return port(id);
}

/* Too late: it listens already */
int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id;
	(void)backlog;
	return 0;
}
