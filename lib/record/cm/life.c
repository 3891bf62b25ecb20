// SPDX-License-Identifier: MIT
/* Channels and ids, and the queue pairs and SRQs of ids. */
#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#pragma GCC visibility pop

#include "lib/record/cm/cm.h"

BELOW(rdma_create_event_channel);
BELOW(rdma_destroy_event_channel);
BELOW(rdma_create_id);
BELOW(rdma_create_ep);
BELOW(rdma_destroy_id);
BELOW(rdma_destroy_ep);
BELOW(rdma_migrate_id);
BELOW(rdma_create_qp);
BELOW(rdma_create_qp_ex);
BELOW(rdma_destroy_qp);
BELOW(rdma_create_srq);
BELOW(rdma_create_srq_ex);
BELOW(rdma_destroy_srq);

struct rdma_event_channel *rdma_create_event_channel(void)
{
	const uint64_t began = rxe_dm_record_now();
	struct rdma_event_channel *channel = below_rdma_create_event_channel();

	RECORD_CM(RECORD_CM_CREATE_CHANNEL, began, channel ? 0 : errno, record_cm_fd(channel));
	return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	const uint64_t began = rxe_dm_record_now(), fd = record_cm_fd(channel);

	below_rdma_destroy_event_channel(channel);
	RECORD_CM(RECORD_CM_DESTROY_CHANNEL, began, 0, fd);
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_create_id(channel, id, context, ps);

	RECORD_CM(RECORD_CM_CREATE_ID, began, record_cm_error(rc), record_cm_fd(channel), ps,
		  rc ? 0 : record_cm_id(*id));
	return rc;
}

int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *info, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_create_ep(id, info, pd, attr);

	RECORD_CM(RECORD_CM_CREATE_EP, began, record_cm_error(rc), rc ? 0 : record_cm_id(*id),
		  rc ? 0 : record_cm_qp(*id));
	return rc;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_destroy_id(id);

	RECORD_CM(RECORD_CM_DESTROY_ID, began, record_cm_error(rc), record_cm_id(id));
	return rc;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	const uint64_t began = rxe_dm_record_now();

	below_rdma_destroy_ep(id);
	RECORD_CM(RECORD_CM_DESTROY_EP, began, 0, record_cm_id(id));
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_migrate_id(id, channel);

	RECORD_CM(RECORD_CM_MIGRATE_ID, began, record_cm_error(rc), record_cm_id(id),
		  record_cm_fd(channel));
	return rc;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_create_qp(id, pd, attr);

	RECORD_CM(RECORD_CM_CREATE_QP, began, record_cm_error(rc), record_cm_id(id),
		  record_cm_qp(id));
	return rc;
}

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_create_qp_ex(id, attr);

	RECORD_CM(RECORD_CM_CREATE_QP, began, record_cm_error(rc), record_cm_id(id),
		  record_cm_qp(id));
	return rc;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	const uint64_t began = rxe_dm_record_now(), qp = record_cm_qp(id);

	below_rdma_destroy_qp(id);
	RECORD_CM(RECORD_CM_DESTROY_QP, began, 0, record_cm_id(id), qp);
}

static uint64_t srq_of(const struct rdma_cm_id *id)
{
	return id && id->srq ? id->srq->handle : 0;
}

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_create_srq(id, pd, attr);

	RECORD_CM(RECORD_CM_CREATE_SRQ, began, record_cm_error(rc), record_cm_id(id), srq_of(id));
	return rc;
}

int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	const uint64_t began = rxe_dm_record_now();
	const int rc = below_rdma_create_srq_ex(id, attr);

	RECORD_CM(RECORD_CM_CREATE_SRQ, began, record_cm_error(rc), record_cm_id(id), srq_of(id));
	return rc;
}

void rdma_destroy_srq(struct rdma_cm_id *id)
{
	const uint64_t began = rxe_dm_record_now(), srq = srq_of(id);

	below_rdma_destroy_srq(id);
	RECORD_CM(RECORD_CM_DESTROY_SRQ, began, 0, record_cm_id(id), srq);
}
