// SPDX-License-Identifier: MIT
/* Counters of flows: points, and the counts of the engine that belong to them. All lists are under
 * the engine lock. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "emu/limits.h"
#include "emu/raw/flow.h"
#include "lib/progress/progress.h"
#include "lib/refusal/refusal.h"
#include "lib/verbs/context.h"
#include "lib/verbs/flow.h"
#include "lib/verbs/forks.h"
#include "lib/verbs/gate.h"
#include "lib/verbs/object.h"
#include "lib/verbs/ops.h"

struct vb_counters {
	struct ibv_counters base;
	uint32_t forks;
	struct point *points;
	uint32_t num_points;
	uint32_t bound; /* flows that were created with it */
};

struct point {
	struct point *next;
	enum ibv_counter_description desc;
	uint32_t index;
	bool is_static;
	uint64_t past; /* counted by flows that were destroyed */
	struct vb_count *counts;
};

/* What a point counts at one flow. */
struct vb_count {
	struct rxe_flow_count count; /* in the flow's list */
	struct vb_counters *counters;
	struct point *point;
	struct vb_count *next; /* of the point */
};

static struct vb_counters *vb_counters(struct ibv_counters *base)
{
	return container_of(base, struct vb_counters, base);
}

static uint64_t value_of(const struct vb_count *count)
{
	switch (count->point->desc) {
	case IBV_COUNTER_PACKETS: return count->count.packets;
	case IBV_COUNTER_BYTES: return count->count.bytes;
	}
	return 0;
}

/* Under the engine lock. */
static int add_count(struct vb_counters *counters, struct point *point, struct vb_flow *flow)
{
	struct vb_count *count = calloc(1, sizeof(*count));

	if (!count)
		return refuse(WHY_NO_MEMORY, "a counter");
	count->counters = counters;
	count->point = point;
	LL_PREPEND(point->counts, count);
	LL_PREPEND(flow->flow.counts, &count->count);
	return 0;
}

/* Under the engine lock, or without the engine. */
static void drop_counts(struct vb_flow *flow)
{
	struct rxe_flow_count *at, *next;

	LL_FOREACH_SAFE (flow->flow.counts, at, next) {
		struct vb_count *count = container_of(at, struct vb_count, count);

		count->point->past += value_of(count);
		LL_DELETE(count->point->counts, count);
		if (!count->point->is_static)
			vb_object_unuse(count->counters);
		free(count);
	}
	flow->flow.counts = NULL;
}

struct vb_counters *vb_counters_find(struct ibv_context *context, struct ibv_counters *base)
{
	return vb_is_usable(context, base, VB_KIND_COUNTERS) ? vb_counters(base) : NULL;
}

int vb_counters_bind(struct vb_flow *flow)
{
	struct vb_counters *counters = flow->counters;
	struct point *point;
	int err = 0;

	if (!counters)
		return 0;
	LL_FOREACH (counters->points, point) {
		if (point->is_static && !err)
			err = add_count(counters, point, flow);
	}
	if (err) {
		drop_counts(flow);
		return err;
	}
	counters->bound++;
	vb_object_use(counters);
	return 0;
}

void vb_counters_unbind(struct vb_flow *flow)
{
	drop_counts(flow);
	if (!flow->counters)
		return;
	flow->counters->bound--;
	vb_object_unuse(flow->counters);
}

static struct ibv_counters *create_counters(struct ibv_context *context,
					    struct ibv_counters_init_attr *attr)
{
	struct vb_counters *counters;

	if (vb_refuses_context(context) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(attr->comp_mask, WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask))
		return vb_fail(refusal_noted());
	counters = vb_object_begin(context, VB_KIND_COUNTERS, sizeof(*counters),
				   INJECT_VERB_create_counters);
	if (!counters)
		return vb_fail(errno);
	counters->forks = vb_forks();
	return &counters->base;
}

static int destroy_counters(struct ibv_counters *base)
{
	int err = vb_object_end(base, VB_KIND_COUNTERS, INJECT_VERB_destroy_counters);
	struct vb_counters *counters = vb_counters(base);
	struct point *point, *next;

	if (err)
		return vb_result(err);
	LL_FOREACH_SAFE (counters->points, point, next)
		free(point);
	free(counters);
	return 0;
}

