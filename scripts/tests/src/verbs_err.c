// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_err: a wrong operation fails with the right status, and affects no other object.
 *
 * Each case makes its own objects, on one device (looped back) or on two. It does one thing wrong,
 * and checks the completion status, the queue pair's state, the async event or the errno.
 * Prints "ok NAME", "fail NAME why" or "skip NAME why" per case.
 *
 * The cases are in err_*.c, by object. CASES in verbs_err.h lists them. err_pair.c has their common
 * functions.
 */
#include "verbs_err.h"

struct ibv_device_attr dev;
struct ibv_port_attr port;
bool hold_pairs;

#define CASE(n) { #n, c_ ## n },

static struct test_case cases[] = { CASES(CASE) };

/* Case "read_depth_1" is called "read-depth-1" by users */
static void name_cases(void)
{
	unsigned int i;
	char *p;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		cases[i].name = p = strdup(cases[i].name);
		while ((p = strchr(p, '_')))
			*p = '-';
	}
}

static void list_cases(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(cases); i++)
		puts(cases[i].name);
}

static void run_wanted(char **prefixes)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		if (!is_wanted(cases[i].name, prefixes, is_prefixed))
			continue;
		drain_events();
		run_case(&cases[i]);
	}
}

static const char usage[] =
"usage: verbs_err [-d DEV] [-g GID_INDEX] [-D DEV] [-G GID_INDEX] [CASE...]\n"
"Error paths of the verbs; a CASE is a prefix of names.\n"
"  -d, --dev DEV     device (the first one)\n"
"  -g, --gid N       GID index (the first v2 one)\n"
"  -D, --dev2 DEV    device of the responder (the same)\n"
"  -G, --gid2 N      its GID index\n"
"  -H, --hold        print \"held\", and destroy the queue pairs when stdin ends\n"
"  -l, --list        names of the cases\n"
"  -h, --help        this text\n";

static const struct option options[] = {
	PLACE_OPTIONS, { "hold", 0, NULL, 'H' }, { "list", 0, NULL, 'l' },
	{ "help", 0, NULL, 'h' }, {},
};

int main(int argc, char **argv)
{
	int o;

	name_cases();
	place[0].gid_index = -1;
	place[1].gid_index = -1;
	while ((o = getopt_long(argc, argv, "d:g:D:G:Hlh", options, NULL)) != -1) {
		if (place_option(o))
			continue;
		if (o == 'H') {
			hold_pairs = true;
			continue;
		}
		if (o != 'l')
			return print_usage(usage, o);
		list_cases();
		return 0;
	}
	open_places();
	if (ibv_query_device(place[0].ctx, &dev) || ibv_query_port(place[0].ctx, 1, &port))
		die("query failed");
	run_wanted(argv + optind);
	close_places();
	return !!cases_failed;
}
