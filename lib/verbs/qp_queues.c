// SPDX-License-Identifier: MIT
/* What queue pairs of all kinds and work queues share: the structure that programs see, memory, a
 * number, and a place in the engine. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "lib/control/client.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/device.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/object.h"
#include "lib/verbs/pd.h"
#include "lib/verbs/qp.h"
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

void vb_qp_init_base(struct vb_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *base = &qp->ex.base.qp_base;

	base->qp_context = attr->qp_context;
	base->send_cq = attr->send_cq;
	base->recv_cq = attr->recv_cq;
	base->srq = attr->srq;
	base->qp_type = attr->qp_type;
	pthread_mutex_init(&base->mutex, NULL);
	pthread_cond_init(&base->cond, NULL);
	qp->dev = vb_device(base->context);
	qp->forks = vb_forks();
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		qp->xrcd = attr->xrcd;
}

void vb_qp_fini_base(struct vb_qp *qp)
{
	pthread_mutex_destroy(&qp->ex.base.qp_base.mutex);
	pthread_cond_destroy(&qp->ex.base.qp_base.cond);
}

static struct ctl_shared_qp *shared_qp(const struct vb_qp *qp)
{
	return &vb_slot(qp->dev)->qp[qp->qp.qpn % RXE_MAX_QP];
}

void vb_qp_publish(struct vb_qp *qp)
{
	struct ctl_shared_qp *shared = shared_qp(qp);

	if (qp->qp.type == RXE_QPT_WQ)
		return;
	shared->type = qp->qp.type;
	shared->state = qp->qp.state;
	shared->pd = qp->qp.pd;
	shared->dest_qpn = qp->qp.attr.dest_qp_num;
	shared->path_mtu = qp->qp.attr.path_mtu;
	shared->sq_psn = qp->qp.attr.sq_psn;
	shared->rq_psn = qp->qp.attr.rq_psn;
	shared->access = qp->qp.attr.qp_access_flags;
	shared->max_rd_atomic = qp->qp.attr.max_rd_atomic;
	shared->max_dest_rd_atomic = qp->qp.attr.max_dest_rd_atomic;
	atomic_store_explicit(&shared->qpn, qp->qp.qpn, memory_order_release);
}

/* An entry of the send queue holds inline data in place of its list of SGEs, and ends at the end of
 * a cache line: what fits is granted. Programs send inline without asking (rdma_xclient), because
 * adapters also have such room. */
static uint32_t granted_inline(const struct ctl_profile *profile, const struct ibv_qp_cap *cap)
{
	size_t stride = rxe_send_stride(cap->max_send_sge, cap->max_inline_data);
	size_t fits = stride - sizeof(struct rxe_send_wqe);

	return (uint32_t)(fits < profile->max_inline_data ? fits : profile->max_inline_data);
}

static bool has_send_queue(const struct vb_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type != IBV_QPT_XRC_RECV && (int)attr->qp_type != RXE_QPT_WQ && !qp->rss;
}

static bool has_recv_queue(const struct vb_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	return !attr->srq && attr->qp_type != IBV_QPT_XRC_SEND &&
	       attr->qp_type != IBV_QPT_XRC_RECV && !qp->rss;
}

/* Writes the granted capabilities to attr: they may exceed the request (ibv_create_qp(3)). */
static void grant_cap(struct vb_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_cap *cap = &attr->cap;

	if (qp->srq_sends) {
		cap->max_send_sge = 0;
		cap->max_inline_data = 0;
	} else if (has_send_queue(qp, attr)) {
		cap->max_send_wr = cap->max_send_wr ? cap->max_send_wr : 1;
		cap->max_send_sge = cap->max_send_sge ? cap->max_send_sge : 1;
		cap->max_inline_data = granted_inline(vb_profile(qp->dev), cap);
	}
	if (!has_recv_queue(qp, attr)) {
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
		return refuse(WHY_NO_MEMORY, "the send queue");
	if (rq && !vb_buffer_alloc(&qp->rq_memory, attr->pd, rq, VB_BUFFER_QP_RECV))
		return refuse(WHY_NO_MEMORY, "the receive queue");
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

	if (!vb_lock_engine(qp->dev, qp->forks))
		return refuse(WHY_NO_ENGINE, "object");
	init.qpn = rxe_engine_alloc_qpn(qp->dev->progress.engine);
	if (init.qpn) {
		atomic_store(&vb_slot(qp->dev)->qpn_roll, qp->dev->progress.engine->qpn_next - 1);
		rxe_qp_init(qp->dev->progress.engine, &qp->qp, &init);
		vb_qp_publish(qp);
		/* A UD receive shows its packet's IP header as a GRH. */
		if (attr->qp_type == IBV_QPT_UD)
			link_show_headers(qp->dev->progress.link.phy);
	}
	progress_unlock(&qp->dev->progress);
	return init.qpn ? 0 : refuse(WHY_NO_QPN, vb_profile(qp->dev)->max_qp);
}

int vb_qp_make_queues(struct vb_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	int err;

	grant_cap(qp, attr);
	err = take_memory(qp, attr);
	return err ? err : enter_engine(qp, attr);
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
		return refuse(WHY_MCAST_ATTACHED, qp->qp.qpn);
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

void vb_qp_forget_completions(struct vb_qp *qp)
{
	struct rxe_cq *cqs[] = { qp->qp.send_cq, qp->qp.recv_cq };

	for (int i = 0; i < 2 && cqs[i]; i++) {
		struct vb_cq *cq = cqs[i]->owner;

		pthread_mutex_lock(&cq->lock);
		rxe_cq_clean(cqs[i], qp->qp.qpn);
		pthread_mutex_unlock(&cq->lock);
	}
}
