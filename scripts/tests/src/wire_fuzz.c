// SPDX-License-Identifier: GPL-2.0
/*
 * wire_fuzz: captures RoCE packets that two devices send to each other, and sends mutants of them,
 * with other headers, lengths, order or grouping.
 *
 * Each end is a netdev in a network namespace. The packets of its device are captured with their
 * trains and partial checksums (PACKET_VNET_HDR). Mutants leave by the same netdev, as single
 * packets, as GSO trains, or with a checksum still to do. PSNs, QP numbers, keys and addresses are
 * those of live connections, or near to them. Most ICRCs are right.
 *
 * A forged packet with the peer's address and a right ICRC may be executed. Connections between the
 * addresses of --spare therefore get only mutants with a wrong ICRC, on which no device may act.
 * Their data can be verified meanwhile.
 *
 * With the same seed, the decisions are the same. But the packets to change depend on the traffic.
 * --only sends one kind of mutants, to find the kind that causes a fault.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>

#include "verbs_util.h"

#define ROCE_PORT	4791
#define ETH_ROCE	0x8915
#define PKT_MAX		9000
#define FRAME_MAX	65536
#define POOL		512		/* captured packets that are kept per end */
#define LEAST		10		/* of each kind that are sent */
#define TRAIN_MAX	48
#define SPARES		8
#define UDP_L4		5		/* VIRTIO_NET_HDR_GSO_UDP_L4, from 6.2 on */

enum { ETH = 14, BTH = 12, ICRC = 4 };
enum version { V1, IP4, IP6 };

/* A packet as it was captured: the headers before its BTH, and the rest with the ICRC */
struct pkt {
	enum version version;
	bool spare;
	uint32_t len;
	uint8_t head[ETH + 40 + 8];
	uint8_t b[PKT_MAX];
};

struct end {
	char netns[32], dev[IFNAMSIZ];
	int fd;
	unsigned int seen;		/* packets captured so far; the last POOL are in pool */
	struct pkt *pool;
};

/* Packets to send, behind the network headers of the first */
struct shot {
	unsigned int n, gso_size;
	struct pkt *p[TRAIN_MAX];
	uint8_t head[ETH + 40 + 8];
	bool raw_lengths;		/* the lengths of IP and UDP stay as they are */
};

static struct end ends[2];
static struct in_addr spares[SPARES];
static unsigned int nspares;
static const char *only;
static uint64_t seed = 1;
static unsigned long captured, sent, refused, sent_pkts, sent_trains;

static unsigned int pick(unsigned int n)
{
	return rnd(&seed) % n;
}

static bool chance(unsigned int percent)
{
	return pick(100) < percent;
}

/* --- bytes --- */

static void put(uint8_t *p, unsigned int bytes, uint64_t v)
{
	while (bytes--) {
		p[bytes] = v;
		v >>= 8;
	}
}

