// SPDX-License-Identifier: GPL-2.0
/*
 * A library that is loaded before others into qperf (LD_PRELOAD).
 *
 * The server of qperf 0.4.11 tells the client its port before it listens there, and the RDMA CM
 * rejects a client that is faster.  With this library, the server listens when it asks for its
 * port.
 *
 * Without the RDMA CM, the ends of qperf tell each other LIDs, and set up paths without a GRH.
 * RoCE has no LIDs.  With the library, these paths have a GRH with the GID QPERF_PEER of the other
 * end, and the index QPERF_GID of the own GID.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
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

static void add_grh(struct ibv_ah_attr *path)
{
	const char *peer = getenv("QPERF_PEER"), *index = getenv("QPERF_GID");

	if (path->is_global || !peer || !index)
		return;
	path->is_global = 1;
	path->grh.sgid_index = atoi(index);
	path->grh.hop_limit = 64;
	if (inet_pton(AF_INET6, peer, &path->grh.dgid) != 1)
		abort();
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*modify)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);

	modify = next("ibv_modify_qp");
	if (mask & IBV_QP_AV)
		add_grh(&attr->ah_attr);
	return modify(qp, attr, mask);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *(*create)(struct ibv_pd *pd, struct ibv_ah_attr *attr);

	create = next("ibv_create_ah");
	add_grh(attr);
	return create(pd, attr);
}
