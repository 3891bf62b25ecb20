// SPDX-License-Identifier: MIT
/* Connections and datagram lookups: connect, listen, accept, reject, establish, disconnect. */
#include "lib/rdmacm/connect.h"

#include <stdbool.h>
#include <string.h>

#include "lib/rdmacm/address.h"
#include "lib/rdmacm/device.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/id.h"
#include "lib/rdmacm/qp.h"

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
	if (!id->device || (!id->base.qp && !param))
		return EINVAL;
	if (id->base.ps != RDMA_PS_TCP || !param)
		return 0;
	if (exceeds(param->responder_resources, id->device->max_responder_resources) ||
	    exceeds(param->initiator_depth, id->device->max_initiator_depth))
		return EINVAL;
	return 0;
}

/* Private data: that of rdma_create_ep() first. */
static int pack_private(struct ctl_cm_conn *ret, const struct rcm_id *id, const void *data,
			size_t len)
{
	if (!data)
		len = 0;
	/* The length has one byte. */
	if (id->connect_len + len > UINT8_MAX)
		return EINVAL;
	if (id->connect_len)
		memcpy(ret->private_data, id->connect_data, id->connect_len);
	if (len)
		memcpy(ret->private_data + id->connect_len, data, len);
	ret->private_len = (uint8_t)(id->connect_len + len);
	return 0;
}

static int pack_conn(struct ctl_cm_conn *ret, const struct rcm_id *id,
		     const struct rdma_conn_param *param)
{
	const struct ibv_qp *qp = id->base.qp;

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
	return param ? pack_private(ret, id, param->private_data, param->private_data_len)
		     : pack_private(ret, id, NULL, 0);
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct rcm_id *id = rcm_id(base);
	struct ctl_msg_cm req;
	int err;

	if (!base)
		return rcm_result(EINVAL);
	err = check_param(id, param);
	if (err)
		return rcm_result(err);
	id->initiator_depth = param && param->initiator_depth != RDMA_MAX_INIT_DEPTH
				      ? param->initiator_depth
				      : id->device->max_initiator_depth;
	id->responder_resources = param && param->responder_resources != RDMA_MAX_RESP_RES
					  ? param->responder_resources
					  : id->device->max_responder_resources;
	req = rcm_id_request(id, CTL_CM_CONNECT);
	err = pack_conn(&req.conn, id, param);
	req.conn.ece_vendor = id->local_ece.vendor;
	req.conn.ece_options = id->local_ece.options;
	/* A queue pair that is made from now on has a connection's rights. */
	id->attr.mask = 0;
	if (!err)
		err = rcm_id_ask(id, &req, NULL);
	if (err)
		return rcm_result(err);
	id->connect_len = 0;
	return rcm_result(rcm_id_finish(id));
}

int rdma_listen(struct rdma_cm_id *base, int backlog)
{
	struct ctl_msg_cm_reply reply;
	struct ctl_msg_cm req;
	int err;

	if (!base)
		return rcm_result(EINVAL);
	req = rcm_id_request(rcm_id(base), CTL_CM_LISTEN);
	req.backlog = backlog > 0 ? (uint32_t)backlog : 0;
	err = rcm_id_ask(rcm_id(base), &req, &reply);
	if (!err)
		err = rcm_address_fill(rcm_id(base), &reply.addr);
	return rcm_result(err);
}

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* The request's numbers of READs and atomics are in the id already. */
static void agree_on_resources(struct rcm_id *id, const struct rdma_conn_param *param)
{
	const struct rcm_device *device = id->device;

	id->initiator_depth = param && param->initiator_depth != RDMA_MAX_INIT_DEPTH
				      ? param->initiator_depth
				      : least(id->initiator_depth, device->max_initiator_depth);
	id->responder_resources =
		param && param->responder_resources != RDMA_MAX_RESP_RES
			? param->responder_resources
			: least(id->responder_resources, device->max_responder_resources);
}

/* Before the answer: packets may follow it at once. */
static int make_ready(struct rcm_id *id)
{
	int err = rcm_qp_to_rtr(id, id->responder_resources);

	return err ? err : rcm_qp_to_rts(id, id->initiator_depth);
}

static int accept_request(struct rcm_id *id, const struct rdma_conn_param *param)
{
	struct ctl_msg_cm req = rcm_id_request(id, CTL_CM_ACCEPT);
	int err = check_param(id, param);

	if (err)
		return err;
	agree_on_resources(id, param);
	if (id->base.qp_type != IBV_QPT_UD)
		err = make_ready(id);
	if (!err)
		err = pack_conn(&req.conn, id, param);
	if (err)
		return err;
	req.token = id->token;
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
	int err;

	if (!base)
		return rcm_result(EINVAL);
	err = accept_request(id, param);
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
	struct ctl_msg_cm req;

	if (!base)
		return EINVAL;
	req = rcm_id_request(rcm_id(base), CTL_CM_REJECT);
	req.conn.reason = reason;
	if (data && len) {
		memcpy(req.conn.private_data, data, len);
		req.conn.private_len = len;
	}
	return rcm_id_ask(rcm_id(base), &req, NULL);
}

int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t len)
{
	return rcm_result(reject(base, data, len, 0));
}

int rdma_reject_ece(struct rdma_cm_id *base, const void *data, uint8_t len)
{
	return rcm_result(reject(base, data, len, REASON_ECE));
}

static int establish(struct rcm_id *id)
{
	const struct ctl_msg_cm req = rcm_id_request(id, CTL_CM_ESTABLISH);

	return rcm_id_ask(id, &req, NULL);
}

int rcm_connect_finish(struct rcm_id *id, const struct ctl_cm_conn *conn)
{
	int err = rcm_qp_set_remote_ece(id, conn->ece_vendor, conn->ece_options);

	if (!err)
		err = rcm_qp_to_rtr(id, RDMA_MAX_RESP_RES);
	if (!err)
		err = rcm_qp_to_rts(id, RDMA_MAX_INIT_DEPTH);
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
	struct ctl_msg_cm req;

	if (!base)
		return rcm_result(EINVAL);
	req = rcm_id_request(rcm_id(base), CTL_CM_NOTIFY);
	req.event = event;
	return rcm_result(rcm_id_ask(rcm_id(base), &req, NULL));
}

int rdma_disconnect(struct rdma_cm_id *base)
{
	struct rcm_id *id = rcm_id(base);
	struct ctl_msg_cm req;
	int err;

	if (!base || !base->verbs)
		return rcm_result(EINVAL);
	err = rcm_qp_to_error(id);
	if (err)
		return rcm_result(err);
	req = rcm_id_request(id, CTL_CM_DISCONNECT);
	err = rcm_id_ask(id, &req, NULL);
	if (!err)
		err = rcm_id_finish(id);
	return rcm_result(err);
}
