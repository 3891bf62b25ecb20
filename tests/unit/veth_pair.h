/* SPDX-License-Identifier: MIT */
/* Two network namespaces joined by a veth pair, for tests: va (10.77.0.1, fd77::1) in the first, vb (10.77.0.2, fd77::2) in the second,
 * MTU 9000. One process holds sockets of both: a socket stays where it was made. */
#ifndef RXE_TEST_VETH_PAIR_H
#define RXE_TEST_VETH_PAIR_H

#include <stdbool.h>

#define PAIR_SKIP 77 /* what a test returns that may not make them */

enum pair_end {
	PAIR_A,
	PAIR_B,
};

/* Make both, and be in the first. -1 when they are not ours to make. */
int pair_make(void);
/* Go there. */
void pair_enter(enum pair_end end);
/* A shell command of fixed text, where we are. */
bool pair_run(const char *command);

#endif
