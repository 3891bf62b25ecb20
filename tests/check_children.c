/* SPDX-License-Identifier: MIT */
/* Keeps the children of a test out of libcheck's file of messages. With CK_FORK, a file says
 * which check a test has passed last. Each ck_assert() writes a message, also in children of
 * the test, and a child that is killed while it writes leaves a part of one: libcheck then ends
 * with "Bad message type". So a check that passes is recorded in the test's own process only; one
 * that fails is recorded everywhere. The linker puts this function in front of libcheck's. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

static int forks; /* between the program and this process */

static void count_fork(void)
{
	forks++;
}

__attribute__((constructor)) static void count_forks(void)
{
	const char *fork = getenv("CK_FORK");

	/* libcheck itself forks for each test, unless it is told not to. */
	if (!fork || strcmp(fork, "no") != 0)
		forks = -1;
	(void)pthread_atfork(NULL, NULL, count_fork);
}

void __wrap__mark_point(const char *file, int line)
{
	if (forks <= 0)
		__real__mark_point(file, line);
}
