// SPDX-License-Identifier: MIT
/* Destroys an id and forgets its queue pair. */
#include "cm_pair.h"
#include "mistakes.h"

STACKED static struct ibv_qp *makes_qp(struct rdma_cm_id *id, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	must(rdma_create_qp(id, NULL, &attr) == 0, "create a QP");
	return id->qp;
}

STACKED static void destroys(struct rdma_cm_id *id)
{
	must(rdma_destroy_id(id) == 0, "destroy an id");
}

void cm_has_qp(bool right)
{
	struct cm_pair pair;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	cm_open(&pair);
	cq = ibv_create_cq(pair.client->verbs, 8, NULL, NULL, 0);
	must(cq != NULL, "create a CQ");
	qp = makes_qp(pair.client, cq);
	if (right)
		rdma_destroy_qp(pair.client);
	destroys(pair.client);
	pair.client = NULL;
	if (!right)
		must(ibv_destroy_qp(qp) == 0, "destroy a QP");
	must(ibv_destroy_cq(cq) == 0, "destroy a CQ");
	cm_close(&pair);
}
