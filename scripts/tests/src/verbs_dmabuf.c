// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_dmabuf: memory regions of a dma-buf, which is udmabuf's or the system heap's.
 * rdma-core's provider doesn't reach the verb, so its ioctl is called. The responder may have
 * another device than the requester.
 */
#define _GNU_SOURCE
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "verbs_util.h"

#define BYTES	(16 * 4096)
#define RIGHTS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		 IBV_ACCESS_REMOTE_ATOMIC)
#define OFF	1000	/* of the region in the buffer */
#define BASE	0x7000000000ull
#define IOVA	(BASE + OFF)	/* at the same place in its page, which the RDMA core wants */
#define LEN	(BYTES - 2 * OFF)

static struct ibv_pd *pd, *peer_pd;	/* of the requester and the responder */
static struct ibv_cq *cq;
static struct ibv_qp *qp[2];
static struct ibv_mr *own, *peer_own;	/* the same BYTES */

struct region {
	struct ibv_pd *pd;
	uint32_t handle, lkey, rkey;
};

struct request {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[9];
};

static void add_attr(struct request *r, uint16_t id, uint16_t len, uint64_t data)
{
	r->attrs[r->hdr.num_attrs++] = (struct ib_uverbs_attr) {
		.attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY, .data = data,
	};
}

static int call(const struct ibv_pd *of, struct request *r, uint16_t method)
{
	r->hdr.length = sizeof(r->hdr) + r->hdr.num_attrs * sizeof(r->attrs[0]);
	r->hdr.object_id = UVERBS_OBJECT_MR;
	r->hdr.method_id = method;
	r->hdr.driver_id = RDMA_DRIVER_RXE;
	return ioctl(of->context->cmd_fd, RDMA_VERBS_IOCTL, r) ? errno : 0;
}

/* Return: 0 or errno */
static int reg_in(struct ibv_pd *of, int fd, uint64_t off, uint64_t len, uint32_t access,
		  struct region *region)
{
	struct request r = {};
	int err;

	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0, of->handle);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, off);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, len);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, BASE + off);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_FD, 4, (uint32_t)fd);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, access);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4, (uintptr_t)&region->lkey);
	add_attr(&r, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4, (uintptr_t)&region->rkey);
	err = call(of, &r, UVERBS_METHOD_REG_DMABUF_MR);
	region->pd = of;
	region->handle = r.attrs[0].data;
	return err;
}

static int reg(int fd, uint64_t off, uint64_t len, uint32_t access, struct region *region)
{
	return reg_in(peer_pd, fd, off, len, access, region);
}

static int dereg(const struct region *region)
{
	struct request r = {};

	add_attr(&r, UVERBS_ATTR_DESTROY_MR_HANDLE, 0, region->handle);
	return call(region->pd, &r, UVERBS_METHOD_MR_DESTROY);
}

static int udmabuf_fd(void)
{
	int dev = open("/dev/udmabuf", O_RDWR), mem, fd;
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = BYTES };

	if (dev < 0)
		return -1;
	mem = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	if (mem < 0 || ftruncate(mem, BYTES) || fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK))
		die("no memory for a udmabuf: %m");
	create.memfd = mem;
	fd = ioctl(dev, UDMABUF_CREATE, &create);
	close(mem);
	close(dev);
	return fd;
}

/* For the case NAME, which is skipped if there is none: -1 */
static int need_udmabuf(const char *name)
{
	int fd = udmabuf_fd();

	if (fd < 0)
		case_skip(name, "no /dev/udmabuf (CONFIG_UDMABUF)");
	return fd;
}

