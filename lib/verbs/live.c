// SPDX-License-Identifier: MIT
/* The table of live objects, a uthash by address under one lock. */
#include "lib/verbs/live.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "emu/limits.h"
#include "lib/abi/newer.h"

/* Running out of memory fails the addition, not the process. */
#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

/* Limits of the kinds that only this process counts; 0: no limit here. Under the lock. */
static uint32_t limits[VB_KINDS] = {
	[VB_KIND_AH] = RXE_MAX_AH,
	[VB_KIND_CQ] = RXE_MAX_CQ,
	[VB_KIND_SRQ] = RXE_MAX_SRQ,
	[VB_KIND_COMP_CNTR] = RXE_MAX_COMP_CNTR,
	[VB_KIND_WQ_TABLE] = RXE_MAX_WQ_TABLE,
	[VB_KIND_FLOW] = RXE_MAX_FLOW,
	[VB_KIND_COUNTERS] = RXE_MAX_COUNTERS,
};

/* Where the structure that programs see has its handle; 0: it has none. */
static const size_t handle_at[VB_KINDS] = {
	[VB_KIND_PD] = offsetof(struct ibv_pd, handle),
	[VB_KIND_MR] = offsetof(struct ibv_mr, handle),
	[VB_KIND_DM] = offsetof(struct ibv_dm_65, handle),
	[VB_KIND_AH] = offsetof(struct ibv_ah, handle),
	[VB_KIND_CQ] = offsetof(struct ibv_cq, handle),
	[VB_KIND_QP] = offsetof(struct ibv_qp, handle),
	[VB_KIND_SRQ] = offsetof(struct ibv_srq, handle),
	[VB_KIND_MW] = offsetof(struct ibv_mw, handle),
	[VB_KIND_COMP_CNTR] = offsetof(struct ibv_comp_cntr, handle),
	[VB_KIND_WQ] = offsetof(struct ibv_wq, handle),
};

struct entry {
	const void *object;
	enum vb_kind kind;
	uint32_t forks;	 /* value of forks_seen when the object was added */
	uint32_t handle; /* of a kind in handle_at */
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table;
static uint32_t count[VB_KINDS];
static uint32_t forks_seen; /* fork() calls between the first process and this one */

static struct entry *find(const void *object)
{
	struct entry *e;

	HASH_FIND_PTR(table, &object, e);
	return e;
}

static uint32_t *handle_of(const struct entry *e)
{
	return (uint32_t *)((uintptr_t)e->object + handle_at[e->kind]);
}

static bool keeps_handle(const struct entry *e)
{
	return !handle_at[e->kind] || *handle_of(e) == e->handle;
}

static void drop(struct entry *e)
{
	count[e->kind]--;
	HASH_DEL(table, e);
	free(e);
}

static bool add_locked(const void *object, enum vb_kind kind)
{
	struct entry *e = find(object);

	if (e)
		drop(e);
	if (limits[kind] && count[kind] >= limits[kind])
		return false;
	e = calloc(1, sizeof(*e));
	if (!e)
		return false;
	e->object = object;
	e->kind = kind;
	e->forks = forks_seen;
	e->handle = handle_at[kind] ? *handle_of(e) : 0;
	HASH_ADD_PTR(table, object, e);
	if (!e->hh.tbl) {
		free(e);
		return false;
	}
	count[kind]++;
	return true;
}

void vb_live_limit(enum vb_kind kind, uint32_t max)
{
	pthread_mutex_lock(&lock);
	limits[kind] = max;
	pthread_mutex_unlock(&lock);
}

bool vb_live_add(const void *object, enum vb_kind kind)
{
	bool added;

	pthread_mutex_lock(&lock);
	added = add_locked(object, kind);
	pthread_mutex_unlock(&lock);
	return added;
}

void vb_live_numbered(const void *object)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(object);
	if (e && handle_at[e->kind])
		e->handle = *handle_of(e);
	pthread_mutex_unlock(&lock);
}

bool vb_live_is(const void *object, enum vb_kind kind)
{
	const struct entry *e;
	bool is;

	pthread_mutex_lock(&lock);
	e = find(object);
	is = e && e->kind == kind && keeps_handle(e);
	pthread_mutex_unlock(&lock);
	return is;
}

bool vb_live_is_inherited(const void *object)
{
	const struct entry *e;
	bool inherited;

	pthread_mutex_lock(&lock);
	e = find(object);
	inherited = e && e->forks != forks_seen;
	pthread_mutex_unlock(&lock);
	return inherited;
}

bool vb_live_take(const void *object, enum vb_kind kind)
{
	struct entry *e;
	bool taken;

	pthread_mutex_lock(&lock);
	e = find(object);
	taken = e && e->kind == kind;
	if (taken)
		drop(e);
	pthread_mutex_unlock(&lock);
	return taken;
}

static bool belongs(const struct entry *e, const struct ibv_context *context)
{
	return e->kind != VB_KIND_CONTEXT && *(struct ibv_context *const *)e->object == context;
}

void *vb_live_any(const struct ibv_context *context, enum vb_kind kind)
{
	const void *object = NULL;

	pthread_mutex_lock(&lock);
	for (struct entry *e = table; e && !object; e = e->hh.next) {
		if (e->kind != kind || !belongs(e, context))
			continue;
		object = e->object;
		if (handle_at[kind])
			*handle_of(e) = e->handle;
	}
	pthread_mutex_unlock(&lock);
	return (void *)(uintptr_t)object;
}

void vb_live_remove_all(const struct ibv_context *context)
{
	struct entry *e, *next;

	pthread_mutex_lock(&lock);
	HASH_ITER (hh, table, e, next) {
		if (belongs(e, context))
			drop(e);
	}
	pthread_mutex_unlock(&lock);
}

void vb_live_fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

void vb_live_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

void vb_live_fork_child(void)
{
	forks_seen++;
	pthread_mutex_unlock(&lock);
}
