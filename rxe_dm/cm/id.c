/* SPDX-License-Identifier: MIT */
/* Ids: the tables that find them, their life, and events about them. */
#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "rxe_dm/cm/id.h"

#define FIRST_TIMERS 64u

/* The tables: of is the part of an id that holds the table's key, its handle (by_TABLE) and
 * whether the table has the id (in_TABLE). DROP takes the id out of a table that holds it. */
#define DROP(id, of, table)                                                                        \
	do {                                                                                       \
		if ((id)->of in_##table)                                                           \
			HASH_DELETE(of by_##table, (id)->cm->by_##table, id);                      \
		(id)->of in_##table = false;                                                       \
	} while (0)

/* Adds an id by a key inside it. True: done. */
#define ADD(id, of, table, key)                                                                    \
	({                                                                                         \
		assert(!(id)->of in_##table);                                                      \
		HASH_ADD(of by_##table, (id)->cm->by_##table, of key, sizeof((id)->of key), id);   \
		(id)->of in_##table = (id)->of by_##table.tbl != NULL;                             \
	})

/* The id that a table has for a key; NULL: none. */
#define FIND(cm, of, table, key)                                                                   \
	({                                                                                         \
		struct cm_id *found_;                                                              \
		HASH_FIND(of by_##table, (cm)->by_##table, &(key), sizeof(key), found_);           \
		found_;                                                                            \
	})

#define ID
#define CONNECTION connection.
#define RESOLUTION resolution.

static struct cm_id *find_comm_id(const struct cm *cm, uint32_t comm_id)
{
	return FIND(cm, ID, comm_id, comm_id);
}

bool cm_table_add_comm_id(struct cm_id *id)
{
	struct cm *cm = id->cm;

	/* Random, so that no other host guesses it. The search ends: there are more numbers than
	 * ids. */
	id->local_comm_id = cm->cfg.ops->random(cm->cfg.host);
	while (id->local_comm_id == 0 || find_comm_id(cm, id->local_comm_id))
		id->local_comm_id++;
	return ADD(id, ID, comm_id, local_comm_id);
}

bool cm_table_add_remote(struct cm_id *id, uint64_t ca_guid, uint32_t comm_id, uint32_t qpn)
{
	struct cm_connection *connection = &id->connection;

	connection->remote = (struct cm_remote_key){ .ca_guid = ca_guid, .number = comm_id };
	connection->remote_qp = (struct cm_remote_key){ .ca_guid = ca_guid, .number = qpn };
	if (!ADD(id, CONNECTION, remote, remote))
		return false;
	if (ADD(id, CONNECTION, remote_qp, remote_qp))
		return true;
	DROP(id, CONNECTION, remote);
	return false;
}

bool cm_table_add_request(struct cm_id *id, const struct gid *gid, uint32_t request_id)
{
	id->resolution.request = (struct cm_request_key){ .gid = *gid, .request_id = request_id };
	return ADD(id, RESOLUTION, request, request);
}

void cm_table_drop_remote_qp(struct cm_id *id)
{
	DROP(id, CONNECTION, remote_qp);
}

static struct cm_id *find_kind(const struct cm *cm, uint32_t comm_id, enum cm_kind kind)
{
	struct cm_id *id = find_comm_id(cm, comm_id);

	return id && id->kind == kind ? id : NULL;
}

struct cm_id *cm_find_connection(const struct cm *cm, uint32_t comm_id)
{
	return find_kind(cm, comm_id, CM_KIND_CONNECTION);
}

struct cm_id *cm_find_resolution(const struct cm *cm, uint32_t comm_id)
{
	return find_kind(cm, comm_id, CM_KIND_RESOLUTION);
}

uint32_t cm_id_remote_comm_id(const struct cm_id *id)
{
	return id->kind == CM_KIND_CONNECTION && id->connection.in_remote
		       ? (uint32_t)id->connection.remote.number
		       : 0;
}

struct cm_id *cm_find_pair(const struct cm *cm, uint32_t local, uint32_t remote)
{
	struct cm_id *id = cm_find_connection(cm, local);

	return id && id->connection.in_remote && id->connection.remote.number == remote ? id : NULL;
}

struct cm_id *cm_find_remote(const struct cm *cm, uint64_t ca_guid, uint32_t comm_id)
{
	const struct cm_remote_key key = { .ca_guid = ca_guid, .number = comm_id };

	return FIND(cm, CONNECTION, remote, key);
}

struct cm_id *cm_find_remote_qp(const struct cm *cm, uint64_t ca_guid, uint32_t qpn)
{
	const struct cm_remote_key key = { .ca_guid = ca_guid, .number = qpn };

	return FIND(cm, CONNECTION, remote_qp, key);
}

struct cm_id *cm_find_request(const struct cm *cm, const struct gid *gid, uint32_t request_id)
{
	const struct cm_request_key key = { .gid = *gid, .request_id = request_id };

	return FIND(cm, RESOLUTION, request, key);
}

/* A place in the heap for one id more. */
static bool reserve_timer(struct cm *cm)
{
	const uint32_t max = cm->max_timers ? 2 * cm->max_timers : FIRST_TIMERS;
	struct heap_entry **timers;

	if (cm->num_ids < cm->max_timers)
		return true;
	timers = realloc(cm->timers.entries, max * sizeof(struct heap_entry *));
	if (!timers)
		return false;
	cm->timers.entries = timers;
	cm->max_timers = max;
	return true;
}

void cm_timer_set(struct cm_id *id, uint64_t deadline_ns)
{
	assert(id->cm->num_ids <= id->cm->max_timers);
	heap_set(&id->cm->timers, &id->timer, deadline_ns);
}

void cm_timer_stop(struct cm_id *id)
{
	heap_set(&id->cm->timers, &id->timer, UINT64_MAX);
}

struct cm_id *cm_timer_first(const struct cm *cm)
{
	return cm->timers.count ? container_of(cm->timers.entries[0], struct cm_id, timer) : NULL;
}

struct cm_id *cm_id_create(struct cm *cm, void *user)
{
	struct cm_id *id;

	if (cm->num_ids >= cm->cfg.max_ids || !reserve_timer(cm))
		return NULL;
	id = calloc(1, sizeof(*id));
	if (!id)
		return NULL;
	id->cm = cm;
	id->user = user;
	heap_entry_init(&id->timer);
	DL_APPEND(cm->ids, id);
	cm->num_ids++;
	return id;
}

void cm_id_set_kind(struct cm_id *id, enum cm_kind kind)
{
	id->kind = kind;
	if (kind == CM_KIND_LISTENER)
		id->listener = (struct cm_listener){ 0 };
	else if (kind == CM_KIND_CONNECTION)
		id->connection = (struct cm_connection){ 0 };
	else
		id->resolution = (struct cm_resolution){ 0 };
}

uint64_t cm_id_own_tid(const struct cm_id *id)
{
	return (uint64_t)id->cm->tid_high << 32 | id->local_comm_id;
}

void cm_id_clear(struct cm_id *id)
{
	cm_timer_stop(id);
	DROP(id, ID, comm_id);
	if (id->kind == CM_KIND_CONNECTION) {
		DROP(id, CONNECTION, remote);
		DROP(id, CONNECTION, remote_qp);
		id->connection.remote_qp.number = 0;
	} else if (id->kind == CM_KIND_RESOLUTION) {
		DROP(id, RESOLUTION, request);
	}
	id->retry.has_last = false;
}

void cm_id_free(struct cm_id *id)
{
	struct cm *cm = id->cm;

	assert(id->state != CM_STATE_LISTEN);
	cm_id_clear(id);
	DL_DELETE(cm->ids, id);
	assert(cm->num_ids > 0);
	cm->num_ids--;
	free(id);
}

void cm_id_settle(struct cm_id *id)
{
	if (id->is_orphan && id->state == CM_STATE_IDLE)
		cm_id_free(id);
}

void cm_id_report(struct cm_id *id, enum cm_event_type type, const struct cm_path *path,
		  const struct cm_msg *msg)
{
	const struct cm_path own = id->path;
	const struct cm_event event = {
		.type = type,
		.id = id,
		.user = id->user,
		.path = path ? path : &own,
		.msg = msg,
	};

	if (id->is_orphan)
		cm_id_settle(id);
	else
		id->cm->cfg.ops->event(id->cm->cfg.host, &event);
}

void cm_id_report_request(struct cm_id *id, struct cm_id *listener, enum cm_event_type type,
			  const struct cm_path *path, const struct cm_msg *msg)
{
	const struct cm_event event = {
		.type = type,
		.id = id,
		.listener = listener,
		.user = listener->user,
		.path = path,
		.msg = msg,
	};

	id->cm->cfg.ops->event(id->cm->cfg.host, &event);
}

void cm_id_set_user(struct cm_id *id, void *user)
{
	id->user = user;
}

enum cm_state cm_id_state(const struct cm_id *id)
{
	return id->state;
}

void cm_id_info(const struct cm_id *id, struct cm_id_info *ret)
{
	*ret = (struct cm_id_info){
		.local_comm_id = id->in_comm_id ? id->local_comm_id : 0,
		.remote_comm_id = cm_id_remote_comm_id(id),
		.path = id->path,
	};
	if (id->kind != CM_KIND_CONNECTION)
		return;
	ret->local_qpn = id->connection.local_qpn;
	ret->remote_qpn = (uint32_t)id->connection.remote_qp.number;
}