static uint64_t get(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

static uint32_t crc32(uint32_t crc, const uint8_t *p, size_t len)
{
	static uint32_t table[256];
	unsigned int i, bit;

	for (i = 0; !table[255] && i < 256; i++)
		for (table[i] = i, bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	while (len--)
		crc = crc >> 8 ^ table[(uint8_t)crc ^ *p++];
	return crc;
}

static unsigned int l3_len(enum version version)
{
	return version == IP4 ? 20 : 40;
}

static unsigned int udp_len(enum version version)
{
	return version == V1 ? 0 : 8;
}

static unsigned int head_len(enum version version)
{
	return ETH + l3_len(version) + udp_len(version);
}

/* Sets the lengths for @bytes from the first BTH on, and the ID of packet @nth of a train */
static void set_lengths(enum version version, uint8_t *head, unsigned int bytes, unsigned int nth)
{
	uint8_t *l3 = head + ETH, *udp = l3 + l3_len(version);
	unsigned int i, sum = 0;

	bytes += udp_len(version);
	if (version != V1)
		put(udp + 4, 2, bytes);
	if (version != IP4) {
		put(l3 + 4, 2, bytes);
		return;
	}
	put(l3 + 2, 2, bytes + 20);
	put(l3 + 4, 2, get(l3 + 4, 2) + nth);
	put(l3 + 10, 2, 0);
	for (i = 0; i < 20; i += 2)
		sum += get(l3 + i, 2);
	sum = (sum >> 16) + (sum & 0xffff);
	put(l3 + 10, 2, ~(sum + (sum >> 16)));
}

/* Annexes A16.4.2 and A17.3.3 */
static void set_icrc(enum version version, const uint8_t *headers, struct pkt *p, unsigned int nth)
{
	uint8_t head[8 + 48], frame[ETH + 48], byte4 = 0xff, *l3 = head + 8;
	unsigned int len = l3_len(version) + udp_len(version);
	uint32_t crc;

	memcpy(frame, headers, head_len(version));
	set_lengths(version, frame, p->len, nth);
	memset(head, 0xff, 8);
	memcpy(l3, frame + ETH, len);
	if (version == IP4) {
		l3[1] = l3[8] = l3[10] = l3[11] = 0xff;
	} else {
		l3[0] |= 0xf;
		l3[1] = l3[2] = l3[3] = l3[7] = 0xff;
	}
	if (version != V1)
		memset(l3 + len - 2, 0xff, 2);
	crc = crc32(~0u, head, 8 + len);
	crc = crc32(crc, p->b, 4);
	crc = crc32(crc, &byte4, 1);
	crc = ~crc32(crc, p->b + 5, p->len - 5 - ICRC);
	crc = htole32(crc);
	memcpy(p->b + p->len - ICRC, &crc, ICRC);
}

/* --- capture --- */

static bool is_spare_addr(const uint8_t *addr)
{
	unsigned int i;

	for (i = 0; i < nspares; i++)
		if (!memcmp(addr, &spares[i], 4))
			return true;
	return false;
}

/* An IPv4 address may also be the end of a GID */
static bool is_spare(enum version version, const uint8_t *head)
{
	const uint8_t *l3 = head + ETH;

	if (version == IP4)
		return is_spare_addr(l3 + 12) || is_spare_addr(l3 + 16);
	return version == V1 && (is_spare_addr(l3 + 20) || is_spare_addr(l3 + 36));
}

static bool version_of(const uint8_t *f, size_t len, enum version *version)
{
	uint16_t type = get(f + 12, 2);

	if (len < ETH + 48 + BTH + ICRC)
		return false;
	if (type == ETH_ROCE)
		*version = V1;
	else if (type == ETHERTYPE_IP && f[ETH] == 0x45 && f[ETH + 9] == IPPROTO_UDP)
		*version = IP4;
	else if (type == ETHERTYPE_IPV6 && f[ETH + 6] == IPPROTO_UDP)
		*version = IP6;
	else
		return false;
	return *version == V1 || get(f + ETH + l3_len(*version) + 2, 2) == ROCE_PORT;
}

static void remember(struct end *e, const uint8_t *f, size_t len, unsigned int gso_size)
{
	enum version version;
	unsigned int head, nth, chunk;
	struct pkt *p;

	if (!version_of(f, len, &version))
		return;
	head = head_len(version);
	if (!gso_size)
		gso_size = len - head;
	f += head;
	len -= head;
	for (nth = 0; len >= BTH + ICRC; nth++) {
		chunk = len < gso_size ? len : gso_size;
		if (chunk > PKT_MAX)
			return;
		p = &e->pool[e->seen++ % POOL];
		memcpy(p->head, f - head - (size_t)nth * gso_size, head);
		memcpy(p->b, f, chunk);
		p->len = chunk;
		p->version = version;
		p->spare = is_spare(version, p->head);
		captured++;
		f += chunk;
		len -= chunk;
	}
}

/* Remembers one in sixteen frames that others than this program send from here */
static void sample(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_RANDOM),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1u << 28, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, ~0u),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { ARRAY_LEN(code), code };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)))
		die("filter: %s", strerror(errno));
}

