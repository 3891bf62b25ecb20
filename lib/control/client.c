// SPDX-License-Identifier: MIT
/* The calls of a program that connect it to the instance that its environment names, attach it to a
 * device, and open, import and close contexts. */
#include "lib/control/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/agree.h"
#include "lib/control/cancel.h"
#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/process.h"
#include "lib/control/settings.h"
#include "lib/control/socket.h"
#include "net/link/descriptor.h"

/* Time to wait for an answer before the server's state is checked. */
#define IMPORT_TIMEOUT_MS 5000

/* Logs one line if a variable of the environment differs from what the running instance has. */
static void agree(const char *instance, const struct ctl_device *device, size_t n)
{
	char has[CTL_HAS_MAX];
	const char *variable = ctl_contradicts(device, n, has);

	if (variable)
		ctl_log(CTL_LOG_ERROR,
			"%s is not what instance '%s' was started with (%s, not %.60s), and "
			"changes nothing now: 'rxe_dm stop' it first, or choose another instance "
			"with RXE_DM_INSTANCE",
			variable, instance, has, secure_getenv(variable));
}

int ctl_connect(struct ctl_client **ret)
{
	struct ctl_device device[CTL_DEVICE_MAX];
	struct ctl_settings settings;
	char why[CTL_WHY_MAX];
	size_t n;
	int rc;
	NO_CANCEL;

	ctl_settings_init(&settings);
	if (!ctl_setting_from_env(&settings, ctl_setting_find("instance"), why)) {
		ctl_log(CTL_LOG_ERROR, "%s", why);
		return -EINVAL;
	}
	rc = ctl_connect_as(ret, settings.instance, CTL_ROLE_PROGRAM, true);
	if (rc == 0 && ctl_list_devices(*ret, device, CTL_DEVICE_MAX, &n) == 0)
		agree(settings.instance, device, n);
	return rc;
}

int ctl_attach(struct ctl_client *client, uint32_t device, struct ctl_attachment *ret)
{
	struct held_attachment *held = &client->attached[device % CTL_DEVICE_MAX];
	int rc = 0;
	NO_CANCEL;

	if (device >= CTL_DEVICE_MAX)
		return -ENODEV;
	pthread_mutex_lock(&client->lock);
	/* After fork() the child's connection comes first: it changes the slot's number. */
	if (!held->refs || client->forked)
		rc = ctl_connected_locked(client);
	if (rc == 0 && !held->refs)
		rc = ctl_held_attach(client, device);
	if (rc == 0) {
		held->refs++;
		*ret = held->a;
	}
	pthread_mutex_unlock(&client->lock);
	return rc;
}

void ctl_detach(struct ctl_client *client, uint32_t device, struct ctl_attachment *attachment)
{
	struct held_attachment *held = &client->attached[device % CTL_DEVICE_MAX];
	NO_CANCEL;

	pthread_mutex_lock(&client->lock);
	if (device < CTL_DEVICE_MAX && held->refs && --held->refs == 0)
		ctl_held_detach(client, device);
	pthread_mutex_unlock(&client->lock);
	*attachment =
		(struct ctl_attachment){ .rx_fd = -1, .tx_fd = -1, .hub_fd = -1, .event_fd = -1 };
}

int ctl_join_captures(struct ctl_client *client, uint32_t device)
{
	struct ctl_call call = { .req = { .op = CTL_JOIN_CAPTURES, .device = device },
				 .in_fd = -1 };

	return ctl_do(client, &call, 0);
}

int ctl_meet(struct ctl_client *client, uint32_t device, uint32_t slot, uint32_t *ret_epoch)
{
	struct ctl_call call = { .req = { .op = CTL_MEET, .device = device, .handle = slot },
				 .in_fd = -1 };
	int rc;
	NO_CANCEL;

	if (pthread_mutex_trylock(&client->lock) != 0)
		return -EBUSY;
	rc = ctl_do_locked(client, &call, 1);
	pthread_mutex_unlock(&client->lock);
	if (rc)
		return rc;
	*ret_epoch = call.reply.met.epoch;
	return call.fds[0];
}

/* Records a context that this process has become a user of, for close and for fork(). */
static int hold_context(struct ctl_client *client, const struct ctl_call *call,
			struct ctl_context *ret)
{
	struct held_context *held = (struct held_context *)calloc(1, sizeof(*held));

