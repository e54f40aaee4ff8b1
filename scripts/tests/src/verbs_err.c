// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: what must fail fails with the right status, and harms nobody else.
 *
 * Each case makes its own objects, on one device (both ends loop back) or on two, does one thing
 * wrong, and checks the completion status, the queue pair's state, the async event or the errno.
 * Prints "ok NAME", "fail NAME why" or "skip NAME why" per case.
 *
 * The cases are in err_*.c, by object; CASES in verbs_err.h lists them. What they share is in
 * err_pair.c.
 */
#include <getopt.h>

#include "verbs_err.h"

struct ibv_context *ctx;
struct ibv_device_attr dev;
struct ibv_port_attr port;
int gid_index = -1;
union ibv_gid gid;
struct ibv_context *ctx_b;
int gid_index_b = -1;
union ibv_gid gid_b;
const char *this_case;

#define CASE(n) { #n, c_ ## n },

static const struct { const char *name; bool (*fn)(void); } cases[] = { CASES(CASE) };

static bool wanted(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strncmp(name, *names, strlen(*names)))
			return true;
	return false;
}

/* "read_depth_1" is known outside as "read-depth-1" */
static const char *case_name(unsigned int i)
{
	static char name[64];
	char *p;

	snprintf(name, sizeof(name), "%s", cases[i].name);
	for (p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	return name;
}

static void run_case(unsigned int i)
{
	drain_events();
	if (cases[i].fn())
		case_ok(this_case);
}

static const char usage[] =
"usage: verbs_err [-d DEV] [-g GID_INDEX] [-D DEV] [-G GID_INDEX] [CASE...]\n"
"Error paths of the verbs; a CASE is a prefix of names.\n"
"  -d, --dev DEV     device (the first one)\n"
"  -g, --gid N       GID index (the first v2 one)\n"
"  -D, --dev2 DEV    device of the responder (the same)\n"
"  -G, --gid2 N      its GID index\n"
"  -l, --list        names of the cases\n"
"  -h, --help        this text\n";

static const struct option options[] = {
	{ "dev", 1, NULL, 'd' }, { "gid", 1, NULL, 'g' }, { "list", 0, NULL, 'l' },
	{ "dev2", 1, NULL, 'D' }, { "gid2", 1, NULL, 'G' },
	{ "help", 0, NULL, 'h' }, {},
};

static void open_ends(const char *name, const char *name_b)
{
	ctx = open_device(name);
	if (gid_index < 0)
		gid_index = find_gid(ctx, "v2");
	ctx_b = name_b ? open_device(name_b) : ctx;
	if (!name_b)
		gid_index_b = gid_index;
	if (ibv_query_device(ctx, &dev) || ibv_query_port(ctx, 1, &port) ||
	    ibv_query_gid(ctx, 1, gid_index, &gid) ||
	    ibv_query_gid(ctx_b, 1, gid_index_b, &gid_b))
		die("query failed");
	fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK);
	fcntl(ctx_b->async_fd, F_SETFL, O_NONBLOCK);
}

int main(int argc, char **argv)
{
	const char *name = NULL, *name_b = NULL;
	unsigned int i;
	int o;

	while ((o = getopt_long(argc, argv, "d:g:D:G:lh", options, NULL)) != -1) {
		switch (o) {
		case 'd': name = optarg; break;
		case 'g': gid_index = atoi(optarg); break;
		case 'D': name_b = optarg; break;
		case 'G': gid_index_b = atoi(optarg); break;
		case 'l':
			for (i = 0; i < ARRAY_LEN(cases); i++)
				puts(case_name(i));
			return 0;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	}
	open_ends(name, name_b);
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		this_case = case_name(i);
		if (wanted(this_case, argv + optind))
			run_case(i);
	}
	if (ctx_b != ctx)
		ibv_close_device(ctx_b);
	ibv_close_device(ctx);
	return !!cases_failed;
}