static void capture(struct end *e)
{
	static uint8_t buf[sizeof(struct virtio_net_hdr) + FRAME_MAX + 256];
	struct virtio_net_hdr *hdr = (void *)buf;
	ssize_t n;

	for (;;) {
		n = recv(e->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0)
			return;
		if (n > (ssize_t)sizeof(*hdr))
			remember(e, buf + sizeof(*hdr), n - sizeof(*hdr),
				 hdr->gso_type ? hdr->gso_size : 0);
	}
}

/* --- mutations of a packet --- */

/* Return: a packet, mostly one of the last few */
static struct pkt *any(struct end *e)
{
	unsigned int have = e->seen < POOL ? e->seen : POOL;
	unsigned int back = pick(chance(70) && have > 16 ? 16 : have);

	return &e->pool[(e->seen - 1 - back) % POOL];
}

/* Return: the first packet of a shot. One in four is of a connection whose data is verified */
static struct pkt *first(struct end *e)
{
	unsigned int have = e->seen < POOL ? e->seen : POOL, i;
	struct pkt *p;

	if (chance(75))
		return any(e);
	for (i = 0; i < have; i++) {
		p = &e->pool[(e->seen - 1 - i) % POOL];
		if (p->spare)
			return p;
	}
	return any(e);
}

/* Return: a value near to a limit, for a field of @bytes bytes */
static uint64_t edge(unsigned int bytes)
{
	static const uint64_t edges[] = { 0, 1, 4, 1024, 4096, 1 << 23, 1u << 31, ~0ull };

	return edges[pick(ARRAY_LEN(edges))] + pick(3) - 1 + (chance(20) ? 1ull << pick(8 * bytes) : 0);
}

static void flip_bits(struct shot *s UNUSED, struct pkt *p, struct end *e UNUSED)
{
	unsigned int n = 1 + pick(8), span = p->len < 44 ? p->len : 44;

	while (n--)
		p->b[pick(span)] ^= 1 << pick(8);
}

static void change_payload(struct shot *s UNUSED, struct pkt *p, struct end *e UNUSED)
{
	p->b[pick(p->len)] = pick(256);
}

static void change_opcode(struct shot *s UNUSED, struct pkt *p, struct end *e)
{
	p->b[0] = chance(60) ? pick(0x30) : chance(50) ? any(e)->b[0] : pick(256);
}

static void change_qpn(struct shot *s UNUSED, struct pkt *p, struct end *e)
{
	static const uint32_t special[] = { 0, 1, 2, 0xffffff };

	if (chance(80))
		memcpy(p->b + 5, any(e)->b + 5, 3);
	else
		put(p->b + 5, 3, chance(50) ? special[pick(4)] : get(p->b + 5, 3) + pick(5) - 2);
}

static void change_psn(struct shot *s UNUSED, struct pkt *p, struct end *e UNUSED)
{
	static const uint32_t far[] = { 1 << 10, 1 << 14, 1 << 20, (1 << 23) - 1, 1 << 23 };
	uint32_t psn = get(p->b + 9, 3);

	if (chance(70))
		psn += pick(64) - 24;
	else
		psn += (chance(50) ? 1 : -1) * (far[pick(ARRAY_LEN(far))] + pick(3) - 1);
	put(p->b + 9, 3, psn);
}

static void change_flags(struct shot *s UNUSED, struct pkt *p, struct end *e UNUSED)
{
	switch (pick(5)) {
	case 0:
		p->b[1] ^= 0x80;
		break;
	case 1:
		p->b[1] = (p->b[1] & 0xcf) | pick(4) << 4;
		break;
	case 2:
		put(p->b + 2, 2, chance(50) ? 0x7fff : rnd(&seed));
		break;
	case 3:
		p->b[4] = rnd(&seed);
		break;
	default:
		p->b[8] ^= 0x80;
	}
}

