// SPDX-License-Identifier: MIT
/* Reads immediate data of a message that has none. */
#include "mistakes.h"
#include "pair.h"

STACKED static void reads(struct side *side)
{
	(void)ibv_wc_read_imm_data(side->cq_ex);
}

void comp_imm(bool right)
{
	const struct side_cfg cfg = { .wc_flags = IBV_WC_EX_WITH_IMM };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	side_recv(&b, 1, 0, 64);
	side_send(&a, 2, 0, 64);
	side_start_poll(&b);
	if (!right || (ibv_wc_read_wc_flags(b.cq_ex) & IBV_WC_WITH_IMM))
		reads(&b);
	ibv_end_poll(b.cq_ex);
	side_start_poll(&a);
	ibv_end_poll(a.cq_ex);
	pair_close(&a, &b);
}
