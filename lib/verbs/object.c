// SPDX-License-Identifier: MIT
/* The table of live objects, a uthash by address under one lock. */
#include "lib/verbs/object.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "emu/limits.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/verbs/attach.h"
#include "lib/verbs/context.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"

/* Running out of memory fails the addition, not the process. */
#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

/* What the server calls the kinds that it knows. Their end attaches a child of fork() first. */
static const enum ctl_kind in_server[VB_KINDS] = {
	[VB_KIND_PD] = CTL_KIND_PD,	[VB_KIND_MR] = CTL_KIND_MR,
	[VB_KIND_DM] = CTL_KIND_DM,	[VB_KIND_DMAH] = CTL_KIND_DMAH,
	[VB_KIND_UMEM] = CTL_KIND_UMEM, [VB_KIND_MKEY] = CTL_KIND_MR,
	[VB_KIND_XRCD] = CTL_KIND_XRCD, [VB_KIND_MW] = CTL_KIND_MW,
};

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
	uint32_t forks; /* vb_forks() when the object was added */
	uint32_t handle;
	uint32_t users; /* objects that use this one */
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table;
static uint32_t count[VB_KINDS];

static struct entry *find(const void *object)
{
	struct entry *e;

	HASH_FIND_PTR(table, &object, e);
	return e;
}

static struct entry *find_kind(const void *object, enum vb_kind kind)
{
	struct entry *e = find(object);

	return e && e->kind == kind ? e : NULL;
}

/* All kinds but contexts begin with a pointer to their context. */
static struct ibv_context *context_of(const void *object)
{
	return *(struct ibv_context *const *)object;
}

static uint32_t *handle_of(const struct entry *e)
{
	return (uint32_t *)((uintptr_t)e->object + handle_at[e->kind]);
}

static bool keeps_handle(const struct entry *e)
{
	return !handle_at[e->kind] || *handle_of(e) == e->handle;
}

static bool insert(struct entry *e)
{
	HASH_ADD_PTR(table, object, e);
	if (!e->hh.tbl)
		return false;
	count[e->kind]++;
	return true;
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
	e->forks = vb_forks();
	e->handle = handle_at[kind] ? *handle_of(e) : 0;
	if (!insert(e)) {
		free(e);
		return false;
	}
	return true;
}

void vb_object_limit(enum vb_kind kind, uint32_t max)
{
	pthread_mutex_lock(&lock);
	limits[kind] = max;
	pthread_mutex_unlock(&lock);
}

bool vb_object_add(const void *object, enum vb_kind kind)
{
	bool added;

	pthread_mutex_lock(&lock);
	added = add_locked(object, kind);
	pthread_mutex_unlock(&lock);
	return added;
}

void *vb_object_new(struct ibv_context *context, enum vb_kind kind, size_t size)
{
	void *object = calloc(1, size);

	if (!object)
		return vb_fail(ENOMEM);
	*(struct ibv_context **)object = context;
	if (!vb_object_add(object, kind)) {
		free(object);
		return vb_fail(ENOMEM);
	}
	return object;
}

void *vb_object_begin(struct ibv_context *context, enum vb_kind kind, size_t size,
		      enum inject_verb verb)
{
	return vb_gate_fails(context, verb) ? NULL : vb_object_new(context, kind, size);
}

void vb_object_set_handle(const void *object, uint32_t handle)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(object);
	if (e)
		e->handle = handle;
	pthread_mutex_unlock(&lock);
}

void *vb_object_undo(void *object, int err)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(object);
	if (e)
		drop(e);
	pthread_mutex_unlock(&lock);
	free(object);
	return vb_fail(err);
}

void vb_object_use(const void *object)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(object);
	if (e)
		e->users++;
	pthread_mutex_unlock(&lock);
}

/* An object that outlived its context is in no table. */
void vb_object_unuse(const void *object)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(object);
	assert(!e || e->users > 0);
	if (e)
		e->users--;
	pthread_mutex_unlock(&lock);
}