/* RETH and AtomicETH both begin with address and key. DETH has Q_Key and source QP there */
static void change_ext(struct shot *s UNUSED, struct pkt *p, struct end *e)
{
	static const uint8_t field[][2] = { { 12, 8 }, { 20, 4 }, { 24, 4 }, { 12, 4 }, { 16, 4 }, { 32, 8 } };
	const uint8_t *f = field[pick(ARRAY_LEN(field))];

	if (p->len < 48)
		return;
	if (chance(50))
		memcpy(p->b + f[0], any(e)->b + f[0], f[1]);
	else if (chance(50))
		put(p->b + f[0], f[1], get(p->b + f[0], f[1]) + edge(f[1]));
	else
		put(p->b + f[0], f[1], edge(f[1]));
}

static void change_aeth(struct shot *s UNUSED, struct pkt *p, struct end *e UNUSED)
{
	static const uint8_t syndromes[] = { 0x00, 0x1f, 0x20, 0x3f, 0x40, 0x60, 0x61, 0x62, 0x63, 0x64, 0x80, 0xff };

	if (chance(50))
		p->b[0] = 0x0d + pick(6);
	p->b[12] = chance(70) ? syndromes[pick(ARRAY_LEN(syndromes))] : rnd(&seed);
	if (chance(30))
		put(p->b + 13, 3, get(p->b + 13, 3) + pick(64) - 32);
}

static void change_length(struct shot *s UNUSED, struct pkt *p, struct end *e UNUSED)
{
	int by = chance(70) ? 4 * (1 + pick(8)) : 1 + pick(300);
	int len = chance(60) ? (int)p->len - by : (int)p->len + by;

	if (len < BTH + ICRC || chance(5))
		len = pick(BTH + ICRC + 1);
	p->len = len < 6 ? 6 : len > 4400 ? 4400 : len;
}

/* Combines the headers of this packet with payload and length of another */
static void splice_other(struct shot *s UNUSED, struct pkt *p, struct end *e)
{
	const struct pkt *q = any(e);
	unsigned int keep = BTH + 4 * pick(8);

	if (q->len <= keep || p->len < keep)
		return;
	memcpy(p->b + keep, q->b + keep, q->len - keep);
	p->len = q->len;
}

/* --- mutations of the network headers --- */

static void change_l3(struct shot *s, struct pkt *p, struct end *e UNUSED)
{
	uint8_t *l3 = s->head + ETH;

	switch (pick(p->version == IP4 ? 6 : 3)) {
	case 0:
		l3[1] ^= 1 << pick(8);			/* TOS; traffic class and flow */
		break;
	case 1:
		l3[pick(l3_len(p->version))] ^= 1 << pick(8);
		break;
	case 2:						/* from another sender */
		l3[p->version == IP4 ? 15 : 23] ^= 1 << pick(8);
		break;
	case 3:
		put(l3 + 6, 2, rnd(&seed));		/* a fragment */
		break;
	case 4:
		l3[0] = 0x40 | (5 + pick(10));		/* options */
		break;
	default:
		put(l3 + 4, 2, rnd(&seed));
	}
}

static void change_udp(struct shot *s, struct pkt *p, struct end *e UNUSED)
{
	uint8_t *udp = s->head + ETH + l3_len(p->version);

	if (p->version == V1)
		return;
	if (chance(40))
		put(udp, 2, chance(50) ? get(udp, 2) + 1 : rnd(&seed));
	else
		put(udp + 6, 2, rnd(&seed));
}

