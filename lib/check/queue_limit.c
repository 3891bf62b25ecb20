// SPDX-License-Identifier: MIT
/* Counts of outstanding requests. */
#include "lib/check/queue_limit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

static bool is_ud(const struct check_object *owner)
{
	const struct check_qp *qp = owner->kind == VB_KIND_QP ? owner->part : NULL;

	return qp && qp->qp->qp_type == IBV_QPT_UD;
}

/* The first 40 bytes of a UD receive are for the GRH. */
static void look_at_length(const struct check_request *request)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < request->num_ranges; i++)
		len += request->range[i].len;
	if (!request->is_recv || len >= sizeof(struct ibv_grh) || !is_ud(request->queue->owner))
		return;
	check_report(CHECK_QUEUE_UD_SHORT,
		     (struct check_where[]){ { "posted here", &request->posted },
					     { "QP created here", &request->queue->owner->made } },
		     2,
		     "%s, wr_id 0x%" PRIx64 ": a receive of %" PRIu64
		     " bytes takes no message: the first 40 bytes are for the GRH",
		     request->queue->owner->label, request->wr_id, len);
}

void queue_limit_posting(const struct check_request *request)
{
	const struct check_cq *cq = request->queue->cq;
	const struct check_where where[] = {
		{ "posted here", &request->posted },
		{ "CQ created here", cq ? &cq->object->made : NULL },
	};

	look_at_length(request);
	/* A request above max_wr will be refused. */
	if (!cq || !request->is_signalled || request->queue->count > request->queue->max_wr ||
	    cq->expected <= (uint32_t)cq->cq->cqe)
		return;
	check_report(CHECK_QUEUE_CQ_OVERFLOW, where, 2,
		     "%s can overflow: it has %d entries, and with this request of %s %u "
		     "completions can be in it",
		     cq->object->label, cq->cq->cqe, request->queue->owner->label, cq->expected);
}

bool queue_limit_is_reached(const struct check_queue *queue)
{
	return !queue->is_recv && queue->count >= queue->max_wr;
}

void queue_limit_posted(const struct check_queue *queue)
{
	const struct check_request *newest = queue->first ? queue->first->prev : NULL;
	const struct check_where where[] = {
		{ "posted here", newest ? &newest->posted : NULL },
		{ "QP created here", &queue->owner->made },
	};

	if (!newest || queue->num_signalled || !queue_limit_is_reached(queue))
		return;
	check_report(CHECK_QUEUE_UNSIGNALLED, where, 2,
		     "%s: its send queue takes %u requests and has as many outstanding, none of "
		     "them signalled: no completion will free one",
		     queue->owner->label, queue->max_wr);
}