/* Under the engine lock. flow NULL: a static point. */
static int add_point(struct vb_counters *counters, const struct ibv_counter_attach_attr *attr,
		     struct vb_flow *flow)
{
	struct point *point;

	if (counters->bound)
		return refuse(WHY_COUNTERS_BOUND);
	if (counters->num_points == RXE_MAX_POINTS)
		return refuse(WHY_COUNTERS_FULL, RXE_MAX_POINTS);
	point = calloc(1, sizeof(*point));
	if (!point)
		return refuse(WHY_NO_MEMORY, "a counter point");
	point->desc = attr->counter_desc;
	point->index = attr->index;
	point->is_static = !flow;
	if (flow && add_count(counters, point, flow)) {
		free(point);
		return refusal_noted();
	}
	if (flow)
		vb_object_use(counters);
	LL_PREPEND(counters->points, point);
	counters->num_points++;
	return 0;
}

static int attach_counters_point_flow(struct ibv_counters *base,
				      struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	struct vb_counters *counters = vb_counters(base);
	int err;

	if (vb_refuses(base, VB_KIND_COUNTERS) || refuse_if(!attr, WHY_NULL, "attr") ||
	    refuse_if(attr->comp_mask, WHY_UNKNOWN_BITS, "comp_mask", (uint64_t)attr->comp_mask) ||
	    (flow && vb_refuses_use(base->context, vb_flow(flow), VB_KIND_FLOW)))
		return vb_result(refusal_noted());
	if ((uint32_t)attr->counter_desc > IBV_COUNTER_BYTES)
		return vb_result(refuse(WHY_COUNTER_DESC, attr->counter_desc));
	if (vb_verb_fails(base->context, attach_counters_point_flow))
		return vb_result(errno);
	if (!vb_lock_engine(vb_device(base->context), counters->forks))
		return vb_result(refuse(WHY_NO_ENGINE, "object"));
	err = add_point(counters, attr, flow ? vb_flow(flow) : NULL);
	progress_unlock(&vb_device(base->context)->progress);
	return vb_result(err);
}

/* EINVAL: a point has an index that the program has no place for. */
static int sum(const struct vb_counters *counters, uint64_t *values, uint32_t num_values)
{
	const struct point *point;
	const struct vb_count *count;

	LL_FOREACH (counters->points, point) {
		if (point->index >= num_values)
			return refuse(WHY_COUNTERS_SPACE, point->index, num_values);
	}
	memset(values, 0, num_values * sizeof(*values));
	LL_FOREACH (counters->points, point) {
		values[point->index] += point->past;
		LL_FOREACH (point->counts, count)
			values[point->index] += value_of(count);
	}
	return 0;
}

static int read_now(struct vb_counters *counters, uint64_t *values, uint32_t num_values)
{
	struct vb_device *dev = vb_device(counters->base.context);
	int err;

	if (!vb_lock_engine(dev, counters->forks))
		return refuse(WHY_NO_ENGINE, "object");
	err = sum(counters, values, num_values);
	progress_unlock(&dev->progress);
	return err;
}

#define FLAGS_KNOWN (uint32_t) IBV_READ_COUNTERS_ATTR_PREFER_CACHED

/* Without PREFER_CACHED the caller runs the engine, which takes the frames that have arrived. */
static int read_counters(struct ibv_counters *base, uint64_t *values, uint32_t num_values,
			 uint32_t flags)
{
	int err;

	if (vb_refuses(base, VB_KIND_COUNTERS) || refuse_if(!values, WHY_NULL, "counters_value") ||
	    refuse_if(flags & ~FLAGS_KNOWN, WHY_UNKNOWN_BITS, "flags",
		      (uint64_t)(flags & ~FLAGS_KNOWN)))
		return vb_result(refusal_noted());
	if (vb_verb_fails(base->context, read_counters))
		return vb_result(errno);
	err = read_now(vb_counters(base), values, num_values);
	if (!err && !(flags & IBV_READ_COUNTERS_ATTR_PREFER_CACHED)) {
		progress_poll(&vb_device(base->context)->progress);
		err = read_now(vb_counters(base), values, num_values);
	}
	return vb_result(err);
}

void vb_counters_ops(struct verbs_context_65 *verbs)
{
	verbs->base.create_counters = create_counters;
	verbs->base.destroy_counters = destroy_counters;
	verbs->base.attach_counters_point_flow = attach_counters_point_flow;
	verbs->base.read_counters = read_counters;
}
