// SPDX-License-Identifier: MIT
/* Ends with a region that it can no longer reach. */
#include "mistakes.h"
#include "pair.h"

STACKED static void registers(struct side *side)
{
	side_open(side, NULL, NULL);
}

void life_leak_exit(bool right)
{
	struct side side;

	registers(&side);
	if (!right)
		return;
	side_close(&side);
	must(ibv_close_device(side.context) == 0, "close the device");
}
