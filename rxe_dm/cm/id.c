/* SPDX-License-Identifier: MIT */
/* Ids: the tables that find them, their life, and events about them. */
#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "rxe_dm/cm/id.h"

/* Takes an id out of a table that holds it. */
#define DROP(id, table)                                                                            \
	do {                                                                                       \
		if ((id)->in_##table)                                                              \
			HASH_DELETE(by_##table, (id)->cm->by_##table, id);                         \
		(id)->in_##table = false;                                                          \
	} while (0)

/* Adds an id to a table by a key inside it. True: done. */
#define ADD(id, table, key)                                                                        \
	({                                                                                         \
		assert(!(id)->in_##table);                                                         \
		HASH_ADD(by_##table, (id)->cm->by_##table, key, sizeof((id)->key), id);            \
		(id)->in_##table = (id)->by_##table.tbl != NULL;                                   \
	})

/* The id that a table has for a key; NULL: none. */
#define FIND(cm, table, key)                                                                       \
	({                                                                                         \
		struct cm_id *found_;                                                              \
		HASH_FIND(by_##table, (cm)->by_##table, &(key), sizeof(key), found_);              \
		found_;                                                                            \
	})

bool cm_table_add_comm_id(struct cm_id *id)
{
	struct cm *cm = id->cm;

	/* Random, so that nobody guesses it. The search ends: there are more numbers than ids. */
	id->local_comm_id = cm->cfg.ops->random(cm->cfg.host);
	while (id->local_comm_id == 0 || cm_find_comm_id(cm, id->local_comm_id))
		id->local_comm_id++;
	return ADD(id, comm_id, local_comm_id);
}

bool cm_table_add_remote(struct cm_id *id, uint64_t ca_guid, uint32_t comm_id, uint32_t qpn)
{
	id->remote = (struct cm_remote_key){ .ca_guid = ca_guid, .number = comm_id };
	id->remote_qp = (struct cm_remote_key){ .ca_guid = ca_guid, .number = qpn };
	if (!ADD(id, remote, remote))
		return false;
	if (ADD(id, remote_qp, remote_qp))
		return true;
	DROP(id, remote);
	return false;
}

bool cm_table_add_request(struct cm_id *id, const struct gid *gid, uint32_t request_id)
{
	id->request = (struct cm_request_key){ .gid = *gid, .request_id = request_id };
	return ADD(id, request, request);
}

void cm_table_drop_remote_qp(struct cm_id *id)
{
	DROP(id, remote_qp);
}

struct cm_id *cm_find_comm_id(const struct cm *cm, uint32_t comm_id)
{
	return FIND(cm, comm_id, comm_id);
}

struct cm_id *cm_find_pair(const struct cm *cm, uint32_t local, uint32_t remote)
{
	struct cm_id *id = cm_find_comm_id(cm, local);

	return id && id->in_remote && id->remote.number == remote ? id : NULL;
}

struct cm_id *cm_find_remote(const struct cm *cm, uint64_t ca_guid, uint32_t comm_id)
{
	const struct cm_remote_key key = { .ca_guid = ca_guid, .number = comm_id };

	return FIND(cm, remote, key);
}

struct cm_id *cm_find_remote_qp(const struct cm *cm, uint64_t ca_guid, uint32_t qpn)
{
	const struct cm_remote_key key = { .ca_guid = ca_guid, .number = qpn };

	return FIND(cm, remote_qp, key);
}

struct cm_id *cm_find_request(const struct cm *cm, const struct gid *gid, uint32_t request_id)
{
	const struct cm_request_key key = { .gid = *gid, .request_id = request_id };

	return FIND(cm, request, key);
}

struct cm_id *cm_id_create(struct cm *cm, void *user)
{
	struct cm_id *id;

	if (cm->num_ids >= cm->cfg.max_ids || !cm_timer_reserve(cm))
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

void cm_id_enter_idle(struct cm_id *id)
{
	cm_timer_stop(id);
	DROP(id, comm_id);
	DROP(id, remote);
	DROP(id, remote_qp);
	DROP(id, request);
	id->remote_qp.number = 0;
	id->refused_comm_id = 0;
	id->reject_reason = 0;
	id->is_passive = false;
	id->has_last = false;
	id->state = CM_STATE_IDLE;
}

void cm_id_forget(struct cm_id *id)
{
	struct cm *cm = id->cm;

	if (id->state == CM_STATE_LISTEN)
		cm_listen_end(id);
	cm_id_enter_idle(id);
	DL_DELETE(cm->ids, id);
	assert(cm->num_ids > 0);
	cm->num_ids--;
	free(id);
}

void cm_id_settle(struct cm_id *id)
{
	if (id->is_orphan && id->state == CM_STATE_IDLE)
		cm_id_forget(id);
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
		.remote_comm_id = id->in_remote ? (uint32_t)id->remote.number : 0,
		.local_qpn = id->local_qpn,
		.remote_qpn = (uint32_t)id->remote_qp.number,
		.path = id->path,
	};
}
