// SPDX-License-Identifier: MIT
/* Opens, imports and closes a device: replaces the operations of each context. */
#include <string.h>

#include "emu/container_of.h"
#include "lib/record/below.h"
#include "lib/record/ring.h"

BELOW(ibv_open_device);
BELOW(ibv_import_device);
BELOW(ibv_close_device);

static struct verbs_context_65 *verbs_of(struct ibv_context *context)
{
	return container_of(context, struct verbs_context_65, base.context);
}

static void replace_ops(struct verbs_context_65 *verbs)
{
	record_cq_ops(verbs);
	record_mr_ops(verbs);
	record_object_ops(verbs);
	record_post_ops(verbs);
	record_qp_ops(verbs);
	record_srq_ops(verbs);
}

/* The library's own: closing a context destroys objects by them. */
static void restore_ops(struct verbs_context_65 *verbs)
{
	const size_t priv = offsetof(struct verbs_context_65, base.priv);
	const size_t rest = offsetof(struct verbs_context_65, base.query_device_ex);
	const size_t end = offsetof(struct verbs_context_65, base._ABI_placeholder3);

	memcpy(verbs, &record_below, priv);
	memcpy((char *)verbs + rest, (const char *)&record_below + rest, end - rest);
	verbs->base.context.ops = *BELOW_OPS;
}

static struct ibv_context *opened(struct ibv_context *context, uint64_t began)
{
	if (context) {
		memcpy(&record_below, verbs_of(context), sizeof(record_below));
		replace_ops(verbs_of(context));
	}
	RECORD(RECORD_OPEN_DEVICE, began, record_null(context),
	       context ? (uint64_t)context->cmd_fd : 0);
	return context;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	const uint64_t began = record_now();

	return opened(below_ibv_open_device(device), began);
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	const uint64_t began = record_now();

	return opened(below_ibv_import_device(cmd_fd), began);
}

int ibv_close_device(struct ibv_context *context)
{
	const uint64_t began = record_now(), fd = context ? (uint64_t)context->cmd_fd : 0;
	int rc;

	if (context)
		restore_ops(verbs_of(context));
	rc = below_ibv_close_device(context);
	if (rc && context)
		replace_ops(verbs_of(context));
	RECORD(RECORD_CLOSE_DEVICE, began, record_error(rc), fd);
	return rc;
}
