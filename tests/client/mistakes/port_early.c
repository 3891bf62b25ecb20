// SPDX-License-Identifier: MIT
/* Waits for RDMA WRITEs by looking at their last bytes. */
#include "apart.h"

#include <string.h>

#include "mistakes.h"

#define LEN    64u
#define ROUNDS 8u

static void child(struct apart *end, bool right)
{
	memset(end->side.memory, 1, (size_t)ROUNDS * LEN);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct ibv_sge sge = side_sge(&end->side, (size_t)round * LEN, LEN);
		struct ibv_send_wr wr =
			side_wr(&end->side, &sge,
				right ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, round);

		apart_hear(end);
		side_post(&end->side, &wr);
		side_wait(&end->side);
	}
	apart_hear(end);
}

STACKED static void looks(const struct side *side, uint32_t round)
{
	const volatile uint8_t *last = side->memory + (size_t)(round + 1) * LEN - 1;

	while (*last != 1)
		;
}

void port_early(bool right)
{
	struct apart end;

	apart_open(&end, 1, (void (*const[])(struct apart *, bool)){ child }, right);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		if (right)
			side_recv(&end.side, round, 0, 0);
		apart_tell(&end);
		if (right)
			must(side_wait(&end.side).status == IBV_WC_SUCCESS, "receive");
		else
			looks(&end.side, round);
	}
	apart_tell(&end);
	apart_close(&end, 1);
}
