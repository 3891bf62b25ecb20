// SPDX-License-Identifier: MIT
/* Writes to a send buffer that the device may still read. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts(struct side *side)
{
	side_send(side, 1, 0, 64);
}

void mem_send_changed(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	side_recv(&b, 2, 0, 64);
	posts(&a);
	if (right)
		side_wait(&a);
	a.memory[7]++;
	if (!right)
		side_wait(&a);
	side_wait(&b);
	pair_close(&a, &b);
}
