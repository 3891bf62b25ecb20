// SPDX-License-Identifier: MIT
/* Queue pairs. */
#include "lib/check/access.h"
#include "lib/check/hooks.h"
#include "lib/check/inner.h"
#include "lib/check/queue.h"
#include "lib/check/thread.h"
#include "lib/check/vector.h"
#include "lib/check/wrap.h"
#include "lib/check/wrap_build.h"

INNER(ibv_create_qp);
INNER(ibv_modify_qp);
INNER(ibv_destroy_qp);

/* attr has what was granted, asked what the program wanted. */
static void made(struct ibv_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		 const struct ibv_qp_cap *asked)
{
	struct check_object *object;

	check_lock();
	object = object_made(qp, VB_KIND_QP, qp->context);
	if (object) {
		object_label(object, "QP 0x%06x", qp->qp_num);
		queue_qp_made(object, qp, attr);
		access_begin(qp->context);
		vector_connected(qp->context);
		portable_qp_made(object, asked);
		thread_joins(object, qp->pd);
	}
	check_unlock();
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_cap asked = { 0 };
	struct ibv_qp *qp;

	wrap_used(pd, VB_KIND_PD, "ibv_create_qp");
	if (attr)
		asked = attr->cap;
	qp = inner_ibv_create_qp(pd, attr);
	if (qp && attr)
		made(qp,
		     &(struct ibv_qp_init_attr_ex){ .cap = attr->cap,
						    .sq_sig_all = attr->sq_sig_all },
		     &asked);
	return qp;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_cap asked = { 0 };
	struct ibv_qp *qp;

	if (attr)
		asked = attr->cap;
	qp = check_inner.base.create_qp_ex(context, attr);
	if (!qp || !attr)
		return qp;
	made(qp, attr, &asked);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		wrap_build(qp);
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct check_object *object;
	struct check_qp *part;
	int err;

	wrap_used(qp, VB_KIND_QP, "ibv_modify_qp");
	err = inner_ibv_modify_qp(qp, attr, attr_mask);
	if (err)
		return err;
	check_lock();
	object = object_find(qp);
	part = object ? object->part : NULL;
	if (part && (attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		remote_reset(part);
	if (part)
		hook_modified(part, attr, attr_mask);
	if (part && (attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTR)
		vector_connected(qp->context);
	/* RESET drops requests and completions (IBTA 10.3.1.1). */
	if (part && (attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		hook_drop_all(&part->send);
		hook_drop_all(&part->recv);
	}
	check_unlock();
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct check_object *object = wrap_ending(qp, VB_KIND_QP, "ibv_destroy_qp");
	struct check_qp *part = object ? object->part : NULL;
	int err;

	if (part) {
		event_unread_ending(object, "ibv_destroy_qp");
		check_lock();
		hook_qp_ending(part);
		event_async_ending(object, "ibv_destroy_qp");
		check_unlock();
	}
	err = inner_ibv_destroy_qp(qp);
	if (!err && part) {
		check_lock();
		hook_drop_all(&part->send);
		hook_drop_all(&part->recv);
		queue_qp_ended(part);
		check_unlock();
	}
	return wrap_ended(object, err);
}

void wrap_qp_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_qp_ex = create_qp_ex;
}
