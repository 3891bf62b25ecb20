// SPDX-License-Identifier: MIT
/* Looks for requests over a region that ends. */
#include "lib/check/mem_region.h"

#include <inttypes.h>
#include <stddef.h>
#include <utlist.h>

#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/report.h"

struct search {
	const struct check_region *region;
	const struct check_request *found;
};

static void look(const struct check_queue *queue, struct search *search)
{
	const struct check_request *request;

	DL_FOREACH (queue->first, request) {
		for (uint32_t i = 0; i < request->num_ranges && !search->found; i++) {
			if (request->range[i].region == search->region)
				search->found = request;
		}
	}
}

/* In ERR requests are flushed, and no longer access memory. */
static void visit(struct check_object *object, void *arg)
{
	const struct check_qp *qp = object->kind == VB_KIND_QP ? object->part : NULL;
	const struct check_srq *srq = object->kind == VB_KIND_SRQ ? object->part : NULL;

	if (qp && qp->qp->state != IBV_QPS_ERR && qp->state != IBV_QPS_ERR) {
		look(&qp->send, arg);
		look(&qp->recv, arg);
	} else if (srq) {
		look(&srq->recv, arg);
	}
}

void mem_region_ending(const struct check_object *object)
{
	struct search search = { .region = object->part };

	if (!search.region || !search.region->requests)
		return;
	object_each(object->context, visit, &search);
	if (!search.found)
		return;
	check_report(CHECK_MEM_DEREGISTERED,
		     (struct check_where[]){ { "deregistered here", NULL },
					     { "posted here", &search.found->posted },
					     { "region registered here", &object->made } },
		     3,
		     "ibv_dereg_mr: %s is needed by an outstanding request of %s, wr_id 0x%" PRIx64,
		     object->label, search.found->queue->owner->label, search.found->wr_id);
}
