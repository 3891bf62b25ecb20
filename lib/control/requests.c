// SPDX-License-Identifier: MIT
/* The calls that make, change and free objects of a context, and those to the connection manager:
 * one request each. */
#include <errno.h>
#include <string.h>

#include "lib/control/cm_request.h"
#include "lib/control/connection.h"
#include "lib/control/settings.h"

static struct ctl_call call_for(enum ctl_op op, const struct ctl_context *context, uint32_t handle)
{
	return (struct ctl_call){
		.req = { .op = op,
			 .device = context->device,
			 .context = context->handle,
			 .handle = handle },
		.in_fd = -1,
	};
}

/* *ret_handle, *ret_key: of the object made; NULL: the caller needs none. */
static int do_make(const struct ctl_context *context, struct ctl_call *call, uint32_t *ret_handle,
		   uint32_t *ret_key)
{
	int rc = ctl_do(context->client, call, 0);

	if (rc == 0 && ret_handle)
		*ret_handle = call->reply.made.handle;
	if (rc == 0 && ret_key)
		*ret_key = call->reply.made.key;
	return rc;
}

/* Each program may switch trains off for what it sends (RXE_DM_TRAINS). */
static bool trains_wanted(void)
{
	struct ctl_settings settings;
	char why[CTL_WHY_MAX];

	ctl_settings_init(&settings);
	return !ctl_settings_from_env(&settings, why) || settings.trains;
}

int ctl_list_devices(struct ctl_client *client, struct ctl_device *ret, size_t max,
		     size_t *ret_count)
{
	bool trains = trains_wanted();
	uint32_t count = 1;

	for (uint32_t i = 0; i < count; i++) {
		struct ctl_call call = { .req = { .op = CTL_DEVICE, .handle = i }, .in_fd = -1 };
		const struct ctl_device *got = &call.reply.device;
		int rc = ctl_do(client, &call, 0);

		if (rc)
			return rc;
		count = got->count;
		if (i >= max)
			break;
		ret[i] = *got;
		ret[i].trains &= trains;
	}
	*ret_count = count;
	return 0;
}

int ctl_alloc_pd(const struct ctl_context *context, uint32_t *ret_handle)
{
	struct ctl_call call = call_for(CTL_ALLOC_PD, context, 0);

	return do_make(context, &call, ret_handle, NULL);
}

int ctl_use_pd(const struct ctl_context *context, uint32_t handle, int delta)
{
	struct ctl_call call = call_for(CTL_USE_PD, context, handle);

	call.req.delta = delta;
	return ctl_do(context->client, &call, 0);
}

int ctl_reg_mr(const struct ctl_context *context, const struct ctl_reg_mr *reg,
	       uint32_t *ret_handle, uint32_t *ret_key)
{
	struct ctl_call call = call_for(CTL_REG_MR, context, 0);

	call.req.mr = *reg;
	return do_make(context, &call, ret_handle, ret_key);
}

int ctl_rereg_mr(const struct ctl_context *context, uint32_t handle, const struct ctl_reg_mr *reg,
		 uint32_t *ret_key)
{
	struct ctl_call call = call_for(CTL_REREG_MR, context, handle);

	call.req.mr = *reg;
	return do_make(context, &call, NULL, ret_key);
}

int ctl_alloc_dm(const struct ctl_context *context, uint64_t len, uint32_t log_align,
		 uint32_t *ret_handle, uint64_t *ret_offset)
{
	struct ctl_call call = call_for(CTL_ALLOC_DM, context, 0);
	int rc;

	call.req.dm = (struct ctl_msg_dm){ .len = len, .log_align = log_align };
	rc = do_make(context, &call, ret_handle, NULL);
	if (rc == 0)
		*ret_offset = call.reply.made.offset;
	return rc;
}

int ctl_export_dm(const struct ctl_context *context, uint32_t handle, int *ret_fd)
{
	struct ctl_call call = call_for(CTL_EXPORT_DM, context, handle);
	int rc = ctl_do(context->client, &call, 1);

	if (rc == 0)
		*ret_fd = call.fds[0];
	return rc;
}

int ctl_alloc_dmah(const struct ctl_context *context, const struct ctl_dmah *dmah,
		   uint32_t *ret_handle)
{
	struct ctl_call call = call_for(CTL_ALLOC_DMAH, context, 0);

	call.req.dmah = *dmah;
	return do_make(context, &call, ret_handle, NULL);
}

int ctl_reg_umem(const struct ctl_context *context, const struct ctl_reg_mr *umem,
		 uint32_t *ret_handle)
{
	struct ctl_call call = call_for(CTL_REG_UMEM, context, 0);

	call.req.mr = *umem;
	return do_make(context, &call, ret_handle, NULL);
}