/* The first bytes of a buffer as a region that the case NAME changes; false: it was skipped */
static bool reg_first(const char *name, uint64_t len, struct region *r, struct ibv_mr *mr)
{
	int fd = need_udmabuf(name);

	if (fd < 0)
		return false;
	if (reg(fd, 0, len, RIGHTS, r))
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

/*
 * All operations with the responder's region @r, and with @mine, the requester's of the same
 * bytes. Return: what was wrong, or NULL
 */
static const char *move_data(const struct region *r, const struct region *mine, uint8_t *seen)
{
	struct ibv_sge local = { IOVA, LEN, mine->lkey };
	uint64_t count;

	rnd_fill(own->addr, BYTES, 1);
	memset(seen, 0, BYTES);
	if (post(IBV_WR_RDMA_WRITE, own_sge(LEN), IOVA, r->rkey))
		return "WRITE to it failed";
	if (memcmp(seen + OFF, own->addr, LEN) || seen[OFF - 1] || seen[OFF + LEN])
		return "WRITE to it: wrong bytes";
	rnd_fill(seen, BYTES, 2);
	if (post(IBV_WR_RDMA_READ, own_sge(LEN), IOVA, r->rkey))
		return "READ of it failed";
	if (memcmp(seen + OFF, own->addr, LEN))
		return "READ of it: wrong bytes";
	rnd_fill(seen, BYTES, 3);
	if (post(IBV_WR_RDMA_WRITE, local, (uintptr_t)own->addr, peer_own->rkey))
		return "WRITE from it failed";
	if (memcmp(seen + OFF, own->addr, LEN))
		return "WRITE from it: wrong bytes";
	rnd_fill(own->addr, BYTES, 4);
	if (post(IBV_WR_RDMA_READ, local, (uintptr_t)own->addr, peer_own->rkey))
		return "READ into it failed";
	if (memcmp(seen + OFF, own->addr, LEN))
		return "READ into it: wrong bytes";
	memcpy(&count, seen + OFF, 8);
	if (post(IBV_WR_ATOMIC_FETCH_AND_ADD, own_sge(8), IOVA, r->rkey))
		return "an atomic failed";
	count += 5;
	return memcmp(seen + OFF, &count, 8) ? "an atomic: wrong bytes" : NULL;
}

/* The file descriptor may be closed once the region is there */
static void data(void)
{
	int fd = need_udmabuf("data");
	struct region r, mine;
	uint8_t *seen;
	const char *wrong;
	int err;

	if (fd < 0)
		return;
	seen = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (seen == MAP_FAILED)
		die("cannot map the buffer: %m");
	err = reg(fd, OFF, LEN, RIGHTS, &r) ?: reg_in(pd, fd, OFF, LEN, RIGHTS, &mine);
	close(fd);
	wrong = err ? strerror(err) : move_data(&r, &mine, seen);
	if (!err && (dereg(&r) || dereg(&mine)))
		wrong = "it can't be deregistered";
	if (wrong)
		case_fail("data", "%s", wrong);
	else
		case_ok("data");
	munmap(seen, BYTES);
}

static void refused(void)
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
		{ 0, -BASE, 0, EINVAL },
	};
	int fd = need_udmabuf("refused"), null = open("/dev/null", O_RDWR), err;
	struct region r;
	unsigned int i;

	if (fd < 0)
		return;
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		err = reg(fd, bad[i].off, bad[i].len, bad[i].access, &r);
		/* the RDMA core refuses some of them itself, in its own way */
		if (err != bad[i].err && !(bad[i].access && err == EINVAL)) {
			case_fail("refused", "%u: %s", i, strerror(err));
			return;
		}
	}
	err = reg(null, 0, 1, 0, &r);
	if (err != EINVAL || reg(-1, 0, 1, 0, &r) != EBADF)
		case_fail("refused", "another file is taken: %s", strerror(err));
	else
		case_ok("refused");
	close(null);
	close(fd);
}

/* Memory that may only be read is registered for that alone */
static void read_only(void)
{
	int fd = heap_fd(O_RDONLY), err;
	struct region r;

	if (fd < 0) {
		case_skip("read-only", "no /dev/dma_heap/system");
		return;
	}
	err = reg(fd, 0, BYTES, IBV_ACCESS_LOCAL_WRITE, &r);
	if (err != EACCES)
		case_fail("read-only", "for writing: %s", strerror(err));
	else if (reg(fd, 0, BYTES, IBV_ACCESS_REMOTE_READ, &r))
		case_fail("read-only", "for reading: %m");
	else if (post(IBV_WR_RDMA_READ, own_sge(100), BASE, r.rkey) || dereg(&r))
		case_fail("read-only", "a READ fails");
	else
		case_ok("read-only");
	close(fd);
}

