// SPDX-License-Identifier: MIT
/* Fills a send queue with unsignalled requests. */
#include "mistakes.h"
#include "pair.h"

STACKED static void posts(struct side *side, uint32_t n, bool last_is_signalled)
{
	for (uint32_t i = 0; i < n; i++) {
		struct ibv_sge sge = side_sge(side, i * 64, 64);
		struct ibv_send_wr wr = side_wr(side, &sge, IBV_WR_RDMA_WRITE, i);

		if (!last_is_signalled || i < n - 1)
			wr.send_flags = 0;
		side_post(side, &wr);
	}
}

void queue_unsignalled(bool right)
{
	const struct side_cfg cfg = { .wrs = 4 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct side a, b;

	pair_open(&a, &b, &cfg);
	must(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init) == 0, "query a QP");
	posts(&a, init.cap.max_send_wr, right);
	if (right)
		side_wait(&a);
	side_modify(&a, IBV_QPS_ERR);
	pair_close(&a, &b);
}
