// SPDX-License-Identifier: GPL-2.0
/*
 * Measures costs with which the cost of a message is compared, in the same kernel:
 *   tcp    one end of a TCP connection sends the message and the other receives it, in one process
 *   copy   its bytes are copied once, from user memory to user memory (process_vm_readv)
 *   crc    the kernel's crypto API computes the CRC-32 of its bytes (AF_ALG)
 *   wire   the netdev receives its packets from HOST, and this machine drops them (UDP, port 9).
 *          The time that the processor, of which there is one, is idle doesn't count
 * Prints nanoseconds per message, as rc_cost does.
 *
 * usage: ref_cost tcp|copy|crc SIZE COUNT [FROM-IP TO-IP [CONTROL,ACK]]
 *        ref_cost wire SIZE COUNT [HOST]
 *
 * CONTROL and ACK are FIFOs of a profiler, which is on meanwhile. With HOST, the program sends the
 * packets to the ref_cost there, which measures.
 */
#define _GNU_SOURCE
#include <linux/if_alg.h>
#include <sys/uio.h>
#include "verbs_util.h"

#define PORT	"18401"		/* TCP port where the ends of "wire" meet */
#define MTU	1024
#define PACKET	(MTU + 16)	/* with BTH and ICRC */
#define BATCH	64		/* packets per system call */

static size_t size, count;
static char *from, *to;

static int tcp_socket(const char *ip, struct sockaddr_in *sin)
{
	socklen_t len = sizeof(*sin);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*sin = (struct sockaddr_in) { .sin_family = AF_INET };
	if (fd < 0 || inet_pton(AF_INET, ip, &sin->sin_addr) != 1 ||
	    bind(fd, (struct sockaddr *)sin, len) || getsockname(fd, (struct sockaddr *)sin, &len))
		die("%s: %m", ip);
	return fd;
}

static void tcp_connect(const char *from_ip, const char *to_ip, int fd[2])
{
	struct sockaddr_in sin;
	int server;

	fd[0] = tcp_socket(from_ip, &sin);
	server = tcp_socket(to_ip, &sin);
	if (listen(server, 1) || connect(fd[0], (struct sockaddr *)&sin, sizeof(sin)))
		die("cannot connect: %m");
	fd[1] = accept(server, NULL, NULL);
	if (fd[1] < 0 || fcntl(fd[0], F_SETFL, O_NONBLOCK) || fcntl(fd[1], F_SETFL, O_NONBLOCK))
		die("cannot connect: %m");
	close(server);
}

/* Return: bytes that a call moved; 0 if it would have had to wait. */
static size_t moved(ssize_t n)
{
	if (n < 0 && errno != EAGAIN)
		die("tcp: %m");
	return n < 0 ? 0 : n;
}

static void tcp(const int fd[2], size_t messages)
{
	struct pollfd fds[] = { { fd[0], POLLOUT, 0 }, { fd[1], POLLIN, 0 } };
	size_t total = messages * size, sent = 0, got = 0, before;

	while (got != total) {
		before = sent + got;
		if (sent != total)
			sent += moved(write(fd[0], from + sent % size, size - sent % size));
		got += moved(read(fd[1], to + got % size, size - got % size));
		if (sent + got == before)
			poll(fds + (sent == total), 2 - (sent == total), -1);
	}
}

static void copy(size_t messages)
{
	struct iovec source = { from, size }, sink = { to, size };

	while (messages--)
		if (process_vm_readv(getpid(), &sink, 1, &source, 1, 0) != (ssize_t)size)
			die("process_vm_readv: %m");
}

static int crc_open(void)
{
	struct sockaddr_alg alg = { .salg_family = AF_ALG, .salg_type = "hash", .salg_name = "crc32" };
	int s = socket(AF_ALG, SOCK_SEQPACKET, 0), fd;

	if (s < 0 || bind(s, (struct sockaddr *)&alg, sizeof(alg)))
		die("crc32: %m");
	fd = accept(s, NULL, NULL);
	if (fd < 0)
		die("crc32: %m");
	return fd;
}

