// SPDX-License-Identifier: MIT
/* Posts a UD receive without room for the GRH. */
#include "mistakes.h"
#include "pair.h"

STACKED static void receives(struct side *side, uint32_t len)
{
	side_recv(side, 1, 0, len);
}

void queue_ud_short(bool right)
{
	const struct side_cfg cfg = { .type = IBV_QPT_UD };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	receives(&a, right ? 32 + sizeof(struct ibv_grh) : 32);
	pair_close(&a, &b);
}