/* Lengths that don't agree with one another or with the frame */
static void wrong_lengths(struct shot *s, struct pkt *p, struct end *e UNUSED)
{
	uint8_t *l3 = s->head + ETH, *udp = l3 + l3_len(p->version);
	uint8_t *at = p->version != V1 && chance(50) ? udp + 4 : l3 + (p->version == IP4 ? 2 : 4);

	set_lengths(p->version, s->head, p->len, 0);
	put(at, 2, chance(60) ? get(at, 2) + pick(65) - 32 : rnd(&seed));
	s->raw_lengths = true;
}

struct mutation {
	const char *name;
	void (*fn)(struct shot *s, struct pkt *p, struct end *e);
	unsigned int weight;
	unsigned long count;
};

static struct mutation mutations[] = {
	{ "bits", flip_bits, 10, 0 },
	{ "payload", change_payload, 4, 0 },
	{ "opcode", change_opcode, 14, 0 },
	{ "qpn", change_qpn, 10, 0 },
	{ "psn", change_psn, 24, 0 },
	{ "flags", change_flags, 8, 0 },
	{ "ext", change_ext, 14, 0 },
	{ "aeth", change_aeth, 12, 0 },
	{ "length", change_length, 8, 0 },
	{ "splice", splice_other, 5, 0 },
	{ "l3", change_l3, 4, 0 },
	{ "udp", change_udp, 3, 0 },
	{ "lengths", wrong_lengths, 2, 0 },
};

/* How packets are grouped, and the state of their checksums */
enum { REPLAY, SINGLE, TRAIN, MIXED, SHUFFLED, RECHUNKED, PARTIAL, ODD_PARTIAL, BAD_ICRC, NO_ICRC, MODES };
static const char * const mode_name[MODES] = {
	"replay", "single", "train", "mixed", "shuffled", "rechunked", "partial", "odd-partial",
	"bad-icrc", "no-icrc",
};
static unsigned long mode_count[MODES];

static struct mutation *pick_mutation(void)
{
	unsigned int total = 0, i, at;

	for (i = 0; i < ARRAY_LEN(mutations); i++)
		total += !only || !strcmp(only, mutations[i].name) ? mutations[i].weight : 0;
	at = pick(total);
	for (i = 0;; i++) {
		if (only && strcmp(only, mutations[i].name))
			continue;
		if (at < mutations[i].weight)
			return &mutations[i];
		at -= mutations[i].weight;
	}
}

static void mutate(struct shot *s, struct end *e)
{
	unsigned int i, n;
	struct mutation *m;

	for (i = 0; i < s->n; i++) {
		if (s->n > 1 && chance(60))
			continue;
		for (n = 1 + pick(3); n; n--) {
			m = pick_mutation();
			m->fn(s, s->p[i], e);
			m->count++;
		}
	}
}

/* --- shots --- */

/* Loads one packet, or a train: the packets behind the first, or others of this protocol */
static void load(struct shot *s, struct end *e)
{
	static struct pkt store[TRAIN_MAX];
	bool mixed = chance(30);
	const struct pkt *q;
	unsigned int i;

	s->n = chance(55) ? 1 : 2 + pick(TRAIN_MAX - 1);
	s->raw_lengths = false;
	mode_count[s->n == 1 ? SINGLE : mixed ? MIXED : TRAIN]++;
	for (i = 0; i < s->n; i++) {
		q = !i ? first(e) : mixed ? any(e) : &store[i - 1];
		if (i && q->version != store[0].version)
			q = &store[0];
		s->p[i] = &store[i];
		if (q != s->p[i])
			*s->p[i] = *q;
		if (i && !mixed)
			put(s->p[i]->b + 9, 3, get(q->b + 9, 3) + 1);
		if (i && s->p[i]->spare)
			s->p[0]->spare = true;
	}
	memcpy(s->head, s->p[0]->head, sizeof(s->head));
	s->gso_size = s->p[0]->len;
}

static void shuffle(struct shot *s)
{
	unsigned int i, j;
	struct pkt *p;

	for (i = s->n - 1; i; i--) {
		j = pick(i + 1);
		p = s->p[i];
		s->p[i] = s->p[j];
		s->p[j] = p;
	}
	mode_count[SHUFFLED]++;
}

