// SPDX-License-Identifier: MIT
/* Looks for what other processes have published about memory that ends. */
#include "lib/check/mem_peer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/check/access.h"
#include "lib/check/object.h"
#include "lib/check/queue.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "lib/check/span.h"
#include "lib/control/shared.h"

struct search {
	uint32_t key;
	bool notes, is_found;
	struct access found;
};

static void visit(const struct access *other, void *arg)
{
	const bool is_note = other->at.flags & CTL_ACCESS_ENDED;
	struct search *search = arg;

	if (search->is_found || atomic_load(&other->at.done) || is_note != search->notes ||
	    other->at.key != search->key)
		return;
	if (!is_note && (!(other->at.flags & CTL_ACCESS_REMOTE) || access_is_flag(other) ||
			 access_may_be_known(other)))
		return;
	search->is_found = true;
	search->found = *other;
}

static void find(const struct check_region *region, uint64_t start, uint64_t end,
		 struct search *search)
{
	struct ibv_context *context = region->object->context;

	*search = (struct search){ .key = (uint32_t)region->key.lkey };
	if (access_is_open(region) && access_is_shared(context))
		access_each(context, &(struct access_place){ .start = start, .end = end }, visit,
			    search);
}

void mem_peer_ended(const struct check_region *region, const struct span *ended, enum watch_end how)
{
	static const char *const here[] = { [WATCH_FREED] = "freed here",
					    [WATCH_UNMAPPED] = "unmapped here",
					    [WATCH_MOVED] = "moved here" };
	struct check_stack stack;
	struct search search;
	char label[96];

	find(region, ended->start, ended->end, &search);
	if (!search.is_found)
		return;
	stack = access_stack(&search.found);
	access_label(&search.found, label, sizeof(label));
	check_report(CHECK_MEM_STALE,
		     (struct check_where[]){ { here[how], NULL },
					     { "the peer's request was posted here", &stack },
					     { "region registered here", &region->object->made } },
		     3,
		     "memory of %s ended while %s, wr_id 0x%" PRIx64 " accesses %" PRIu64
		     " bytes of it at 0x%" PRIx64,
		     region->object->label, label, search.found.at.wr_id,
		     search.found.at.end - search.found.at.start, search.found.at.start);
}

void mem_peer_deregistered(const struct check_object *object)
{
	const struct check_region *region = object->part;
	const uintptr_t start = (uintptr_t)region->addr;
	struct check_stack stack;
	struct search search;
	char label[96];

	if (!start || !region->len || region->len > UINTPTR_MAX - start)
		return;
	find(region, start, start + region->len, &search);
	if (!search.is_found)
		return;
	stack = access_stack(&search.found);
	access_label(&search.found, label, sizeof(label));
	check_report(CHECK_MEM_REMOTE,
		     (struct check_where[]){ { "deregistered here", NULL },
					     { "the peer's request was posted here", &stack },
					     { "region registered here", &object->made } },
		     3,
		     "ibv_dereg_mr: %s is accessed by an outstanding request of the peer %s, wr_id "
		     "0x%" PRIx64,
		     object->label, label, search.found.at.wr_id);
}

/* For a request to memory of another process. */
static void look(const struct check_request *request)
{
	const struct check_range *remote = &request->remote;
	struct search search = { .key = remote->owner_key, .notes = true };
	struct check_stack stack;

	access_each(request->queue->owner->context,
		    &(struct access_place){ remote->owner, remote->owner_epoch, remote->span.start,
					    remote->span.end, 0 },
		    visit, &search);
	if (!search.is_found)
		return;
	stack = access_stack(&search.found);
	check_report(CHECK_MEM_STALE,
		     (struct check_where[]){ { "posted here", &request->posted },
					     { "memory ended in the other process here", &stack } },
		     2,
		     "%s, wr_id 0x%" PRIx64 ": the remote buffer at 0x%" PRIxPTR " (%" PRIu64
		     " bytes) is in memory of %.15s (process %d) that ended while it is registered",
		     request->queue->owner->label, request->wr_id, remote->span.start, remote->len,
		     remote->owner->comm, (int)atomic_load(&remote->owner->pid));
}

void mem_peer_posting(const struct check_request *request)
{
	if (request->remote.owner)
		look(request);
}