	if (!held) {
		close(call->fds[0]);
		return -ENOMEM;
	}
	held->handle = call->reply.opened.handle;
	held->device = call->reply.opened.device;
	held->token = call->reply.opened.token;
	held->cmd_fd = descriptor_keep(call->fds[0]);
	DL_APPEND(client->contexts, held);
	*ret = (struct ctl_context){ client, held->handle, held->cmd_fd, held->device };
	return 0;
}

static int enter_context(struct ctl_client *client, struct ctl_call *call, struct ctl_context *ret)
{
	int rc;
	NO_CANCEL;

	pthread_mutex_lock(&client->lock);
	rc = ctl_do_locked(client, call, 1);
	if (rc == 0)
		rc = hold_context(client, call, ret);
	pthread_mutex_unlock(&client->lock);
	return rc;
}

int ctl_open(struct ctl_client *client, uint32_t device, struct ctl_context *ret)
{
	struct ctl_call call = { .req = { .op = CTL_OPEN, .device = device }, .in_fd = -1 };

	return enter_context(client, &call, ret);
}

int ctl_close(struct ctl_context *context)
{
	struct ctl_call call = {
		.req = { .op = CTL_CLOSE, .device = context->device, .context = context->handle },
		.in_fd = -1
	};
	struct ctl_client *client = context->client;
	struct held_context *held;
	int rc = 0;
	NO_CANCEL;

	pthread_mutex_lock(&client->lock);
	DL_FOREACH (client->contexts, held) {
		if (held->cmd_fd == context->cmd_fd && held->handle == context->handle)
			break;
	}
	if (!held) {
		rc = -EBADF;
	} else {
		if (!client->forked)
			rc = ctl_do_locked(client, &call, 0);
		DL_DELETE(client->contexts, held);
		descriptor_close(held->cmd_fd);
		free(held);
	}
	pthread_mutex_unlock(&client->lock);
	context->cmd_fd = -1;
	return rc;
}

bool ctl_holds(struct ctl_client *client, int cmd_fd)
{
	struct held_context *held;

	pthread_mutex_lock(&client->lock);
	DL_FOREACH (client->contexts, held) {
		if (held->cmd_fd == cmd_fd)
			break;
	}
	pthread_mutex_unlock(&client->lock);
	return held != NULL;
}

/* Waits until the server of cmd_fd has answered on sock, or closed it by exiting. */
static int await_answer(int sock, int cmd_fd)
{
	struct pollfd ready = { .fd = sock, .events = POLLIN };
	uid_t uid;
	pid_t pid;
	int rc;

	while ((rc = poll(&ready, 1, IMPORT_TIMEOUT_MS)) != 1) {
		if (rc < 0 && errno != EINTR)
			return -errno;
		if (rc == 0 && (ctl_peer(cmd_fd, &pid, &uid) || ctl_process_is_stopped(pid)))
			return -ETIMEDOUT;
	}
	return 0;
}

/* Asks through cmd_fd for its context. The answer comes on a new socket: others read cmd_fd. */
static int ask_grant(int cmd_fd, struct ctl_grant *ret)
{
	struct ctl_introduce intro = { .magic = CTL_MAGIC, .protocol = CTL_PROTOCOL };
	int pair[2], rc;
	ssize_t n;

	if (!ctl_is_cmd_fd(cmd_fd))
		return -EINVAL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	rc = ctl_send(cmd_fd, &intro, sizeof(intro), &pair[1], 1, MSG_DONTWAIT);
	close(pair[1]);
	if (rc == 0)
		rc = await_answer(pair[0], cmd_fd);
	if (rc == 0) {
		n = ctl_recv(pair[0], ret, sizeof(*ret), NULL, 0, NULL, MSG_DONTWAIT);
		rc = n == sizeof(*ret) ? 0 : -ENODEV;
	}
	close(pair[0]);
	return rc == -EPIPE || rc == -ECONNRESET ? -ENODEV : rc;
}

int ctl_import(struct ctl_client *client, int cmd_fd, struct ctl_context *ret)
{
	struct ctl_call call = { .req = { .op = CTL_ADOPT }, .in_fd = -1 };
	struct ctl_grant grant = { 0 };
	NO_CANCEL;
	int rc = ask_grant(cmd_fd, &grant);

	if (rc)
		return rc;
	if (grant.server_id != client->server_id)
		return -EXDEV;
	call.req.device = grant.device;
	call.req.context = grant.context;
	call.req.token = grant.token;
	return enter_context(client, &call, ret);
}
