// SPDX-License-Identifier: MIT
/* Creates and destroys queue pairs (ibv_create_qp(3), ibv_create_qp_ex(3)). */
#include "lib/verbs/qp.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "emu/engine.h"
#include "emu/supported.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"
#include "lib/verbs/raw_access.h"
#include "lib/verbs/srq.h"
#include "lib/verbs/wq.h"
#include "lib/verbs/xrc.h"

static bool is_above(const char *name, uint32_t value, uint32_t most)
{
	return refuse_if(value > most, WHY_ABOVE_LIMIT, name, (uint64_t)value, (uint64_t)most);
}

static int check_cap(const struct ctl_profile *profile, const struct ibv_qp_cap *cap, bool has_srq)
{
	if (is_above("max_send_wr", cap->max_send_wr, profile->max_qp_wr) ||
	    is_above("max_send_sge", cap->max_send_sge, profile->max_sge) ||
	    is_above("max_inline_data", cap->max_inline_data, profile->max_inline_data))
		return refusal_noted();
	if (!has_srq && (is_above("max_recv_wr", cap->max_recv_wr, profile->max_qp_wr) ||
			 is_above("max_recv_sge", cap->max_recv_sge, profile->max_sge)))
		return refusal_noted();
	return 0;
}

static bool pd_fits(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	return !refuse_if(!(attr->comp_mask & IBV_QP_INIT_ATTR_PD), WHY_QP_NO_PD) &&
	       !vb_refuses_pd_of(attr->pd, context);
}

static bool is_offered(const struct ctl_profile *profile, enum ibv_qp_type type)
{
	if (type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV)
		return profile->xrc;
	return type != IBV_QPT_RAW_PACKET || profile->raw_packet;
}

/* May a queue pair of this type receive by this SRQ? 0 or an errno. */
static int check_srq(struct ibv_context *context, struct ibv_srq *srq, enum ibv_qp_type type)
{
	const char *name = vb_qp_type_str((enum rxe_qp_type)type);

	if (vb_refuses_use(context, srq, VB_KIND_SRQ))
		return refusal_noted();
	if (vb_srq(srq)->xrcd)
		return refuse(WHY_QP_SRQ, name, "an XRC SRQ, which requests name by its number");
	if (type == IBV_QPT_UC || type == IBV_QPT_RAW_PACKET)
		return refuse(WHY_QP_SRQ, name, "an SRQ");
	if (vb_tag_matches(srq) && type != IBV_QPT_RC)
		return refuse(WHY_QP_SRQ, name, "an SRQ that matches tags");
	return 0;
}

static int check_parts(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD && attr->qp_type != IBV_QPT_XRC_SEND &&
	    attr->qp_type != IBV_QPT_XRC_RECV && attr->qp_type != IBV_QPT_RAW_PACKET)
		return refuse(WHY_QP_TYPE, attr->qp_type);
	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD))
			return refuse(WHY_QP_NO_XRCD);
		return vb_refuses_use(context, attr->xrcd, VB_KIND_XRCD) ? refusal_noted() : 0;
	}
	if (!pd_fits(context, attr) || vb_refuses_use(context, attr->send_cq, VB_KIND_CQ) ||
	    vb_refuses_use(context, attr->recv_cq, VB_KIND_CQ))
		return refusal_noted();
	return attr->srq ? check_srq(context, attr->srq, attr->qp_type) : 0;
}

/* Flags that the type may be created with. */
static uint32_t flags_of(enum ibv_qp_type type)
{
	return type == IBV_QPT_RAW_PACKET ? IBV_QP_CREATE_CVLAN_STRIPPING : 0;
}

static bool is_rss(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type == IBV_QPT_RAW_PACKET &&
	       attr->comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH);
}

static int check_attr(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t rss =
		is_rss(attr) ? IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH : 0u;
	const uint32_t known = rss | IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_XRCD;
	int err;

	if (attr->comp_mask & ~known)
		return refuse(WHY_BITS_REFUSED, "comp_mask", (uint64_t)(attr->comp_mask & ~known));
	if (!is_offered(vb_profile(vb_device(context)), attr->qp_type))
		return refuse(WHY_QP_TYPE, attr->qp_type);
	if (attr->create_flags & ~flags_of(attr->qp_type))
		return refuse(WHY_BITS_REFUSED, "create_flags",
			      (uint64_t)(attr->create_flags & ~flags_of(attr->qp_type)));
	if (rss) /* vb_rss_create() checks the rest */
		return pd_fits(context, attr) ? 0 : refusal_noted();
	err = check_parts(context, attr);
	return err ? err : check_cap(vb_profile(vb_device(context)), &attr->cap, attr->srq != NULL);
}

/* The attributes that the type uses. An XRC queue pair has one half only; attributes of the
 * other half are ignored, as on adapters. */
static struct ibv_qp_init_attr_ex used_by_type(const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex ret = *attr;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS))
		ret.create_flags = 0;
	if (is_rss(attr)) {
		ret.send_cq = ret.recv_cq = NULL;
		return ret;
	}
	if (attr->qp_type != IBV_QPT_XRC_SEND && attr->qp_type != IBV_QPT_XRC_RECV)
		return ret;
	ret.recv_cq = ret.send_cq;
	ret.srq = NULL;
	ret.cap.max_recv_wr = 0;
	ret.cap.max_recv_sge = 0;
	if (attr->qp_type == IBV_QPT_XRC_SEND)
		return ret;
	ret.send_cq = ret.recv_cq = NULL;
	ret.pd = NULL;
	ret.cap = (struct ibv_qp_cap){ 0 };
	return ret;
}

