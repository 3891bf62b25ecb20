// SPDX-License-Identifier: MIT
/* Sends from a buffer that a receive waits for. */
#include "mistakes.h"
#include "pair.h"

STACKED static void receives(struct side *side)
{
	side_recv(side, 1, 0, 64);
}

STACKED static void sends(struct side *side, size_t at)
{
	side_send(side, 2, at, 64);
}

void mem_send_overlaps(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	receives(&a);
	side_recv(&b, 3, 0, 64);
	sends(&a, right ? 64 : 32);
	side_wait(&a);
	side_wait(&b);
	pair_close(&a, &b);
}