static void crc(int fd, size_t messages)
{
	uint32_t sum;
	size_t done;

	while (messages--) {
		for (done = 0; done < size; done += moved(send(fd, from + done, size - done, MSG_MORE)))
			;
		if (recv(fd, &sum, sizeof(sum), 0) != sizeof(sum))
			die("crc32: %m");
	}
}

/* Packets have no UDP checksum, as those of RoCE v2. */
static int wire_open(const char *host)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM }, *peer;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1;

	if (fd < 0 || getaddrinfo(host, "9", &hints, &peer) ||
	    connect(fd, peer->ai_addr, peer->ai_addrlen) ||
	    setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one)))
		die("cannot send to %s: %m", host);
	freeaddrinfo(peer);
	return fd;
}

static void wire_send(int fd, size_t messages)
{
	struct iovec packet = { from, PACKET };
	struct mmsghdr batch[BATCH];
	size_t left = messages * (size / MTU);
	int n;

	for (n = 0; n < BATCH; n++)
		batch[n].msg_hdr = (struct msghdr) { .msg_iov = &packet, .msg_iovlen = 1 };
	for (; left; left -= n) {
		n = sendmmsg(fd, batch, left < BATCH ? left : BATCH, 0);
		if (n < 0)
			die("cannot send: %m");
	}
}

/* Measures between two messages of the sender, which come behind the packets that it has sent. */
static void wire(const char *host)
{
	int peer = tcp_open(host, PORT), fd;
	uint64_t busy, idle;
	char c = 0;

	if (host) {
		fd = wire_open(host);
		wire_send(fd, count / 8 + 32);
		write_all(peer, &c, 1);
		wire_send(fd, count);
		write_all(peer, &c, 1);
		read_all(peer, &c, 1);
		return;
	}
	read_all(peer, &c, 1);
	idle = idle_ns();
	busy = now_ns();
	read_all(peer, &c, 1);
	busy = now_ns() - busy;
	printf("%.0f\n", (double)(busy - (idle_ns() - idle)) / count);
	write_all(peer, &c, 1);
}

static void run(const char *op, const int fd[2], size_t messages)
{
	if (!strcmp(op, "tcp"))
		tcp(fd, messages);
	else if (!strcmp(op, "crc"))
		crc(fd[0], messages);
	else
		copy(messages);
}

int main(int argc, char **argv)
{
	bool of_wire = argc > 1 && !strcmp(argv[1], "wire");
	char *profiler = argc == 7 ? argv[6] : NULL;
	int fd[2] = { -1, -1 };
	uint64_t ns;

	if (argc < 4 || argc > (of_wire ? 5 : 7) || (argc == 5 && !of_wire))
		die("usage: ref_cost tcp|copy|crc SIZE COUNT [FROM-IP TO-IP [CONTROL,ACK]]\n"
		    "       ref_cost wire SIZE COUNT [HOST]");
	size = atol(argv[2]);
	count = atol(argv[3]);
	from = malloc(size + PACKET);
	to = malloc(size);
	if (!size || !count || !from || !to)
		die("cannot set up");
	memset(from, 1, size + PACKET);
	memset(to, 2, size);
	if (of_wire) {
		wire(argv[4]);
		return 0;
	}
	if (argc >= 6)
		tcp_connect(argv[4], argv[5], fd);
	else if (!strcmp(argv[1], "crc"))
		fd[0] = crc_open();
	run(argv[1], fd, count / 8 + 32);
	ns = now_ns();
	tell_profiler(profiler, "enable\n");
	run(argv[1], fd, count);
	tell_profiler(profiler, "disable\n");
	ns = now_ns() - ns;
	if (strcmp(argv[1], "crc") && memcmp(from, to, size))
		die("wrong data");
	printf("%.0f\n", (double)ns / count);
	return 0;
}
