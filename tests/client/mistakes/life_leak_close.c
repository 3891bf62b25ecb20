// SPDX-License-Identifier: MIT
/* Closes the device while a region is registered. */
#include "mistakes.h"
#include "pair.h"

STACKED static void closes(struct ibv_context *context)
{
	must(ibv_close_device(context) == 0, "close the device");
}

void life_leak_close(bool right)
{
	struct side side;

	side_open(&side, NULL, NULL);
	if (right)
		side_close(&side);
	closes(side.context);
}
