// SPDX-License-Identifier: MIT
/* Ids by their tokens, and the events that count for them. */
#include "lib/rdmacm/id.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/rdmacm/server.h"
#include "lib/refusal/refusal.h"

static pthread_mutex_t ids_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcm_id *ids; /* by token */
static struct rcm_id *not_removed;

static_assert(offsetof(struct rcm_id, base) == 0, "NULL stays NULL");

struct rcm_id *rcm_id(struct rdma_cm_id *base)
{
	return container_of(base, struct rcm_id, base);
}

uint64_t rcm_token(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add(&last, 1) + 1;
}

/* A child's first request makes a connection of its own (lib/control/connection.c), on which it has
 * neither channels nor ids. Locks may be held by threads that the child does not have. */
static void in_child(void)
{
	rcm_server_forked();
	pthread_mutex_init(&ids_lock, NULL);
	ids = not_removed = NULL;
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

int rcm_id_add(struct rcm_id *id)
{
	pthread_mutex_lock(&ids_lock);
	HASH_ADD(hh, ids, token, sizeof(id->token), id);
	if (id->hh.tbl)
		DL_APPEND(not_removed, id);
	pthread_mutex_unlock(&ids_lock);
	return id->hh.tbl ? 0 : refuse(WHY_NO_MEMORY, "the id");
}

void rcm_id_remove(struct rcm_id *id)
{
	pthread_mutex_lock(&ids_lock);
	if (id->hh.tbl) {
		HASH_DELETE(hh, ids, id);
		if (!id->is_removed)
			DL_DELETE(not_removed, id);
	}
	pthread_mutex_unlock(&ids_lock);
}

/* The membership of an event, which counts for it from now on, or NULL. Under the id's lock. */
static struct rcm_member *claim_member(struct rcm_id *id, uint64_t token)
{
	struct rcm_member *member;

	LL_FOREACH (id->members, member) {
		if (member->token == token) {
			member->events.claimed++;
			return member;
		}
	}
	return NULL;
}

bool rcm_id_claim(const struct ctl_cm_event *event, struct rcm_claim *ret)
{
	struct rcm_id *id;
	bool is_known = false;

	*ret = (struct rcm_claim){ 0 };
	pthread_mutex_lock(&ids_lock);
	HASH_FIND(hh, ids, &event->token, sizeof(event->token), id);
	if (id) {
		pthread_mutex_lock(&id->lock);
		ret->id = id;
		ret->member = event->mc_token ? claim_member(id, event->mc_token) : NULL;
		is_known = !event->mc_token || ret->member;
		id->events.claimed += is_known;
		id->received++;
		pthread_mutex_unlock(&id->lock);
	}
	pthread_mutex_unlock(&ids_lock);
	return is_known;
}

bool rcm_id_claim_removal(const struct rdma_event_channel *channel, struct rcm_claim *ret,
			  bool *ret_left)
{
	struct rcm_id *id = NULL, *other;

	*ret_left = false;
	pthread_mutex_lock(&ids_lock);
	DL_FOREACH (not_removed, other) {
		if (other->base.channel != channel)
			continue;
		if (!id && other->device)
			id = other;
		else
			*ret_left = true;
		if (id && *ret_left)
			break;
	}
	if (id) {
		DL_DELETE(not_removed, id);
		pthread_mutex_lock(&id->lock);
		id->is_removed = true;
		id->events.claimed++;
		pthread_mutex_unlock(&id->lock);
		*ret = (struct rcm_claim){ .id = id };
	}
	pthread_mutex_unlock(&ids_lock);
	return id != NULL;
}

void rcm_id_ack(const struct rcm_claim *claim)
{
	pthread_mutex_lock(&claim->id->lock);
	if (claim->member)
		claim->member->events.acked++;
	claim->id->events.acked++;
	pthread_cond_broadcast(&claim->id->acknowledged);
	pthread_mutex_unlock(&claim->id->lock);
}

void rcm_id_await_acks(struct rcm_id *id, const struct rcm_events *events)
{
	pthread_mutex_lock(&id->lock);
	while (events->acked != events->claimed)
		pthread_cond_wait(&id->acknowledged, &id->lock);
	pthread_mutex_unlock(&id->lock);
}
