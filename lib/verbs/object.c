// SPDX-License-Identifier: MIT
/* The table of live objects, a uthash by address under one lock. */
#include "lib/verbs/object.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/limits.h"
#include "lib/abi/newer.h"
#include "lib/control/client.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/attach.h"
#include "lib/verbs/context.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/kind.h"

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

/* Kinds that only this process numbers: handles for people, counted from 1. */
static const bool numbered_here[VB_KINDS] = {
	[VB_KIND_AH] = true,
	[VB_KIND_CQ] = true,
	[VB_KIND_SRQ] = true,
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
static uint32_t last_handle[VB_KINDS];

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

const char *vb_object_name(const void *object, enum vb_kind kind, char ret[static VB_NAME_MAX])
{
	const struct entry *e;
	uint32_t handle = 0;

	pthread_mutex_lock(&lock);
	e = find_kind(object, kind);
	if (e)
		handle = e->handle;
	pthread_mutex_unlock(&lock);
	return vb_kind_name(kind, handle, object, ret);
}

static bool (*_Atomic uses_now)(const void *user, enum vb_kind kind, const void *object);

void vb_object_used_by(bool (*uses)(const void *user, enum vb_kind kind, const void *object))
{
	atomic_store(&uses_now, uses);
}

void vb_object_users(const void *object, char *ret, size_t size)
{
	struct vb_names names = { .at = ret, .size = size };

	*ret = '\0';
	if (!uses_now)
		return;
	pthread_mutex_lock(&lock);
	for (enum vb_kind kind = VB_KINDS - 1; kind > VB_KIND_CONTEXT; kind--) {
		uint32_t n = 0;

		for (const struct entry *e = table; e; e = e->hh.next)
			n += e->kind == kind && uses_now(e->object, kind, object);
		vb_names_begin(&names, kind, n);
		for (const struct entry *e = table; n && e; e = e->hh.next)
			if (e->kind == kind && uses_now(e->object, kind, object))
				vb_names_add(&names, e->handle, e->object);
		vb_names_end(&names);
	}
	pthread_mutex_unlock(&lock);
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
	if (numbered_here[kind] && *handle_of(e) == 0)
		*handle_of(e) = ++last_handle[kind];
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

static int refuse_addition(enum vb_kind kind)
{
	uint32_t have, most;

	pthread_mutex_lock(&lock);
	have = count[kind];
	most = limits[kind];
	pthread_mutex_unlock(&lock);
	return most && have >= most ? refuse(WHY_TOO_MANY, have, most, vb_kind_str(kind))
				    : refuse(WHY_NO_MEMORY, vb_kind_str(kind));
}

void *vb_object_new(struct ibv_context *context, enum vb_kind kind, size_t size)
{
	const int err = vb_device_start_thread(vb_device(context));
	void *object;

	if (err) {
		errno = err;
		return NULL;
	}
	object = calloc(1, size);
	if (!object) {
		errno = refuse(WHY_NO_MEMORY, vb_kind_str(kind));
		return NULL;
	}
	*(struct ibv_context **)object = context;
	if (!vb_object_add(object, kind)) {
		free(object);
		errno = refuse_addition(kind);
		return NULL;
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

int vb_object_undo(void *object, int err)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(object);
	if (e)
		drop(e);
	pthread_mutex_unlock(&lock);
	free(object);
	return err;
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

/* Notes why the object is not usable, but for its device. */
static int refuse_object(const void *object, enum vb_kind kind)
{
	enum vb_kind found = VB_KINDS;
	const struct entry *e;
	char name[VB_NAME_MAX];

	if (!object)
		return refuse(WHY_NULL_OBJECT, vb_kind_str(kind));
	pthread_mutex_lock(&lock);
	e = find(object);
	if (e)
		found = e->kind;
	pthread_mutex_unlock(&lock);
	if (found == VB_KINDS)
		return refuse(WHY_NOT_LIVE, object, vb_kind_str(kind));
	if (found != kind)
		return refuse(WHY_OTHER_KIND, object, vb_kind_str(found), vb_kind_str(kind));
	vb_object_name(object, kind, name);
	if (vb_object_is_inherited(object))
		return refuse(WHY_INHERITED, name);
	return vb_object_is_live(object, kind) ? refuse(WHY_OTHER_DEVICE, name)
					       : refuse(WHY_OVERWRITTEN, name);
}

bool vb_refuses(const void *object, enum vb_kind kind)
{
	return !vb_object_is_live(object, kind) && refuse_object(object, kind);
}

bool vb_refuses_context(const struct ibv_context *context)
{
	return !vb_is_context(context) && refuse_object(context, VB_KIND_CONTEXT);
}

bool vb_refuses_use(struct ibv_context *context, const void *object, enum vb_kind kind)
{
	return !vb_is_usable(context, object, kind) && refuse_object(object, kind);
}

int vb_server_result(int rc, enum vb_kind kind)
{
	const char *name = vb_kind_str(kind);

	switch (-rc) {
	case 0: return 0;
	case ENODEV:
	case ECONNRESET:
	case EPIPE: return refuse(WHY_SERVER_EXITED(-rc));
	case ENOSPC:
	case ENOMEM: return refuse(WHY_DEVICE_FULL(-rc), name);
	default: return refuse(WHY_SERVER(-rc), name, strerror(-rc));
	}
}

int vb_query_result(int rc, enum vb_kind kind, uint32_t handle)
{
	return rc == -ENOENT ? refuse(WHY_NO_HANDLE, vb_kind_str(kind), handle)
			     : vb_server_result(rc, kind);
}

static bool may_end(const void *object, enum vb_kind kind)
{
	return vb_object_is_live(object, kind) &&
	       (in_server[kind] == CTL_KIND_FREE || vb_is_context(context_of(object)));
}

int vb_end_check(const void *object, enum vb_kind kind, enum inject_verb verb)
{
	if (!may_end(object, kind))
		return refuse_object(object, kind);
	return vb_gate_fails(context_of(object), verb) ? errno : 0;
}

int vb_refuse_used(const void *object, enum vb_kind kind)
{
	char name[VB_NAME_MAX], users[REFUSAL_SENTENCE / 2];

	vb_object_users(object, users, sizeof(users));
	vb_object_name(object, kind, name);
	return *users ? refuse(WHY_IN_USE, name, users) : refuse(WHY_IN_USE_ELSEWHERE, name);
}

/* Takes an unused object's entry out of the table. False: it is used, or not there. */
static bool take_entry(const void *object, enum vb_kind kind, struct entry **ret)
{
	struct entry *e;

	pthread_mutex_lock(&lock);
	e = find_kind(object, kind);
	if (e && e->users)
		e = NULL;
	if (e) {
		count[kind]--;
		HASH_DEL(table, e);
		*ret = e;
	}
	pthread_mutex_unlock(&lock);
	return e != NULL;
}

/* The server did not free its part. */
static int refuse_free(const void *object, enum vb_kind kind, int rc)
{
	return rc == -EBUSY ? vb_refuse_used(object, kind) : vb_server_result(rc, kind);
}

int vb_end_take(void *object, enum vb_kind kind)
{
	struct entry *e;
	int rc = 0;

	if (!take_entry(object, kind, &e))
		return vb_object_is_live(object, kind) ? vb_refuse_used(object, kind)
						       : refuse_object(object, kind);
	/* The server's part of an inherited object is the parent's. */
	if (in_server[kind] != CTL_KIND_FREE && e->forks == vb_forks())
		rc = ctl_free(&vb_context(context_of(object))->ctl, in_server[kind], e->handle);
	/* A server that exited has destroyed its objects. */
	if (rc && rc != -ENODEV) {
		pthread_mutex_lock(&lock);
		insert(e);
		pthread_mutex_unlock(&lock);
		return refuse_free(object, kind, rc);
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
					: refuse_object(object, kind);

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
