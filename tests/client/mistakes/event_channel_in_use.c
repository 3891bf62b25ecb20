// SPDX-License-Identifier: MIT
/* Destroys a channel before its completion queue. */
#include "mistakes.h"
#include "pair.h"

STACKED static void destroys(struct side *side)
{
	if (ibv_destroy_comp_channel(side->channel) == 0)
		side->channel = NULL;
}

void event_channel_in_use(bool right)
{
	const struct side_cfg cfg = { .channel = true };
	struct side side;

	side_open(&side, NULL, &cfg);
	must(ibv_destroy_qp(side.qp) == 0, "destroy a QP");
	side.qp = NULL;
	if (right) {
		must(ibv_destroy_cq(side.cq) == 0, "destroy a CQ");
		side.cq = NULL;
	}
	destroys(&side);
	side_close(&side);
	must(ibv_close_device(side.context) == 0, "close the device");
}
