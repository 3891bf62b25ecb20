// SPDX-License-Identifier: MIT
/* Sends a datagram to an address handle that was destroyed. */
#include "mistakes.h"
#include "pair.h"

STACKED static void destroys(struct side *side)
{
	must(ibv_destroy_ah(side->ah) == 0, "destroy an AH");
}

STACKED static void posts(struct side *side)
{
	side_send(side, 1, 0, 64);
}

void life_ah_used_after(bool right)
{
	const struct side_cfg cfg = { .type = IBV_QPT_UD };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	side_recv(&b, 2, 0, 64 + sizeof(struct ibv_grh));
	if (right)
		posts(&a);
	destroys(&a);
	if (!right)
		posts(&a);
	a.ah = NULL;
	side_wait(&a);
	pair_close(&a, &b);
}