int ctl_open_xrcd(const struct ctl_context *context, int fd, uint32_t flags, uint32_t *ret_handle,
		  uint32_t *ret_domain)
{
	struct ctl_call call = call_for(CTL_OPEN_XRCD, context, 0);

	call.in_fd = fd;
	call.req.xrcd.flags = flags;
	return do_make(context, &call, ret_handle, ret_domain);
}

int ctl_alloc_mw(const struct ctl_context *context, uint32_t pd, uint32_t kind,
		 uint32_t *ret_handle, uint32_t *ret_key, uint32_t *ret_index)
{
	struct ctl_call call = call_for(CTL_ALLOC_MW, context, 0);
	int rc;

	call.req.mw = (struct ctl_msg_mw){ .pd = pd, .kind = kind };
	rc = do_make(context, &call, ret_handle, ret_key);
	if (rc == 0)
		*ret_index = (uint32_t)call.reply.made.offset;
	return rc;
}

int ctl_open_qp(const struct ctl_context *context, uint32_t xrcd, uint32_t qpn, bool is_new,
		uint32_t *ret_handle, uint32_t *ret_epoch)
{
	struct ctl_call call = call_for(CTL_OPEN_QP, context, 0);

	call.req.qp = (struct ctl_msg_qp){ .xrcd = xrcd, .qpn = qpn, .is_new = is_new };
	return do_make(context, &call, ret_handle, ret_epoch);
}

int ctl_close_qp(const struct ctl_context *context, uint32_t handle, uint32_t *ret_left)
{
	struct ctl_call call = call_for(CTL_FREE, context, handle);

	call.req.kind = CTL_KIND_QP;
	return do_make(context, &call, NULL, ret_left);
}

int ctl_free(const struct ctl_context *context, enum ctl_kind kind, uint32_t handle)
{
	struct ctl_call call = call_for(CTL_FREE, context, handle);

	call.req.kind = kind;
	return ctl_do(context->client, &call, 0);
}

int ctl_query(const struct ctl_context *context, uint32_t kind, uint32_t handle,
	      struct ctl_object *ret)
{
	struct ctl_call call = call_for(CTL_QUERY, context, handle);
	int rc = ctl_do(context->client, &call, 0);

	if (rc == 0 && call.reply.object.kind != kind)
		rc = -ENOENT;
	if (rc == 0)
		*ret = call.reply.object;
	return rc;
}

int ctl_keep_findings(struct ctl_client *client, int fd)
{
	struct ctl_call call = { .req = { .op = CTL_FINDINGS }, .in_fd = fd };

	return ctl_do(client, &call, 0);
}

static struct ctl_call cm_call(const struct ctl_msg_cm *req)
{
	return (struct ctl_call){ .req = { .op = CTL_CM, .cm = *req }, .in_fd = -1 };
}

int ctl_cm(struct ctl_client *client, const struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret)
{
	struct ctl_call call = cm_call(req);
	int rc = ctl_do(client, &call, 0);

	if (rc == 0 && ret)
		*ret = call.reply.cm;
	return rc;
}

int ctl_cm_create_channel(struct ctl_client *client, int fd, uint32_t *ret_channel)
{
	struct ctl_call call = cm_call(&(struct ctl_msg_cm){ .op = CTL_CM_CREATE_CHANNEL });
	int rc;

	call.in_fd = fd;
	rc = ctl_do(client, &call, 0);
	if (rc == 0)
		*ret_channel = call.reply.cm.handle;
	return rc;
}

int ctl_cm_pause(struct ctl_client *client, uint32_t channel, int *ret_fd)
{
	struct ctl_call call =
		cm_call(&(struct ctl_msg_cm){ .op = CTL_CM_PAUSE_CHANNEL, .channel = channel });
	int rc = ctl_do(client, &call, 1);

	if (rc == 0)
		*ret_fd = call.fds[0];
	return rc;
}

int ctl_cm_channel(struct ctl_client *client, enum ctl_cm_op op, uint32_t channel)
{
	return ctl_cm(client, &(struct ctl_msg_cm){ .op = op, .channel = channel }, NULL);
}

int ctl_cm_list(struct ctl_client *client, uint32_t first, struct ctl_cm_page *ret)
{
	struct ctl_call call = cm_call(&(struct ctl_msg_cm){ .op = CTL_CM_LIST, .id = first });
	int rc = ctl_do(client, &call, 0);

	if (rc == 0)
		*ret = call.reply.cm_page;
	return rc;
}

int ctl_cm_failures(struct ctl_client *client, uint32_t first, struct ctl_cm_failures *ret)
{
	struct ctl_call call = cm_call(&(struct ctl_msg_cm){ .op = CTL_CM_FAILURES, .id = first });
	int rc = ctl_do(client, &call, 0);

	if (rc == 0)
		*ret = call.reply.cm_failures;
	return rc;
}
