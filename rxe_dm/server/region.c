// SPDX-License-Identifier: MIT
/* How objects of a context are made, shared and freed, and what a free does to others. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "rxe_dm/server/context.h"

struct object *context_new_object(struct context *context, enum ctl_kind kind)
{
	struct object *object = object_new(&context->device->objects, kind);

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
	struct object *object = object_find(&context->device->objects, handle);

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

static void kill_key(struct object *mr)
{
	assert(mr->kind == CTL_KIND_MR || mr->kind == CTL_KIND_MW);
	if (mr->key)
		keys_revoke(&mr->context->device->keys, mr->key);
	mr->key = 0;
}

static void release_region(struct object *mr)
{
	kill_key(mr);
	object_hold(&mr->pd, NULL);
	object_hold(&mr->dm, NULL);
	object_hold(&mr->dmah, NULL);
	object_hold(&mr->umem, NULL);
}

static void release_window(struct object *mw)
{
	kill_key(mw);
	object_hold(&mw->pd, NULL);
	window_end(mw);
}

/* A umem is freed: regions over it, of any process, stay as handles whose keys are dead. */
static void orphan_regions(struct object *umem)
{
	struct object *object;

	DL_FOREACH (umem->context->objects, object) {
		if (object->umem == umem) {
			kill_key(object);
			object_hold(&object->umem, NULL);
		}
	}
}

void context_free_object(struct object *object)
{
	struct context *context = object->context;
	struct range *memory = object->memory;

	assert(context->self->refs > 0 && (!memory || object->kind == CTL_KIND_DM));
	if (object->kind == CTL_KIND_MR)
		release_region(object);
	if (object->kind == CTL_KIND_MW)
		release_window(object);
	if (object->kind == CTL_KIND_QP)
		target_handle_end(object);
	if (object->kind == CTL_KIND_UMEM)
		orphan_regions(object);
	object_disown(object);
	if (object->fd >= 0)
		close(object->fd);
	DL_DELETE(context->objects, object);
	context->self->refs--;
	object_free(&context->device->objects, object);
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
