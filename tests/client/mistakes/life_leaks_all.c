// SPDX-License-Identifier: MIT
/* Ends with objects that it can reach. */
#include "mistakes.h"
#include "pair.h"

static struct side side;

STACKED static void opens(void)
{
	side_open(&side, NULL, NULL);
}

void life_leaks_all(bool right)
{
	opens();
	if (!right)
		return;
	side_close(&side);
	must(ibv_close_device(side.context) == 0, "close the device");
}
