// SPDX-License-Identifier: MIT
/* Opens, imports and closes a device: replaces the operations of each context. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "emu/container_of.h"
#include "lib/check/inner.h"
#include "lib/check/life.h"
#include "lib/check/mem_stale.h"
#include "lib/check/region.h"
#include "lib/check/report.h"
#include "lib/check/wrap.h"

INNER(ibv_open_device);
INNER(ibv_import_device);
INNER(ibv_close_device);

static struct verbs_context_65 *verbs_of(struct ibv_context *context)
{
	return container_of(context, struct verbs_context_65, base.context);
}

static void replace_ops(struct ibv_context *context)
{
	struct verbs_context_65 *verbs = verbs_of(context);

	wrap_cq_ops(verbs);
	wrap_mr_ops(verbs);
	wrap_object_ops(verbs);
	wrap_post_ops(verbs);
	wrap_qp_ops(verbs);
	wrap_srq_ops(verbs);
}

/* The library's own: closing a context destroys objects by them. */
static void restore_ops(struct ibv_context *context)
{
	struct verbs_context_65 *verbs = verbs_of(context);
	const size_t priv = offsetof(struct verbs_context_65, base.priv);
	const size_t rest = offsetof(struct verbs_context_65, base.query_device_ex);
	const size_t end = offsetof(struct verbs_context_65, base._ABI_placeholder3);

	memcpy(verbs, &check_inner, priv);
	memcpy((char *)verbs + rest, (const char *)&check_inner + rest, end - rest);
	context->ops = *INNER_OPS;
}

static struct ibv_context *opened(struct ibv_context *context)
{
	struct check_object *object;

	if (!context)
		return NULL;
	check_lock();
	memcpy(&check_inner, verbs_of(context), sizeof(check_inner));
	object = object_made(context, VB_KIND_CONTEXT, context);
	if (object)
		object_label(object, "context of %s", context->device->name);
	replace_ops(context);
	check_unlock();
	return context;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	check_report_begin();
	return opened(inner_ibv_open_device(device));
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	check_report_begin();
	return opened(inner_ibv_import_device(cmd_fd));
}

static void end_silently(struct check_object *object, void *context)
{
	(void)context;
	object_ended(object, NULL);
	if (object->kind == VB_KIND_MR && object->part) {
		mem_stale_forget(object->part);
		region_ended(object);
	}
}

int ibv_close_device(struct ibv_context *context)
{
	struct deferred_free *memory;
	struct check_object *object;
	int err;

	check_report_begin();
	check_lock();
	object = object_ending(context, VB_KIND_CONTEXT, "ibv_close_device");
	if (object) {
		life_closing(object);
		restore_ops(context);
	}
	check_unlock();
	object_defer_begin();
	err = inner_ibv_close_device(context);
	memory = object_defer_end();
	if (!object) {
		object_free_deferred(memory);
		return err;
	}
	check_lock();
	replace_ops(context);
	if (!err) {
		object_ended(object, memory);
		object_each(context, end_silently, NULL);
	}
	check_unlock();
	return err;
}

/* Programs that _exit() or are killed do not get here. exit() in a handler of a signal that
 * interrupted the layer does: this thread has the lock, and will not release it. */
__attribute__((destructor)) static void exiting(void)
{
	if (check_is_inside())
		return;
	check_lock();
	life_exit();
	check_unlock();
}
