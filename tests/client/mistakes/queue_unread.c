// SPDX-License-Identifier: MIT
/* Writes on and on, and does not poll the completion queue of its receives. */
#include "mistakes.h"
#include "pair.h"

#define MESSAGES 48u
#define WRITES	 2100u

static void gets_messages(struct side *side, struct side *other)
{
	for (uint32_t i = 0; i < MESSAGES; i++)
		side_recv(side, i, 4096 + i * 64, 64);
	for (uint32_t i = 0; i < MESSAGES; i++)
		side_send(other, i, 8192, 64);
	for (uint32_t i = 0; i < MESSAGES; i++)
		side_wait(other);
}

static void reads_messages(struct side *side)
{
	for (uint32_t i = 0; i < MESSAGES; i++)
		side_wait_for(side->recv_cq);
}

STACKED static void writes(struct side *side)
{
	for (uint32_t i = 0; i < WRITES; i++) {
		struct ibv_sge sge = side_sge(side, 0, 8);
		struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, i);

		side_post(side, &wr);
		side_wait(side);
	}
}

void queue_unread(bool right)
{
	const struct side_cfg cfg = { .wrs = MESSAGES, .recv_cq = true };
	struct side a, b;

	pair_open(&a, &b, &cfg);
	gets_messages(&a, &b);
	if (right)
		reads_messages(&a);
	writes(&a);
	if (!right)
		reads_messages(&a);
	pair_close(&a, &b);
}
