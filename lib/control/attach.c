// SPDX-License-Identifier: MIT
/* A process's place on a device: its slot, what it maps, and the contexts that it is a user of. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/cancel.h"
#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/process.h"
#include "lib/control/socket.h"

#define IMPORT_PATIENCE_MS 5000 /* then look whether the server is stopped, and again */

enum { FD_SHARED, FD_ARENA, FD_RX, FD_EVENT, NUM_ATTACH_FDS, FD_TX = NUM_ATTACH_FDS };

static bool map_to_write(struct ctl_shared *shared, int fd, size_t offset, size_t bytes)
{
	return mmap((uint8_t *)shared + offset, bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, (off_t)offset) != MAP_FAILED;
}

/* All of it to read, one's own slot and the errands to write. at: where it was before fork(), or NULL. */
static struct ctl_shared *map_shared(int fd, size_t bytes, uint32_t slot, struct ctl_shared *at)
{
	int fixed = at ? MAP_FIXED : 0;
	const size_t own = offsetof(struct ctl_shared, slot) + slot * sizeof(struct ctl_slot);
	struct ctl_shared *shared;

	if (bytes != sizeof(*shared) || slot >= RXE_MAX_SLOTS)
		return NULL;
	shared = (struct ctl_shared *)mmap(at, bytes, PROT_READ, MAP_SHARED | fixed, fd, 0);
	if (shared == MAP_FAILED)
		return NULL;
	if (map_to_write(shared, fd, own, sizeof(struct ctl_slot)) &&
	    map_to_write(shared, fd, offsetof(struct ctl_shared, errands),
			 sizeof(struct ctl_remote_requests)))
		return shared;
	munmap(shared, bytes);
	return NULL;
}

static uint8_t *map_arena(int fd, size_t bytes)
{
	void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (arena == MAP_FAILED)
		return NULL;
	madvise(arena, bytes, MADV_HUGEPAGE); /* where shmem_enabled allows it */
	return (uint8_t *)arena;
}

/* Ask for a slot. Who is on an interface gets one descriptor more. */
static int ask_attach(struct ctl_client *client, uint32_t device, struct ctl_call *ret)
{
	int rc;

	*ret = (struct ctl_call){ .req = { .op = CTL_ATTACH, .device = device },
				  .in_fd = -1,
				  .more_fds = 1 };
	rc = ctl_do_locked(client, ret, NUM_ATTACH_FDS);
	if (rc == -ENOSPC)
		ctl_log(CTL_LOG_ERROR,
			"rxe_dm%u of instance '%s' has as many programs as it has slots ('rxe_dm "
			"show'): end one, or choose another instance with RXE_DM_INSTANCE",
			device, client->instance);
	if (rc)
		return rc;
	if (ret->reply.attached.link == CTL_LINK_VETH ? ret->num_fds == FD_TX + 1
						      : ret->num_fds == NUM_ATTACH_FDS)
		return 0;
	ctl_close_fds(ret->fds, ret->num_fds);
	return -EPROTO;
}

static int tx_fd(const struct ctl_call *call)
{
	return call->num_fds > FD_TX ? call->fds[FD_TX] : -1;
}

