// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_odp: processes that are killed amidst what they do, and the pipes by which they tell of it.
 */
#define _GNU_SOURCE
#include "vo.h"

#define TURNS	5

/* A child of this process has got somewhere */
void say(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

/* Wait until it says so. Return: false if it has ended */
bool heard(int fd)
{
	char c;

	return read(fd, &c, 1) == 1;
}

/* @work: runs in a child till it is killed, and tells of each step; returns after a failure */
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
