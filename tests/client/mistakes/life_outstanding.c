// SPDX-License-Identifier: MIT
/* Destroys a queue pair right after a send. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts(struct side *side)
{
	side_send(side, 5, 0, 64);
}

STACKED static void destroys(struct side *side)
{
	must(ibv_destroy_qp(side->qp) == 0, "destroy a QP");
	side->qp = NULL;
}

void life_outstanding(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	side_recv(&b, 1, 0, 64);
	posts(&a);
	if (right)
		side_wait(&a);
	destroys(&a);
	pair_close(&a, &b);
}
