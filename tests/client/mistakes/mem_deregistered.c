// SPDX-License-Identifier: MIT
/* Deregisters the memory of a posted receive. */
#include "mistakes.h"
#include "pair.h"

STACKED static void receives(struct side *side)
{
	side_recv(side, 1, 0, 64);
}

STACKED static void deregisters(struct side *side)
{
	must(ibv_dereg_mr(side->mr) == 0, "deregister memory");
	side->mr = NULL;
}

void mem_deregistered(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	receives(&a);
	if (right)
		side_modify(&a, IBV_QPS_ERR);
	deregisters(&a);
	pair_close(&a, &b);
}
