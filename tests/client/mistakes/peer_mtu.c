// SPDX-License-Identifier: MIT
/* Connects queue pairs of different path MTUs. */
#include "mistakes.h"
#include "pair.h"

STACKED static void connects(struct side *side, struct side *other)
{
	side_connect(side, other);
}

void peer_mtu(bool right)
{
	struct side a, b;

	side_open(&a, NULL, NULL);
	side_open(&b, a.context, &(struct side_cfg){ .mtu = right ? IBV_MTU_1024 : IBV_MTU_512 });
	connects(&a, &b);
	connects(&b, &a);
	pair_close(&a, &b);
}
