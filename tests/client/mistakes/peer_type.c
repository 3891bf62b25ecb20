// SPDX-License-Identifier: MIT
/* Connects a reliable queue pair to an unreliable one. */
#include "mistakes.h"
#include "pair.h"

STACKED static void connects(struct side *side, struct side *other)
{
	side_connect(side, other);
}

void peer_type(bool right)
{
	struct side a, b;

	side_open(&a, NULL, NULL);
	side_open(&b, a.context, &(struct side_cfg){ .type = right ? IBV_QPT_RC : IBV_QPT_UC });
	connects(&a, &b);
	connects(&b, &a);
	pair_close(&a, &b);
}
