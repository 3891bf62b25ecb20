// SPDX-License-Identifier: MIT
/* Requests to the connection manager: one request, one reply. */
#include "lib/control/cm.h"

#include "lib/control/connection.h"

static int exchange(struct ctl_client *client, struct ctl_call *call, struct ctl_msg_cm_reply *ret)
{
	int rc = ctl_do(client, call, 0);

	if (rc == 0 && ret)
		*ret = call->reply.cm;
	return rc;
}

int ctl_cm_create_channel(struct ctl_client *client, int fd, uint32_t *ret_channel)
{
	struct ctl_call call = {
		.req = { .op = CTL_CM, .cm = { .op = CTL_CM_CREATE_CHANNEL } },
		.in_fd = fd,
	};
	int rc = exchange(client, &call, NULL);

	if (rc == 0)
		*ret_channel = call.reply.cm.handle;
	return rc;
}

int ctl_cm_pause(struct ctl_client *client, uint32_t channel, int *ret_fd)
{
	struct ctl_call call = {
		.req = { .op = CTL_CM, .cm = { .op = CTL_CM_PAUSE_CHANNEL, .channel = channel } },
		.in_fd = -1,
	};
	int rc = ctl_do(client, &call, 1);

	if (rc == 0)
		*ret_fd = call.fds[0];
	return rc;
}

int ctl_cm_channel(struct ctl_client *client, enum ctl_cm_op op, uint32_t channel)
{
	const struct ctl_msg_cm req = { .op = op, .channel = channel };

	return ctl_cm(client, &req, NULL);
}

int ctl_cm_list(struct ctl_client *client, uint32_t first, struct ctl_cm_page *ret)
{
	struct ctl_call call = {
		.req = { .op = CTL_CM, .cm = { .op = CTL_CM_LIST, .id = first } },
		.in_fd = -1,
	};
	int rc = ctl_do(client, &call, 0);

	if (rc == 0)
		*ret = call.reply.cm_page;
	return rc;
}

int ctl_cm_failures(struct ctl_client *client, uint32_t first, struct ctl_cm_failures *ret)
{
	struct ctl_call call = {
		.req = { .op = CTL_CM, .cm = { .op = CTL_CM_FAILURES, .id = first } },
		.in_fd = -1,
	};
	int rc = ctl_do(client, &call, 0);

	if (rc == 0)
		*ret = call.reply.cm_failures;
	return rc;
}

int ctl_cm(struct ctl_client *client, const struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret)
{
	struct ctl_call call = { .req = { .op = CTL_CM, .cm = *req }, .in_fd = -1 };

	return exchange(client, &call, ret);
}
