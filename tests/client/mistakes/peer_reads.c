// SPDX-License-Identifier: MIT
/* May read more at once than the peer can answer. */
#include "mistakes.h"
#include "pair.h"

STACKED static void connects(struct side *side, struct side *other)
{
	side_connect(side, other);
}

void peer_reads(bool right)
{
	struct side a, b;

	side_open(&a, NULL, NULL);
	side_open(&b, a.context, &(struct side_cfg){ .reads = right ? 4 : 5 });
	connects(&a, &b);
	connects(&b, &a);
	pair_close(&a, &b);
}