static void close_if(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int take_attachment(struct held_attachment *held, const struct ctl_call *call)
{
	const struct ctl_msg_attached *got = &call->reply.attached;
	struct ctl_attachment a = {
		.slot = got->slot,
		.rx_fd = call->fds[FD_RX],
		.tx_fd = tx_fd(call),
		.event_fd = call->fds[FD_EVENT],
		.arena_bytes = got->arena_bytes,
	};

	a.shared = map_shared(call->fds[FD_SHARED], got->shared_bytes, got->slot, NULL);
	if (!a.shared)
		return -ENOMEM;
	a.arena = map_arena(call->fds[FD_ARENA], got->arena_bytes);
	if (!a.arena) {
		munmap(a.shared, got->shared_bytes);
		return -ENOMEM;
	}
	held->a = a;
	held->shared_bytes = got->shared_bytes;
	return 0;
}

static int ask_detach(struct ctl_client *client, uint32_t device)
{
	struct ctl_call call = { .req = { .op = CTL_DETACH, .device = device }, .in_fd = -1 };

	return ctl_do_locked(client, &call, 0);
}

static int first_attach(struct ctl_client *client, uint32_t device)
{
	struct ctl_call call;
	int rc = ask_attach(client, device, &call);

	if (rc)
		return rc;
	rc = take_attachment(&client->attached[device], &call);
	close(call.fds[FD_SHARED]);
	close(call.fds[FD_ARENA]);
	if (rc) {
		close(call.fds[FD_RX]);
		close_if(tx_fd(&call));
		close(call.fds[FD_EVENT]);
		ask_detach(client, device);
	}
	return rc;
}

/* After fork() the first call of the child connects it: let that happen before the numbers are told. */
static int wake_child(struct ctl_client *client)
{
	struct ctl_call call = { .req = { .op = CTL_STATUS }, .in_fd = -1 };

	return client->forked ? ctl_do_locked(client, &call, 0) : 0;
}

int ctl_attach(struct ctl_client *client, uint32_t device, struct ctl_attachment *ret)
{
	struct held_attachment *held = &client->attached[device % CTL_DEVICE_MAX];
	int rc;
	NO_CANCEL;

	if (device >= CTL_DEVICE_MAX)
		return -ENODEV;
	pthread_mutex_lock(&client->lock);
	rc = held->refs ? wake_child(client) : first_attach(client, device);
	if (rc == 0) {
		held->refs++;
		*ret = held->a;
	}
	pthread_mutex_unlock(&client->lock);
	return rc;
}

static void unmap_attachment(struct held_attachment *held)
{
	munmap(held->a.shared, held->shared_bytes);
	munmap(held->a.arena, held->a.arena_bytes);
	close(held->a.rx_fd);
	close_if(held->a.tx_fd);
	close(held->a.event_fd);
	*held = (struct held_attachment){ 0 };
}

void ctl_detach(struct ctl_client *client, uint32_t device, struct ctl_attachment *attachment)
{
	struct held_attachment *held = &client->attached[device % CTL_DEVICE_MAX];
	NO_CANCEL;

	pthread_mutex_lock(&client->lock);
	if (device < CTL_DEVICE_MAX && held->refs && --held->refs == 0) {
		if (!client->forked)
			ask_detach(client, device);
		unmap_attachment(held);
	}
	pthread_mutex_unlock(&client->lock);
	*attachment = (struct ctl_attachment){ .rx_fd = -1, .tx_fd = -1, .event_fd = -1 };
}

/* The call made this process a user of a context: remember it, for close and for fork. */
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
	held->cmd_fd = call->fds[0];
	DL_APPEND(client->contexts, held);
	*ret = (struct ctl_context){ held->handle, held->cmd_fd, held->device };
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

int ctl_close(struct ctl_client *client, struct ctl_context *context)
{
	struct ctl_call call = {
		.req = { .op = CTL_CLOSE, .device = context->device, .context = context->handle },
		.in_fd = -1
	};
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
		close(held->cmd_fd);
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

/* Wait until the server of cmd_fd has answered on sock, or closed it by exiting. */
static int await_answer(int sock, int cmd_fd)
{
	struct pollfd ready = { .fd = sock, .events = POLLIN };
	uid_t uid;
	pid_t pid;
	int rc;

	while ((rc = poll(&ready, 1, IMPORT_PATIENCE_MS)) != 1) {
		if (rc < 0 && errno != EINTR)
			return -errno;
		if (rc == 0 && (ctl_peer(cmd_fd, &pid, &uid) || ctl_process_is_stopped(pid)))
			return -ETIMEDOUT;
	}
	return 0;
}

/* Ask through cmd_fd who its context is. The answer comes on a socket of our own: cmd_fd is shared with others. */
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
	struct ctl_grant grant;
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

void ctl_attach_release(struct ctl_client *client)
{
	struct held_context *held, *next;

	DL_FOREACH_SAFE (client->contexts, held, next) {
		close(held->cmd_fd);
		free(held);
	}
	for (uint32_t i = 0; i < CTL_DEVICE_MAX; i++) {
		if (client->attached[i].refs)
			unmap_attachment(&client->attached[i]);
	}
}

void ctl_attach_forget(struct ctl_client *client)
{
	int nothing = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	/* cmd_fd stays: as long as the child holds it the context lives, whatever becomes of the parent. The numbers of the others are
	 * kept: programs may have written them down. */
	for (uint32_t i = 0; i < CTL_DEVICE_MAX; i++) {
		if (client->attached[i].refs) {
			dup3(nothing, client->attached[i].a.rx_fd, O_CLOEXEC);
			if (client->attached[i].a.tx_fd >= 0)
				dup3(nothing, client->attached[i].a.tx_fd, O_CLOEXEC);
			dup3(nothing, client->attached[i].a.event_fd, O_CLOEXEC);
		}
	}
	close(nothing);
}

static void put_in_place(int fd, int place)
{
	dup3(fd, place, O_CLOEXEC);
	close(fd);
}

static int readopt(struct ctl_client *client, struct held_context *held)
{
	struct ctl_call call = { .req = { .op = CTL_ADOPT,
					  .device = held->device,
					  .context = held->handle,
					  .token = held->token },
				 .in_fd = -1 };
	int rc = ctl_do_locked(client, &call, 1);

	if (rc == 0)
		put_in_place(call.fds[0], held->cmd_fd);
	return rc;
}

static int reattach(struct ctl_client *client, uint32_t device)
{
	struct ctl_call call;
	struct held_attachment *held = &client->attached[device];
	int rc = ask_attach(client, device, &call);

	if (rc)
		return rc;
	held->a.slot = call.reply.attached.slot;
	if (!map_shared(call.fds[FD_SHARED], held->shared_bytes, held->a.slot, held->a.shared))
		rc = -ENOMEM;
	close(call.fds[FD_SHARED]);
	close(call.fds[FD_ARENA]);
	put_in_place(call.fds[FD_RX], held->a.rx_fd);
	if (held->a.tx_fd >= 0 && tx_fd(&call) >= 0)
		put_in_place(tx_fd(&call), held->a.tx_fd);
	put_in_place(call.fds[FD_EVENT], held->a.event_fd);
	return rc;
}

int ctl_attach_again(struct ctl_client *client)
{
	struct held_context *held;
	int rc = 0;

	/* A context that went with the parent is found out when it is used. */
	DL_FOREACH (client->contexts, held)
		readopt(client, held);
	for (uint32_t i = 0; i < CTL_DEVICE_MAX && rc == 0; i++) {
		if (client->attached[i].refs)
			rc = reattach(client, i);
	}
	return rc;
}
