// SPDX-License-Identifier: MIT
/* Never retries. */
#include "mistakes.h"
#include "pair.h"

STACKED static void connects(struct side *side, struct side *other)
{
	side_connect(side, other);
}

void peer_timeout(bool right)
{
	struct side a, b;

	side_open(&a, NULL, NULL);
	side_open(&b, a.context,
		  &(struct side_cfg){
			  .timeout = right ? 14 : 0,
			  .retry_cnt = 7,
			  .rnr_retry = 6,
		  });
	connects(&a, &b);
	connects(&b, &a);
	pair_close(&a, &b);
}