static void seal(struct shot *s, bool spare)
{
	enum version version = s->p[0]->version;
	unsigned int i, bad = spare ? 100 : chance(8) ? 50 : 0;
	struct pkt *p;

	for (i = 0; i < s->n; i++) {
		p = s->p[i];
		if (p->len < BTH + ICRC)
			continue;
		set_icrc(version, s->head, p, i);
		if (!chance(bad))
			continue;
		if (!spare && chance(20)) {
			memset(p->b + p->len - ICRC, 0, ICRC);
			mode_count[NO_ICRC]++;
		} else {
			p->b[p->len - 1 - pick(ICRC)] ^= 1 << pick(8);
			mode_count[BAD_ICRC]++;
		}
	}
}

/* Fills the header for the netdev. A train needs a checksum that is still to do */
static void describe(const struct shot *s, struct virtio_net_hdr *hdr, bool train)
{
	enum version version = s->p[0]->version;

	memset(hdr, 0, sizeof(*hdr));
	if (version == V1 || (!train && !chance(25)))
		return;
	hdr->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	hdr->csum_start = ETH + l3_len(version);
	hdr->csum_offset = 6;
	mode_count[PARTIAL]++;
	if (train) {
		hdr->gso_type = UDP_L4;
		hdr->gso_size = s->gso_size;
		hdr->hdr_len = head_len(version);
	} else if (chance(10)) {
		hdr->csum_start += pick(64);
		hdr->csum_offset = pick(16);
		mode_count[ODD_PARTIAL]++;
	}
}

/* Sends packets @from to @to of a shot as one frame */
static void emit(struct shot *s, struct end *e, unsigned int from, unsigned int to)
{
	static uint8_t buf[sizeof(struct virtio_net_hdr) + ETH + 48 + FRAME_MAX];
	enum version version = s->p[0]->version;
	unsigned int head = head_len(version), bytes = 0, i;
	uint8_t *frame = buf + sizeof(struct virtio_net_hdr);

	memcpy(frame, s->head, head);
	for (i = from; i < to && head + bytes + s->p[i]->len < FRAME_MAX - 64; i++) {
		memcpy(frame + head + bytes, s->p[i]->b, s->p[i]->len);
		bytes += s->p[i]->len;
	}
	if (!s->raw_lengths)
		set_lengths(version, frame, bytes, from);
	describe(s, (void *)buf, to - from > 1);
	if (send(e->fd, buf, sizeof(struct virtio_net_hdr) + head + bytes, 0) < 0) {
		refused++;
	} else {
		sent++;
		sent_trains += to - from > 1;
		sent_pkts += i - from;
	}
}

static void fire(struct end *e)
{
	struct shot s;
	unsigned int i;
	bool spare;

	if (!e->seen)
		return;
	load(&s, e);
	spare = s.p[0]->spare;
	if (chance(95) || only)
		mutate(&s, e);
	else
		mode_count[REPLAY]++;
	if (s.n > 1 && chance(15))
		shuffle(&s);
	if (s.n > 1 && chance(10)) {
		s.gso_size = chance(50) ? s.gso_size / 2 : 16 + pick(1400);
		mode_count[RECHUNKED]++;
	}
	seal(&s, spare || is_spare(s.p[0]->version, s.head));
	if (s.n > 1 && s.p[0]->version != V1 && chance(70)) {
		emit(&s, e, 0, s.n);
		return;
	}
	for (i = 0; i < s.n; i++)
		emit(&s, e, i, i + 1);
}

/* --- ends --- */

