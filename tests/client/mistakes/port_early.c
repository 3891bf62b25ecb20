// SPDX-License-Identifier: MIT
/* Waits for an RDMA WRITE by looking at its last byte. */
#include "apart.h"
#include "mistakes.h"

#define LEN 64u

static void child(struct apart *end, bool right)
{
	struct ibv_sge sge = side_sge(&end->side, 0, LEN);
	struct ibv_send_wr wr = side_wr(&end->side, &sge,
					right ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, 1);

	end->side.memory[LEN - 1] = 1;
	apart_hear(end);
	side_post(&end->side, &wr);
	side_wait(&end->side);
	apart_hear(end);
}

STACKED static void looks(const struct side *side)
{
	const volatile uint8_t *last = side->memory + LEN - 1;

	while (*last != 1)
		;
}

void port_early(bool right)
{
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	if (right)
		side_recv(&end.side, 2, 256, 0);
	apart_tell(&end);
	if (right)
		must(side_wait(&end.side).status == IBV_WC_SUCCESS, "receive");
	else
		looks(&end.side);
	apart_tell(&end);
	apart_close(&end, 1);
}
