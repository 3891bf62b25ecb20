// SPDX-License-Identifier: MIT
/* Creates and destroys queue pairs (ibv_create_qp(3), ibv_create_qp_ex(3)). */
#include "lib/verbs/qp.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/inject/verb.h"
#include "lib/progress/progress.h"
#include "lib/verbs/async.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"
#include "lib/verbs/srq.h"
#include "lib/verbs/wq.h"
#include "lib/verbs/xrc.h"
#include "net/link/clock.h"
#include "net/link/link.h"

static_assert((int)RXE_QPT_UD == (int)IBV_QPT_UD, "enum ibv_qp_type");
static_assert((int)RXE_QPT_RAW == (int)IBV_QPT_RAW_PACKET, "enum ibv_qp_type");
static_assert((int)RXE_QPT_WQ == CTL_QPT_WQ, "records of failures");
static_assert((int)RXE_QPT_XRC_SEND == (int)IBV_QPT_XRC_SEND, "enum ibv_qp_type");
static_assert((int)RXE_QPT_XRC_RECV == (int)IBV_QPT_XRC_RECV, "enum ibv_qp_type");
static_assert((int)RXE_QPS_ERR == (int)IBV_QPS_ERR, "enum ibv_qp_state");

static struct ctl_shared_qp *shared_qp(const struct vb_qp *qp)
{
	const struct ctl_attachment *attachment = &qp->dev->attachment;

	return &attachment->shared->slot[attachment->slot].qp[qp->qp.qpn % RXE_MAX_QP];
}

void vb_qp_publish(struct vb_qp *qp)
{
	struct ctl_shared_qp *shared = shared_qp(qp);

	if (qp->qp.type == RXE_QPT_WQ)
		return;
	shared->type = (uint16_t)qp->qp.type;
	shared->path_mig_state = (uint16_t)qp->qp.attr.path_mig_state;
	shared->state = qp->qp.state;
	shared->pd = qp->qp.pd;
	shared->dest_qpn = qp->qp.attr.dest_qp_num;
	shared->path_mtu = qp->qp.attr.path_mtu;
	shared->sq_psn = qp->qp.attr.sq_psn;
	shared->rq_psn = qp->qp.attr.rq_psn;
	atomic_store_explicit(&shared->qpn, qp->qp.qpn, memory_order_release);
}

static int check_cap(const struct ctl_profile *profile, const struct ibv_qp_cap *cap, bool has_srq)
{
	if (cap->max_send_wr > profile->max_qp_wr || cap->max_send_sge > profile->max_sge ||
	    cap->max_inline_data > profile->max_inline_data)
		return EINVAL;
	if (!has_srq &&
	    (cap->max_recv_wr > profile->max_qp_wr || cap->max_recv_sge > profile->max_sge))
		return EINVAL;
	return 0;
}

static bool pd_fits(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_QP_INIT_ATTR_PD) && vb_is_pd(attr->pd) &&
	       vb_device(attr->pd->context) == vb_device(context);
}

static bool is_offered(const struct ctl_profile *profile, enum ibv_qp_type type)
{
	if (type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV)
		return profile->xrc;
	return type != IBV_QPT_RAW_PACKET || profile->raw_packet;
}

