// SPDX-License-Identifier: MIT
/* Adds to a variable of the peer that is not aligned. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts(struct side *side, size_t at)
{
	struct ibv_sge sge = side_sge(side, 0, 8);
	struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_ATOMIC_FETCH_AND_ADD, 1);

	wr.wr.atomic.remote_addr += at;
	side_post(side, &wr);
}

void port_atomic(bool right)
{
	struct side a, b;

	pair_open(&a, &b, NULL);
	posts(&a, right ? 8 : 4);
	side_wait(&a);
	pair_close(&a, &b);
}
