/* SPDX-License-Identifier: MIT */
/* The fixture of mistakes of two processes and more: the parent has the memory, and a queue pair
 * for each child, which is connected to it. The processes talk by pipes. */
#ifndef TESTS_CLIENT_MISTAKES_APART_H
#define TESTS_CLIENT_MISTAKES_APART_H

#include <stdbool.h>
#include <sys/types.h>

#include "pair.h"

#define APART_MAX 2u

/* One end of a connection. */
struct apart {
	struct side side;
	struct side other; /* number, key and address of the other end */
	struct ibv_qp other_qp;
	struct ibv_mr other_mr;
	int from, to;
	pid_t child; /* in the parent */
};

/* Forks a child for each end; a child runs its function, closes all and exits. The parent
 * returns. */
void apart_open(struct apart *ends, unsigned int n,
		void (*const child[])(struct apart *end, bool right), bool right);
/* Waits for the children, then closes all. */
void apart_close(struct apart *ends, unsigned int n);
/* Wakes the other end, or waits until it does so. */
void apart_tell(struct apart *end);
void apart_hear(struct apart *end);

#endif
