// SPDX-License-Identifier: MIT
/* Sends to a queue pair that has posted no receive. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts(struct side *side)
{
	side_send(side, 1, 0, 64);
}

STACKED static void polls(struct side *side)
{
	side_wait(side);
}

void queue_no_receive(bool right)
{
	const struct side_cfg cfg = { .timeout = 14, .retry_cnt = 7, .rnr_retry = 1 };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	if (right)
		side_recv(&b, 2, 0, 64);
	posts(&a);
	polls(&a);
	pair_close(&a, &b);
}
