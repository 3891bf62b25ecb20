// SPDX-License-Identifier: MIT
/* Resolution of names and addresses for an id, with an event. */
#include <netdb.h>

#include "lib/rdmacm/error.h"
#include "lib/rdmacm/event.h"
#include "lib/rdmacm/finish.h"
#include "lib/refusal/refusal.h"

/* One resolution at a time. False: another one is under way, or its answer was not asked for. */
static bool begin_resolving(struct rcm_id *id)
{
	bool is_free;

	pthread_mutex_lock(&id->lock);
	is_free = !id->is_resolving;
	id->is_resolving = true;
	pthread_mutex_unlock(&id->lock);
	return is_free;
}

/* Ends the resolution and returns its answer. */
static struct rdma_addrinfo *end_resolving(struct rcm_id *id)
{
	struct rdma_addrinfo *info;

	pthread_mutex_lock(&id->lock);
	info = id->resolved;
	id->resolved = NULL;
	id->is_resolving = false;
	pthread_mutex_unlock(&id->lock);
	return info;
}

static int resolve(struct rcm_id *id, const char *node, const char *service,
		   const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *info;
	int err = rdma_getaddrinfo(node, service, hints, &info);

	if (err)
		return err < -1 ? refuse(WHY_CM_NAME, gai_strerror(err)) : rcm_errno();
	pthread_mutex_lock(&id->lock);
	id->resolved = info;
	pthread_mutex_unlock(&id->lock);
	err = rcm_event_add(id, RDMA_CM_EVENT_INTERNAL, 0, 0);
	return err ? err : rcm_id_finish(id);
}

int rdma_resolve_addrinfo(struct rdma_cm_id *base, const char *node, const char *service,
			  const struct rdma_addrinfo *hints)
{
	int err;

	if (!base)
		return rcm_result(refuse(WHY_NULL, "id"));
	if (!begin_resolving(rcm_id(base)))
		return rcm_result(refuse(WHY_CM_RESOLVING));
	err = resolve(rcm_id(base), node, service, hints);
	if (err)
		rdma_freeaddrinfo(end_resolving(rcm_id(base)));
	return rcm_result(err);
}

int rdma_query_addrinfo(struct rdma_cm_id *base, struct rdma_addrinfo **info)
{
	struct rcm_id *id = rcm_id(base);
	bool is_there;

	if (!base || !info)
		return rcm_result(refuse(WHY_NULL, base ? "info" : "id"));
	pthread_mutex_lock(&id->lock);
	is_there = id->resolved != NULL;
	pthread_mutex_unlock(&id->lock);
	if (!is_there)
		return rcm_result(refuse(WHY_CM_NOT_RESOLVED));
	*info = end_resolving(id);
	return 0;
}
