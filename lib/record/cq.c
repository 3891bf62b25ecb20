// SPDX-License-Identifier: MIT
/* Completion queues and their events. */
#include "lib/record/below.h"
#include "lib/record/ring.h"

BELOW(ibv_create_cq);
BELOW(ibv_resize_cq);
BELOW(ibv_destroy_cq);
BELOW(ibv_get_cq_event);
BELOW(ibv_ack_cq_events);

static uint64_t fd_of(const struct ibv_comp_channel *channel)
{
	return channel ? (uint64_t)channel->fd : 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	const uint64_t began = record_now();
	struct ibv_cq *cq = below_ibv_create_cq(context, cqe, cq_context, channel, comp_vector);

	RECORD(RECORD_CREATE_CQ, began, record_null(cq), (uint64_t)(cq ? cq->cqe : cqe),
	       fd_of(channel), cq ? cq->handle : 0);
	return cq;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t began = record_now();
	struct ibv_cq_ex *cq = record_below.base.create_cq_ex(context, attr);

	RECORD(RECORD_CREATE_CQ, began, record_null(cq), cq ? (uint64_t)cq->cqe : attr->cqe,
	       fd_of(attr->channel), cq ? cq->handle : 0);
	if (cq)
		record_poll_ex(cq);
	return cq;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_resize_cq(cq, cqe);

	RECORD(RECORD_RESIZE_CQ, began, record_error(rc), cq ? cq->handle : 0,
	       (uint64_t)(rc || !cq ? cqe : cq->cqe));
	return rc;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	const uint64_t began = record_now(), handle = cq ? cq->handle : 0;
	const int rc = below_ibv_destroy_cq(cq);

	RECORD(RECORD_DESTROY_CQ, began, record_error(rc), handle);
	return rc;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	const uint64_t began = record_now();
	const int rc = BELOW_OPS->req_notify_cq(cq, solicited_only);

	RECORD(RECORD_REQ_NOTIFY_CQ, began, record_error(rc), cq->handle, (uint64_t)solicited_only);
	return rc;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_get_cq_event(channel, cq, cq_context);

	RECORD(RECORD_GET_CQ_EVENT, began, record_error(rc), fd_of(channel),
	       rc ? 0 : (*cq)->handle);
	return rc;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	const uint64_t began = record_now(), handle = cq ? cq->handle : 0;

	below_ibv_ack_cq_events(cq, nevents);
	RECORD(RECORD_ACK_CQ_EVENTS, began, 0, handle, nevents);
}

void record_cq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_cq_ex = create_cq_ex;
	verbs->base.context.ops.poll_cq = record_poll_cq;
	verbs->base.context.ops.req_notify_cq = req_notify_cq;
}
