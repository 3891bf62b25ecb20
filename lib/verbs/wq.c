// SPDX-License-Identifier: MIT
/* Work queues (ibv_create_wq(3), ibv_modify_wq(3)), tables of them (ibv_create_rwq_ind_table(3)),
 * and what an RSS queue pair has beside a queue pair: a table and a hash (ibv_create_qp_ex(3)). */
#include "lib/verbs/wq.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emu/engine.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/async.h"
#include "lib/verbs/context.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"
#include "lib/verbs/pd.h"
#include "lib/verbs/raw_access.h"
#include "net/link/clock.h"

static_assert((int)RSS_DST_PORT_UDP == (int)IBV_RX_HASH_DST_PORT_UDP, "enum ibv_rx_hash_fields");
static_assert((int)RSS_DST_IPV6 == (int)IBV_RX_HASH_DST_IPV6, "enum ibv_rx_hash_fields");

static int wq_post_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	return vb_post_recv_list(&vb_wq(wq)->half, INJECT_VERB_post_wq_recv, wr, bad_wr);
}

static int check_attr(struct ibv_context *context, const struct ibv_wq_init_attr *attr)
{
	const struct ctl_profile *profile = vb_profile(vb_device(context));

	if (!profile->raw_packet)
		return refuse(WHY_NOT_OFFERED, "raw packets");
	if (attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS)
		return refuse(WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask);
	if (attr->wq_type != IBV_WQT_RQ)
		return refuse(WHY_WQ_TYPE, (int)attr->wq_type);
	if (attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS &&
	    attr->create_flags & ~(uint32_t)IBV_WQ_FLAGS_CVLAN_STRIPPING)
		return refuse(WHY_BITS_REFUSED, "create_flags", (uint64_t)attr->create_flags);
	if (vb_refuses_pd_of(attr->pd, context) || vb_refuses_use(context, attr->cq, VB_KIND_CQ))
		return refusal_noted();
	if (attr->max_wr > profile->max_qp_wr)
		return refuse(WHY_ABOVE_LIMIT, "max_wr", (uint64_t)attr->max_wr,
			      (uint64_t)profile->max_qp_wr);
	return attr->max_sge > profile->max_sge
		       ? refuse(WHY_ABOVE_LIMIT, "max_sge", (uint64_t)attr->max_sge,
				(uint64_t)profile->max_sge)
		       : 0;
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
}

/* Gives a work queue its number, memory and place in the engine. 0 or an errno. */
static int begin(struct vb_wq *wq, struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct ibv_qp_init_attr_ex half = half_of(attr);
	int err = vb_pd_use(attr->pd);

	if (err)
		return err;
	wq->half.dev = vb_device(context);
	wq->half.ex.base.qp_base.context = context;
	wq->half.ex.base.qp_base.pd = attr->pd;
	wq->half.forks = vb_forks();
	err = vb_qp_make_queues(&wq->half, &half);
	if (err) {
		vb_qp_return_memory(&wq->half, attr->pd);
		vb_pd_unuse(attr->pd);
		return err;
	}
	attr->max_wr = half.cap.max_recv_wr;
	attr->max_sge = half.cap.max_recv_sge;
	init_base(wq, context, attr);
	vb_object_set_handle(wq, wq->base.handle);
	vb_object_use(attr->cq);
	return 0;
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct vb_wq *wq;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(context, create_wq))
		return vb_fail(errno);
	err = check_attr(context, attr);
	if (!err)
		err = vb_raw_access(vb_device(context));
	if (err)
		return vb_fail(err);
	wq = vb_object_new(context, VB_KIND_WQ, sizeof(*wq));
	if (!wq)
		return vb_fail(errno);
	err = begin(wq, context, attr);
	if (err)
		return vb_fail(vb_object_undo(wq, err));
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
		return refuse(WHY_UNKNOWN_BITS, "attr_mask", (uint64_t)attr->attr_mask);
	if (attr->attr_mask & IBV_WQ_ATTR_FLAGS &&
	    attr->flags_mask & ~(uint32_t)IBV_WQ_FLAGS_CVLAN_STRIPPING)
		return refuse(WHY_BITS_REFUSED, "flags_mask", (uint64_t)attr->flags_mask);
	if (attr->attr_mask & IBV_WQ_ATTR_STATE && attr->wq_state > IBV_WQS_ERR)
		return refuse(WHY_BAD_VALUE, "wq_state", (uint64_t)attr->wq_state,
			      "no state of a work queue");
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
		return refuse(WHY_WQ_STATE, queue->qpn, "is not in curr_wq_state");
	if (attr->attr_mask & IBV_WQ_ATTR_STATE && to.qp_state != queue->state &&
	    rxe_qp_modify(engine, queue, &to, RXE_QP_STATE, clock_now_ns()) != MODIFY_OK)
		return refuse(WHY_WQ_STATE, queue->qpn, "cannot move to wq_state from its state");
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

	if (vb_refuses(base, VB_KIND_WQ) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, modify_wq))
		return vb_result(errno);
	err = check_modify(attr);
	if (!err && !vb_lock_engine(vb_wq(base)->half.dev, vb_wq(base)->half.forks))
		err = refuse(WHY_NO_ENGINE, "WQ");
	if (err)
		return vb_result(err);
	err = change(vb_wq(base), attr);
	progress_unlock(&vb_wq(base)->half.dev->progress);
	return vb_result(err);
}

