// SPDX-License-Identifier: MIT
/* Domains, address handles, memory windows, channels, device memory, asynchronous events. */
#include "lib/record/below.h"
#include "lib/record/ring.h"

BELOW(ibv_alloc_pd);
BELOW(ibv_dealloc_pd);
BELOW(ibv_create_ah);
BELOW(ibv_create_ah_from_wc);
BELOW(ibv_destroy_ah);
BELOW(ibv_create_comp_channel);
BELOW(ibv_destroy_comp_channel);
BELOW(ibv_get_async_event);
BELOW(ibv_ack_async_event);

static uint64_t context_of(const struct ibv_context *context)
{
	return context ? (uint64_t)context->cmd_fd : 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	const uint64_t began = record_now();
	struct ibv_pd *pd = below_ibv_alloc_pd(context);

	RECORD(RECORD_ALLOC_PD, began, record_null(pd), context_of(context), pd ? pd->handle : 0);
	return pd;
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr)
{
	const uint64_t began = record_now();
	struct ibv_pd *pd = record_below.base.alloc_parent_domain(context, attr);

	RECORD(RECORD_ALLOC_PARENT_DOMAIN, began, record_null(pd),
	       attr && attr->pd ? attr->pd->handle : 0, pd ? pd->handle : 0);
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	const uint64_t began = record_now(), handle = pd ? pd->handle : 0;
	const int rc = below_ibv_dealloc_pd(pd);

	RECORD(RECORD_DEALLOC_PD, began, record_error(rc), handle);
	return rc;
}

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	const uint64_t began = record_now();
	struct ibv_td *td = record_below.base.alloc_td(context, attr);

	RECORD(RECORD_ALLOC_TD, began, record_null(td), context_of(context));
	return td;
}

static int dealloc_td(struct ibv_td *td)
{
	const uint64_t began = record_now();
	const int rc = record_below.base.dealloc_td(td);

	record_add(RECORD_DEALLOC_TD, began, record_error(rc), NULL, 0);
	return rc;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	const uint64_t began = record_now();
	struct ibv_mw *mw = BELOW_OPS->alloc_mw(pd, type);

	RECORD(RECORD_ALLOC_MW, began, record_null(mw), pd ? pd->handle : 0, type,
	       mw ? mw->rkey : 0);
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	const uint64_t began = record_now(), rkey = mw ? mw->rkey : 0;
	const int rc = BELOW_OPS->dealloc_mw(mw);

	RECORD(RECORD_DEALLOC_MW, began, record_error(rc), rkey);
	return rc;
}

static uint64_t dm_handle(struct ibv_dm *dm)
{
	return dm ? ((struct ibv_dm_65 *)(void *)dm)->handle : 0;
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	const uint64_t began = record_now();
	struct ibv_dm *dm = record_below.base.alloc_dm(context, attr);

	RECORD(RECORD_ALLOC_DM, began, record_null(dm), context_of(context),
	       attr ? attr->length : 0, dm_handle(dm));
	return dm;
}

static int free_dm(struct ibv_dm *dm)
{
	const uint64_t began = record_now(), handle = dm_handle(dm);
	const int rc = record_below.base.free_dm(dm);

	RECORD(RECORD_FREE_DM, began, record_error(rc), handle);
	return rc;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint64_t began = record_now();
	struct ibv_xrcd *xrcd = record_below.base.open_xrcd(context, attr);

	RECORD(RECORD_OPEN_XRCD, began, record_null(xrcd), context_of(context));
	return xrcd;
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
	const uint64_t began = record_now();
	const int rc = record_below.base.close_xrcd(xrcd);

	record_add(RECORD_CLOSE_XRCD, began, record_error(rc), NULL, 0);
	return rc;
}

static struct ibv_ah *made_ah(struct ibv_ah *ah, const struct ibv_pd *pd, uint64_t began)
{
	RECORD(RECORD_CREATE_AH, began, record_null(ah), pd ? pd->handle : 0, ah ? ah->handle : 0);
	return ah;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	const uint64_t began = record_now();

	return made_ah(below_ibv_create_ah(pd, attr), pd, began);
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num)
{
	const uint64_t began = record_now();

	return made_ah(below_ibv_create_ah_from_wc(pd, wc, grh, port_num), pd, began);
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	const uint64_t began = record_now(), handle = ah ? ah->handle : 0;
	const int rc = below_ibv_destroy_ah(ah);

	RECORD(RECORD_DESTROY_AH, began, record_error(rc), handle);
	return rc;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	const uint64_t began = record_now();
	struct ibv_comp_channel *channel = below_ibv_create_comp_channel(context);

	RECORD(RECORD_CREATE_CHANNEL, began, record_null(channel), context_of(context),
	       channel ? (uint64_t)channel->fd : 0);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	const uint64_t began = record_now(), fd = channel ? (uint64_t)channel->fd : 0;
	const int rc = below_ibv_destroy_comp_channel(channel);

	RECORD(RECORD_DESTROY_CHANNEL, began, record_error(rc), fd);
	return rc;
}

/* The number of what an event is about: a queue pair's, the handle of a CQ or an SRQ, a port's. */
static uint64_t element_of(const struct ibv_async_event *event)
{
	switch ((int)event->event_type) {
	case IBV_EVENT_CQ_ERR: return event->element.cq->handle;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED: return event->element.qp->qp_num;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: return event->element.srq->handle;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER: return (uint64_t)event->element.port_num;
	default: return 0;
	}
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	const uint64_t began = record_now();
	const int rc = below_ibv_get_async_event(context, event);

	if (rc)
		RECORD(RECORD_GET_ASYNC_EVENT, began, record_error(rc), 0, 0);
	else
		RECORD(RECORD_GET_ASYNC_EVENT, began, 0, event->event_type, element_of(event));
	return rc;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	const uint64_t began = record_now();
	const uint64_t type = event ? event->event_type : 0;
	const uint64_t element = event ? element_of(event) : 0;

	below_ibv_ack_async_event(event);
	RECORD(RECORD_ACK_ASYNC_EVENT, began, 0, type, element);
}

void record_object_ops(struct verbs_context_65 *verbs)
{
	verbs->base.alloc_parent_domain = alloc_parent_domain;
	verbs->base.alloc_td = alloc_td;
	verbs->base.dealloc_td = dealloc_td;
	verbs->base.alloc_dm = alloc_dm;
	verbs->base.free_dm = free_dm;
	verbs->base.open_xrcd = open_xrcd;
	verbs->base.close_xrcd = close_xrcd;
	verbs->base.context.ops.alloc_mw = alloc_mw;
	verbs->base.context.ops.dealloc_mw = dealloc_mw;
}