static int check_parts(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD && attr->qp_type != IBV_QPT_XRC_SEND &&
	    attr->qp_type != IBV_QPT_XRC_RECV && attr->qp_type != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return attr->comp_mask & IBV_QP_INIT_ATTR_XRCD &&
				       vb_is_usable(context, attr->xrcd, VB_KIND_XRCD)
			       ? 0
			       : EINVAL;
	if (!pd_fits(context, attr) || !vb_is_usable(context, attr->send_cq, VB_KIND_CQ) ||
	    !vb_is_usable(context, attr->recv_cq, VB_KIND_CQ))
		return EINVAL;
	if (attr->srq &&
	    (!vb_is_usable(context, attr->srq, VB_KIND_SRQ) || vb_srq(attr->srq)->xrcd ||
	     attr->qp_type == IBV_QPT_UC || attr->qp_type == IBV_QPT_RAW_PACKET ||
	     (vb_tag_matches(attr->srq) && attr->qp_type != IBV_QPT_RC)))
		return EINVAL;
	return 0;
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

	if (attr->comp_mask & ~known || !is_offered(vb_profile(vb_device(context)), attr->qp_type))
		return EOPNOTSUPP;
	if (attr->create_flags & ~flags_of(attr->qp_type))
		return EOPNOTSUPP;
	if (rss) /* vb_rss_create() checks the rest */
		return pd_fits(context, attr) ? 0 : EINVAL;
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

/* An entry of the send queue holds inline data in place of its list of SGEs, and ends at the end of
 * a cache line: what fits is granted. Programs send inline without asking (rdma_xclient), because
 * adapters have such room, too. */
static uint32_t granted_inline(const struct ctl_profile *profile, const struct ibv_qp_cap *cap)
{
	size_t stride = rxe_send_stride(cap->max_send_sge, cap->max_inline_data);
	size_t fits = stride - sizeof(struct rxe_send_wqe);

	return (uint32_t)(fits < profile->max_inline_data ? fits : profile->max_inline_data);
}

static bool has_send_queue(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type != IBV_QPT_XRC_RECV && (int)attr->qp_type != RXE_QPT_WQ &&
	       !is_rss(attr);
}

static bool has_recv_queue(const struct ibv_qp_init_attr_ex *attr)
{
	return !attr->srq && attr->qp_type != IBV_QPT_XRC_SEND &&
	       attr->qp_type != IBV_QPT_XRC_RECV && !is_rss(attr);
}

/* Writes the granted capabilities to attr: they may exceed the request (ibv_create_qp(3)). */
static void grant_cap(struct vb_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_cap *cap = &attr->cap;

	if (qp->srq_sends) {
		cap->max_send_sge = 0;
		cap->max_inline_data = 0;
	} else if (has_send_queue(attr)) {
		cap->max_send_wr = cap->max_send_wr ? cap->max_send_wr : 1;
		cap->max_send_sge = cap->max_send_sge ? cap->max_send_sge : 1;
		cap->max_inline_data = granted_inline(vb_profile(qp->dev), cap);
	}
	if (!has_recv_queue(attr)) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	} else {
		cap->max_recv_wr = cap->max_recv_wr ? cap->max_recv_wr : 1;
		cap->max_recv_sge = cap->max_recv_sge ? cap->max_recv_sge : 1;
	}
	qp->cap = *cap;
}

/* The queues as they are: the SRQ's use of the send queue is none of the program's. */
static struct ibv_qp_cap queues(const struct vb_qp *qp, struct ibv_srq *srq)
{
	struct ibv_qp_cap ret = qp->cap;

	if (qp->srq_sends) {
		ret.max_send_wr = RXE_TM_SEND_WRS;
		ret.max_send_sge = vb_srq(srq)->srq.max_sge;
		ret.max_inline_data = RXE_TM_SEND_INLINE;
	}
	return ret;
}

static int take_memory(struct vb_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap cap = queues(qp, attr->srq);
	size_t sq = rxe_ring_bytes(cap.max_send_wr,
				   rxe_send_stride(cap.max_send_sge, cap.max_inline_data));
	size_t rq = rxe_ring_bytes(cap.max_recv_wr, rxe_recv_stride(cap.max_recv_sge));

	if (sq && !vb_buffer_alloc(&qp->sq_memory, attr->pd, sq, VB_BUFFER_QP_SEND))
		return ENOMEM;
	if (rq && !vb_buffer_alloc(&qp->rq_memory, attr->pd, rq, VB_BUFFER_QP_RECV)) {
		vb_buffer_free(&qp->sq_memory, attr->pd, VB_BUFFER_QP_SEND);
		return ENOMEM;
	}
	return 0;
}

void vb_qp_return_memory(struct vb_qp *qp, struct ibv_pd *pd)
{
	vb_buffer_free(&qp->sq_memory, pd, VB_BUFFER_QP_SEND);
	vb_buffer_free(&qp->rq_memory, pd, VB_BUFFER_QP_RECV);
}

