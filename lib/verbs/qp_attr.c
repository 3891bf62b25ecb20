// SPDX-License-Identifier: MIT
/* Calls on a queue pair that exists: modify and query (ibv_modify_qp(3), ibv_query_qp(3)), which
 * convert between the attributes of verbs and engine, and multicast groups
 * (ibv_attach_mcast(3)). */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "emu/engine.h"
#include "emu/queue.h"
#include "lib/abi/newer.h"
#include "lib/control/cancel.h"
#include "lib/control/log.h"
#include "lib/control/remote_request.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/device.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/qp.h"
#include "net/link/clock.h"
#include "net/link/link.h"

static_assert((int)RXE_QP_DEST_QPN == (int)IBV_QP_DEST_QPN, "enum ibv_qp_attr_mask");
static_assert((int)RXE_MIG_ARMED == (int)IBV_MIG_ARMED, "enum ibv_mig_state");
static_assert((int)RXE_QP_RATE_LIMIT == (int)IBV_QP_RATE_LIMIT, "enum ibv_qp_attr_mask");

static void av_in(struct rxe_av *av, const struct ibv_ah_attr *ah)
{
	memcpy(av->dgid.raw, ah->grh.dgid.raw, sizeof(av->dgid.raw));
	av->flow_label = ah->grh.flow_label;
	av->sgid_index = ah->grh.sgid_index;
	av->hop_limit = ah->grh.hop_limit;
	av->traffic_class = ah->grh.traffic_class;
	av->sl = ah->sl;
}

static void av_out(struct ibv_ah_attr *ah, const struct rxe_av *av)
{
	memcpy(ah->grh.dgid.raw, av->dgid.raw, sizeof(av->dgid.raw));
	ah->grh.flow_label = av->flow_label;
	ah->grh.sgid_index = av->sgid_index;
	ah->grh.hop_limit = av->hop_limit;
	ah->grh.traffic_class = av->traffic_class;
	ah->sl = av->sl;
	ah->is_global = 1;
	ah->port_num = 1;
}

/* 0: not an MTU. */
static uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

/* Fields outside the mask may be uninitialized: the engine reads masked ones only. */
static void attr_in(struct rxe_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	memset(to, 0, sizeof(*to));
	to->qp_state = (enum rxe_qp_state)from->qp_state;
	to->cur_qp_state = (enum rxe_qp_state)from->cur_qp_state;
	to->path_mtu = mtu_bytes(from->path_mtu);
	to->qkey = from->qkey;
	to->rq_psn = from->rq_psn;
	to->sq_psn = from->sq_psn;
	to->dest_qp_num = from->dest_qp_num;
	to->qp_access_flags = from->qp_access_flags;
	to->pkey_index = from->pkey_index;
	to->en_sqd_async_notify = from->en_sqd_async_notify;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->min_rnr_timer = from->min_rnr_timer;
	to->port_num = from->port_num;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	if (mask & IBV_QP_RATE_LIMIT)
		to->rate_limit = from->rate_limit;
	if (mask & IBV_QP_AV) {
		to->has_grh = from->ah_attr.is_global != 0;
		av_in(&to->av, &from->ah_attr);
	}
	if (mask & IBV_QP_ALT_PATH) {
		to->has_alt_grh = from->alt_ah_attr.is_global != 0;
		av_in(&to->alt_av, &from->alt_ah_attr);
		to->alt_pkey_index = from->alt_pkey_index;
		to->alt_port_num = from->alt_port_num;
		to->alt_timeout = from->alt_timeout;
	}
	if (mask & IBV_QP_PATH_MIG_STATE)
		to->path_mig_state = (enum rxe_mig_state)from->path_mig_state;
}

static const char *attr_name(uint32_t bit)
{
	static const char *const names[] = {
		"IBV_QP_STATE",
		"IBV_QP_CUR_STATE",
		"IBV_QP_EN_SQD_ASYNC_NOTIFY",
		"IBV_QP_ACCESS_FLAGS",
		"IBV_QP_PKEY_INDEX",
		"IBV_QP_PORT",
		"IBV_QP_QKEY",
		"IBV_QP_AV",
		"IBV_QP_PATH_MTU",
		"IBV_QP_TIMEOUT",
		"IBV_QP_RETRY_CNT",
		"IBV_QP_RNR_RETRY",
		"IBV_QP_RQ_PSN",
		"IBV_QP_MAX_QP_RD_ATOMIC",
		"IBV_QP_ALT_PATH",
		"IBV_QP_MIN_RNR_TIMER",
		"IBV_QP_SQ_PSN",
		"IBV_QP_MAX_DEST_RD_ATOMIC",
		"IBV_QP_PATH_MIG_STATE",
		"IBV_QP_CAP",
		"IBV_QP_DEST_QPN",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bit == 1u << i)
			return names[i];
	return "an attribute";
}

