// SPDX-License-Identifier: MIT
/* Connects queue pairs whose sends wait for receives without an end. */
#include "mistakes.h"
#include "pair.h"

STACKED static void connects(struct side *side, struct side *other)
{
	side_connect(side, other);
}

void queue_rnr_forever(bool right)
{
	const struct side_cfg cfg = { .timeout = 14, .retry_cnt = 7, .rnr_retry = right ? 6 : 7 };
	struct side a, b;

	side_open(&a, NULL, &cfg);
	side_open(&b, a.context, &cfg);
	connects(&a, &b);
	connects(&b, &a);
	pair_close(&a, &b);
}
