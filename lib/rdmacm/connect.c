// SPDX-License-Identifier: MIT
/* Connections and datagram lookups: connect, accept, reject, establish, disconnect. */
#include <stdbool.h>
#include <string.h>

#include "emu/min.h"
#include "lib/rdmacm/ack.h"
#include "lib/rdmacm/ask.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/establish.h"
#include "lib/rdmacm/finish.h"
#include "lib/rdmacm/qp.h"
#include "lib/rdmacm/server.h"
#include "lib/refusal/refusal.h"

#define MOST_RETRIES 7 /* of packets, and after RNR NAKs, which then never end */

/* IBTA 12.6.7.2: vendor options are not supported. */
#define REASON_ECE 35

static bool exceeds(uint8_t asked, uint8_t most)
{
	return asked != RDMA_MAX_RESP_RES && asked > most;
}

/* A connection needs a device, and the number of a queue pair: the id's, or the program's in
 * param. */
static int check_param(const struct rcm_id *id, const struct rdma_conn_param *param)
{
	const struct rcm_device *device = id->device;

	if (!device)
		return refuse(WHY_CM_NO_DEVICE);
	if (!id->base.qp && !param)
		return refuse(WHY_CM_NO_QP);
	if (id->base.ps != RDMA_PS_TCP || !param)
		return 0;
	if (exceeds(param->responder_resources, device->max_responder_resources))
		return rcm_refuse(id, CTL_CM_REFUSED_RESPONDER_RESOURCES,
				  param->responder_resources, device->max_responder_resources,
				  refuse(WHY_ABOVE_LIMIT, "responder_resources",
					 (uint64_t)param->responder_resources,
					 (uint64_t)device->max_responder_resources));
	if (exceeds(param->initiator_depth, device->max_initiator_depth))
		return rcm_refuse(id, CTL_CM_REFUSED_INITIATOR_DEPTH, param->initiator_depth,
				  device->max_initiator_depth,
				  refuse(WHY_ABOVE_LIMIT, "initiator_depth",
					 (uint64_t)param->initiator_depth,
					 (uint64_t)device->max_initiator_depth));
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
		return refuse(WHY_CM_PRIVATE, id->connect_len + len);
	ret->private_len = (uint8_t)(id->connect_len + len);
	if (id->connect_len)
		memcpy(ret->private_data, id->connect_data, id->connect_len);
	if (len)
		memcpy(ret->private_data + id->connect_len, data, len);
	return 0;
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
	int err = base ? check_param(id, param) : refuse(WHY_NULL, "id");

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
		err = rcm_establish_rts(id, id->responder_resources, id->initiator_depth);
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
	int err = base ? accept_request(id, param) : refuse(WHY_NULL, "id");

	if (err)
		return rcm_result(err);
	if (base->qp_type != IBV_QPT_UD)
		return rcm_result(rcm_id_finish(id));
	/* No event follows the answer to a lookup. */
	if (id->sync)
		rcm_id_drop_event(id);
	return 0;
}

static int reject(const char *call, struct rdma_cm_id *base, const void *data, uint8_t len,
		  uint32_t reason)
{
	struct ctl_msg_cm req = { .op = CTL_CM_REJECT, .conn.reason = reason };

	if (data && len) {
		memcpy(req.conn.private_data, data, len);
		req.conn.private_len = len;
	}
	return rcm_result_as(call, rcm_id_ask(rcm_id(base), &req, NULL));
}

int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t len)
{
	return reject(__func__, base, data, len, 0);
}

int rdma_reject_ece(struct rdma_cm_id *base, const void *data, uint8_t len)
{
	return reject(__func__, base, data, len, REASON_ECE);
}

int rdma_establish(struct rdma_cm_id *base)
{
	/* With a queue pair the library does it. */
	if (!base || base->qp)
		return rcm_result(base ? refuse(WHY_CM_HAS_QP, base->qp->qp_num)
				       : refuse(WHY_NULL, "id"));
	return rcm_result(rcm_establish(rcm_id(base)));
}

int rdma_notify(struct rdma_cm_id *base, enum ibv_event_type event)
{
	struct ctl_msg_cm req = { .op = CTL_CM_NOTIFY, .event = event };

	return rcm_result(rcm_id_ask(rcm_id(base), &req, NULL));
}

int rdma_disconnect(struct rdma_cm_id *base)
{
	struct ctl_msg_cm req = { .op = CTL_CM_DISCONNECT };
	int err;

	if (!base || !base->verbs)
		return rcm_result(base ? refuse(WHY_CM_NO_DEVICE) : refuse(WHY_NULL, "id"));
	err = rcm_qp_to_error(rcm_id(base));
	return rcm_result(err ? err : rcm_id_call(rcm_id(base), &req));
}