static int enter_engine(struct vb_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap cap = queues(qp, attr->srq);
	struct rxe_qp_init init = {
		.type = (enum rxe_qp_type)attr->qp_type,
		.pd = attr->pd ? attr->pd->handle : 0,
		.xrcd = qp->xrcd ? vb_xrcd(qp->xrcd)->domain : 0,
		.send_cq = attr->send_cq ? &vb_cq(attr->send_cq)->cq : NULL,
		.recv_cq = attr->recv_cq ? &vb_cq(attr->recv_cq)->cq : NULL,
		.srq = attr->srq ? &vb_srq(attr->srq)->srq : NULL,
		.srq_sends = qp->srq_sends,
		.sq_sig_all = attr->sq_sig_all != 0,
		.max_send_wr = cap.max_send_wr,
		.max_send_sge = cap.max_send_sge,
		.max_inline_data = cap.max_inline_data,
		.max_recv_wr = cap.max_recv_wr,
		.max_recv_sge = cap.max_recv_sge,
		.sq_mem = qp->sq_memory.memory,
		.rq_mem = qp->rq_memory.memory,
		.rss = qp->rss ? &qp->rss->rss : NULL,
		.strips_tag = attr->create_flags & IBV_QP_CREATE_CVLAN_STRIPPING,
		.owner = qp,
	};
	int err;

	if (!vb_lock_engine(qp->dev, qp->forks))
		return EINVAL;
	err = -progress_thread_start(&qp->dev->progress);
	if (!err) {
		init.qpn = rxe_engine_alloc_qpn(qp->dev->progress.engine);
		err = init.qpn ? 0 : ENOMEM;
	}
	if (!err) {
		atomic_store(&qp->dev->attachment.shared->slot[qp->dev->attachment.slot].qpn_roll,
			     qp->dev->progress.engine->qpn_next - 1);
		rxe_qp_init(qp->dev->progress.engine, &qp->qp, &init);
		vb_qp_publish(qp);
		/* A UD receive shows its packet's IP header as a GRH. */
		if (attr->qp_type == IBV_QPT_UD)
			link_show_headers(qp->dev->progress.link.phy);
	}
	progress_unlock(&qp->dev->progress);
	return err;
}

static void init_base(struct vb_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *base = &qp->ex.base.qp_base;

	base->qp_context = attr->qp_context;
	base->pd = attr->pd;
	base->send_cq = attr->send_cq;
	base->recv_cq = attr->recv_cq;
	base->srq = attr->srq;
	base->handle = qp->qp.qpn;
	base->qp_num = qp->qp.qpn;
	base->state = IBV_QPS_RESET;
	base->qp_type = attr->qp_type;
	pthread_mutex_init(&base->mutex, NULL);
	pthread_cond_init(&base->cond, NULL);
}

static void count_use(const struct ibv_qp *base, const struct vb_qp *qp,
		      void (*count)(const void *))
{
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

int vb_qp_make_queues(struct vb_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	int err;

	grant_cap(qp, attr);
	err = take_memory(qp, attr);
	if (err)
		return err;
	err = enter_engine(qp, attr);
	if (err)
		vb_qp_return_memory(qp, attr->pd);
	return err;
}

/* Gives a queue pair its memory, number and place in the engine. 0 or an errno. */
static int begin(struct vb_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	int err = 0;

	qp->srq_sends = vb_tag_matches(attr->srq) && attr->cap.max_send_wr == 0;
	qp->sq_sig_all = attr->sq_sig_all != 0;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		qp->ex.base.qp_base.qp_type = attr->qp_type;
		err = vb_wr_create(qp, attr->send_ops_flags);
	}
	if (!err)
		err = vb_qp_make_queues(qp, attr);
	if (err)
		vb_wr_destroy(qp);
	return err;
}

/* Locks or unlocks the readers of both CQs, in the order of addresses: two QPs cannot deadlock. */
static void on_cqs(struct vb_qp *qp, int (*act)(pthread_mutex_t *mutex))
{
	struct vb_cq *a, *b;

	if (!qp->qp.send_cq)
		return;
	a = qp->qp.send_cq->owner;
	b = qp->qp.recv_cq->owner;
	act(a < b ? &a->lock : &b->lock);
	if (a != b)
		act(a < b ? &b->lock : &a->lock);
}

