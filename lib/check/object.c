// SPDX-License-Identifier: MIT
/* The table of objects, and the quarantine. */
#include "lib/check/object.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "lib/abi/newer.h"
#include "lib/check/report.h"

struct deferred_free {
	struct deferred_free *next;
	void *memory;
};

static struct check_object *objects;	/* uthash, by address */
static struct check_object *quarantine; /* utlist */
static uint32_t num_quarantined;
static uint32_t num_made[OBJECT_KINDS];

static __thread bool deferring;
static __thread struct deferred_free *deferred;

static const char *const kind_names[OBJECT_KINDS] = {
	[VB_KIND_CONTEXT] = "context",
	[VB_KIND_FLOW] = "flow",
	[VB_KIND_COUNTERS] = "counters",
	[VB_KIND_QP] = "QP",
	[VB_KIND_WQ_TABLE] = "WQ table",
	[VB_KIND_WQ] = "WQ",
	[VB_KIND_SRQ] = "SRQ",
	[VB_KIND_XRCD] = "XRC domain",
	[VB_KIND_CQ] = "CQ",
	[VB_KIND_CHANNEL] = "completion channel",
	[VB_KIND_AH] = "AH",
	[VB_KIND_MW] = "MW",
	[VB_KIND_COMP_CNTR] = "completion counter",
	[VB_KIND_MR] = "MR",
	[VB_KIND_PD] = "PD",
	[VB_KIND_TD] = "thread domain",
	[VB_KIND_DM] = "DM",
	[VB_KIND_DMAH] = "DMAH",
	[VB_KIND_BUF] = "buffer",
	[OBJECT_CM_ID] = "rdma_cm_id",
	[OBJECT_CM_CHANNEL] = "event channel",
};

/* Kinds whose structure has the handle that refusals and `rxe_dm show` name. */
static const size_t handle_at[OBJECT_KINDS] = {
	[VB_KIND_PD] = offsetof(struct ibv_pd, handle),
	[VB_KIND_AH] = offsetof(struct ibv_ah, handle),
	[VB_KIND_CQ] = offsetof(struct ibv_cq, handle),
	[VB_KIND_MW] = offsetof(struct ibv_mw, handle),
	[VB_KIND_SRQ] = offsetof(struct ibv_srq, handle),
	[VB_KIND_WQ] = offsetof(struct ibv_wq, handle),
};

/* The handle, or a count for kinds without one. */
static uint32_t number_of(const void *address, enum vb_kind kind)
{
	const uint32_t made = ++num_made[kind];

	return handle_at[kind] ? *(const uint32_t *)((uintptr_t)address + handle_at[kind]) : made;
}

void object_label(struct check_object *object, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(object->label, sizeof(object->label), format, args);
	va_end(args);
}

struct check_object *object_find(const void *address)
{
	struct check_object *found;

	HASH_FIND_PTR(objects, &address, found);
	return found;
}

static void forget(struct check_object *object)
{
	HASH_DEL(objects, object);
	if (object->dead) {
		DL_DELETE(quarantine, object);
		num_quarantined--;
	}
	object_free_deferred(object->memory);
	object->free_part(object->part);
	free(object);
}

struct check_object *object_made(const void *address, enum vb_kind kind,
				 struct ibv_context *context)
{
	struct check_object *object = object_find(address);

	/* An end that was not seen: other tables may name what the checks know of it. */
	if (object && !object->dead)
		HASH_DEL(objects, object);
	else if (object)
		forget(object);
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->address = address;
	object->kind = kind;
	object->context = context;
	object->free_part = free;
	object_label(object, "%s %u", kind_names[kind], number_of(address, kind));
	check_stack_take(&object->made);
	HASH_ADD_PTR(objects, address, object);
	return object;
}

static void report_dead(const struct check_object *object, enum check check, const char *verb)
{
	const struct check_where where[] = {
		{ "used here", NULL },
		{ "destroyed here", &object->ended },
		{ "made here", &object->made },
	};

	check_report(check, where, 3, "%s: %s was destroyed before", verb, object->label);
}

bool object_is_dead(const void *address, enum vb_kind kind, const char *verb)
{
	const struct check_object *object = address ? object_find(address) : NULL;

	if (!object || !object->dead || object->kind != kind)
		return false;
	report_dead(object, CHECK_LIFE_USE_AFTER, verb);
	return true;
}

struct check_object *object_used(const void *address, enum vb_kind kind, const char *verb)
{
	struct check_object *object;

	if (!address || object_is_dead(address, kind, verb))
		return NULL;
	object = object_find(address);
	return object && object->kind == kind ? object : NULL;
}

struct check_object *object_ending(const void *address, enum vb_kind kind, const char *verb)
{
	struct check_object *object = address ? object_find(address) : NULL;

	if (!object || object->kind != kind)
		return NULL;
	if (!object->dead)
		return object;
	report_dead(object, CHECK_LIFE_TWICE, verb);
	return NULL;
}

void object_ended(struct check_object *object, struct deferred_free *memory)
{
	object->dead = true;
	object->memory = memory;
	check_stack_take(&object->ended);
	DL_APPEND(quarantine, object);
	if (++num_quarantined > OBJECT_QUARANTINE)
		forget(quarantine);
}

bool object_is_refused(const void *address, enum vb_kind kind, const char *verb,
		       struct check_object **ret)
{
	struct check_object *object = object_find(address);

	*ret = object && object->kind == kind ? object : NULL;
	if (!*ret)
		return false;
	if (object->inherited)
		check_report(CHECK_LIFE_FORKED,
			     (struct check_where[]){ { "used here", NULL },
						     { "made here", &object->made } },
			     2, "%s: %s was made by the parent of this process, before fork()",
			     verb, object->label);
	if (object->dead)
		report_dead(object, CHECK_LIFE_USE_AFTER, verb);
	return object->dead;
}

static void inherit(void)
{
	struct check_object *object, *next;

	HASH_ITER (hh, objects, object, next)
		object->inherited = true;
}

__attribute__((constructor)) static void handle_fork(void)
{
	pthread_atfork(NULL, NULL, inherit);
}

void object_each(const struct ibv_context *context,
		 void (*visit)(struct check_object *object, void *arg), void *arg)
{
	struct check_object *object, *next;

	HASH_ITER (hh, objects, object, next) {
		if (!object->dead && !object->inherited && (!context || object->context == context))
			visit(object, arg);
	}
}

void object_defer_begin(void)
{
	deferring = true;
	deferred = NULL;
}

struct deferred_free *object_defer_end(void)
{
	struct deferred_free *ret = deferred;

	deferring = false;
	deferred = NULL;
	return ret;
}

void object_free_deferred(struct deferred_free *memory)
{
	struct deferred_free *at, *next;

	LL_FOREACH_SAFE (memory, at, next) {
		free(at->memory);
		free(at);
	}
}

void check_free(void *memory)
{
	struct deferred_free *entry;

	if (!deferring || !memory) {
		free(memory);
		return;
	}
	entry = malloc(sizeof(*entry));
	if (!entry)
		return; /* leaks rather than frees what may be used */
	entry->memory = memory;
	LL_PREPEND(deferred, entry);
}
