// SPDX-License-Identifier: MIT
/* Two receives share half of a buffer. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts_first(struct side *side)
{
	side_recv(side, 1, 0, 64);
}

STACKED static void posts_second(struct side *side, size_t at)
{
	side_recv(side, 2, at, 64);
}

void mem_receives_overlap(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	posts_first(&b);
	posts_second(&b, right ? 64 : 32);
	pair_close(&a, &b);
}
