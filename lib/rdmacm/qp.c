// SPDX-License-Identifier: MIT
/* The way of an id's queue pair through its states, as the connection goes on. */
#include "lib/rdmacm/qp.h"

#include <string.h>

#include "lib/rdmacm/ask.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/forks.h"
#include "lib/rdmacm/server.h"
#include "lib/refusal/refusal.h"

void rcm_qp_unpack_ah(struct ibv_ah_attr *ret, const struct ctl_cm_ah *ah)
{
	*ret = (struct ibv_ah_attr){
		.grh = { .flow_label = ah->flow_label,
			 .sgid_index = ah->sgid_index,
			 .hop_limit = ah->hop_limit,
			 .traffic_class = ah->traffic_class },
		.dlid = ah->dlid,
		.sl = ah->sl,
		.src_path_bits = ah->src_path_bits,
		.static_rate = ah->static_rate,
		.is_global = ah->is_global,
		.port_num = ah->port_num,
	};
	memcpy(&ret->grh.dgid, &ah->dgid, sizeof(ah->dgid));
}

static void unpack_attr(struct ibv_qp_attr *ret, const struct ctl_cm_qp_attr *attr)
{
	*ret = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)attr->qp_state,
		.path_mtu = (enum ibv_mtu)attr->path_mtu,
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.dest_qp_num = attr->dest_qpn,
		.qp_access_flags = attr->access_flags,
		.pkey_index = attr->pkey_index,
		.port_num = attr->port_num,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
	};
	rcm_qp_unpack_ah(&ret->ah_attr, &attr->ah);
}

static int ask_attr(const struct rcm_id *id, enum ibv_qp_state state, struct ibv_qp_attr *ret,
		    int *ret_mask)
{
	struct ctl_msg_cm req = { .op = CTL_CM_INIT_QP_ATTR, .qp_state = state };
	struct ctl_msg_cm_reply reply;
	int err = rcm_id_ask(id, &req, &reply);

	if (err)
		return err;
	unpack_attr(ret, &reply.attr);
	*ret_mask = (int)reply.attr.mask;
	return 0;
}

void rcm_qp_keep_attr(struct rcm_id *id, const struct ctl_cm_qp_attr *attr)
{
	id->attr = *attr;
	if (id->asks_attr)
		id->attr.mask = 0;
}

/* What a connection's transition to a state sets. */
static uint32_t fields_of(enum ibv_qp_state state)
{
	if (state == IBV_QPS_INIT)
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	if (state == IBV_QPS_RTR)
		return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	       IBV_QP_MAX_QP_RD_ATOMIC;
}

/* As the connection manager says for the state: in the last event, or now. */
static int attr_of(const struct rcm_id *id, enum ibv_qp_state state, struct ibv_qp_attr *ret,
		   int *ret_mask)
{
	const uint32_t mask = id->attr.mask & fields_of(state);

	if (!mask || id->forks != rcm_forks())
		return ask_attr(id, state, ret, ret_mask);
	unpack_attr(ret, &id->attr);
	ret->qp_state = state;
	*ret_mask = (int)(IBV_QP_STATE | mask);
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *base, struct ibv_qp_attr *attr, int *attr_mask)
{
	if (!base || !attr || !attr_mask)
		return rcm_result(refuse(WHY_NULL, !base  ? "id"
						   : attr ? "qp_attr_mask"
							  : "qp_attr"));
	return rcm_result(ask_attr(rcm_id(base), attr->qp_state, attr, attr_mask));
}

static int modify(const struct rcm_id *id, struct ibv_qp *qp, enum ibv_qp_state state,
		  uint8_t responder_resources, uint8_t initiator_depth)
{
	struct ibv_qp_attr attr;
	int mask, err = attr_of(id, state, &attr, &mask);

	if (err)
		return err;
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	return ibv_modify_qp(qp, &attr, mask);
}

int rcm_qp_to_rts(struct rcm_id *id, uint8_t responder_resources, uint8_t initiator_depth)
{
	/* INIT once more: the rights follow from the connection's parameters. */
	static const enum ibv_qp_state way[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	int err = 0;

	for (size_t i = 0; id->base.qp && !err && i < sizeof(way) / sizeof(way[0]); i++)
		err = modify(id, id->base.qp, way[i], responder_resources, initiator_depth);
	return err;
}

int rcm_qp_to_error(struct rcm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return id->base.qp ? ibv_modify_qp(id->base.qp, &attr, IBV_QP_STATE) : 0;
}

/* A queue pair for datagrams sends and receives from the beginning. */
static int make_ready(struct rcm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int err = modify(id, qp, IBV_QPS_INIT, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH);

	if (err || id->base.qp_type != IBV_QPT_UD)
		return err;
	err = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	if (err)
		return err;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* A device without ECE, as this one is, returns EOPNOTSUPP. This is no failure: errno keeps its
 * value, since programs print it with failures of others. */
static int without_ece(int err, int saved_errno)
{
	if (err != EOPNOTSUPP)
		return err;
	errno = saved_errno;
	return 0;
}

static int query_ece(struct ibv_qp *qp, struct ibv_ece *ret)
{
	const int saved_errno = errno;

	*ret = (struct ibv_ece){ 0 };
	return without_ece(ibv_query_ece(qp, ret), saved_errno);
}

static int set_ece(struct ibv_qp *qp, uint32_t vendor, uint32_t options)
{
	struct ibv_ece ece = { .vendor_id = vendor, .options = options };
	const int saved_errno = errno;

	return without_ece(ibv_set_ece(qp, &ece), saved_errno);
}

/* Options of the local side; of a request also those of the other side, if both are of one
 * vendor. */
static int agree_on_ece(struct rcm_id *id, struct ibv_qp *qp)
{
	const struct rcm_ece *remote = &id->remote_ece;
	struct ibv_ece ece;
	int err = query_ece(qp, &ece);

	if (err)
		return err;
	id->local_ece = (struct rcm_ece){ ece.vendor_id, ece.options };
	if (!remote->vendor)
		return 0;
	return set_ece(qp, ece.vendor_id, remote->vendor == ece.vendor_id ? remote->options : 0);
}

int rcm_qp_begin(struct rcm_id *id, struct ibv_qp *qp)
{
	int err = agree_on_ece(id, qp);

	return err ? err : make_ready(id, qp);
}

int rcm_qp_set_remote_ece(struct rcm_id *id, uint32_t vendor, uint32_t options)
{
	if (vendor && vendor != id->local_ece.vendor)
		return refuse(WHY_CM_VENDOR, vendor);
	id->remote_ece.vendor = vendor;
	return set_ece(id->base.qp, id->local_ece.vendor, vendor ? options : 0);
}

int rcm_qp_read_ece(struct rcm_id *id)
{
	struct ibv_ece ece;
	int err = query_ece(id->base.qp, &ece);

	if (!err)
		id->local_ece.options = ece.options;
	return err;
}

int rdma_set_local_ece(struct rdma_cm_id *base, struct ibv_ece *ece)
{
	if (!base || base->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return rcm_result(refuse(WHY_CM_ECE));
	rcm_id(base)->local_ece = (struct rcm_ece){ ece->vendor_id, ece->options };
	return 0;
}

int rdma_get_remote_ece(struct rdma_cm_id *base, struct ibv_ece *ece)
{
	if (!base || base->qp || !ece)
		return rcm_result(refuse(WHY_CM_ECE));
	*ece = (struct ibv_ece){
		.vendor_id = rcm_id(base)->remote_ece.vendor,
		.options = rcm_id(base)->remote_ece.options,
	};
	return 0;
}
