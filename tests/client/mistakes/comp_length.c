// SPDX-License-Identifier: MIT
/* Reads the length of a send from its completion. */
#include "mistakes.h"
#include "pair.h"

STACKED static void reads(struct side *side)
{
	(void)ibv_wc_read_byte_len(side->cq_ex);
}

void comp_length(bool right)
{
	const struct side_cfg cfg = { .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	side_recv(&b, 1, 0, 64);
	side_send(&a, 2, 0, 64);
	side_start_poll(&a);
	if (!right)
		reads(&a);
	ibv_end_poll(a.cq_ex);
	side_start_poll(&b);
	reads(&b);
	ibv_end_poll(b.cq_ex);
	pair_close(&a, &b);
}