static int destroy_wq(struct ibv_wq *base)
{
	int err = vb_object_end(base, VB_KIND_WQ, INJECT_VERB_destroy_wq);
	struct vb_wq *wq = vb_wq(base);

	if (err)
		return vb_result(err);
	vb_qp_leave_engine(&wq->half);
	vb_async_forget(base->context, wq->half.forks, base, IBV_EVENT_WQ_FATAL);
	vb_object_unuse(base->cq);
	vb_qp_return_memory(&wq->half, base->pd);
	vb_pd_unuse(base->pd);
	pthread_mutex_destroy(&base->mutex);
	pthread_cond_destroy(&base->cond);
	free(wq);
	return 0;
}

static int check_table(struct ibv_context *context, const struct ibv_rwq_ind_table_init_attr *attr)
{
	if (attr->comp_mask)
		return refuse(WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask);
	if (attr->log_ind_tbl_size > RSS_MAX_LOG_TBL)
		return refuse(WHY_ABOVE_LIMIT, "log_ind_tbl_size", (uint64_t)attr->log_ind_tbl_size,
			      (uint64_t)RSS_MAX_LOG_TBL);
	if (!attr->ind_tbl)
		return refuse(WHY_NULL, "ind_tbl");
	for (uint32_t i = 0; i < 1u << attr->log_ind_tbl_size; i++) {
		if (vb_refuses_use(context, attr->ind_tbl[i], VB_KIND_WQ))
			return refusal_noted();
	}
	return 0;
}

static struct ibv_rwq_ind_table *create_rwq_ind_table(struct ibv_context *context,
						      struct ibv_rwq_ind_table_init_attr *attr)
{
	static _Atomic int number;
	struct vb_wq_table *table;
	int err;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr"))
		return vb_fail(refusal_noted());
	if (vb_verb_fails(context, create_rwq_ind_table))
		return vb_fail(errno);
	err = check_table(context, attr);
	if (err)
		return vb_fail(err);
	table = vb_object_new(context, VB_KIND_WQ_TABLE, sizeof(*table));
	if (!table)
		return vb_fail(errno);
	table->base.ind_tbl_num = table->base.ind_tbl_handle = atomic_fetch_add(&number, 1) + 1;
	table->log_size = attr->log_ind_tbl_size;
	for (uint32_t i = 0; i < 1u << table->log_size; i++) {
		table->queue[i] = &vb_wq(attr->ind_tbl[i])->half.qp;
		vb_object_use(attr->ind_tbl[i]);
	}
	return &table->base;
}

static int destroy_rwq_ind_table(struct ibv_rwq_ind_table *base)
{
	int err = vb_object_end(base, VB_KIND_WQ_TABLE, INJECT_VERB_destroy_rwq_ind_table);
	struct vb_wq_table *table = vb_wq_table(base);

	if (err)
		return vb_result(err);
	for (uint32_t i = 0; i < 1u << table->log_size; i++)
		vb_object_unuse(vb_wq_of_half(table->queue[i]->owner));
	free(table);
	return 0;
}

static int check_rss(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t both = IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;
	const struct ibv_rx_hash_conf *hash = &attr->rx_hash_conf;

	if ((attr->comp_mask & both) != both || !(attr->comp_mask & IBV_QP_INIT_ATTR_PD) ||
	    attr->srq || attr->cap.max_recv_wr || attr->cap.max_recv_sge)
		return refuse(WHY_RSS_INIT);
	if (vb_refuses_use(context, attr->rwq_ind_tbl, VB_KIND_WQ_TABLE))
		return refusal_noted();
	/* Tags are taken off by work queues. */
	if (attr->cap.max_send_wr ||
	    refuse_if(attr->comp_mask, WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask) &
		    IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ||
	    attr->create_flags)
		return refuse(WHY_RSS_SENDS);
	if (hash->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ ||
	    hash->rx_hash_fields_mask & ~(uint64_t)RSS_FIELDS)
		return refuse(WHY_RSS_HASH, (unsigned int)hash->rx_hash_function,
			      (uint64_t)hash->rx_hash_fields_mask);
	return hash->rx_hash_key_len == RSS_KEY_LEN && hash->rx_hash_key
		       ? 0
		       : refuse(WHY_RSS_KEY, hash->rx_hash_key ? hash->rx_hash_key_len : 0u,
				(unsigned int)RSS_KEY_LEN);
}

int vb_rss_create(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr,
		  struct vb_rss **ret)
{
	struct vb_rss *rss;
	int err = check_rss(context, attr);

	if (err)
		return err;
	rss = calloc(1, sizeof(*rss));
	if (!rss)
		return refuse(WHY_NO_MEMORY, "the hash");
	rss->table = vb_wq_table(attr->rwq_ind_tbl);
	rss->rss = (struct rxe_rss){
		.fields = (uint32_t)attr->rx_hash_conf.rx_hash_fields_mask,
		.log_size = rss->table->log_size,
		.wq = rss->table->queue,
	};
	memcpy(rss->rss.key, attr->rx_hash_conf.rx_hash_key, RSS_KEY_LEN);
	vb_object_use(rss->table);
	*ret = rss;
	return 0;
}

void vb_rss_destroy(struct vb_rss *rss)
{
	if (!rss)
		return;
	vb_object_unuse(rss->table);
	free(rss);
}

void vb_wq_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_wq = create_wq;
	verbs->base.modify_wq = modify_wq;
	verbs->base.destroy_wq = destroy_wq;
	verbs->base.create_rwq_ind_table = create_rwq_ind_table;
	verbs->base.destroy_rwq_ind_table = destroy_rwq_ind_table;
}
