// SPDX-License-Identifier: MIT
/* Connects a queue pair to the GID of another host. */
#include "mistakes.h"
#include "pair.h"

STACKED static void connects(struct side *side, struct side *other)
{
	side_connect(side, other);
}

void peer_gid(bool right)
{
	struct side a, b;

	side_open(&a, NULL, &(struct side_cfg){ .elsewhere = !right });
	side_open(&b, a.context, NULL);
	connects(&a, &b);
	connects(&b, &a);
	pair_close(&a, &b);
}