/* The memory stays the dma-buf's; other memory may take its place */
static void rereg(void)
{
	struct region r;
	struct ibv_mr mr;

	if (!reg_first("rereg", BYTES, &r, &mr))
		return;
	if (rereg_mr(&mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) != EOPNOTSUPP)
		case_fail("rereg", "its rights were changed");
	else if (rereg_mr(&mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, own->addr, BYTES, 0))
		case_fail("rereg", "to other memory: %m");
	else if (dereg(&r))
		case_fail("rereg", "cannot be deregistered: %m");
	else
		case_ok("rereg");
}

/* The RDMA core shows the length of the region, also of the one that takes its place */
static void length(void)
{
	struct region r;
	struct ibv_mr mr;

	if (!reg_first("length", 12345, &r, &mr))
		return;
	if (system("rdma resource show mr | grep -qw 'mrlen 12345'"))
		case_fail("length", "not shown");
	else if (rereg_mr(&mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, own->addr, 4321, 0))
		case_fail("length", "to other memory: %m");
	else if (system("rdma resource show mr | grep -qw 'mrlen 4321'"))
		case_fail("length", "that of the new region isn't shown");
	else
		case_ok("length");
	if (dereg(&r))
		case_fail("length", "cannot be deregistered: %m");
}

static struct ibv_pd *open_end(const char *dev)
{
	struct ibv_pd *new = ibv_alloc_pd(open_device(dev));

	if (!new)
		die("alloc_pd: %m");
	return new;
}

static struct ibv_qp *make_qp(struct ibv_pd *of, struct ibv_cq *its, struct addr *addr, int gid)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .send_cq = its, .recv_cq = its,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *new = ibv_create_qp(of, &init);

	if (!new || ibv_query_gid(of->context, 1, gid, &addr->gid))
		die("no queue pair, or no GID %d", gid);
	addr->qpn = new->qp_num;
	addr->psn = 7;
	return new;
}

static void set_up(int gid, int peer_gid)
{
	struct rc_attr attr = rc_attr(gid), peer_attr = rc_attr(peer_gid);
	struct addr addr[2];

	cq = ibv_create_cq(pd->context, 16, NULL, NULL, 0);
	qp[0] = make_qp(pd, cq, &addr[0], gid);
	qp[1] = make_qp(peer_pd, ibv_create_cq(peer_pd->context, 16, NULL, NULL, 0), &addr[1],
			peer_gid);
	rc_up(qp[0], &attr, 7, &addr[1]);
	rc_up(qp[1], &peer_attr, 7, &addr[0]);
	own = new_mr(pd, new_pages(BYTES), BYTES, RIGHTS);
	peer_own = new_mr(peer_pd, own->addr, BYTES, RIGHTS);
}

static const char usage[] =
	"usage: verbs_dmabuf -d DEV -g GID_INDEX [-D DEV -G GID_INDEX]\n"
	"Memory regions of a dma-buf, a case for each of: data, refused, read-only, rereg,\n"
	"length. -D, -G: another device for the responder.";

int main(int argc, char **argv)
{
	const char *dev = NULL, *peer_dev = NULL;
	int o, gid = 0, peer_gid = 0;

	while ((o = getopt(argc, argv, "d:g:D:G:")) != -1) {
		switch (o) {
		case 'd': dev = optarg; break;
		case 'g': gid = atoi(optarg); break;
		case 'D': peer_dev = optarg; break;
		case 'G': peer_gid = atoi(optarg); break;
		default: die("%s", usage);
		}
	}
	pd = open_end(dev);
	peer_pd = peer_dev ? open_end(peer_dev) : pd;
	set_up(gid, peer_dev ? peer_gid : gid);
	data();
	refused();
	read_only();
	rereg();
	length();
	return cases_failed ? 1 : 0;
}
