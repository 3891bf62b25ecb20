// SPDX-License-Identifier: MIT
/* The set of bytes that outstanding requests touch at their peers, and in device memory. */
#include "lib/check/race.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/abi/newer.h"
#include "lib/check/access.h"
#include "lib/check/check.h"
#include "lib/check/held.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/race_process.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "lib/check/span.h"
#include "lib/check/vector.h"

static struct span_set remotes = SPAN_SET_INSIDE;

static const struct check_range *range_of(struct span *span)
{
	return container_of(span, struct check_range, span);
}

static bool is_remote(const struct check_range *range)
{
	return range == &range->request->remote;
}

static bool writes(const struct check_range *range)
{
	return is_remote(range) ? range->request->remote_writes : range->request->writes;
}

static const char *verb_of(const struct check_range *range)
{
	if (is_remote(range))
		return range->request->remote_writes ? "writes to" : "reads";
	return range->request->writes ? "gets data in" : "sends from";
}

static void report(enum check check, const struct check_range *later,
		   const struct check_range *earlier)
{
	const struct span *a = &later->span, *b = &earlier->span;
	const uintptr_t start = a->start > b->start ? a->start : b->start;
	const uintptr_t end = a->end < b->end ? a->end : b->end;
	const struct check_object *region = later->region ? later->region->object : NULL;
	const struct check_where where[] = {
		{ "posted here", &later->request->posted },
		{ "outstanding, posted here", &earlier->request->posted },
		{ "region registered here", region ? &region->made : NULL },
	};

	check_report(check, where, region ? 3 : 2,
		     "%s, wr_id 0x%" PRIx64 " %s %" PRIuPTR " bytes%s at 0x%" PRIxPTR
		     " that %s, wr_id 0x%" PRIx64 " %s, and nothing orders the two",
		     later->request->queue->owner->label, later->request->wr_id, verb_of(later),
		     end - start, later->dm ? " of device memory" : "", start,
		     earlier->request->queue->owner->label, earlier->request->wr_id,
		     verb_of(earlier));
}

/* Two remote accesses; the order of one queue pair is kept but for one case. */
static void compare_remote(const struct check_range *later, const struct check_range *earlier)
{
	const struct check_request *first = earlier->request, *second = later->request;

	if (first->queue != second->queue) {
		if (!first->is_atomic || !second->is_atomic)
			report(CHECK_RACE_REMOTE, later, earlier);
	} else if (!first->remote_writes && second->remote_writes && !second->is_atomic &&
		   !second->is_fenced) {
		report(CHECK_RACE_FENCE, later, earlier);
	}
}

static bool conflicts(const struct check_range *later, const struct check_range *earlier)
{
	return earlier->request != later->request && earlier->owner == later->owner &&
	       earlier->dm == later->dm &&
	       span_has(&earlier->span, later->span.start, later->span.end) &&
	       (writes(later) || writes(earlier)) && !earlier->request->executed &&
	       held_is_live(earlier->request);
}

/* A local access against a remote one that is posted after it. */
static void visit_local(struct check_range *earlier, void *arg)
{
	const struct check_range *later = arg;

	if (!earlier->request->is_recv && earlier->request->queue != later->request->queue &&
	    conflicts(later, earlier))
		report(CHECK_RACE_LOCAL, later, earlier);
}

static void visit_remote(struct span *span, void *arg)
{
	const struct check_range *later = arg, *earlier = range_of(span);

	if (!conflicts(later, earlier))
		return;
	if (is_remote(later) && is_remote(earlier))
		compare_remote(later, earlier);
	else if ((is_remote(later) || is_remote(earlier)) &&
		 earlier->request->queue != later->request->queue)
		report(CHECK_RACE_LOCAL, later, earlier);
}

static void look(struct check_range *later)
{
	span_each(&remotes, later->span.start, later->span.end, visit_remote, later);
}

static bool is_of_connection(const struct check_request *request)
{
	return request->queue->owner->kind == VB_KIND_QP && !request->is_recv;
}

/* Device memory that a request reads or writes itself, which held.c does not have. */
static void enter_dm(struct check_request *request, struct check_range *range)
{
	range->request = request;
	span_add(&remotes, &range->span);
}

static void look_local(struct check_request *request, bool is_shared)
{
	for (uint32_t i = 0; i < request->num_ranges && !request->is_recv; i++) {
		struct check_range *range = &request->range[i];

		if (range->dm && !request->is_inline)
			enter_dm(request, range);
		if (!range->request)
			continue;
		look(range);
		if (is_shared && (range->dm || access_is_open(range->region))) {
			access_add(request, range);
			race_process_look(request, range);
		}
	}
}

static void look_remote(struct check_request *request, bool is_shared)
{
	struct check_range *remote = &request->remote;

	if (!remote->len || (!remote->at && !remote->owner && !remote->dm))
		return;
	remote->request = request;
	if (remote->at) {
		remote->span.start = (uintptr_t)remote->at;
		remote->span.end = (uintptr_t)remote->at + remote->len;
	}
	look(remote);
	if (remote->at)
		held_each_at(remote->span.start, remote->span.end, visit_local, remote);
	span_add(&remotes, &remote->span);
	if (is_shared) {
		access_add(request, remote);
		race_process_look(request, remote);
	}
}

/* Also where the bytes are not known, as in device memory: they may be a flag. */
static void wrote(const struct check_request *request, bool is_shared)
{
	if (!is_shared)
		return;
	access_wrote(request->queue->owner->part);
	vector_reported(request);
}

void race_posting(struct check_request *request)
{
	const bool is_shared =
		is_of_connection(request) && access_is_shared(request->queue->owner->context);

	if (is_shared)
		vector_learn(request->queue->owner->context);
	look_local(request, is_shared);
	if (request->is_recv)
		race_process_receiving(request);
	if (request->remote.len && request->remote_writes)
		wrote(request, is_shared);
	look_remote(request, is_shared);
}

static void remove_from_set(struct check_range *range)
{
	if (range->request)
		span_remove(&remotes, &range->span);
	range->request = NULL;
}

static void leave(struct check_request *request,
		  void (*leaves)(const struct check_request *request, struct check_range *range))
{
	remove_from_set(&request->remote);
	if (request->remote.access)
		leaves(request, &request->remote);
	for (uint32_t i = 0; i < request->num_ranges; i++) {
		if (request->range[i].dm)
			remove_from_set(&request->range[i]);
		if (request->range[i].access)
			leaves(request, &request->range[i]);
	}
}

static void keep(const struct check_request *request, struct check_range *range)
{
	/* What orders requests to device memory that have ended is not known. */
	if (check_is_on(CHECK_RACE_HISTORY) && !range->dm)
		access_completed(request, range, vector_tick(request->queue->owner->context));
	else
		access_ended(request, range);
}

void race_completed(struct check_request *request)
{
	leave(request, keep);
	vector_completed(request);
}

void race_ended(struct check_request *request)
{
	leave(request, access_ended);
}

/* The child has none of the requests. */
static void after_fork(void)
{
	struct span *span;

	DL_FOREACH (remotes.first, span)
		container_of(span, struct check_range, span)->request = NULL;
	span_set_clear(&remotes);
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}
