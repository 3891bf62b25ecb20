// SPDX-License-Identifier: MIT
/* The object table: a freed handle stays unused for long, and each kind of object has a limit. Then
 * the objects of a context: how they are made, shared and freed. */
#include "rxe_dm/server/object.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "rxe_dm/server/context.h"

#define GENERATION_MASK (UINT32_MAX >> CTL_HANDLE_BITS)

bool objects_init(struct objects *ret, _Atomic uint32_t *live, const struct ctl_profile *profile)
{
	*ret = (struct objects){
		.live = live,
		.fresh = 1,
		.max = { [CTL_KIND_CONTEXT] = 4096,
			 [CTL_KIND_PD] = profile->max_pd,
			 [CTL_KIND_MR] = profile->max_mr,
			 [CTL_KIND_DM] = 65536,
			 [CTL_KIND_DMAH] = 4096,
			 [CTL_KIND_UMEM] = 4096,
			 [CTL_KIND_XRCD] = RXE_MAX_XRCD,
			 [CTL_KIND_MW] = RXE_MAX_MR - 1, /* max_mw is a process's */
			 [CTL_KIND_QP] = 65536 },
	};
	ret->at = (struct object **)calloc(CTL_MAX_OBJECTS, sizeof(*ret->at));
	ret->generation = (uint16_t *)calloc(CTL_MAX_OBJECTS, sizeof(*ret->generation));
	return index_queue_init(&ret->resting, CTL_MAX_OBJECTS) && ret->at && ret->generation;
}

void objects_fini(struct objects *objects)
{
	free(objects->at);
	free(objects->generation);
	index_queue_fini(&objects->resting);
	*objects = (struct objects){ 0 };
}

/* 0: every index is in use. */
static uint32_t take_index(struct objects *objects)
{
	if (objects->resting.count < OBJECT_REST && objects->fresh < CTL_MAX_OBJECTS)
		return objects->fresh++;
	return objects->resting.count ? index_queue_take(&objects->resting) : 0;
}

struct object *object_new(struct objects *objects, enum ctl_kind kind)
{
	struct object *object;
	uint32_t index;

	assert(kind > CTL_KIND_FREE && kind < OBJECT_KINDS);
	if (objects->count[kind] >= objects->max[kind])
		return NULL;
	object = (struct object *)calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	index = take_index(objects);
	if (!index) {
		free(object);
		return NULL;
	}
	object->kind = kind;
	object->fd = -1;
	object->handle = (uint32_t)objects->generation[index] << CTL_HANDLE_BITS | index;
	objects->at[index] = object;
	objects->count[kind]++;
	atomic_store(&objects->live[index], object->handle);
	return object;
}

void object_free(struct objects *objects, struct object *object)
{
	const uint32_t index = object_index(object);

	assert(objects->at[index] == object && object->refs == 0 &&
	       objects->count[object->kind] > 0);
	atomic_store(&objects->live[index], 0);
	objects->at[index] = NULL;
	objects->generation[index] = (objects->generation[index] + 1) & GENERATION_MASK;
	index_queue_put(&objects->resting, index);
	objects->count[object->kind]--;
	free(object);
}

struct object *object_find(const struct objects *objects, uint32_t handle)
{
	struct object *object = objects->at[handle & (CTL_MAX_OBJECTS - 1)];

	return object && object->handle == handle ? object : NULL;
}

struct object *object_from(const struct objects *objects, uint32_t index)
{
	for (; index < objects->fresh; index++) {
		if (objects->at[index])
			return objects->at[index];
	}
	return NULL;
}

struct object *context_new_object(struct context *context, enum ctl_kind kind)
{
	struct object *object = object_new(&context->device->tables.objects, kind);

	assert(kind != CTL_KIND_CONTEXT);
	if (!object)
		return NULL;
	object->context = context;
	DL_APPEND(context->objects, object);
	context->self->refs++;
	return object;
}

struct object *context_find(const struct context *context, uint32_t handle, enum ctl_kind kind)
{
	struct object *object = object_find(&context->device->tables.objects, handle);

	return object && object->context == context && object->kind == kind ? object : NULL;
}

void object_own(struct object *object, struct user *user)
{
	assert(!object->owner && object->context == user->context);
	object->owner = user;
	DL_APPEND2(user->owned, object, oprev, onext);
}

void object_disown(struct object *object)
{
	if (object->owner)
		DL_DELETE2(object->owner->owned, object, oprev, onext);
	object->owner = NULL;
}

void object_hold(struct object **place, struct object *object)
{
	if (object)
		object->refs++;
	if (*place) {
		assert((*place)->refs > 0);
		(*place)->refs--;
	}
	*place = object;
}

void object_kill_key(struct object *mr)
{
	assert(mr->kind == CTL_KIND_MR || mr->kind == CTL_KIND_MW);
	if (mr->key)
		keys_revoke(&mr->context->device->tables.keys, mr->key);
	mr->key = 0;
}

void context_free_object(struct object *object)
{
	struct context *context = object->context;
	struct range *memory = object->memory;

	assert(context->self->refs > 0 && (!memory || object->kind == CTL_KIND_DM));
	if (object->end)
		object->end(object);
	object_disown(object);
	if (object->fd >= 0)
		close(object->fd);
	DL_DELETE(context->objects, object);
	context->self->refs--;
	object_free(&context->device->tables.objects, object);
	/* After the handle is dead: a lookup from now on finds nothing. */
	if (memory)
		range_rest(context->device, memory);
}

static struct pd_use *find_use(struct user *user, const struct object *pd)
{
	struct pd_use *use;

	DL_FOREACH (user->uses, use) {
		if (use->pd == pd)
			return use;
	}
	return NULL;
}

static struct pd_use *add_use(struct user *user, struct object *pd)
{
	struct pd_use *use = (struct pd_use *)calloc(1, sizeof(*use));

	if (use) {
		use->pd = pd;
		DL_PREPEND(user->uses, use);
	}
	return use;
}

int object_use(struct user *user, struct object *pd, int64_t delta)
{
	struct pd_use *use = find_use(user, pd);
	int64_t count = use ? use->count : 0;

	if (delta < -count || delta > INT32_MAX - (int64_t)pd->refs)
		return -EINVAL;
	if (!use)
		use = add_use(user, pd);
	if (!use)
		return -ENOMEM;
	use->count = (uint32_t)(count + delta);
	pd->refs = (uint32_t)(pd->refs + delta);
	if (use->count == 0) {
		DL_DELETE(user->uses, use);
		free(use);
	}
	return 0;
}
