// SPDX-License-Identifier: MIT
/* Looks for requests of peers over a region that ends. */
#include "lib/check/mem_remote.h"

#include <inttypes.h>
#include <stddef.h>
#include <utlist.h>

#include "lib/check/held.h"
#include "lib/check/mem_peer.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/check/remote.h"
#include "lib/check/report.h"

struct search {
	const struct check_region *region;
	const struct check_request *found;
};

static void visit(struct check_object *object, void *arg)
{
	const struct check_qp *qp = object->kind == VB_KIND_QP ? object->part : NULL;
	const struct check_qp *peer = qp ? remote_peer(qp) : NULL;
	const struct check_request *request;
	struct search *search = arg;

	/* A peer in ERR refuses all requests. */
	if (!peer || peer->state == IBV_QPS_ERR || peer->qp->state == IBV_QPS_ERR)
		return;
	DL_FOREACH (qp->send.first, request) {
		if (request->remote.region == search->region && request->remote.at &&
		    !request->executed && held_is_live(request) && !search->found)
			search->found = request;
	}
}

void mem_remote_ending(const struct check_object *object)
{
	struct search search = { .region = object->part };

	if (!search.region)
		return;
	mem_peer_deregistered(object);
	if (!search.region->requests)
		return;
	object_each(NULL, visit, &search);
	if (!search.found)
		return;
	check_report(CHECK_MEM_REMOTE,
		     (struct check_where[]){
			     { "deregistered here", NULL },
			     { "the peer's request was posted here", &search.found->posted },
			     { "region registered here", &object->made } },
		     3,
		     "ibv_dereg_mr: %s is accessed by an outstanding request of the peer %s, wr_id "
		     "0x%" PRIx64,
		     object->label, search.found->queue->owner->label, search.found->wr_id);
}