bool vb_object_is_live(const void *object, enum vb_kind kind)
{
	const struct entry *e;
	bool is;

	pthread_mutex_lock(&lock);
	e = find_kind(object, kind);
	is = e && keeps_handle(e);
	pthread_mutex_unlock(&lock);
	return is;
}

bool vb_object_is_inherited(const void *object)
{
	const struct entry *e;
	bool inherited;

	pthread_mutex_lock(&lock);
	e = find(object);
	inherited = e && e->forks != vb_forks();
	pthread_mutex_unlock(&lock);
	return inherited;
}

bool vb_is_context(const struct ibv_context *context)
{
	struct vb_device *dev;

	if (!vb_object_is_live(context, VB_KIND_CONTEXT))
		return false;
	dev = vb_device((struct ibv_context *)(uintptr_t)context);
	if (atomic_load_explicit(&dev->forks, memory_order_relaxed) != vb_forks())
		vb_device_follow_fork(dev);
	return true;
}

bool vb_is_usable(struct ibv_context *context, const void *object, enum vb_kind kind)
{
	return vb_object_is_live(object, kind) && !vb_object_is_inherited(object) &&
	       vb_device(context_of(object)) == vb_device(context);
}

static bool may_end(const void *object, enum vb_kind kind)
{
	return vb_object_is_live(object, kind) &&
	       (in_server[kind] == CTL_KIND_FREE || vb_is_context(context_of(object)));
}

int vb_end_check(const void *object, enum vb_kind kind, enum inject_verb verb)
{
	if (!may_end(object, kind))
		return EINVAL;
	return vb_gate_fails(context_of(object), verb) ? errno : 0;
}

/* Takes an unused object's entry out of the table. 0, EINVAL or EBUSY. */
static int take_entry(const void *object, enum vb_kind kind, struct entry **ret)
{
	struct entry *e;
	int err;

	pthread_mutex_lock(&lock);
	e = find_kind(object, kind);
	err = !e ? EINVAL : e->users ? EBUSY : 0;
	if (!err) {
		count[kind]--;
		HASH_DEL(table, e);
		*ret = e;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int vb_end_take(void *object, enum vb_kind kind)
{
	struct entry *e;
	int err = take_entry(object, kind, &e);

	if (err)
		return err;
	/* The server's part of an inherited object is the parent's. */
	if (in_server[kind] != CTL_KIND_FREE && e->forks == vb_forks())
		err = -ctl_free(&vb_context(context_of(object))->ctl, in_server[kind], e->handle);
	/* A server that exited has destroyed its objects. */
	if (err && err != ENODEV) {
		pthread_mutex_lock(&lock);
		insert(e);
		pthread_mutex_unlock(&lock);
		return err;
	}
	free(e);
	return 0;
}

int vb_object_end(void *object, enum vb_kind kind, enum inject_verb verb)
{
	int err = vb_end_check(object, kind, verb);

	return err ? err : vb_end_take(object, kind);
}

int vb_object_end_unnamed(void *object, enum vb_kind kind)
{
	int err = may_end(object, kind) ? vb_gate_dead(context_of(object), INJECT_VERB_DESTROY)
					: EINVAL;

	return err ? err : vb_end_take(object, kind);
}

bool vb_object_take(const void *object, enum vb_kind kind)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find_kind(object, kind);
	if (e)
		drop(e);
	pthread_mutex_unlock(&lock);
	return e != NULL;
}

void *vb_object_any(const struct ibv_context *context, enum vb_kind kind)
{
	const void *object = NULL;

	assert(kind != VB_KIND_CONTEXT);
	pthread_mutex_lock(&lock);
	for (struct entry *e = table; e && !object; e = e->hh.next) {
		if (e->kind != kind || context_of(e->object) != context)
			continue;
		object = e->object;
		if (handle_at[kind])
			*handle_of(e) = e->handle;
	}
	pthread_mutex_unlock(&lock);
	return (void *)(uintptr_t)object;
}

void vb_objects_fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

void vb_objects_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

void vb_objects_fork_child(void)
{
	vb_forks_add();
	pthread_mutex_unlock(&lock);
}
