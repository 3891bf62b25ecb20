// SPDX-License-Identifier: MIT
/* The last use of each thread domain and single-threaded completion queue. */
#include "lib/check/thread.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/check/check.h"
#include "lib/check/clock.h"
#include "lib/check/object.h"
#include "lib/check/report.h"
#include "lib/check/stack.h"

/* Never freed: objects of a domain point to it. */
struct thread_use {
	bool is_domain, is_used;
	struct clock_stamp last;
	struct check_stack where;
};

static uint32_t num_uses;

void thread_single(struct check_object *object)
{
	struct thread_use *use = calloc(1, sizeof(*use));

	if (!use)
		return;
	use->is_domain = object->kind == VB_KIND_TD;
	object->use = use;
	num_uses++;
}

void thread_joins(struct check_object *object, const void *of)
{
	const struct check_object *other = of ? object_find(of) : NULL;

	if (other && !object->use)
		object->use = other->use;
}

bool thread_any(void)
{
	return num_uses > 0;
}

static void report(const struct check_object *object, const struct thread_use *use,
		   const char *verb)
{
	check_report(use->is_domain ? CHECK_THREAD_DOMAIN : CHECK_THREAD_CQ,
		     (struct check_where[]){ { "used here", NULL },
					     { "used by another thread here", &use->where },
					     { "made here", &object->made } },
		     3, "%s: %s %s, and threads %u and %u use %s without an order between them",
		     verb, object->label,
		     use->is_domain ? "is of a thread domain" : "is single-threaded",
		     use->where.thread, check_stack_thread(), use->is_domain ? "the domain" : "it");
}

void thread_used(const struct check_object *object, const char *verb)
{
	struct thread_use *use = object ? object->use : NULL;

	if (!use)
		return;
	if (use->is_used && !clock_is_before(use->last))
		report(object, use, verb);
	use->is_used = true;
	use->last = clock_now();
	check_stack_take(&use->where);
}
