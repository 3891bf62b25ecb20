/* SPDX-License-Identifier: MIT */
/* What the wrapped verbs share, and the functions that replace operations of a new context. */
#ifndef RXE_CHECK_WRAP_H
#define RXE_CHECK_WRAP_H

#include "lib/abi/newer.h"
#include "lib/check/check.h"
#include "lib/check/object.h"

/* Enters what an inner verb made, if it did. */
static inline void *wrap_made(void *made, enum vb_kind kind, struct ibv_context *context)
{
	if (!made)
		return NULL;
	check_lock();
	object_made(made, kind, context);
	check_unlock();
	return made;
}

/* Reports a use of an object that was destroyed. */
static inline void wrap_used(const void *address, enum vb_kind kind, const char *verb)
{
	check_lock();
	object_is_dead(address, kind, verb);
	check_unlock();
}

/* In front of an inner verb that destroys, and after it: returns err. */
static inline struct check_object *wrap_ending(const void *address, enum vb_kind kind,
					       const char *verb)
{
	struct check_object *object;

	check_lock();
	object = object_ending(address, kind, verb);
	check_unlock();
	object_defer_begin();
	return object;
}

static inline int wrap_ended(struct check_object *object, int err)
{
	struct deferred_free *memory = object_defer_end();

	if (err || !object) {
		object_free_deferred(memory);
		return err;
	}
	check_lock();
	object_ended(object, memory);
	check_unlock();
	return err;
}

void wrap_cq_ops(struct verbs_context_65 *verbs);
void wrap_mr_ops(struct verbs_context_65 *verbs);
void wrap_object_ops(struct verbs_context_65 *verbs);
void wrap_post_ops(struct verbs_context_65 *verbs);
void wrap_qp_ops(struct verbs_context_65 *verbs);
void wrap_srq_ops(struct verbs_context_65 *verbs);

#endif
