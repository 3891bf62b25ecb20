// SPDX-License-Identifier: MIT
/* Contexts, their users and their cmd_fds: admission, and the end of a context. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/control/socket.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/context.h"
#include "rxe_dm/server/instance.h"
#include "rxe_dm/server/random.h"

static void end_close(struct cmd_end *end)
{
	loop_close(&end->context->device->instance->loop, &end->source);
	DL_DELETE(end->context->ends, end);
	free(end);
}

static void free_if_unused(struct context *context)
{
	if (!context->users && !context->ends)
		context_free(context);
}

/* A holder of a cmd_fd asks for its context: the answer goes to the socket in the question. */
static void answer_introduce(struct cmd_end *end, const struct ctl_introduce *intro, ssize_t n,
			     int fd)
{
	struct ctl_grant grant = {
		.server_id = end->context->device->instance->life.id,
		.token = end->context->token,
		.device = end->context->device->index,
		.context = end->context->self->handle,
	};

	if (n == sizeof(*intro) && memcmp(intro->magic, CTL_MAGIC, sizeof(intro->magic)) == 0 &&
	    intro->protocol == CTL_PROTOCOL)
		ctl_send(fd, &grant, sizeof(grant), NULL, 0, MSG_DONTWAIT);
}

static void end_ready(struct loop_source *source, uint32_t events)
{
	struct cmd_end *end = container_of(source, struct cmd_end, source);
	struct context *context = end->context;
	struct ctl_introduce intro;
	size_t num_fds;
	ssize_t n;
	int fd;

	if (events & EPOLLIN) {
		n = ctl_recv(source->fd, &intro, sizeof(intro), &fd, 1, &num_fds, MSG_DONTWAIT);
		if (num_fds) {
			answer_introduce(end, &intro, n, fd);
			close(fd);
		}
		if (n != 0)
			return; /* 0: an empty message or the end; events says which */
	}
	if (events & (EPOLLHUP | EPOLLERR)) {
		end_close(end);
		free_if_unused(context);
	}
}

/* Makes a socket pair whose far end becomes a cmd_fd. The near end's name identifies a cmd_fd. */
static int open_end(struct context *context, int *ret_cmd_fd)
{
	struct instance *instance = context->device->instance;
	struct cmd_end *end = (struct cmd_end *)calloc(1, sizeof(*end));
	struct ctl_name name;
	int pair[2], rc;

	if (!end)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		rc = -errno;
		free(end);
		return rc;
	}
	ctl_name_cmd(&name, geteuid(), instance->settings.instance, context->device->index,
		     context->self->handle, instance->life.serial++);
	end->context = context;
	end->source = (struct loop_source){ .fd = pair[0], .ready = end_ready };
	rc = bind(pair[0], (const struct sockaddr *)&name.addr, name.len) ? -errno : 0;
	if (rc == 0)
		rc = loop_add(&instance->loop, &end->source, EPOLLIN);
	if (rc) {
		close(pair[0]);
		close(pair[1]);
		free(end);
		return rc;
	}
	DL_APPEND(context->ends, end);
	*ret_cmd_fd = pair[1];
	return 0;
}

struct user *context_user(const struct context *context, const struct conn *conn)
{
	struct user *user;

	DL_FOREACH2(conn->users, user, cnext)
	{
		if (user->context == context)
			return user;
	}
	return NULL;
}

static struct user *add_user(struct context *context, struct conn *conn)
{
	struct user *user = (struct user *)calloc(1, sizeof(*user));

	assert(!context_user(context, conn));
	if (!user)
		return NULL;
	user->context = context;
	user->conn = conn;
	DL_APPEND(context->users, user);
	DL_APPEND2(conn->users, user, cprev, cnext);
	return user;
}

int context_join(struct context *context, struct conn *conn, int *ret_cmd_fd)
{
	struct user *user = context_user(context, conn);
	int rc;

	rc = open_end(context, ret_cmd_fd);
	if (rc)
		return rc;
	if (!user)
		user = add_user(context, conn);
	if (!user) {
		close(*ret_cmd_fd); /* closes the server's end too, at its next event */
		return -ENOMEM;
	}
	user->refs++;
	return 0;
}

int context_open(struct device *device, struct conn *conn, struct context **ret, int *ret_cmd_fd)
{
	struct context *context = (struct context *)calloc(1, sizeof(*context));
	int rc;

	if (!context)
		return -ENOMEM;
	context->device = device;
	context->self = object_new(&device->tables.objects, CTL_KIND_CONTEXT);
	if (!context->self) {
		free(context);
		return -ENOMEM;
	}
	random_fill(&context->token, sizeof(context->token));
	context->self->context = context;
	DL_APPEND(device->contexts, context);
	rc = context_join(context, conn, ret_cmd_fd);
	if (rc)
		context_free(context);
	else
		*ret = context;
	return rc;
}

void context_leave(struct user *user)
{
	assert(user->refs > 0);
	if (--user->refs == 0)
		context_drop_user(user);
}

static void free_owned(struct user *user)
{
	struct object *object, *onext;

	DL_FOREACH_SAFE2(user->owned, object, onext, onext)
	context_free_object(object);
}

void context_unbind(const struct conn *conn, const struct device *device)
{
	struct user *user;

	DL_FOREACH2(conn->users, user, cnext)
	{
		if (user->context->device == device)
			free_owned(user);
	}
}

static void end_user(struct user *user)
{
	struct pd_use *use, *next;

	free_owned(user);
	DL_FOREACH_SAFE (user->uses, use, next) {
		assert(use->pd->refs >= use->count);
		use->pd->refs -= use->count;
		free(use);
	}
	DL_DELETE(user->context->users, user);
	DL_DELETE2(user->conn->users, user, cprev, cnext);
	free(user);
}

void context_drop_user(struct user *user)
{
	struct context *context = user->context;

	end_user(user);
	free_if_unused(context);
}

/* Windows and regions first, then the objects that they use. */
static void free_objects(struct context *context)
{
	static const enum ctl_kind order[] = { CTL_KIND_QP,   CTL_KIND_MW, CTL_KIND_MR,
					       CTL_KIND_UMEM, CTL_KIND_DM, CTL_KIND_DMAH,
					       CTL_KIND_XRCD, CTL_KIND_PD };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct object *object, *next;

		DL_FOREACH_SAFE (context->objects, object, next) {
			if (object->kind == order[i])
				context_free_object(object);
		}
	}
}

void context_free(struct context *context)
{
	struct device *device = context->device;

	while (context->users)
		end_user(context->users);
	while (context->ends)
		end_close(context->ends);
	free_objects(context);
	assert(!context->objects && !context->windows && context->self->refs == 0);
	DL_DELETE(device->contexts, context);
	object_free(&device->tables.objects, context->self);
	free(context);
}
