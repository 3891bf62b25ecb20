// SPDX-License-Identifier: MIT
/* Lists of outstanding requests. */
#include "lib/check/queue.h"

#include <stdlib.h>
#include <utlist.h>

#include "lib/check/object.h"

static struct check_qp *qps; /* uthash, by key */

struct check_cq *queue_cq(const struct ibv_cq *cq)
{
	const struct check_object *object = cq ? object_find(cq) : NULL;

	return object && object->kind == VB_KIND_CQ ? object->part : NULL;
}

struct check_cq *queue_cq_made(struct check_object *object, struct ibv_cq *cq)
{
	struct check_cq *made = calloc(1, sizeof(*made));

	object->part = made;
	if (made) {
		made->object = object;
		made->cq = cq;
	}
	return made;
}

struct check_qp *queue_qp_made(struct check_object *object, struct ibv_qp *qp,
			       const struct ibv_qp_init_attr_ex *attr)
{
	struct check_qp *made = calloc(1, sizeof(*made));

	object->part = made;
	if (!made)
		return NULL;
	made->object = object;
	made->qp = qp;
	made->signals_all = attr->sq_sig_all;
	made->max_inline_data = attr->cap.max_inline_data;
	made->send = (struct check_queue){ .owner = object,
					   .cq = queue_cq(qp->send_cq),
					   .max_wr = attr->cap.max_send_wr };
	made->recv = (struct check_queue){ .owner = object,
					   .cq = queue_cq(qp->recv_cq),
					   .is_recv = true,
					   .max_wr = attr->cap.max_recv_wr };
	made->srq = qp->srq ? object_find(qp->srq) : NULL;
	made->key = (struct qp_key){ qp->context->device, qp->qp_num };
	HASH_ADD(hh, qps, key, sizeof(made->key), made);
	return made;
}

void queue_qp_ended(struct check_qp *qp)
{
	HASH_DEL(qps, qp);
}

struct check_srq *queue_srq_made(struct check_object *object, uint32_t max_wr)
{
	struct check_srq *made = calloc(1, sizeof(*made));

	object->part = made;
	if (made)
		made->recv =
			(struct check_queue){ .owner = object, .is_recv = true, .max_wr = max_wr };
	return made;
}

/* Requests of up to one range that have ended. A program has as many outstanding again soon, and
 * free(3) keeps only few of a size for its thread. */
#define SPARES_MAX 1024u

static struct check_request *spares;
static uint32_t num_spares;

static struct check_request *take(uint32_t num_ranges)
{
	struct check_request *ret = num_ranges > 1 ? NULL : spares;

	if (!ret)
		return malloc(sizeof(*ret) + (num_ranges ? num_ranges : 1) * sizeof(ret->range[0]));
	LL_DELETE(spares, ret);
	num_spares--;
	return ret;
}

static void give_back(struct check_request *request)
{
	if (request->num_ranges > 1 || num_spares == SPARES_MAX) {
		free(request);
		return;
	}
	LL_PREPEND(spares, request);
	num_spares++;
}

struct check_request *queue_add(struct check_queue *queue, uint64_t wr_id,
				const struct ibv_sge *sges, uint32_t num_sges)
{
	struct check_request *request = take(num_sges);

	if (!request)
		return NULL;
	*request = (struct check_request){ .queue = queue,
					   .wr_id = wr_id,
					   .is_recv = queue->is_recv,
					   .writes = queue->is_recv,
					   .num_ranges = num_sges };
	for (uint32_t i = 0; i < num_sges; i++)
		region_range(queue->owner->context, &sges[i], &request->range[i]);
	check_stack_take(&request->posted);
	DL_APPEND(queue->first, request);
	queue->count++;
	return request;
}

void queue_signalled(struct check_request *request)
{
	request->is_signalled = true;
	request->queue->num_signalled++;
	if (request->queue->cq)
		request->queue->cq->expected++;
}

void queue_drop(struct check_request *request)
{
	struct check_queue *queue = request->queue;

	DL_DELETE(queue->first, request);
	queue->count--;
	if (request->is_signalled) {
		queue->num_signalled--;
		if (queue->cq)
			queue->cq->expected--;
	}
	for (uint32_t i = 0; i < request->num_ranges; i++)
		region_release(&request->range[i]);
	free(request->copy);
	give_back(request);
}

struct check_qp *queue_qp(const struct ibv_context *context, uint32_t qpn)
{
	const struct qp_key key = { context->device, qpn };
	struct check_qp *qp;

	HASH_FIND(hh, qps, &key, sizeof(key), qp);
	return qp;
}

bool queue_is_ud(const struct ibv_context *context, uint32_t qpn)
{
	const struct check_qp *qp = queue_qp(context, qpn);

	return !qp || (qp->qp->qp_type != IBV_QPT_RC && qp->qp->qp_type != IBV_QPT_UC);
}

static struct check_request *find(struct check_queue *queue, const struct ibv_wc *wc)
{
	struct check_request *request;

	DL_FOREACH (queue->first, request) {
		/* A request that fails has a completion, signalled or not. */
		if (request->wr_id == wc->wr_id &&
		    (request->is_signalled || wc->status != IBV_WC_SUCCESS))
			return request;
	}
	return NULL;
}

struct check_request *queue_completed(const struct ibv_context *context, const struct ibv_wc *wc)
{
	struct check_qp *qp = queue_qp(context, wc->qp_num);
	struct check_srq *srq;

	if (!qp)
		return NULL;
	if (!(wc->opcode & IBV_WC_RECV))
		return find(&qp->send, wc);
	srq = qp->srq ? qp->srq->part : NULL;
	return find(srq ? &srq->recv : &qp->recv, wc);
}
