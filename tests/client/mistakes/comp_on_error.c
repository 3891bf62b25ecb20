// SPDX-License-Identifier: MIT
/* Reads the opcode of a completion that failed. */
#include "mistakes.h"
#include "pair.h"

STACKED static void reads(struct side *side)
{
	(void)ibv_wc_read_opcode(side->cq_ex);
}

void comp_on_error(bool right)
{
	const struct side_cfg cfg = { .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	side_recv(&a, 1, 0, 64);
	side_modify(&a, IBV_QPS_ERR);
	side_start_poll(&a);
	if (!right || a.cq_ex->status == IBV_WC_SUCCESS)
		reads(&a);
	ibv_end_poll(a.cq_ex);
	pair_close(&a, &b);
}
