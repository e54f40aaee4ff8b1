// SPDX-License-Identifier: GPL-2.0
/*
 * uso_card: two network cards that segment UDP, and the wire between them.
 *
 * Receives what arrives at each of two netdevs, trains (UDP GSO) as a whole, and sends it by the
 * other netdev in packets. Linux before 6.2 doesn't tell a packet socket the size of a train's
 * packets (PACKET_VNET_HDR), so the "card" finds it in the headers of RoCE. The "card" sets the IPv4 IDs of the packets of a train: they count up
 * from the train's own ID, as they should, or are all the same. Packets to RoCE's port are lost at
 * random, if an option says so.
 *
 * Runs until SIGTERM, and prints then what it has seen.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <signal.h>

#include "verbs_util.h"

#define ROCE_PORT	4791
#define RCVBUF		(64 << 20)
#define BTH		12
#define RETH		16
#define ICRC		4
#define READ_REQUEST	0x0c
#define MIN_PACKET	(BTH + ICRC)

/* The offsets of fields in a BTH */
#define PKEY		2
#define DEST_QP		5
#define PSN		9

struct frame {
	uint8_t data[70000];
};

static volatile sig_atomic_t ended;
static bool same_id;
static uint32_t loss;		/* lost packets in 10,000 */
static uint64_t seed = 1, trains, packets, lost;

static void end(int sig UNUSED)
{
	ended = 1;
}

static int open_netdev(const char *name)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq promisc = { .mr_type = PACKET_MR_PROMISC };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), one = 1, size = RCVBUF;

	addr.sll_ifindex = promisc.mr_ifindex = if_nametoindex(name);
	if (fd < 0 || !addr.sll_ifindex ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("%s: %s", name, strerror(errno));
	return fd;
}

