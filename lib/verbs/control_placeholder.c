// SPDX-License-Identifier: MIT
/* The control client until it is written: there is no server. */
#include "lib/verbs/driver.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int ctl_connect(struct ctl_client **ret)
{
	return -ECONNREFUSED;
}

void ctl_disconnect(struct ctl_client *client)
{
}

#define REFUSE(name, ...)                                                                          \
	int name(__VA_ARGS__)                                                                      \
	{                                                                                          \
		return -EOPNOTSUPP;                                                                \
	}

REFUSE(ctl_list_devices, struct ctl_client *client, struct ctl_device *ret, size_t max,
       size_t *ret_count)
REFUSE(ctl_attach, struct ctl_client *client, uint32_t device, struct ctl_attachment *ret)
REFUSE(ctl_open, struct ctl_client *client, uint32_t device, struct ctl_context *ret)
REFUSE(ctl_close, struct ctl_client *client, struct ctl_context *context)
REFUSE(ctl_import, struct ctl_client *client, int cmd_fd, struct ctl_context *ret)
REFUSE(ctl_alloc_pd, struct ctl_client *client, const struct ctl_context *context, uint32_t *ret)
REFUSE(ctl_dealloc_pd, struct ctl_client *client, const struct ctl_context *context, uint32_t pd)
REFUSE(ctl_use_pd, struct ctl_client *client, const struct ctl_context *context, uint32_t handle,
       int delta)
REFUSE(ctl_reg_mr, struct ctl_client *client, const struct ctl_context *context,
       const struct ctl_reg_mr *reg, uint32_t *ret_handle, uint32_t *ret_key)
REFUSE(ctl_rereg_mr, struct ctl_client *client, const struct ctl_context *context, uint32_t handle,
       const struct ctl_reg_mr *reg, uint32_t *ret_key)
REFUSE(ctl_dereg_mr, struct ctl_client *client, const struct ctl_context *context, uint32_t handle)
REFUSE(ctl_alloc_dm, struct ctl_client *client, const struct ctl_context *context, uint64_t len,
       uint32_t log_align, uint32_t *ret_handle, uint64_t *ret_offset)
REFUSE(ctl_free_dm, struct ctl_client *client, const struct ctl_context *context, uint32_t handle)

void ctl_detach(struct ctl_client *client, uint32_t device, struct ctl_attachment *attachment)
{
}
