// SPDX-License-Identifier: MIT
/* Endpoints: ids that are made from what rdma_getaddrinfo() found, with a queue pair if one is
 * wanted, and whose calls wait. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rdmacm/ack.h"
#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/life.h"
#include "lib/refusal/refusal.h"

#define RESOLVE_TIMEOUT_MS 2000

/* A listener keeps what its queue pairs shall be like. */
static int prepare_listener(struct rcm_id *id, const struct rdma_addrinfo *info, struct ibv_pd *pd,
			    const struct ibv_qp_init_attr *attr)
{
	if (rdma_bind_addr(&id->base, info->ai_src_addr))
		return -1;
	if (pd)
		id->base.pd = pd;
	if (!attr)
		return 0;
	id->qp_init_attr = malloc(sizeof(*attr));
	if (!id->qp_init_attr)
		return rcm_result_as("rdma_create_ep", refuse(WHY_NO_MEMORY, "the endpoint"));
	*id->qp_init_attr = *attr;
	id->qp_init_attr->qp_type = (enum ibv_qp_type)info->ai_qp_type;
	return 0;
}

static int keep_connect_data(struct rcm_id *id, const struct rdma_addrinfo *info)
{
	if (!info->ai_connect_len)
		return 0;
	id->connect_data = malloc(info->ai_connect_len);
	if (!id->connect_data)
		return rcm_result_as("rdma_create_ep", refuse(WHY_NO_MEMORY, "the endpoint"));
	memcpy(id->connect_data, info->ai_connect, info->ai_connect_len);
	id->connect_len = info->ai_connect_len;
	return 0;
}

static int prepare_connection(struct rcm_id *id, const struct rdma_addrinfo *info,
			      struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	int ret = rdma_resolve_addr(&id->base, info->ai_src_addr, info->ai_dst_addr,
				    RESOLVE_TIMEOUT_MS);

	if (!ret)
		ret = rdma_resolve_route(&id->base, RESOLVE_TIMEOUT_MS);
	if (!ret && attr) {
		attr->qp_type = (enum ibv_qp_type)info->ai_qp_type;
		ret = rdma_create_qp(&id->base, pd, attr);
	}
	return ret ? ret : keep_connect_data(id, info);
}

int rdma_create_ep(struct rdma_cm_id **ret, struct rdma_addrinfo *info, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	struct rcm_id *id;
	int err;

	if (!ret || !info)
		return rcm_result(refuse(WHY_NULL, ret ? "res" : "id"));
	err = rcm_id_create(NULL, NULL, (enum rdma_port_space)info->ai_port_space,
			    (enum ibv_qp_type)info->ai_qp_type, &id);
	if (err)
		return rcm_result(err);
	if (info->ai_flags & RAI_PASSIVE ? prepare_listener(id, info, pd, attr)
					 : prepare_connection(id, info, pd, attr)) {
		/* The call that failed has reported why. */
		err = rcm_errno();
		rdma_destroy_ep(&id->base);
		errno = err;
		return -1;
	}
	*ret = &id->base;
	return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *base)
{
	if (!base)
		return;
	rdma_destroy_qp(base);
	rdma_destroy_srq(base);
	rdma_destroy_id(base);
}

/* What the event of a listener is: 0: a request, or a positive errno. */
static int check_request(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return refuse(WHY_CM_EVENT(ECONNREFUSED), rdma_event_str(event->event),
			      event->status);
	if (event->status)
		return refuse(WHY_CM_EVENT(abs(event->status)), rdma_event_str(event->event),
			      event->status);
	return event->event == RDMA_CM_EVENT_CONNECT_REQUEST
		       ? 0
		       : refuse(WHY_CM_EVENT(EINVAL), rdma_event_str(event->event), event->status);
}

/* The new id gets a queue pair as its listener's endpoint has it. */
static int give_qp(const struct rcm_id *listener, struct rdma_cm_id *base)
{
	struct ibv_qp_init_attr attr;

	if (!listener->qp_init_attr)
		return 0;
	attr = *listener->qp_init_attr;
	return rdma_create_qp(base, listener->base.pd, &attr) ? rcm_errno() : 0;
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **ret)
{
	struct rcm_id *listener = rcm_id(listen);
	struct rdma_cm_event *event;
	int err;

	if (!listen || !ret)
		return rcm_result(refuse(WHY_NULL, listen ? "id" : "listen"));
	if (!listener->sync)
		return rcm_result(refuse(WHY_CM_NOT_SYNC));
	rcm_id_drop_event(listener);
	if (atomic_load(&rcm_channel(listen->channel)->is_silent))
		return rcm_result(refuse(WHY_SERVER_EXITED(ENODEV)));
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	err = check_request(event);
	if (!err)
		err = give_qp(listener, event->id);
	if (err) {
		listen->event = event;
		return rcm_result(err);
	}
	*ret = event->id;
	(*ret)->event = event;
	return 0;
}
