// SPDX-License-Identifier: MIT
/* Posts a receive as long as the completion of a send says. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts(struct side *side, uint32_t len)
{
	side_recv(side, 3, 0, len);
}

void comp_poison(bool right)
{
	struct ibv_wc wc;
	struct side a, b;

	pair_open(&a, &b, NULL);
	side_recv(&b, 1, 0, 64);
	side_send(&a, 2, 0, 64);
	wc = side_wait(&a);
	posts(&a, right ? 64 : wc.byte_len);
	side_wait(&b);
	pair_close(&a, &b);
}
