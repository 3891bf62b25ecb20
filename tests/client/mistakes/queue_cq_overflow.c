// SPDX-License-Identifier: MIT
/* Posts more receives than the completion queue has entries. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts(struct side *side, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		side_recv(side, i, i * 64, 64);
}

void queue_cq_overflow(bool right)
{
	const struct side_cfg cfg = { .cqe = 4 };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	posts(&b, right ? (uint32_t)b.cq->cqe : (uint32_t)b.cq->cqe + 1);
	pair_close(&a, &b);
}
