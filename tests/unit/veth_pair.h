/* SPDX-License-Identifier: MIT */
/* Two network namespaces joined by a veth pair, for tests: va (10.77.0.1, fd77::1) in the first, vb
 * (10.77.0.2, fd77::2) in the second, MTU 9000. One process has sockets of both: a socket stays
 * where it was made. */
#ifndef RXE_TEST_VETH_PAIR_H
#define RXE_TEST_VETH_PAIR_H

#include <stdbool.h>

#define PAIR_SKIP 77 /* exit status of a test that may not make namespaces */

enum pair_end {
	PAIR_A,
	PAIR_B,
};

/* Makes both, and enters the first. -1: the test may not. */
int pair_make(void);
/* Enters a namespace. */
void pair_enter(enum pair_end end);
/* Runs a shell command of fixed text in the current namespace. */
bool pair_run(const char *command);

#endif