/* Why a move was refused. 0 or an errno. */
static int modify_result(const struct vb_qp *qp, const struct rxe_qp_attr *attr, uint32_t mask,
			 uint32_t culprit, enum modify_result result)
{
	/* Of an opened target, the state that this process knows. */
	const enum rxe_qp_state from =
		qp->is_opened ? (enum rxe_qp_state)qp->ex.base.qp_base.state : qp->qp.state;
	const char *is = vb_qp_state_str(from);
	const char *to = vb_qp_state_str(mask & RXE_QP_STATE ? attr->qp_state : from);
	const uint32_t qpn = qp->qp.qpn;

	switch (result) {
	case MODIFY_OK: return 0;
	case MODIFY_BAD_TRANSITION: return refuse(WHY_MOVE, qpn, is, to);
	case MODIFY_MISSING: return refuse(WHY_MOVE_NEEDS, qpn, is, to, attr_name(culprit));
	case MODIFY_NOT_ALLOWED: return refuse(WHY_MOVE_LEAVES, qpn, attr_name(culprit), is, to);
	case MODIFY_BAD_VALUE: return refuse(WHY_MOVE_VALUE, qpn, attr_name(culprit));
	case MODIFY_NO_GRH: return refuse_aloud(CTL_LOG_ERROR, WHY_MOVE_NO_GRH, qpn);
	case MODIFY_BAD_GID: return refuse(WHY_MOVE_GID, qpn, attr->av.sgid_index);
	case MODIFY_UNSUPPORTED: return refuse(WHY_MOVE_RESIZE, qpn);
	case MODIFY_DRAINING: return refuse(WHY_MOVE_DRAINING, qpn);
	}
	return 0;
}

/* In ERR and RESET a queue pair sends nothing, so its delayed ACK leaves before. */
static void send_delayed_ack(struct vb_qp *qp, const struct rxe_qp_attr *attr, uint32_t mask)
{
	if (!(mask & RXE_QP_STATE) ||
	    (attr->qp_state != RXE_QPS_ERR && attr->qp_state != RXE_QPS_RESET))
		return;
	rxe_qp_flush_delayed_ack(qp->dev->progress.engine, &qp->qp);
	progress_transmit(&qp->dev->progress, clock_now_ns());
}

/* A packet that has arrived finds the state before the change, as in an adapter, and does not wait
 * in the socket until after it. ERR would flush a request whose ACK has arrived. In RTR a queue
 * pair that was used before, which keeps its number and often its PSNs, would take a packet of its
 * last connection for one of the new one. */
static void receive_arrived(struct vb_qp *qp, const struct rxe_qp_attr *attr, uint32_t mask)
{
	if (!(mask & RXE_QP_STATE))
		return;
	if (attr->qp_state == RXE_QPS_ERR || (attr->qp_state == RXE_QPS_RTR && qp->was_reset))
		progress_run_dry(&qp->dev->progress);
}

/* Notes why the process of a target did not do its part. */
static int target_result(const struct vb_qp *qp, int rc)
{
	return rc ? refuse(WHY_TARGET(-rc), qp->qp.qpn, strerror(-rc)) : 0;
}

/* An XRC target that ibv_open_qp() returned. */
static int modify_opened(struct vb_qp *qp, const struct rxe_qp_attr *attr, uint32_t mask)
{
	struct remote_qp_call call = { .attr = *attr, .mask = mask };
	int err = target_result(
		qp, progress_qp_call(&qp->dev->progress, &qp->target, CTL_REMOTE_QP_MODIFY, &call));

	if (err)
		return err;
	if (call.result == MODIFY_OK && (mask & RXE_QP_STATE))
		qp->ex.base.qp_base.state = (enum ibv_qp_state)attr->qp_state;
	return modify_result(qp, attr, mask, call.culprit, (enum modify_result)call.result);
}

