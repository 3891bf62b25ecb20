// SPDX-License-Identifier: MIT
/* Sends from a PSN that the peer does not expect. */
#include "mistakes.h"
#include "pair.h"

STACKED static void connects(struct side *side, struct side *other)
{
	side_connect(side, other);
}

void peer_psn(bool right)
{
	struct side a, b;

	side_open(&a, NULL, &(struct side_cfg){ .rq_psn = right ? 77 : 0 });
	side_open(&b, a.context, &(struct side_cfg){ .sq_psn = 77 });
	connects(&a, &b);
	connects(&b, &a);
	pair_close(&a, &b);
}
