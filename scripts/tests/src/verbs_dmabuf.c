// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_dmabuf: memory regions of a dma-buf of udmabuf or of the system heap. rdma-core's
 * provider doesn't have the verb, so the program calls the ioctl. The responder may have
 * another device than the requester.
 */
#define _GNU_SOURCE
#include <linux/dma-heap.h>

#include "dmabuf_util.h"
#include "verbs_case.h"

#define BYTES	(16 * 4096)
#define OFF	1000	/* offset of the region in the buffer */
#define IOVA	(DMABUF_BASE + OFF)	/* the RDMA core wants the same offset in the page */
#define LEN	(BYTES - 2 * OFF)

static struct ibv_pd *pd, *peer_pd;	/* of the requester and the responder */
static struct ibv_cq *cq;
static struct ibv_qp *qp[2];
static struct ibv_mr *own, *peer_own;	/* the same BYTES */

static int reg(int fd, uint64_t off, uint64_t len, uint32_t access, struct region *region)
{
	return reg_in(peer_pd, fd, off, len, access, region);
}

/* Return: -1 if there is no udmabuf; the case is skipped then */
static int need_udmabuf(void)
{
	int fd = udmabuf_fd(BYTES);

	if (fd < 0)
		case_skip(this_case, "no /dev/udmabuf (CONFIG_UDMABUF)");
	return fd;
}

/* Registers the first bytes of a buffer. Return: false if the case was skipped */
static bool reg_first(uint64_t len, struct region *r, struct ibv_mr *mr)
{
	int fd = need_udmabuf();

	if (fd < 0)
		return false;
	if (reg(fd, 0, len, ACCESS_ALL, r))
		die("cannot register the buffer: %m");
	close(fd);
	*mr = (struct ibv_mr){ .context = peer_pd->context, .handle = r->handle };
	return true;
}

static int heap_fd(uint32_t flags)
{
	struct dma_heap_allocation_data data = { .len = BYTES, .fd_flags = flags | O_CLOEXEC };
	int dev = open("/dev/dma_heap/system", O_RDONLY);

	if (dev < 0 || ioctl(dev, DMA_HEAP_IOCTL_ALLOC, &data))
		return -1;
	close(dev);
	return data.fd;
}

static enum ibv_wc_status post(enum ibv_wr_opcode opcode, struct ibv_sge sge, uint64_t addr,
			       uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode };
	struct ibv_wc wc;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	if (ibv_post_send(qp[0], &wr, &bad) || !wait_wc(cq, &wc))
		die("a work request doesn't complete");
	return wc.status;
}

static struct ibv_sge own_sge(uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)own->addr, len, own->lkey };
}

/* All operations between the responder's region @r and the requester's @mine; same size */
static bool move_data(const struct region *r, const struct region *mine, uint8_t *seen)
{
	struct ibv_sge local = { IOVA, LEN, mine->lkey };
	uint64_t count;

	rnd_fill(own->addr, BYTES, 1);
	memset(seen, 0, BYTES);
	CHECK(!post(IBV_WR_RDMA_WRITE, own_sge(LEN), IOVA, r->rkey), "WRITE to it failed");
	CHECK(!memcmp(seen + OFF, own->addr, LEN) && !seen[OFF - 1] && !seen[OFF + LEN],
	      "WRITE to it: wrong bytes");
	rnd_fill(seen, BYTES, 2);
	CHECK(!post(IBV_WR_RDMA_READ, own_sge(LEN), IOVA, r->rkey), "READ of it failed");
	CHECK(!memcmp(seen + OFF, own->addr, LEN), "READ of it: wrong bytes");
	rnd_fill(seen, BYTES, 3);
	CHECK(!post(IBV_WR_RDMA_WRITE, local, (uintptr_t)own->addr, peer_own->rkey),
	      "WRITE from it failed");
	CHECK(!memcmp(seen + OFF, own->addr, LEN), "WRITE from it: wrong bytes");
	rnd_fill(own->addr, BYTES, 4);
	CHECK(!post(IBV_WR_RDMA_READ, local, (uintptr_t)own->addr, peer_own->rkey),
	      "READ into it failed");
	CHECK(!memcmp(seen + OFF, own->addr, LEN), "READ into it: wrong bytes");
	memcpy(&count, seen + OFF, 8);
	CHECK(!post(IBV_WR_ATOMIC_FETCH_AND_ADD, own_sge(8), IOVA, r->rkey), "an atomic failed");
	count += 5;
	CHECK(!memcmp(seen + OFF, &count, 8), "an atomic: wrong bytes");
	return true;
}

/* The file descriptor may be closed when the region exists */
static bool data(void)
{
	int fd = need_udmabuf(), err;
	struct region r, mine;
	uint8_t *seen;

	if (fd < 0)
		return false;
	seen = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (seen == MAP_FAILED)
		die("cannot map the buffer: %m");
	err = reg(fd, OFF, LEN, ACCESS_ALL, &r) ?: reg_in(pd, fd, OFF, LEN, ACCESS_ALL, &mine);
	close(fd);
	CHECK(!err, "%s", strerror(err));
	if (!move_data(&r, &mine, seen))
		return false;
	CHECK(!dereg(&r) && !dereg(&mine), "it can't be deregistered");
	munmap(seen, BYTES);
	return true;
}

