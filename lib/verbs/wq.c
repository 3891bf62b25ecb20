// SPDX-License-Identifier: MIT
/* Creates, modifies and destroys work queues, and posts to them (ibv_create_wq(3),
 * ibv_modify_wq(3), ibv_post_wq_recv(3)). */
#include "lib/verbs/wq.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "emu/engine.h"
#include "emu/limits.h"
#include "emu/queue.h"
#include "lib/inject/verb.h"
#include "lib/progress/progress.h"
#include "lib/verbs/async.h"
#include "lib/verbs/context.h"
#include "lib/verbs/cq.h"
#include "lib/verbs/destroy.h"
#include "lib/verbs/error.h"
#include "lib/verbs/fork.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/live.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"
#include "lib/verbs/raw_access.h"
#include "net/link/clock.h"

static int wq_post_recv(struct ibv_wq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vb_wq *wq = vb_wq(base);

	if (vb_verb_fails(base->context, post_wq_recv)) {
		*bad_wr = wr;
		return errno;
	}
	return vb_post_recv_list(&wq->half, wr, bad_wr);
}

static int check_attr(struct ibv_context *context, const struct ibv_wq_init_attr *attr)
{
	const struct ctl_profile *profile = vb_profile(vb_device(context));

	if (!profile->raw_packet)
		return EOPNOTSUPP;
	if (attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS)
		return EINVAL;
	if (attr->wq_type != IBV_WQT_RQ ||
	    (attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS &&
	     attr->create_flags & ~(uint32_t)IBV_WQ_FLAGS_CVLAN_STRIPPING))
		return EOPNOTSUPP;
	if (!vb_is_pd(attr->pd) || vb_device(attr->pd->context) != vb_device(context) ||
	    !vb_is_usable(context, attr->cq, VB_KIND_CQ))
		return EINVAL;
	return attr->max_wr > profile->max_qp_wr || attr->max_sge > profile->max_sge ? EINVAL : 0;
}

static bool strips_tag(const struct ibv_wq_init_attr *attr)
{
	return attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS &&
	       attr->create_flags & IBV_WQ_FLAGS_CVLAN_STRIPPING;
}

/* As a queue pair with a receive queue only. */
static struct ibv_qp_init_attr_ex half_of(const struct ibv_wq_init_attr *attr)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = attr->cq,
		.recv_cq = attr->cq,
		.pd = attr->pd,
		.qp_type = (enum ibv_qp_type)RXE_QPT_WQ,
		.cap = { .max_recv_wr = attr->max_wr, .max_recv_sge = attr->max_sge },
		.create_flags = strips_tag(attr) ? IBV_QP_CREATE_CVLAN_STRIPPING : 0,
	};
}

static void init_base(struct vb_wq *wq, struct ibv_context *context,
		      const struct ibv_wq_init_attr *attr)
{
	wq->base = (struct ibv_wq){
		.context = context,
		.wq_context = attr->wq_context,
		.pd = attr->pd,
		.cq = attr->cq,
		.wq_num = wq->half.qp.qpn,
		.handle = wq->half.qp.qpn,
		.state = IBV_WQS_RESET,
		.wq_type = attr->wq_type,
		.post_recv = wq_post_recv,
	};
	pthread_mutex_init(&wq->base.mutex, NULL);
	pthread_cond_init(&wq->base.cond, NULL);
	wq->half.ex.base.qp_base.context = context;
	wq->half.ex.base.qp_base.pd = attr->pd;
}

static int make(struct vb_wq *wq, struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct ibv_qp_init_attr_ex half = half_of(attr);
	int err = vb_pd_use(attr->pd);

	if (err)
		return err;
	wq->half.dev = vb_device(context);
	wq->half.forks = vb_forks();
	err = vb_qp_make_queues(&wq->half, &half);
	if (!err && !vb_live_add(wq, VB_KIND_WQ)) {
		vb_qp_leave_engine(&wq->half);
		vb_qp_return_memory(&wq->half, attr->pd);
		err = ENOMEM;
	}
	if (err) {
		vb_pd_unuse(attr->pd);
		return err;
	}
	attr->max_wr = half.cap.max_recv_wr;
	attr->max_sge = half.cap.max_recv_sge;
	init_base(wq, context, attr);
	vb_live_numbered(wq);
	atomic_fetch_add(&vb_cq(attr->cq)->users, 1);
	return 0;
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct vb_wq *wq;
	int err;

	if (!vb_is_context(context) || !attr)
		return vb_fail(EINVAL);
	if (vb_verb_fails(context, create_wq))
		return NULL;
	err = check_attr(context, attr);
	if (!err)
		err = vb_raw_access(vb_device(context));
	if (err)
		return vb_fail(err);
	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return vb_fail(ENOMEM);
	err = make(wq, context, attr);
	if (err) {
		free(wq);
		return vb_fail(err);
	}
	return &wq->base;
}