static void open_end(struct end *e, const char *spec)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int on = 1, size = 1 << 20, ns;
	char path[64];

	if (sscanf(spec, "%31[^:]:%15s", e->netns, e->dev) != 2)
		die("an end is NETNS:NETDEV, not %s", spec);
	snprintf(path, sizeof(path), "/run/netns/%s", e->netns);
	ns = open(path, O_RDONLY);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die("%s: %s", path, strerror(errno));
	close(ns);
	e->fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	addr.sll_ifindex = if_nametoindex(e->dev);
	if (e->fd < 0 || !addr.sll_ifindex ||
	    setsockopt(e->fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) ||
	    setsockopt(e->fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    bind(e->fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("%s: %s", spec, strerror(errno));
	sample(e->fd);
	e->pool = calloc(POOL, sizeof(*e->pool));
	if (!e->pool)
		die("no memory");
}

static void report(void)
{
	unsigned int i;

	printf("captured %lu packets, sent %lu in %lu frames, %lu of them trains; "
	       "%lu more were refused by the netdev\n",
	       captured, sent_pkts, sent, sent_trains, refused);
	for (i = 0; i < ARRAY_LEN(mutations); i++)
		printf("  %-12s %lu\n", mutations[i].name, mutations[i].count);
	for (i = 0; i < MODES; i++)
		printf("  %-12s %lu\n", mode_name[i], mode_count[i]);
}

/* Return: fewer than LEAST; says so */
static bool too_few(const char *what, unsigned long count)
{
	if (count < LEAST)
		fprintf(stderr, "%s: only %lu\n", what, count);
	return count < LEAST;
}

/* Has all been sent that can be? The netdev may refuse a kind of frames wholly */
static bool is_complete(void)
{
	bool few = too_few("captured packets", captured) | too_few("frames sent", sent);
	unsigned int i;

	if (only)
		return !few;
	few |= too_few("trains sent", sent_trains);
	for (i = 0; i < ARRAY_LEN(mutations); i++)
		few |= too_few(mutations[i].name, mutations[i].count);
	for (i = 0; i < MODES; i++)
		few |= too_few(mode_name[i], mode_count[i]);
	return !few;
}

static void run(unsigned int seconds, unsigned int rate)
{
	struct pollfd fds[2] = { { ends[0].fd, POLLIN, 0 }, { ends[1].fd, POLLIN, 0 } };
	uint64_t begin = now_ms(), now = begin;
	unsigned long shots = 0, due;

	while (now < begin + seconds * 1000ull) {
		poll(fds, 2, 2);
		capture(&ends[0]);
		capture(&ends[1]);
		now = now_ms();
		/* After a stall of this machine, the lost time isn't made up for */
		due = (now - begin) * rate / 1000;
		shots = shots + 64 < due ? due - 64 : shots;
		for (; shots < due; shots++)
			fire(&ends[pick(2)]);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", 1, NULL, 's' }, { "seconds", 1, NULL, 't' }, { "rate", 1, NULL, 'r' },
		{ "spare", 1, NULL, 'x' }, { "only", 1, NULL, 'o' }, { NULL, 0, NULL, 0 },
	};
	unsigned int seconds = 10, rate = 1000;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atoi(optarg); break;
		case 'r': rate = atoi(optarg); break;
		case 'o': only = optarg; break;
		case 'x':
			if (nspares == SPARES || !inet_pton(AF_INET, optarg, &spares[nspares++]))
				die("--spare takes an IPv4 address, %d at most", SPARES);
			break;
		default: die("usage: wire_fuzz [--seed N] [--seconds N] [--rate FRAMES-A-SECOND]"
			     " [--spare ADDRESS]... [--only MUTATION] NETNS:NETDEV NETNS:NETDEV");
		}
	}
	if (argc - optind != 2)
		die("two ends, please: NETNS:NETDEV NETNS:NETDEV");
	printf("seed %lu, %u s\n", (unsigned long)seed, seconds);
	open_end(&ends[0], argv[optind]);
	open_end(&ends[1], argv[optind + 1]);
	run(seconds, rate);
	report();
	return !is_complete();
}
