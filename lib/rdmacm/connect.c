// SPDX-License-Identifier: MIT
/* Connections and datagram lookups: connect, accept, reject, establish, disconnect. Endpoints: ids
 * that are made from what rdma_getaddrinfo() found, with a queue pair if one is wanted, and whose
 * calls wait. */
#include "emu/min.h"
#include "lib/rdmacm/id.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/rdmacm/channel.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/server.h"

#define RESOLVE_TIMEOUT_MS 2000
#define MOST_RETRIES	   7 /* of packets, and after RNR NAKs, which then never end */

/* IBTA 12.6.7.2: vendor options are not supported. */
#define REASON_ECE 35

static bool exceeds(uint8_t asked, uint8_t most)
{
	return asked != RDMA_MAX_RESP_RES && asked > most;
}

/* Leaves a record of a refusal by this end for `rxe_dm show`. Returns its positive errno. */
static int refuse(const struct rcm_id *id, enum ctl_cm_refusal_reason reason, uint8_t asked,
		  uint8_t most, int err)
{
	struct ctl_msg_cm req = {
		.op = CTL_CM_REFUSED,
		.refusal = { .reason = (uint8_t)reason,
			     .asked = asked,
			     .most = most,
			     .status = -err },
	};

	(void)rcm_id_ask(id, &req, NULL);
	return err;
}

/* A connection needs a device, and the number of a queue pair: the id's, or the program's in
 * param. */
static int check_param(const struct rcm_id *id, const struct rdma_conn_param *param)
{
	const struct rcm_device *device = id->device;

	if (!device || (!id->base.qp && !param))
		return EINVAL;
	if (id->base.ps != RDMA_PS_TCP || !param)
		return 0;
	if (exceeds(param->responder_resources, device->max_responder_resources))
		return refuse(id, CTL_CM_REFUSED_RESPONDER_RESOURCES, param->responder_resources,
			      device->max_responder_resources, EINVAL);
	if (exceeds(param->initiator_depth, device->max_initiator_depth))
		return refuse(id, CTL_CM_REFUSED_INITIATOR_DEPTH, param->initiator_depth,
			      device->max_initiator_depth, EINVAL);
	return 0;
}

static int pack_conn(struct ctl_cm_conn *ret, const struct rcm_id *id,
		     const struct rdma_conn_param *param)
{
	const struct ibv_qp *qp = id->base.qp;
	const void *data = param ? param->private_data : NULL;
	const size_t len = data ? param->private_data_len : 0;

	*ret = (struct ctl_cm_conn){
		.qpn = qp ? qp->qp_num : param->qp_num,
		.srq = qp ? qp->srq != NULL : param->srq,
		.qp_type = (uint8_t)id->base.qp_type,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.flow_control = param ? param->flow_control : 0,
		.retry_count = param ? param->retry_count : MOST_RETRIES,
		.rnr_retry_count = param ? param->rnr_retry_count : MOST_RETRIES,
	};
	/* Private data: that of rdma_create_ep() first. The length has one byte. */
	if (id->connect_len + len > UINT8_MAX)
		return EINVAL;
	ret->private_len = (uint8_t)(id->connect_len + len);
	if (id->connect_len)
		memcpy(ret->private_data, id->connect_data, id->connect_len);
	if (len)
		memcpy(ret->private_data + id->connect_len, data, len);
	return 0;
}

/* As rcm_qp_to_rts(). */
static int to_rts(struct rcm_id *id, uint8_t responder_resources, uint8_t initiator_depth)
{
	int err = rcm_qp_to_rts(id, responder_resources, initiator_depth);

	return err ? refuse(id, CTL_CM_REFUSED_QP, 0, 0, err) : 0;
}

/* As the program asks, or as much as the id has been offered and the device can. */
static void agree_on_resources(struct rcm_id *id, const struct rdma_conn_param *param)
{
	const struct rcm_device *device = id->device;

	id->initiator_depth = param && param->initiator_depth != RDMA_MAX_INIT_DEPTH
				      ? param->initiator_depth
				      : min_u8(id->initiator_depth, device->max_initiator_depth);
	id->responder_resources =
		param && param->responder_resources != RDMA_MAX_RESP_RES
			? param->responder_resources
			: min_u8(id->responder_resources, device->max_responder_resources);
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct ctl_msg_cm req = { .op = CTL_CM_CONNECT };
	struct rcm_id *id = rcm_id(base);
	int err = base ? check_param(id, param) : EINVAL;

	if (err)
		return rcm_result(err);
	id->initiator_depth = RDMA_MAX_INIT_DEPTH;
	id->responder_resources = RDMA_MAX_RESP_RES;
	agree_on_resources(id, param);
	err = pack_conn(&req.conn, id, param);
	req.conn.ece_vendor = id->local_ece.vendor;
	req.conn.ece_options = id->local_ece.options;
	/* A queue pair that is made from now on has a connection's rights. */
	id->attr.mask = 0;
	if (!err)
		err = rcm_id_ask(id, &req, NULL);
	return rcm_result(err ? err : rcm_id_finish(id));
}