static enum rxe_qp_state state_in(enum ibv_wq_state state)
{
	return state == IBV_WQS_RESET ? RXE_QPS_RESET
	       : state == IBV_WQS_RDY ? RXE_QPS_RTR
				      : RXE_QPS_ERR;
}

static enum ibv_wq_state state_out(enum rxe_qp_state state)
{
	switch (state) {
	case RXE_QPS_RESET: return IBV_WQS_RESET;
	case RXE_QPS_RTR: return IBV_WQS_RDY;
	case RXE_QPS_ERR: return IBV_WQS_ERR;
	case RXE_QPS_INIT:
	case RXE_QPS_RTS:
	case RXE_QPS_SQD:
	case RXE_QPS_SQE: break;
	}
	return IBV_WQS_UNKNOWN;
}

static int check_modify(const struct ibv_wq_attr *attr)
{
	if (attr->attr_mask &
	    ~(uint32_t)(IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_FLAGS))
		return EINVAL;
	if (attr->attr_mask & IBV_WQ_ATTR_FLAGS &&
	    attr->flags_mask & ~(uint32_t)IBV_WQ_FLAGS_CVLAN_STRIPPING)
		return EOPNOTSUPP;
	if (attr->attr_mask & IBV_WQ_ATTR_STATE && attr->wq_state > IBV_WQS_ERR)
		return EINVAL;
	return 0;
}

/* Under the engine lock. A move to the present state changes nothing. */
static int change(struct vb_wq *wq, const struct ibv_wq_attr *attr)
{
	struct rxe_engine *engine = wq->half.dev->progress.engine;
	struct rxe_qp *queue = &wq->half.qp;
	const struct rxe_qp_attr to = { .qp_state = state_in(attr->wq_state) };

	if (attr->attr_mask & IBV_WQ_ATTR_CURR_STATE &&
	    attr->curr_wq_state != state_out(queue->state))
		return EINVAL;
	if (attr->attr_mask & IBV_WQ_ATTR_STATE && to.qp_state != queue->state &&
	    rxe_qp_modify(engine, queue, &to, RXE_QP_STATE, clock_now_ns()) != MODIFY_OK)
		return EINVAL;
	if (attr->attr_mask & IBV_WQ_ATTR_FLAGS && attr->flags_mask & IBV_WQ_FLAGS_CVLAN_STRIPPING)
		queue->strips_tag = attr->flags & IBV_WQ_FLAGS_CVLAN_STRIPPING;
	if (queue->state == RXE_QPS_RESET)
		vb_qp_forget_completions(&wq->half);
	wq->base.state = state_out(queue->state);
	rxe_engine_settle(engine);
	return 0;
}

static int modify_wq(struct ibv_wq *base, struct ibv_wq_attr *attr)
{
	int err;

	if (!vb_live_is(base, VB_KIND_WQ) || !attr)
		return vb_result(EINVAL);
	if (vb_verb_fails(base->context, modify_wq))
		return errno;
	err = check_modify(attr);
	if (!err && !vb_lock_engine(vb_wq(base)->half.dev, vb_wq(base)->half.forks))
		err = EINVAL;
	if (err)
		return vb_result(err);
	err = change(vb_wq(base), attr);
	progress_unlock(&vb_wq(base)->half.dev->progress);
	return vb_result(err);
}

static int destroy_wq(struct ibv_wq *base)
{
	int err = vb_destroy_check(base, VB_KIND_WQ, INJECT_VERB_destroy_wq);
	struct vb_wq *wq = vb_wq(base);

	if (!err && atomic_load(&wq->users))
		err = EBUSY;
	if (!err)
		err = vb_destroy_take(wq, VB_KIND_WQ, CTL_KIND_FREE, 0);
	if (err)
		return vb_result(err);
	vb_qp_leave_engine(&wq->half);
	vb_async_forget_wq(wq);
	atomic_fetch_sub(&vb_cq(base->cq)->users, 1);
	vb_qp_return_memory(&wq->half, base->pd);
	vb_pd_unuse(base->pd);
	pthread_mutex_destroy(&base->mutex);
	pthread_cond_destroy(&base->cond);
	free(wq);
	return 0;
}

int vb_wq_destroy(void *object)
{
	struct vb_wq *wq = object;

	wq->base.events_completed = wq->half.events_reported;
	return destroy_wq(&wq->base);
}

void vb_wq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_wq = create_wq;
	verbs->base.modify_wq = modify_wq;
	verbs->base.destroy_wq = destroy_wq;
}
