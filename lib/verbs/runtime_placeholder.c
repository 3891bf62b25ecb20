// SPDX-License-Identifier: MIT
/* The data path's part of the interface until it is written: refuses everything. */
#include "lib/verbs/driver.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int dm_pump_start(struct dm_device *dev)
{
	return 0;
}

void dm_pump_stop(struct dm_device *dev)
{
}

void dm_pump_quiesce(struct dm_device *dev)
{
}

int dm_async_init(struct dm_context *context)
{
	context->verbs.base.context.async_fd = -1;
	return 0;
}

void dm_async_fini(struct dm_context *context)
{
}

void dm_runtime_ops(struct verbs_context_65 *verbs)
{
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	return dm_fail(EOPNOTSUPP);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return EOPNOTSUPP;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	return dm_fail(EOPNOTSUPP);
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	return EOPNOTSUPP;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return EOPNOTSUPP;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	errno = EOPNOTSUPP;
	return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	errno = EOPNOTSUPP;
	return -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return dm_fail(EOPNOTSUPP);
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	return EOPNOTSUPP;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	return EOPNOTSUPP;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	return EOPNOTSUPP;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return dm_fail(EOPNOTSUPP);
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init_attr)
{
	return EOPNOTSUPP;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return EOPNOTSUPP;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	return EOPNOTSUPP;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return dm_fail(EOPNOTSUPP);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return EOPNOTSUPP;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return EOPNOTSUPP;
}