static int accept_request(struct rcm_id *id, const struct rdma_conn_param *param)
{
	struct ctl_msg_cm req = { .op = CTL_CM_ACCEPT, .token = id->token };
	int err = check_param(id, param);

	if (err)
		return err;
	agree_on_resources(id, param);
	/* Before the answer: packets may follow it at once. */
	if (id->base.qp_type != IBV_QPT_UD)
		err = to_rts(id, id->responder_resources, id->initiator_depth);
	if (!err)
		err = pack_conn(&req.conn, id, param);
	if (err)
		return err;
	/* The vendor as it came, the options as the queue pair has them. */
	req.conn.ece_vendor = id->remote_ece.vendor;
	req.conn.ece_options = id->local_ece.options;
	err = rcm_id_ask(id, &req, NULL);
	if (err && id->base.qp_type != IBV_QPT_UD)
		rcm_qp_to_error(id);
	return err;
}

int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct rcm_id *id = rcm_id(base);
	int err = base ? accept_request(id, param) : EINVAL;

	if (err)
		return rcm_result(err);
	if (base->qp_type != IBV_QPT_UD)
		return rcm_result(rcm_id_finish(id));
	/* No event follows the answer to a lookup. */
	if (id->sync)
		rcm_id_drop_event(id);
	return 0;
}

static int reject(struct rdma_cm_id *base, const void *data, uint8_t len, uint32_t reason)
{
	struct ctl_msg_cm req = { .op = CTL_CM_REJECT, .conn.reason = reason };

	if (data && len) {
		memcpy(req.conn.private_data, data, len);
		req.conn.private_len = len;
	}
	return rcm_result(rcm_id_ask(rcm_id(base), &req, NULL));
}

int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t len)
{
	return reject(base, data, len, 0);
}

int rdma_reject_ece(struct rdma_cm_id *base, const void *data, uint8_t len)
{
	return reject(base, data, len, REASON_ECE);
}

static int establish(struct rcm_id *id)
{
	struct ctl_msg_cm req = { .op = CTL_CM_ESTABLISH };

	return rcm_id_ask(id, &req, NULL);
}

int rcm_connect_finish(struct rcm_id *id, const struct ctl_cm_conn *conn)
{
	int err = rcm_qp_set_remote_ece(id, conn->ece_vendor, conn->ece_options);

	if (!err)
		err = to_rts(id, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH);
	if (!err)
		err = establish(id);
	if (!err)
		err = rcm_qp_read_ece(id);
	if (err)
		rcm_qp_to_error(id);
	return err;
}

int rdma_establish(struct rdma_cm_id *base)
{
	/* With a queue pair the library does it. */
	if (!base || base->qp)
		return rcm_result(EINVAL);
	return rcm_result(establish(rcm_id(base)));
}

int rdma_notify(struct rdma_cm_id *base, enum ibv_event_type event)
{
	struct ctl_msg_cm req = { .op = CTL_CM_NOTIFY, .event = event };

	return rcm_result(rcm_id_ask(rcm_id(base), &req, NULL));
}

int rdma_disconnect(struct rdma_cm_id *base)
{
	struct ctl_msg_cm req = { .op = CTL_CM_DISCONNECT };
	int err = base && base->verbs ? rcm_qp_to_error(rcm_id(base)) : EINVAL;

	return err ? rcm_result(err) : rcm_id_call(rcm_id(base), &req);
}

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
		return rcm_result(ENOMEM);
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
		return rcm_result(ENOMEM);
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
		return rcm_result(EINVAL);
	err = rcm_id_create(NULL, NULL, (enum rdma_port_space)info->ai_port_space,
			    (enum ibv_qp_type)info->ai_qp_type, &id);
	if (err)
		return rcm_result(err);
	if (info->ai_flags & RAI_PASSIVE ? prepare_listener(id, info, pd, attr)
					 : prepare_connection(id, info, pd, attr)) {
		err = rcm_errno();
		rdma_destroy_ep(&id->base);
		return rcm_result(err);
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
		return ECONNREFUSED;
	if (event->status)
		return event->status < 0 ? -event->status : event->status;
	return event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? 0 : EINVAL;
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

	if (!listen || !ret || !listener->sync)
		return rcm_result(EINVAL);
	rcm_id_drop_event(listener);
	if (atomic_load(&rcm_channel(listen->channel)->is_silent))
		return rcm_result(ENODEV);
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
