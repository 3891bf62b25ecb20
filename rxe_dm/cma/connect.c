// SPDX-License-Identifier: MIT
/* Requests of both sides of a connection, turned into messages. */
#include <errno.h>
#include <string.h>

#include "emu/min.h"
#include "rxe_dm/cma/id.h"

#define RESPONSE_TIMEOUT     20 /* 4.096 us << 20, each side's, as Linux */
#define MAX_CM_RETRIES	     15
#define TARGET_ACK_DELAY     15
#define SIDR_TIMEOUT_NS	     4096000000ull
#define FAILOVER_UNSUPPORTED 1 /* 12.7.19: the alternate path is not used */

/* Appends to the private data that the message has. False: more than the message holds. */
static bool put_private(struct cm_msg *msg, const struct ctl_cm_conn *conn)
{
	if (conn->private_len > cm_private_max(msg->attr) - msg->private_len)
		return false;
	memcpy(msg->private_data + msg->private_len, conn->private_data, conn->private_len);
	msg->private_len = (uint8_t)(msg->private_len + conn->private_len);
	return true;
}

/* Private data of the IP port spaces begins with the endpoints. */
static bool put_endpoints(struct cm_msg *msg, const struct cma_id *id,
			  const struct ctl_cm_conn *conn)
{
	const struct cm_ip_header header = {
		.ip_version = id->local.family == AF_INET ? 4 : 6,
		.src_port = id->local.port,
		.src = id->local.address,
		.dst = id->remote.address,
	};

	cm_ip_header_emit(msg->private_data, &header);
	msg->private_len = CM_IP_HEADER_BYTES;
	return put_private(msg, conn);
}

static uint64_t service_of(const struct cma_id *id)
{
	return cm_ip_service_id((uint16_t)id->port_space, id->remote.port);
}

static struct cm_path path_of(const struct cma_id *id)
{
	return (struct cm_path){
		.device = id->device,
		.src = id->ids->device[id->device].gid,
		.dst = id->dgid,
		.flow_label = id->flow_label,
		.traffic_class = id->traffic_class,
		.hop_limit = id->hop_limit,
	};
}

static uint8_t transport_of(uint32_t qp_type)
{
	if (qp_type == IBV_QPT_XRC_SEND)
		return CM_TRANSPORT_EXTENDED;
	return qp_type == IBV_QPT_UC ? CM_TRANSPORT_UC : CM_TRANSPORT_RC;
}

static void put_path(struct cm_path_record *ret, const struct cma_id *id)
{
	*ret = (struct cm_path_record){
		.local_lid = CM_LID_PERMISSIVE,
		.remote_lid = CM_LID_PERMISSIVE,
		.local_gid = id->ids->device[id->device].gid,
		.remote_gid = id->dgid,
		.flow_label = id->flow_label,
		.traffic_class = id->traffic_class,
		.hop_limit = id->hop_limit,
		.ack_timeout = id->exchange.ack_timeout,
	};
}

static void put_req(struct cm_req *req, const struct cma_id *id, const struct ctl_cm_conn *conn)
{
	*req = (struct cm_req){
		.service_id = service_of(id),
		.local_ca_guid = id->ids->device[id->device].node_guid,
		.local_qpn = id->qpn,
		.starting_psn = id->psn,
		.transport = transport_of(id->qp_type),
		.extended_transport =
			id->qp_type == IBV_QPT_XRC_SEND ? CM_TRANSPORT_EXTENDED_XRC : 0,
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.flow_control = conn->flow_control != 0,
		.remote_cm_timeout = RESPONSE_TIMEOUT,
		.local_cm_timeout = RESPONSE_TIMEOUT,
		.retry_count = min_u8(conn->retry_count, CMA_MAX_RETRY),
		.rnr_retry_count = min_u8(conn->rnr_retry_count, CMA_MAX_RETRY),
		.max_cm_retries = MAX_CM_RETRIES,
		.path_mtu = id->path_mtu,
		.srq = id->srq,
		.pkey = CMA_PKEY,
		.vendor_id = conn->ece_vendor,
	};
	put_path(&req->primary, id);
}

/* Keeps what INIT_QP_ATTR needs. */
static void keep_params(struct cma_id *id, const struct ctl_cm_conn *conn)
{
	id->qpn = conn->qpn;
	id->srq = conn->srq != 0;
	if (conn->starting_psn)
		id->psn = conn->starting_psn & 0xffffff;
	id->exchange.responder_resources = conn->responder_resources;
	id->exchange.initiator_depth = conn->initiator_depth;
}

static int send_first(struct cma_id *id, const struct cm_msg *msg, uint64_t now_ns)
{
	const struct cm_path path = path_of(id);
	int rc;

	id->cm = cm_id_create(id->ids->cm, id);
	if (!id->cm)
		return -ENOMEM;
	rc = cma_id_is_datagram(id)
		     ? cm_send_sidr_req(id->cm, &path, msg, SIDR_TIMEOUT_NS, MAX_CM_RETRIES, now_ns)
		     : cm_send_req(id->cm, &path, msg, now_ns);
	if (rc) {
		cm_id_destroy(id->cm, now_ns);
		id->cm = NULL;
		return rc;
	}
	id->state = ID_CONNECT;
	return 0;
}