static bool refused(void)
{
	static const struct {
		uint64_t off, len;
		uint32_t access;
		int err;
	} bad[] = {
		{ 0, BYTES + 1, 0, EINVAL },
		{ BYTES, 1, 0, EINVAL },
		{ BYTES + 4096, 1, 0, EINVAL },
		{ ~0ull, 4096, 0, EINVAL },
		{ 0, 0, 0, EINVAL },
		{ 0, BYTES, IBV_ACCESS_ON_DEMAND, EOPNOTSUPP },
		{ 0, -DMABUF_BASE, 0, EINVAL },
	};
	int fd = need_udmabuf(), null = open("/dev/null", O_RDWR), err;
	struct region r;
	unsigned int i;

	if (fd < 0)
		return false;
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		err = reg(fd, bad[i].off, bad[i].len, bad[i].access, &r);
		/* The RDMA core itself refuses some of them, by another error */
		CHECK(err == bad[i].err || (bad[i].access && err == EINVAL), "%u: %s", i,
		      strerror(err));
	}
	err = reg(null, 0, 1, 0, &r);
	CHECK(err == EINVAL && reg(-1, 0, 1, 0, &r) == EBADF, "another file is taken: %s",
	      strerror(err));
	close(null);
	close(fd);
	return true;
}

/* A read-only buffer can be registered for reading only */
static bool read_only(void)
{
	int fd = heap_fd(O_RDONLY), err;
	struct region r;

	if (fd < 0) {
		case_skip(this_case, "no /dev/dma_heap/system");
		return false;
	}
	err = reg(fd, 0, BYTES, IBV_ACCESS_LOCAL_WRITE, &r);
	CHECK(err == EACCES, "for writing: %s", strerror(err));
	CHECK(!reg(fd, 0, BYTES, IBV_ACCESS_REMOTE_READ, &r), "for reading: %m");
	CHECK(!post(IBV_WR_RDMA_READ, own_sge(100), DMABUF_BASE, r.rkey) && !dereg(&r),
	      "a READ fails");
	close(fd);
	return true;
}

/* rereg_mr can't keep the memory of a dma-buf, but can replace it by other memory */
static bool rereg(void)
{
	struct region r;
	struct ibv_mr mr;

	if (!reg_first(BYTES, &r, &mr))
		return false;
	CHECK(rereg_mr(&mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == EOPNOTSUPP,
	      "its rights were changed");
	CHECK(!rereg_mr(&mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, own->addr, BYTES, 0),
	      "to other memory: %m");
	CHECK(!dereg(&r), "cannot be deregistered: %m");
	return true;
}

/* The RDMA core shows the length of the region, and that of the region that replaces it */
static bool length(void)
{
	struct region r;
	struct ibv_mr mr;

	if (!reg_first(12345, &r, &mr))
		return false;
	CHECK(!system("rdma resource show mr | grep -qw 'mrlen 12345'"), "not shown");
	CHECK(!rereg_mr(&mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, own->addr, 4321, 0),
	      "to other memory: %m");
	CHECK(!system("rdma resource show mr | grep -qw 'mrlen 4321'"),
	      "that of the new region isn't shown");
	CHECK(!dereg(&r), "cannot be deregistered: %m");
	return true;
}

static const struct test_case all[] = {
	{ "data", data }, { "refused", refused }, { "read-only", read_only }, { "rereg", rereg },
	{ "length", length },
};

static struct ibv_qp *make_qp(struct ibv_pd *of, struct ibv_cq *its)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .send_cq = its, .recv_cq = its,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return create_qp(of, &init);
}

static void set_up(void)
{
	struct rc_attr attr = rc_attr(place[0].gid_index), peer_attr = rc_attr(place[1].gid_index);
	struct addr addr[2];

	pd = new_pd(place[0].ctx);
	peer_pd = place[1].ctx == place[0].ctx ? pd : new_pd(place[1].ctx);
	cq = new_cq(place[0].ctx, 16);
	qp[0] = make_qp(pd, cq);
	qp[1] = make_qp(peer_pd, new_cq(place[1].ctx, 16));
	addr[0] = addr_of(qp[0]);
	addr[1] = addr_of(qp[1]);
	rc_up(qp[0], &attr, addr[0].psn, &addr[1]);
	rc_up(qp[1], &peer_attr, addr[1].psn, &addr[0]);
	own = new_mr(pd, new_pages(BYTES), BYTES, ACCESS_ALL);
	peer_own = new_mr(peer_pd, own->addr, BYTES, ACCESS_ALL);
}

static const char usage[] =
	"usage: verbs_dmabuf -d DEV -g GID_INDEX [-D DEV -G GID_INDEX]\n"
	"Memory regions of a dma-buf, a case for each of: data, refused, read-only, rereg,\n"
	"length. -D, -G: another device for the responder.";

int main(int argc, char **argv)
{
	char *none = NULL;
	int o;

	while ((o = getopt(argc, argv, "d:g:D:G:")) != -1)
		if (!place_option(o))
			die("%s", usage);
	open_places();
	set_up();
	run_cases(all, ARRAY_LEN(all), &none);
	return cases_failed ? 1 : 0;
}
