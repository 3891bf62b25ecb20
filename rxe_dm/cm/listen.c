/* SPDX-License-Identifier: MIT */
/* Listeners: a table of services, and for each service the listeners at its addresses and devices,
 * none of which overlap. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "rxe_dm/cm/listen.h"
#include "rxe_dm/cm/state.h"

static struct cm_service *find_service(const struct cm *cm, uint64_t service_id)
{
	struct cm_service *service;

	HASH_FIND(hh, cm->services, &service_id, sizeof(service_id), service);
	return service;
}

/* NULL: no memory. */
static struct cm_service *add_service(struct cm *cm, uint64_t service_id)
{
	struct cm_service *service = calloc(1, sizeof(*service));

	if (!service)
		return NULL;
	service->service_id = service_id;
	HASH_ADD(hh, cm->services, service_id, sizeof(service->service_id), service);
	if (service->hh.tbl)
		return service;
	free(service);
	return NULL;
}

static bool overlap(const struct cm_listener *a, const struct cm_listener *b)
{
	return (!a->has_addr || !b->has_addr || gid_equal(&a->addr, &b->addr)) &&
	       (a->device == CM_ANY_DEVICE || b->device == CM_ANY_DEVICE || a->device == b->device);
}

static bool is_in_use(const struct cm_service *service, const struct cm_id *id)
{
	const struct cm_id *other;

	DL_FOREACH2(service->listeners, other, listener.next)
	if (overlap(&id->listener, &other->listener))
		return true;
	return false;
}

int cm_listen(struct cm_id *id, uint64_t service_id, const struct gid *addr, uint32_t device)
{
	struct cm_service *service;

	if (!cm_has_step(id, CM_CALL_LISTEN))
		return -EINVAL;
	cm_id_set_kind(id, CM_KIND_LISTENER);
	id->listener.service_id = service_id;
	id->listener.device = device;
	id->listener.has_addr = addr != NULL;
	if (addr)
		id->listener.addr = *addr;
	service = find_service(id->cm, service_id);
	if (service && is_in_use(service, id))
		return -EADDRINUSE;
	if (!service)
		service = add_service(id->cm, service_id);
	if (!service)
		return -ENOMEM;
	DL_APPEND2(service->listeners, id, listener.prev, listener.next);
	(void)cm_step(id, CM_CALL_LISTEN);
	return 0;
}

/* At most one listener fits, since none overlap. */
struct cm_id *cm_listen_find(const struct cm *cm, uint64_t service_id, const struct cm_path *path)
{
	const struct cm_service *service = find_service(cm, service_id);
	struct cm_id *id;

	if (!service)
		return NULL;
	DL_FOREACH2(service->listeners, id, listener.next)
	if ((!id->listener.has_addr || gid_equal(&id->listener.addr, &path->src)) &&
	    (id->listener.device == CM_ANY_DEVICE || id->listener.device == path->device))
		return id;
	return NULL;
}

struct cm_id *cm_listen_find_at(const struct cm *cm, uint64_t service_id, const struct gid *addr)
{
	const struct cm_service *service = find_service(cm, service_id);
	struct cm_id *id;

	if (!service)
		return NULL;
	DL_FOREACH2(service->listeners, id, listener.next)
	if (!id->listener.has_addr || gid_equal(&id->listener.addr, addr))
		return id;
	return NULL;
}

void cm_listen_end(struct cm_id *id)
{
	struct cm_service *service = find_service(id->cm, id->listener.service_id);

	assert(service);
	DL_DELETE2(service->listeners, id, listener.prev, listener.next);
	(void)cm_step(id, CM_CALL_END);
	if (service->listeners)
		return;
	HASH_DELETE(hh, id->cm->services, service);
	free(service);
}