static uint32_t sum(const uint8_t *p, size_t len, uint32_t s)
{
	for (; len > 1; len -= 2, p += 2)
		s += p[0] << 8 | p[1];
	if (len)
		s += p[0] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

static uint16_t fold(const uint8_t *p, size_t len, uint32_t s)
{
	return htons(~sum(p, len, s));
}

/* Return: the UDP header of a frame; NULL if it isn't RoCE v2 */
static struct udphdr *roce(uint8_t *data)
{
	struct ether_header *eth = (void *)data;
	struct ip *ip = (void *)(eth + 1);
	struct ip6_hdr *ip6 = (void *)(eth + 1);
	struct udphdr *udp = NULL;

	if (eth->ether_type == htons(ETHERTYPE_IP) && ip->ip_hl == 5 && ip->ip_p == IPPROTO_UDP)
		udp = (void *)(ip + 1);
	else if (eth->ether_type == htons(ETHERTYPE_IPV6) && ip6->ip6_nxt == IPPROTO_UDP)
		udp = (void *)(ip6 + 1);
	return udp && udp->uh_dport == htons(ROCE_PORT) ? udp : NULL;
}

static void out(int fd, struct frame *f, size_t len)
{
	packets++;
	if (loss && roce(f->data) && rnd_range(&seed, 0, 9999) < loss) {
		lost++;
		return;
	}
	if (send(fd, f, len, 0) < 0 && errno != ENOBUFS && errno != ENETDOWN)
		die("send: %s", strerror(errno));
}

/* Sets lengths, ID and checksums of packet @n of a train, or of a single packet */
static void finish(uint8_t *data, size_t len, unsigned int n)
{
	struct udphdr *udp = roce(data);
	struct ip *ip = (void *)(data + sizeof(struct ether_header));
	struct ip6_hdr *ip6 = (void *)ip;
	size_t l4 = data + len - (uint8_t *)udp;

	udp->uh_ulen = htons(l4);
	udp->uh_sum = 0;
	if (ip->ip_v == 4) {
		ip->ip_len = htons(sizeof(*ip) + l4);
		if (!same_id)
			ip->ip_id = htons(ntohs(ip->ip_id) + n);
		ip->ip_sum = 0;
		ip->ip_sum = fold((void *)ip, sizeof(*ip), 0);
	} else {
		ip6->ip6_plen = htons(l4);
		udp->uh_sum = fold((void *)udp, l4, sum((void *)&ip6->ip6_src, 32, l4 + IPPROTO_UDP)) ?:
			      0xffff;
	}
}

static uint32_t psn(const uint8_t *bth)
{
	return bth[PSN] << 16 | bth[PSN + 1] << 8 | bth[PSN + 2];
}

/* Is what begins at @next the packet behind @bth? It has the same P_Key and QP, and the next PSN */
static bool follows(const uint8_t *bth, const uint8_t *next)
{
	return !memcmp(bth + PKEY, next + PKEY, 2) && !memcmp(bth + DEST_QP, next + DEST_QP, 3) &&
	       psn(next) == ((psn(bth) + 1) & 0xffffff);
}

/*
 * Return: the size of the packets of a train, which is all that is in a frame behind the UDP header;
 * @len if it is one packet. Behind a READ request, the PSN may jump.
 */
static size_t packet_size(const uint8_t *bth, size_t len)
{
	size_t size;

	if ((bth[0] & 0x1f) == READ_REQUEST)
		return BTH + RETH + ICRC;
	for (size = MIN_PACKET; size + MIN_PACKET <= len; size++)
		if (follows(bth, bth + size))
			return size;
	return len;
}

/* The sender may have left the checksum to the card, also that of a single packet */
static void send_roce(int fd, struct frame *f, struct udphdr *udp, size_t len)
{
	size_t hdr = (uint8_t *)(udp + 1) - f->data;
	size_t size = packet_size(f->data + hdr, len - hdr), off;
	static struct frame pkt;
	unsigned int n = 0;

	trains += size < len - hdr;
	for (off = hdr; off < len; off += size) {
		size_t part = size < len - off ? size : len - off;

		memcpy(pkt.data, f->data, hdr);
		memcpy(pkt.data + hdr, f->data + off, part);
		finish(pkt.data, hdr + part, n++);
		out(fd, &pkt, hdr + part);
	}
}

/* Completes the checksum of TCP, likewise */
static void finish_tcp(uint8_t *data)
{
	struct ip *ip = (void *)(data + sizeof(struct ether_header));
	struct tcphdr *tcp = (void *)(ip + 1);
	size_t len;

	if (((struct ether_header *)data)->ether_type != htons(ETHERTYPE_IP) ||
	    ip->ip_hl != 5 || ip->ip_p != IPPROTO_TCP)
		return;
	len = ntohs(ip->ip_len) - sizeof(*ip);
	tcp->check = 0;
	tcp->check = fold((void *)tcp, len, sum((void *)&ip->ip_src, 8, len + IPPROTO_TCP));
}

static void relay(int from, int to)
{
	static struct frame f;
	ssize_t len = recv(from, &f, sizeof(f), MSG_DONTWAIT);
	struct udphdr *udp;

	if (len < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ENETDOWN)
			die("recv: %s", strerror(errno));
		return;
	}
	udp = roce(f.data);
	if (udp) {
		send_roce(to, &f, udp, len);
		return;
	}
	finish_tcp(f.data);
	out(to, &f, len);
}

static const char usage[] =
"usage: uso_card [-i] [-l LOSS] NETDEV NETDEV\n"
"  -i       all packets of a train have its IPv4 ID\n"
"  -l LOSS  so many of ten thousand packets get lost\n"
"Prints \"ready\", and when it ends \"trains N packets N lost N\".\n";

int main(int argc, char **argv)
{
	struct pollfd fd[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct sigaction act = { .sa_handler = end };
	sigset_t term, none;
	int o, i;

	while ((o = getopt(argc, argv, "il:h")) != -1) {
		switch (o) {
		case 'i': same_id = true; break;
		case 'l': loss = atoi(optarg); break;
		default: fputs(usage, o == 'h' ? stdout : stderr); return o == 'h' ? 0 : 2;
		}
	}
	if (argc - optind != 2)
		die("%s", usage);
	sigemptyset(&none);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);	/* blocked except in ppoll() */
	sigaction(SIGTERM, &act, NULL);
	for (i = 0; i < 2; i++)
		fd[i].fd = open_netdev(argv[optind + i]);
	puts("ready");
	fflush(stdout);
	while (!ended) {
		if (ppoll(fd, 2, NULL, &none) < 0)
			continue;
		for (i = 0; i < 2; i++)
			if (fd[i].revents)
				relay(fd[i].fd, fd[1 - i].fd);
	}
	printf("trains %lu packets %lu lost %lu\n", trains, packets, lost);
	return 0;
}
