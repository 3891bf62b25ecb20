// SPDX-License-Identifier: MIT
/* The table of live objects, by address: open addressing under one lock. */
#include "lib/verbs/live.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "emu/limits.h"

/* Kinds that only this process counts; 0: no limit here. */
static const uint32_t limits[VB_KIND_XRCD + 1] = {
	[VB_KIND_AH] = RXE_MAX_AH,
	[VB_KIND_CQ] = RXE_MAX_CQ,
	[VB_KIND_SRQ] = RXE_MAX_SRQ,
};

struct entry {
	const void *object; /* NULL: never used */
	unsigned int kind;  /* 0: forgotten */
	uint32_t forks;	    /* generation, when it was added */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table;
static size_t slots; /* a power of two */
static size_t used;  /* entries with an object, forgotten ones too */
static size_t alive;
static uint32_t count[VB_KIND_XRCD + 1]; /* alive, by kind */
static uint32_t generation;		 /* forks since the first process */

static size_t hash(const void *object)
{
	return (size_t)((uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15u >> 20);
}

/* Its entry, or the first that it may have. The table has room. */
static struct entry *find(struct entry *in, size_t n, const void *object)
{
	size_t i = hash(object) & (n - 1);

	while (in[i].object && in[i].object != object)
		i = (i + 1) & (n - 1);
	return &in[i];
}

static void forget(struct entry *e)
{
	count[e->kind]--;
	alive--;
	e->kind = 0;
}

static bool make_room(void)
{
	size_t n = 256;
	struct entry *fresh;

	if (table && (used + 1) * 4 <= slots * 3)
		return true;
	while (n < alive * 4)
		n *= 2;
	fresh = calloc(n, sizeof(*fresh));
	if (!fresh)
		return false;
	for (size_t i = 0; i < slots; i++) {
		if (table[i].object && table[i].kind)
			*find(fresh, n, table[i].object) = table[i];
	}
	free(table);
	table = fresh;
	slots = n;
	used = alive;
	return true;
}

bool vb_object_add(const void *object, enum vb_kind kind)
{
	bool ok;

	pthread_mutex_lock(&lock);
	ok = (!limits[kind] || count[kind] < limits[kind]) && make_room();
	if (ok) {
		struct entry *e = find(table, slots, object);

		used += !e->object;
		if (e->kind)
			forget(e);
		alive++;
		count[kind]++;
		e->object = object;
		e->kind = kind;
		e->forks = generation;
	}
	pthread_mutex_unlock(&lock);
	return ok;
}

bool vb_object_is(const void *object, enum vb_kind kind)
{
	bool is;

	if (!object)
		return false;
	pthread_mutex_lock(&lock);
	is = table && find(table, slots, object)->kind == (unsigned int)kind;
	pthread_mutex_unlock(&lock);
	return is;
}

bool vb_object_is_inherited(const void *object)
{
	bool inherited = false;

	pthread_mutex_lock(&lock);
	if (generation && table) {
		struct entry *e = find(table, slots, object);

		inherited = e->kind && e->forks != generation;
	}
	pthread_mutex_unlock(&lock);
	return inherited;
}

bool vb_object_take(const void *object, enum vb_kind kind)
{
	bool taken = false;

	if (!object)
		return false;
	pthread_mutex_lock(&lock);
	if (table) {
		struct entry *e = find(table, slots, object);

		taken = e->kind == (unsigned int)kind;
		if (taken)
			forget(e);
	}
	pthread_mutex_unlock(&lock);
	return taken;
}

static bool belongs(const struct entry *e, const struct ibv_context *context)
{
	return e->kind && e->kind != VB_KIND_CONTEXT &&
	       *(struct ibv_context *const *)e->object == context;
}

void *vb_object_of(const struct ibv_context *context, enum vb_kind kind)
{
	const void *object = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < slots && !object; i++) {
		if (table[i].kind == (unsigned int)kind && belongs(&table[i], context))
			object = table[i].object;
	}
	pthread_mutex_unlock(&lock);
	return (void *)(uintptr_t)object;
}

void vb_object_forget(const struct ibv_context *context)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < slots; i++) {
		if (belongs(&table[i], context))
			forget(&table[i]);
	}
	pthread_mutex_unlock(&lock);
}

void vb_object_lock(void)
{
	pthread_mutex_lock(&lock);
}

void vb_object_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void vb_object_forked(void)
{
	generation++;
	pthread_mutex_unlock(&lock);
}
