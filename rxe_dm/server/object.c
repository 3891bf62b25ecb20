// SPDX-License-Identifier: MIT
/* The object table: a freed handle stays unused for long, and each kind of object has a limit. */
#include <assert.h>
#include <stdlib.h>

#include "rxe_dm/server/object.h"

#define INDEX_MASK	(CTL_MAX_OBJECTS - 1)
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
	uint32_t index = object->handle & INDEX_MASK;

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
	struct object *object = objects->at[handle & INDEX_MASK];

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
