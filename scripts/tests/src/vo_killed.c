// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_odp: processes that are killed while they work, and the pipes by which they report steps.
 */
#define _GNU_SOURCE
#include "vo.h"

#define TURNS	5

/* Reports that a step is done */
void say(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

/* Waits for such a report. Return: false if the child has ended */
bool heard(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

/* @work: runs in a child until that is killed, and reports each step. It returns after a failure */
bool kill_amidst(void (*work)(int turn, int told))
{
	int pipes[2], i, n;
	pid_t pid;

	for (i = 0; i < TURNS; i++) {
		if (pipe(pipes))
			die("pipe");
		pid = fork();
		if (!pid) {
			work(i, pipes[1]);
			_exit(1);
		}
		close(pipes[1]);
		for (n = 0; n < 3; n++)
			CHECK(heard(pipes[0]), "no traffic");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(pipes[0]);
	}
	return true;
}
