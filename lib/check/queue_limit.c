// SPDX-License-Identifier: MIT
/* Counts of outstanding requests. */
#include "lib/check/queue_limit.h"

#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

void queue_limit_posting(const struct check_request *request)
{
	const struct check_cq *cq = request->queue->cq;
	const struct check_where where[] = {
		{ "posted here", &request->posted },
		{ "CQ created here", cq ? &cq->object->made : NULL },
	};

	/* A request above max_wr will be refused. */
	if (!cq || !request->is_signalled || request->queue->count > request->queue->max_wr ||
	    cq->expected <= (uint32_t)cq->cq->cqe)
		return;
	check_report(CHECK_QUEUE_CQ_OVERFLOW, where, 2,
		     "%s can overflow: it has %d entries, and with this request of %s %u "
		     "completions can be in it",
		     cq->object->label, cq->cq->cqe, request->queue->owner->label, cq->expected);
}

void queue_limit_posted(const struct check_queue *queue)
{
	const struct check_request *newest = queue->first ? queue->first->prev : NULL;
	const struct check_where where[] = {
		{ "posted here", newest ? &newest->posted : NULL },
		{ "QP created here", &queue->owner->made },
	};

	if (!newest || queue->is_recv || queue->num_signalled || queue->count < queue->max_wr)
		return;
	check_report(CHECK_QUEUE_UNSIGNALLED, where, 2,
		     "%s: its send queue takes %u requests and has as many outstanding, none of "
		     "them signalled: no completion will free one",
		     queue->owner->label, queue->max_wr);
}
