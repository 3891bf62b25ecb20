/* SPDX-License-Identifier: MIT */
/* Completion queues and shared receive queues that belong to an id, which a program reads with
 * rdma_get_send_comp() and rdma_get_recv_comp(). */
#ifndef RXE_RDMACM_QUEUES_H
#define RXE_RDMACM_QUEUES_H

struct ibv_qp_init_attr_ex;
struct rdma_cm_id;

/* Makes the completion queues that neither the program nor the id has, and names the id's in attr.
 * 0 or a positive errno. */
int rcm_queues_for_qp(struct rdma_cm_id *base, struct ibv_qp_init_attr_ex *attr);
/* Ends the id's completion queues, unless its shared receive queue uses them. */
void rcm_queues_destroy(struct rdma_cm_id *base);

#endif