int vb_qp_leave_engine(struct vb_qp *qp)
{
	if (!vb_lock_engine(qp->dev, qp->forks))
		return 0;
	if (rxe_mcast_is_attached(qp->dev->progress.engine, &qp->qp)) {
		progress_unlock(&qp->dev->progress);
		return EBUSY;
	}
	rxe_qp_flush_delayed_ack(qp->dev->progress.engine, &qp->qp);
	progress_transmit(&qp->dev->progress, clock_now_ns());
	on_cqs(qp, pthread_mutex_lock);
	rxe_qp_fini(qp->dev->progress.engine, &qp->qp);
	on_cqs(qp, pthread_mutex_unlock);
	atomic_store_explicit(&shared_qp(qp)->qpn, 0, memory_order_release);
	progress_unlock(&qp->dev->progress);
	return 0;
}

/* The queue pair has left the engine. */
static void take_down(struct vb_qp *qp)
{
	struct ibv_qp *base = &qp->ex.base.qp_base;

	vb_comp_cntrs_detach(qp);
	vb_wr_destroy(qp);
	vb_qp_return_memory(qp, base->pd);
	vb_rss_destroy(qp->rss);
	if (base->pd)
		vb_pd_unuse(base->pd);
	pthread_mutex_destroy(&base->mutex);
	pthread_cond_destroy(&base->cond);
}

void vb_target_end(struct vb_qp *qp)
{
	vb_qp_leave_engine(qp);
	take_down(qp);
	free(qp);
}

static struct ibv_qp *create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct vb_qp *qp = vb_object_new(context, VB_KIND_QP, sizeof(*qp));
	int err;

	if (!qp)
		return NULL;
	qp->dev = vb_device(context);
	qp->forks = vb_forks();
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		qp->xrcd = attr->xrcd;
	err = is_rss(attr) ? vb_rss_create(context, attr, &qp->rss) : 0;
	if (!err && attr->pd)
		err = vb_pd_use(attr->pd);
	if (!err) {
		err = begin(qp, attr);
		if (err && attr->pd)
			vb_pd_unuse(attr->pd);
	}
	if (err) {
		vb_rss_destroy(qp->rss);
		return vb_object_undo(qp, err);
	}
	init_base(qp, attr);
	err = qp->xrcd ? vb_target_announce(qp) : 0;
	if (err) {
		vb_qp_leave_engine(qp);
		take_down(qp);
		return vb_object_undo(qp, err);
	}
	vb_object_set_handle(qp, qp->qp.qpn);
	count_use(&qp->ex.base.qp_base, qp, vb_object_use);
	return &qp->ex.base.qp_base;
}

static struct ibv_qp *create_checked(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex used;
	struct ibv_qp *qp;
	int err;

	if (!vb_is_context(context) || !attr)
		return vb_fail(EINVAL);
	used = used_by_type(attr);
	err = check_attr(context, &used);
	if (!err && used.qp_type == IBV_QPT_RAW_PACKET)
		err = vb_raw_access(vb_device(context));
	if (err)
		return vb_fail(err);
	qp = create(context, &used);
	if (qp)
		attr->cap = used.cap;
	return qp;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	if (vb_is_context(context) && vb_verb_fails(context, create_qp_ex))
		return NULL;
	return create_checked(context, attr);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex;
	struct ibv_qp *qp;

	if (!vb_is_pd(pd) || !attr)
		return vb_fail(EINVAL);
	if (vb_verb_fails(pd->context, create_qp))
		return NULL;
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
	qp = create_checked(pd->context, &ex);
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
	vb_async_forget_qp(qp);
	count_use(base, qp, vb_object_unuse);
	take_down(qp);
	free(qp);
	return 0;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *base)
{
	struct vb_qp *qp = vb_qp(base);

	if (!vb_object_is_live(qp, VB_KIND_QP) || !qp->builder)
		return vb_fail(EOPNOTSUPP);
	return &qp->ex.base;
}

void vb_qp_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_qp_ex = create_qp_ex;
	verbs->base.modify_qp_rate_limit = vb_modify_qp_rate_limit;
}
