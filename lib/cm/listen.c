/* SPDX-License-Identifier: MIT */
/* Listeners: a list, since there are few, and only requests for new exchanges look for one. */
#include <errno.h>
#include <utlist.h>

#include "lib/cm/id.h"

static bool overlap(const struct cm_id *a, const struct cm_id *b)
{
	return a->service_id == b->service_id &&
	       (!a->has_addr || !b->has_addr || gid_equal(&a->addr, &b->addr)) &&
	       (a->device == CM_ANY_DEVICE || b->device == CM_ANY_DEVICE || a->device == b->device);
}

int cm_listen(struct cm_id *id, uint64_t service_id, const struct gid *addr, uint32_t device)
{
	const struct cm_id *other;

	if (id->state != CM_STATE_IDLE)
		return -EINVAL;
	id->service_id = service_id;
	id->device = device;
	id->has_addr = addr != NULL;
	if (addr)
		id->addr = *addr;
	DL_FOREACH2(id->cm->listeners, other, next_listener)
	if (overlap(id, other))
		return -EADDRINUSE;
	DL_APPEND2(id->cm->listeners, id, prev_listener, next_listener);
	id->state = CM_STATE_LISTEN;
	return 0;
}

/* At most one listener fits, since none overlap. */
struct cm_id *cm_listen_find(const struct cm *cm, uint64_t service_id, const struct cm_path *path)
{
	struct cm_id *id;

	DL_FOREACH2(cm->listeners, id, next_listener)
	if (id->service_id == service_id && (!id->has_addr || gid_equal(&id->addr, &path->src)) &&
	    (id->device == CM_ANY_DEVICE || id->device == path->device))
		return id;
	return NULL;
}

void cm_listen_end(struct cm_id *id)
{
	DL_DELETE2(id->cm->listeners, id, prev_listener, next_listener);
	id->state = CM_STATE_IDLE;
}