/* 0 or an errno. */
static int modify(struct vb_qp *qp, const struct rxe_qp_attr *in, uint32_t mask)
{
	enum modify_result result;
	int err = 0;

	if (qp->is_opened)
		return modify_opened(qp, in, mask);
	if (!vb_lock_engine(qp->dev, qp->forks))
		return refuse(WHY_NO_ENGINE, "object");
	device_link_follow_gids(&qp->dev->progress);
	receive_arrived(qp, in, mask);
	send_delayed_ack(qp, in, mask);
	result = rxe_qp_modify(qp->dev->progress.engine, &qp->qp, in, mask, clock_now_ns());
	if (result == MODIFY_OK) {
		if (qp->qp.state == RXE_QPS_RESET) {
			qp->was_reset = true;
			vb_qp_forget_completions(qp);
		}
		qp->ex.base.qp_base.state = (enum ibv_qp_state)qp->qp.state;
		vb_qp_publish(qp);
		progress_transmit(&qp->dev->progress, clock_now_ns());
	} else {
		err = modify_result(
			qp, in, mask,
			rxe_qp_modify_culprit(qp->dev->progress.engine, &qp->qp, in, mask), result);
	}
	progress_unlock(&qp->dev->progress);
	return err;
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	struct rxe_qp_attr in;

	if (vb_refuses(base, VB_KIND_QP) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, modify_qp))
		return vb_result(errno);
	/* An RSS queue pair has no states: its work queues do. */
	if (vb_qp(base)->rss)
		return vb_result(refuse(WHY_RSS_STATES, base->qp_num));
	attr_in(&in, attr, mask);
	return vb_result(modify(vb_qp(base), &in, (uint32_t)mask));
}

/* ibv_modify_qp_rate_limit(3). The size of a typical packet is not needed: each packet counts. */
int vb_modify_qp_rate_limit(struct ibv_qp *base, struct ibv_qp_rate_limit_attr *attr)
{
	const struct rxe_qp_attr in = { .rate_limit = attr ? attr->rate_limit : 0,
					.max_burst = attr ? attr->max_burst_sz : 0 };

	if (vb_refuses(base, VB_KIND_QP) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(attr->comp_mask, WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask) ||
	    refuse_if(!attr->rate_limit && (attr->max_burst_sz || attr->typical_pkt_sz), WHY_RATE))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, modify_qp_rate_limit))
		return vb_result(errno);
	return vb_result(modify(vb_qp(base), &in, RXE_QP_RATE_LIMIT));
}

static void attr_out(struct ibv_qp_attr *to, const struct rxe_qp_attr *from, const struct vb_qp *qp)
{
	memset(to, 0, sizeof(*to));
	to->qp_state = (enum ibv_qp_state)from->qp_state;
	to->cur_qp_state = (enum ibv_qp_state)from->qp_state;
	to->path_mtu = vb_mtu_enum(from->path_mtu);
	to->path_mig_state = (enum ibv_mig_state)from->path_mig_state;
	to->qkey = from->qkey;
	to->rq_psn = from->rq_psn;
	to->sq_psn = from->sq_psn;
	to->dest_qp_num = from->dest_qp_num;
	to->qp_access_flags = from->qp_access_flags;
	to->cap = qp->cap;
	av_out(&to->ah_attr, &from->av);
	if (from->has_alt_grh) {
		av_out(&to->alt_ah_attr, &from->alt_av);
		to->alt_pkey_index = from->alt_pkey_index;
		to->alt_port_num = from->alt_port_num;
		to->alt_timeout = from->alt_timeout;
	}
	to->pkey_index = from->pkey_index;
	to->en_sqd_async_notify = from->en_sqd_async_notify;
	to->sq_draining = qp->qp.sq_draining;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->min_rnr_timer = from->min_rnr_timer;
	to->port_num = 1;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	to->rate_limit = from->rate_limit;
}

/* 0 or an errno. */
static int query(struct vb_qp *qp, struct rxe_qp_attr *ret)
{
	struct remote_qp_call call = { 0 };
	int err;

	if (qp->is_opened) {
		err = target_result(qp, progress_qp_call(&qp->dev->progress, &qp->target,
							 CTL_REMOTE_QP_QUERY, &call));
		*ret = call.attr;
		return err;
	}
	if (!vb_lock_engine(qp->dev, qp->forks))
		return refuse(WHY_NO_ENGINE, "object");
	rxe_qp_query(&qp->qp, ret);
	progress_unlock(&qp->dev->progress);
	return 0;
}

int ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init_attr)
{
	struct vb_qp *qp = vb_qp(base);
	struct rxe_qp_attr out;
	int err;

	/* Every attribute is returned: the mask would save nothing. */
	(void)mask;
	if (vb_refuses(qp, VB_KIND_QP) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(!init_attr, WHY_NULL, "init_attr"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, query_qp))
		return vb_result(errno);
	if (qp->rss)
		return vb_result(refuse(WHY_RSS_STATES, base->qp_num));
	err = query(qp, &out);
	if (err)
		return vb_result(err);
	attr_out(attr, &out, qp);
	base->state = attr->qp_state;
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = base->qp_context,
		.send_cq = base->send_cq,
		.recv_cq = base->recv_cq,
		.srq = base->srq,
		.cap = qp->cap,
		.qp_type = base->qp_type,
		.sq_sig_all = qp->qp.sq_sig_all,
	};
	return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *base, enum ibv_wr_opcode op, uint32_t flags)
{
	/* Neither the whole message nor blocks of 128 bytes: the last word of a packet is stored
	 * last, and the bytes before it by memcpy(3), in any order. The same value with
	 * IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS, no bit of which is set. */
	(void)base;
	(void)op;
	(void)flags;
	return 0;
}

/* Enhanced connection establishment: this device has no options. Not reported as a refusal:
 * librdmacm asks for each connection, also where no program does. */
static int without_options(void)
{
	errno = EOPNOTSUPP;
	return errno;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (vb_refuses(qp, VB_KIND_QP) || refuse_if(!ece, WHY_NULL, "ece") ||
	    refuse_if(ece->comp_mask, WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)ece->comp_mask))
		return vb_result(refusal_noted());
	return without_options();
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (vb_refuses(qp, VB_KIND_QP) || refuse_if(!ece, WHY_NULL, "ece"))
		return vb_result(refusal_noted());
	*ece = (struct ibv_ece){ 0 };
	return without_options();
}

/* Multicast: the engine keeps the members of a group; the link joins with the first and leaves with
 * the last. */
static int mcast_errno(const struct vb_qp *qp, enum mcast_result result)
{
	switch (result) {
	case MCAST_OK:
	case MCAST_FIRST: return 0;
	case MCAST_FULL: return refuse(WHY_MCAST_FULL);
	case MCAST_NOT_UD: return refuse(WHY_MCAST_TYPE, qp->qp.qpn);
	case MCAST_NOT_GROUP: return refuse(WHY_MCAST_GROUP);
	case MCAST_NOT_ATTACHED: return refuse(WHY_MCAST_ABSENT, qp->qp.qpn);
	}
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_qp *qp = vb_qp(base);
	enum mcast_result result;
	struct gid group;
	int err = 0;
	NO_CANCEL;

	/* RoCE has no LIDs. */
	(void)lid;
	if (vb_refuses(qp, VB_KIND_QP) || refuse_if(!gid, WHY_NULL, "gid"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, attach_mcast))
		return vb_result(errno);
	if (!vb_profile(qp->dev)->max_mcast_grp)
		return vb_result(refuse(WHY_NOT_OFFERED, "multicast"));
	if (!vb_lock_engine(qp->dev, qp->forks))
		return vb_result(refuse(WHY_NO_ENGINE, "object"));
	memcpy(group.raw, gid->raw, sizeof(group.raw));
	result = rxe_mcast_attach(qp->dev->progress.engine, &qp->qp, &group);
	if (result == MCAST_FIRST)
		err = -device_link_join(&qp->dev->progress.link, &group);
	if (err)
		rxe_mcast_detach(qp->dev->progress.engine, &qp->qp, &group);
	progress_unlock(&qp->dev->progress);
	return vb_result(err ? refuse(WHY_MCAST_JOIN(err), strerror(err))
			     : mcast_errno(qp, result));
}

int ibv_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_qp *qp = vb_qp(base);
	enum mcast_result result;
	struct gid group;
	NO_CANCEL;

	(void)lid;
	if (vb_refuses(qp, VB_KIND_QP) || refuse_if(!gid, WHY_NULL, "gid"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, detach_mcast))
		return vb_result(errno);
	if (!vb_lock_engine(qp->dev, qp->forks))
		return vb_result(refuse(WHY_NO_ENGINE, "object"));
	memcpy(group.raw, gid->raw, sizeof(group.raw));
	result = rxe_mcast_detach(qp->dev->progress.engine, &qp->qp, &group);
	if (result == MCAST_FIRST)
		link_leave(qp->dev->progress.link.phy, &group);
	progress_unlock(&qp->dev->progress);
	return vb_result(mcast_errno(qp, result));
}
