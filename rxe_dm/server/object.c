// SPDX-License-Identifier: MIT
/* The object table: handles that are not soon used again, and a limit for each kind. */
#include <stdlib.h>

#include "rxe_dm/server/object.h"

#define INDEX_MASK	(CTL_MAX_OBJECTS - 1)
#define GENERATION_MASK (UINT32_MAX >> CTL_HANDLE_BITS)

static const uint32_t limits[OBJECT_KINDS] = {
	[CTL_KIND_CONTEXT] = 4096,	[CTL_KIND_PD] = RXE_MAX_PD, [CTL_KIND_MR] = RXE_MAX_MR - 1,
	[CTL_KIND_DM] = 65536,		[CTL_KIND_DMAH] = 4096,	    [CTL_KIND_UMEM] = 4096,
	[CTL_KIND_XRCD] = RXE_MAX_XRCD,
};

bool objects_init(struct objects *ret, _Atomic uint32_t *live)
{
	*ret = (struct objects){ .live = live, .fresh = 1 };
	ret->at = (struct object **)calloc(CTL_MAX_OBJECTS, sizeof(*ret->at));
	ret->generation = (uint16_t *)calloc(CTL_MAX_OBJECTS, sizeof(*ret->generation));
	ret->behind = (uint32_t *)calloc(CTL_MAX_OBJECTS, sizeof(*ret->behind));
	return ret->at && ret->generation && ret->behind;
}

void objects_fini(struct objects *objects)
{
	free(objects->at);
	free(objects->generation);
	free(objects->behind);
	*objects = (struct objects){ 0 };
}

static uint32_t take_index(struct objects *objects)
{
	uint32_t index;

	if (objects->num_resting < OBJECT_REST && objects->fresh < CTL_MAX_OBJECTS)
		return objects->fresh++;
	if (objects->num_resting == 0)
		return 0;
	index = objects->first;
	objects->first = objects->behind[index];
	objects->num_resting--;
	return index;
}

/* To the end of the queue: the longer it rests, the better. */
static void rest_index(struct objects *objects, uint32_t index)
{
	if (objects->num_resting++)
		objects->behind[objects->last] = index;
	else
		objects->first = index;
	objects->last = index;
}

struct object *object_new(struct objects *objects, enum ctl_kind kind)
{
	struct object *object;
	uint32_t index;

	if (objects->count[kind] >= limits[kind])
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

	atomic_store(&objects->live[index], 0);
	objects->at[index] = NULL;
	objects->generation[index] = (objects->generation[index] + 1) & GENERATION_MASK;
	rest_index(objects, index);
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
