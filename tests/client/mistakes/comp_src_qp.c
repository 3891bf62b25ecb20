// SPDX-License-Identifier: MIT
/* Reads the source QP of a message on a connection. */
#include "mistakes.h"
#include "pair.h"

STACKED static uint32_t reads(struct side *side)
{
	return ibv_wc_read_src_qp(side->cq_ex);
}

void comp_src_qp(bool right)
{
	const struct side_cfg cfg = { .wc_flags = IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_QP_NUM };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	side_recv(&b, 1, 0, 64);
	side_send(&a, 2, 0, 64);
	side_start_poll(&b);
	if (right)
		(void)ibv_wc_read_qp_num(b.cq_ex);
	else
		(void)reads(&b);
	ibv_end_poll(b.cq_ex);
	side_start_poll(&a);
	ibv_end_poll(a.cq_ex);
	pair_close(&a, &b);
}