static void count_use(const struct vb_qp *qp, void (*count)(const void *))
{
	const struct ibv_qp *base = &qp->ex.base.qp_base;

	if (qp->xrcd) {
		count(qp->xrcd);
		return;
	}
	if (!base->send_cq) /* RSS */
		return;
	count(base->send_cq);
	count(base->recv_cq);
	if (base->srq)
		count(base->srq);
}

/* Gives a queue pair its domain, memory, number and place in the engine. 0 or an errno; take_down()
 * then ends what began. */
static int begin(struct vb_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *base = &qp->ex.base.qp_base;
	int err = attr->pd ? vb_pd_use(attr->pd) : 0;

	if (err)
		return err;
	base->pd = attr->pd;
	qp->srq_sends = vb_tag_matches(attr->srq) && attr->cap.max_send_wr == 0;
	if (RXE_RAW_SUPPORTED && is_rss(attr))
		err = vb_rss_create(base->context, attr, &qp->rss);
	if (!err && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = vb_wr_create(qp, attr->send_ops_flags);
	if (!err)
		err = vb_qp_make_queues(qp, attr);
	if (err)
		return err;
	base->handle = base->qp_num = qp->qp.qpn;
	base->state = IBV_QPS_RESET;
	err = qp->xrcd ? vb_target_announce(qp) : 0;
	if (err)
		vb_qp_leave_engine(qp);
	return err;
}

/* The queue pair is not in the engine. */
static void take_down(struct vb_qp *qp)
{
	struct ibv_pd *pd = qp->ex.base.qp_base.pd;

	vb_comp_cntrs_detach(qp);
	vb_wr_destroy(qp);
	vb_qp_return_memory(qp, pd);
	if (RXE_RAW_SUPPORTED)
		vb_rss_destroy(qp->rss);
	if (pd)
		vb_pd_unuse(pd);
	vb_qp_fini_base(qp);
}

static struct ibv_qp *create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct vb_qp *qp = vb_object_new(context, VB_KIND_QP, sizeof(*qp));
	int err;

	if (!qp)
		return NULL;
	vb_qp_init_base(qp, attr);
	err = begin(qp, attr);
	if (err) {
		take_down(qp);
		errno = vb_object_undo(qp, err);
		return NULL;
	}
	vb_object_set_handle(qp, qp->qp.qpn);
	count_use(qp, vb_object_use);
	return &qp->ex.base.qp_base;
}

static struct ibv_qp *create_checked(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				     enum inject_verb verb)
{
	const char *call = inject_verb_str(verb);
	struct ibv_qp_init_attr_ex used;
	struct ibv_qp *qp;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail_as(call, refusal_noted());
	if (vb_gate_fails(context, verb))
		return vb_fail_as(call, errno);
	used = used_by_type(attr);
	err = check_attr(context, &used);
	if (RXE_RAW_SUPPORTED && !err && used.qp_type == IBV_QPT_RAW_PACKET)
		err = vb_raw_access(vb_device(context));
	if (err)
		return vb_fail_as(call, err);
	qp = create(context, &used);
	if (qp)
		attr->cap = used.cap;
	return vb_made_as(call, qp);
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	return create_checked(context, attr, INJECT_VERB_create_qp_ex);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex;
	struct ibv_qp *qp;

	if (vb_refuses_pd(pd) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	ex = (struct ibv_qp_init_attr_ex){
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	qp = create_checked(pd->context, &ex, INJECT_VERB_create_qp);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *base)
{
	int err = vb_object_end(base, VB_KIND_QP, INJECT_VERB_destroy_qp);
	struct vb_qp *qp = vb_qp(base);

	if (err)
		return vb_result(err);
	if (qp->is_opened) {
		vb_target_close(qp);
		return 0;
	}
	if (qp->xrcd && vb_target_lives_on(qp))
		return 0;
	err = vb_qp_leave_engine(qp);
	if (err) {
		vb_object_add(qp, VB_KIND_QP);
		return vb_result(err);
	}
	vb_qp_forget_events(qp);
	count_use(qp, vb_object_unuse);
	take_down(qp);
	free(qp);
	return 0;
}

static void end_target(struct vb_qp *qp)
{
	vb_qp_leave_engine(qp);
	take_down(qp);
	free(qp);
}

void vb_qp_abandon_target(struct vb_qp *qp)
{
	if (!vb_object_take(qp, VB_KIND_TARGET))
		return;
	vb_target_tell(qp->dev, CTL_EVENT_QP_ENDED, qp->qp.qpn);
	end_target(qp);
}

void vb_qp_target_unused(struct vb_device *dev, uint32_t qpn)
{
	const struct rxe_qp *found;
	struct vb_qp *qp;

	if (!progress_lock(&dev->progress))
		return;
	found = rxe_engine_find_qp(dev->progress.engine, qpn);
	qp = found ? found->owner : NULL;
	/* Under the engine lock, without which no queue pair leaves the engine. */
	if (qp && !vb_object_take(qp, VB_KIND_TARGET))
		qp = NULL;
	progress_unlock(&dev->progress);
	if (qp)
		end_target(qp);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *base)
{
	struct vb_qp *qp = vb_qp(base);

	if (!vb_object_is_live(qp, VB_KIND_QP))
		return vb_fail(refuse(WHY_NOT_SUPPORTED, "the argument is no live QP"));
	if (!qp->builder)
		return vb_fail(refuse(WHY_NO_SEND_OPS, base->qp_num));
	return &qp->ex.base;
}

void vb_qp_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_qp_ex = create_qp_ex;
	verbs->base.modify_qp_rate_limit = vb_modify_qp_rate_limit;
}
