// SPDX-License-Identifier: MIT
/* Sends a local variable, and returns before the completion. Its frame is larger than those of the
 * calls that follow, which leave the bytes as they are. */
#include "mistakes.h"
#include "pair.h"

STACKED static struct ibv_mr *sends(struct side *side, bool waits)
{
	uint8_t bytes[8192] = { 1 };
	struct ibv_mr *mr = ibv_reg_mr(side->pd, bytes, 64, 0);
	struct ibv_sge sge = { (uintptr_t)bytes, 64, mr ? mr->lkey : 0 };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	must(mr != NULL, "register memory");
	side_post(side, &wr);
	if (waits)
		side_wait(side);
	return mr;
}

void mem_returned(bool right)
{
	struct side a, b;
	struct ibv_mr *mr;

	pair_open(&a, &b, NULL);
	side_recv(&b, 2, 0, 64);
	mr = sends(&a, right);
	if (!right)
		side_wait(&a);
	side_wait(&b);
	must(ibv_dereg_mr(mr) == 0, "deregister memory");
	pair_close(&a, &b);
}
