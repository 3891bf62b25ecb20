// SPDX-License-Identifier: MIT
/* Deregisters a region twice. */
#include "mistakes.h"
#include "pair.h"

STACKED static void first(struct ibv_mr *mr)
{
	must(ibv_dereg_mr(mr) == 0, "deregister memory");
}

STACKED static void second(struct ibv_mr *mr)
{
	ibv_dereg_mr(mr);
}

void life_twice(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	first(a.mr);
	if (!right)
		second(a.mr);
	a.mr = NULL;
	pair_close(&a, &b);
}