static int connect_datagram(struct cma_id *id, const struct ctl_cm_conn *conn, uint64_t now_ns)
{
	struct cm_msg msg = {
		.attr = CM_SIDR_REQ,
		.u.sidr_req = { .pkey = CMA_PKEY, .service_id = service_of(id) },
	};

	if (!put_endpoints(&msg, id, conn))
		return -EINVAL;
	return send_first(id, &msg, now_ns);
}

int cma_id_connect(struct cma_id *id, const struct ctl_cm_conn *conn, uint64_t now_ns)
{
	struct cm_msg msg = { .attr = CM_REQ, .ece_options = conn->ece_options };

	if (id->state != ID_ROUTE_RESOLVED)
		return -EINVAL;
	if (cma_id_is_datagram(id))
		return connect_datagram(id, conn, now_ns);
	if (!put_endpoints(&msg, id, conn))
		return -EINVAL;
	keep_params(id, conn);
	id->exchange.retry_count = min_u8(conn->retry_count, CMA_MAX_RETRY);
	id->exchange.mtu = id->path_mtu;
	id->exchange.ack_timeout = id->has_ack_timeout && id->ack_timeout
					   ? id->ack_timeout
					   : cm_ack_timeout(TARGET_ACK_DELAY, CMA_ROUND_TRIP);
	put_req(&msg.u.req, id, conn);
	return send_first(id, &msg, now_ns);
}

static int answer_datagram(struct cma_id *id, const struct ctl_cm_conn *conn, uint8_t status,
			   uint64_t now_ns)
{
	struct cm_msg msg = {
		.attr = CM_SIDR_REP,
		.u.sidr_rep.status = status,
	};

	if (!put_private(&msg, conn))
		return -EINVAL;
	if (status == CM_SIDR_SUCCESS) {
		id->qpn = conn->qpn;
		msg.u.sidr_rep.qpn = conn->qpn;
		msg.u.sidr_rep.qkey = id->qkey ? id->qkey : CTL_CM_UDP_QKEY;
	}
	return cm_send_sidr_rep(id->cm, &msg, now_ns);
}

int cma_id_accept(struct cma_id *id, const struct ctl_cm_conn *conn, uint64_t now_ns)
{
	struct cm_msg msg = { .attr = CM_REP, .ece_options = conn->ece_options };

	if (id->state != ID_CONNECT || !id->cm)
		return -EINVAL;
	if (cma_id_is_datagram(id))
		return answer_datagram(id, conn, CM_SIDR_SUCCESS, now_ns);
	if (!put_private(&msg, conn))
		return -EINVAL;
	keep_params(id, conn);
	msg.u.rep = (struct cm_rep){
		.local_qpn = id->qpn,
		.starting_psn = id->psn,
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.target_ack_delay = TARGET_ACK_DELAY,
		.failover_accepted = id->asked_alternate ? FAILOVER_UNSUPPORTED : 0,
		.flow_control = conn->flow_control != 0,
		.rnr_retry_count = min_u8(conn->rnr_retry_count, CMA_MAX_RETRY),
		.srq = id->srq,
		.local_ca_guid = id->ids->device[id->device].node_guid,
		.vendor_id = conn->ece_vendor,
	};
	return cm_send_rep(id->cm, &msg, now_ns);
}

int cma_id_reject(struct cma_id *id, const struct ctl_cm_conn *conn, uint64_t now_ns)
{
	struct cm_msg msg = { .attr = CM_REJ };

	if (!id->cm)
		return -EINVAL;
	if (cma_id_is_datagram(id))
		return answer_datagram(id, conn, CM_SIDR_REJECTED, now_ns);
	if (!put_private(&msg, conn))
		return -EINVAL;
	msg.u.rej.reason = conn->reason ? (uint16_t)conn->reason : CM_REJ_CONSUMER_DEFINED;
	id->reject = msg.u.rej.reason;
	return cm_send_rej(id->cm, &msg, now_ns);
}

int cma_id_establish(struct cma_id *id)
{
	const struct cm_msg msg = { .attr = CM_RTU };

	if (id->state != ID_CONNECT || !id->cm || cma_id_is_datagram(id))
		return -EINVAL;
	return cm_send_rtu(id->cm, &msg);
}

int cma_id_notify(struct cma_id *id, uint32_t event)
{
	if (!id->cm || event != IBV_EVENT_COMM_EST)
		return -EINVAL;
	return cm_established(id->cm);
}

int cma_id_disconnect(struct cma_id *id, uint64_t now_ns)
{
	const struct cm_msg dreq = { .attr = CM_DREQ }, drep = { .attr = CM_DREP };

	if (!id->cm)
		return -EINVAL;
	/* As in Linux the call succeeds in any state. */
	if (cm_send_dreq(id->cm, &dreq, now_ns))
		(void)cm_send_drep(id->cm, &drep, now_ns);
	return 0;
}
