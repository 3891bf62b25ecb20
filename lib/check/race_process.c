// SPDX-License-Identifier: MIT
/* Compares a request with what other processes have published. */
#include "lib/check/race_process.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/check/access.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "lib/check/vector.h"

struct look {
	const struct check_request *request;
	const struct check_range *range;
	bool is_remote, writes;
};

static const char *verb_of(bool is_remote, bool writes)
{
	if (is_remote)
		return writes ? "writes to" : "reads";
	return writes ? "gets data in" : "sends from";
}

static enum check check_of(const struct look *look, const struct access *other)
{
	return look->is_remote && (other->at.flags & CTL_ACCESS_REMOTE) ? CHECK_RACE_REMOTE
									: CHECK_RACE_LOCAL;
}

static void report(const struct look *look, enum check check, const char *what,
		   const struct access *other)
{
	const struct check_object *region =
		look->range->region ? look->range->region->object : NULL;
	const uint64_t first = look->range->span.start, last = look->range->span.end;
	const uint64_t start = first > other->at.start ? first : other->at.start;
	const uint64_t end = last < other->at.end ? last : other->at.end;
	const bool other_is_remote = other->at.flags & CTL_ACCESS_REMOTE;
	const struct check_stack stack = access_stack(other);
	char label[96];

	access_label(other, label, sizeof(label));
	check_report(check,
		     (struct check_where[]){
			     { "posted here", &look->request->posted },
			     { what, &stack },
			     { "region registered here", region ? &region->made : NULL } },
		     region ? 3 : 2,
		     "%s, wr_id 0x%" PRIx64 " %s %" PRIu64 " bytes%s at 0x%" PRIx64
		     " that %s, wr_id 0x%" PRIx64 " %s, and nothing orders the two",
		     look->request->queue->owner->label, look->request->wr_id,
		     verb_of(look->is_remote, look->writes), end - start,
		     look->range->dm ? " of device memory" : "", start, label, other->at.wr_id,
		     verb_of(other_is_remote, other->at.flags & CTL_ACCESS_WRITES));
}

/* The process that posts now may have polled memory that the other request writes: here, where this
 * process has the bytes, or what the peer of the other one writes from them. */
static bool may_have_polled(const struct look *look, const struct access *other)
{
	if (other->at.flags & CTL_ACCESS_REMOTE)
		return !look->is_remote && access_is_flag(other);
	return (other->at.flags & CTL_ACCESS_RDMA_WRITE) &&
	       access_is_of_peer(look->request->queue->owner->context, other);
}

static void visit(const struct access *other, void *arg)
{
	const struct look *look = arg;
	const bool other_writes = other->at.flags & CTL_ACCESS_WRITES;

	if ((other->at.flags & CTL_ACCESS_ENDED) || (!look->writes && !other_writes) ||
	    access_may_be_known(other) || may_have_polled(look, other))
		return;
	if (look->request->is_atomic && look->is_remote && (other->at.flags & CTL_ACCESS_ATOMIC) &&
	    (other->at.flags & CTL_ACCESS_REMOTE))
		return;
	if (!atomic_load(&other->at.done))
		report(look, check_of(look, other), "outstanding, posted by the other process here",
		       other);
	else if (!vector_is_before(look->request->queue->owner->context, other))
		report(look, CHECK_RACE_HISTORY, "posted by the other process here", other);
}

void race_process_look(const struct check_request *request, const struct check_range *range)
{
	struct look look = {
		.request = request,
		.range = range,
		.is_remote = range == &request->remote,
	};

	look.writes = look.is_remote ? request->remote_writes : request->writes;
	access_each(request->queue->owner->context,
		    &(struct access_place){ range->owner, range->owner_epoch, range->span.start,
					    range->span.end, range->dm },
		    visit, &look);
}

static bool is_outstanding(const struct access *other)
{
	return (other->at.flags & CTL_ACCESS_REMOTE) && !atomic_load(&other->at.done) &&
	       !access_is_flag(other) && !access_may_be_known(other);
}

static void visit_rival(const struct access *other, void *arg)
{
	struct check_range *range = arg;

	if (range->rival || !is_outstanding(other))
		return;
	range->rival = other->slot;
	range->rival_access = atomic_load(&other->at.number);
}

void race_process_receiving(struct check_request *request)
{
	struct ibv_context *context = request->queue->owner->context;

	for (uint32_t i = 0; i < request->num_ranges && access_is_shared(context); i++) {
		struct check_range *range = &request->range[i];

		if (range->request && access_is_open(range->region))
			access_each(context,
				    &(struct access_place){ .start = range->span.start,
							    .end = range->span.end },
				    visit_rival, range);
	}
}

/* The first len bytes of the range were written. */
static void look_at_rival(const struct check_request *request, const struct check_range *range,
			  uint32_t qpn, uint64_t len)
{
	const struct look look = { .request = request, .range = range, .writes = true };
	struct access other;

	if (access_find(request->queue->owner->context, range->rival, range->rival_access,
			&other) &&
	    other.at.dest_qpn != qpn && is_outstanding(&other) &&
	    other.at.start < range->span.start + len && range->span.start < other.at.end)
		report(&look, CHECK_RACE_LOCAL, "outstanding, posted by the other process here",
		       &other);
}

void race_process_received(const struct check_request *request, uint32_t qpn, uint32_t len)
{
	uint64_t left = len;

	for (uint32_t i = 0; i < request->num_ranges && left > 0; i++) {
		const struct check_range *range = &request->range[i];
		const uint64_t here = range->len < left ? range->len : left;

		if (range->rival && range->request)
			look_at_rival(request, range, qpn, here);
		left -= here;
	}
}
