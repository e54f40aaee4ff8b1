// SPDX-License-Identifier: GPL-2.0
/*
 * rc_random: random RC operations, verified byte for byte on both sides.
 *
 * Both sides derive the same operations from one seed. So each side knows what the other does,
 * and keeps a model of the memory that the operations change. Each queue pair carries one flow per
 * direction. A flow has rounds. The requester posts a round's operations when its send queue has
 * room, checks the results of its READs and atomics, and sends "done" over the control connection.
 * The responder compares receives, and the target memory with the model, and sends "ok".
 *
 * Data comes from a pool of random bytes that both sides make, so an operation is a few offsets
 * and checking is memcmp(). Some receives are posted late, so there are RNR NAKs. A WRITE or
 * atomic that overlaps an earlier READ is fenced, as the specification demands.
 *
 * It is one process with two threads (-d A -D B, or twice the same device), or two processes that
 * are connected by TCP (--listen, --connect).
 *
 * This file has the options and the two ends. The rest is in random_*.c.
 */
#include <getopt.h>
#include <pthread.h>

#include "rc_random.h"

static void *side_main(void *arg)
{
	struct side *s = arg;

	set_up_side(s);
	run_side(s);
	tear_down_side(s);
	return NULL;
}

static void print_summary(const struct side *s, uint64_t ms)
{
	uint64_t total = 0;
	int k;

	for (k = 0; k < KINDS; k++)
		total += s->ops[k];
	printf("%s: %llu operations verified on %u QPs (up to %u SGEs, MTU %d), "
	       "%llu bytes in %llu ms:",
	       s->name, (unsigned long long)total, s->h.qps, s->h.max_sge,
	       mtu_bytes(s->h.mtu), (unsigned long long)s->bytes, (unsigned long long)ms);
	for (k = 0; k < KINDS; k++)
		printf(" %s %llu", kind_name[k], (unsigned long long)s->ops[k]);
	printf(", fenced %llu, inline %llu\n", (unsigned long long)s->fences,
	       (unsigned long long)s->inlines);
}

static const char usage[] =
"usage: rc_random [-d DEV] [-D DEV2] [options]           both ends in this process\n"
"       rc_random --listen PORT [-d DEV] [-g N,...]      wait for the other end\n"
"       rc_random --connect HOST:PORT [-d DEV] [options] be the other end\n"
"Random RC operations both ways, every opcode, verified byte for byte on both sides.\n"
"  -d, --dev DEV       device (the first one)\n"
"  -D, --dev2 DEV      device of the other end in one process (same as -d)\n"
"  -g, --gid N,...     GID indexes, QPs take them in turn (the first v2 one)\n"
"  -G, --gid2 N,...    GID indexes of the other end in one process (same as -g)\n"
"  -n, --count N       operations in total, both ways together (100000)\n"
"  -q, --qps N         queue pairs (6)\n"
"  -s, --seed N        seed (1); the same seed makes the same operations\n"
"  -m, --max-size N    largest message (1048576)\n"
"  -t, --timeout N     timeout of this side's queue pairs: 4.096 us * 2^N (18)\n"
"  -F, --no-flush      no FLUSH\n"
"  -b, --busy          poll the completion queues instead of waiting for events\n"
"  -h, --help          this text\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "dev2", 1, NULL, 'D' }, { "gid", 1, NULL, 'g' },
	{ "gid2", 1, NULL, 'G' }, { "count", 1, NULL, 'n' }, { "qps", 1, NULL, 'q' },
	{ "seed", 1, NULL, 's' }, { "max-size", 1, NULL, 'm' }, { "timeout", 1, NULL, 't' },
	{ "busy", 0, NULL, 'b' }, { "no-flush", 0, NULL, 'F' },
	{ "listen", 1, NULL, 'l' }, { "connect", 1, NULL, 'c' }, { "help", 0, NULL, 'h' }, {},
};

static void parse_gids(struct side *s, char *list)
{
	char *p;

	for (p = strtok(list, ","); p && s->gids < GIDS_CAP; p = strtok(NULL, ","))
		s->gid[s->gids++] = atoi(p);
}

static void run_one(struct side *s, const char *listen_port, char *target)
{
	const char *port = target ? split_port(target) : listen_port;
	uint64_t start;

	s->master = !!target;
	s->name = target ? "client" : "server";
	s->ctl = tcp_open(target, port);
	start = now_ms();
	side_main(s);
	print_summary(s, now_ms() - start);
}

static void run_both(struct side *a, struct side *b)
{
	uint64_t start = now_ms();
	pthread_t t;
	int fd[2];

	a->name = "A";
	b->name = "B";
	a->master = true;
	b->busy_poll = a->busy_poll;
	b->timeout = a->timeout;
	if (!b->dev)
		b->dev = a->dev;
	if (!b->gids) {
		memcpy(b->gid, a->gid, sizeof(a->gid));
		b->gids = a->gids;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		die("socketpair: %s", strerror(errno));
	a->ctl = fd[0];
	b->ctl = fd[1];
	if (pthread_create(&t, NULL, side_main, b))
		die("cannot start a thread");
	side_main(a);
	pthread_join(t, NULL);
	print_summary(a, now_ms() - start);
	print_summary(b, now_ms() - start);
}

int main(int argc, char **argv)
{
	static struct side a, b;
	char *target = NULL, *port = NULL;
	int o;

	a.timeout = 18;
	a.h = (struct hello) { .seed = 1, .count = 100000, .qps = 6, .max_size = 1 << 20 };
	while ((o = getopt_long(argc, argv, "d:D:g:G:n:q:s:m:t:bFl:c:h", options, NULL)) != -1) {
		switch (o) {
		case 'd': a.dev = optarg; break;
		case 'D': b.dev = optarg; break;
		case 'g': parse_gids(&a, optarg); break;
		case 'G': parse_gids(&b, optarg); break;
		case 'n': a.h.count = strtoul(optarg, NULL, 0); break;
		case 'q': a.h.qps = strtoul(optarg, NULL, 0); break;
		case 's': a.h.seed = strtoull(optarg, NULL, 0); break;
		case 'm': a.h.max_size = strtoul(optarg, NULL, 0); break;
		case 't': a.timeout = strtoul(optarg, NULL, 0); break;
		case 'b': a.busy_poll = true; break;
		case 'F': a.no_flush = true; break;
		case 'l': port = optarg; break;
		case 'c': target = optarg; break;
		default: return print_usage(usage, o);
		}
	}
	if (!a.h.qps || a.h.qps > QPS_CAP || a.h.count < 2 * a.h.qps || a.h.max_size < 16384)
		die("1 to %d QPs, at least 2 operations each, --max-size at least 16384", QPS_CAP);
	if (target || port)
		run_one(&a, port, target);
	else
		run_both(&a, &b);
	return 0;
}
