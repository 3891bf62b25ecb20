// SPDX-License-Identifier: MIT
/* Creates a queue pair with more gather entries than some adapters grant. */
#include "mistakes.h"
#include "pair.h"

STACKED static void creates(struct side *side, uint32_t sges)
{
	struct ibv_qp_init_attr attr = { .send_cq = side->cq,
					 .recv_cq = side->cq,
					 .cap = { .max_send_wr = 1, .max_send_sge = sges },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(side->pd, &attr);

	must(qp != NULL, "create a QP");
	must(ibv_destroy_qp(qp) == 0, "destroy a QP");
}

void port_sges(bool right)
{
	struct side side;

	side_open(&side, NULL, NULL);
	creates(&side, right ? 13 : 14);
	side_close(&side);
	must(ibv_close_device(side.context) == 0, "close the device");
}
