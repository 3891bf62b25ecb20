// SPDX-License-Identifier: MIT
/* How attachments and contexts of a process are made, dropped, and made again after fork(). */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/control/connection.h"
#include "lib/control/log.h"
#include "lib/control/socket.h"
#include "net/link/descriptor.h"

enum { FD_SHARED, FD_ARENA, FD_RX, FD_EVENT, NUM_ATTACH_FDS, FD_TX = NUM_ATTACH_FDS, FD_HUB };

static bool map_to_write(struct ctl_shared *shared, int fd, size_t offset, size_t bytes)
{
	return mmap((uint8_t *)shared + offset, bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, (off_t)offset) != MAP_FAILED;
}

/* Maps everything to read, and the process's own slot and the remote requests to write. at: the
 * address before fork(), or NULL. */
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
	    map_to_write(shared, fd, offsetof(struct ctl_shared, remote_requests),
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

static size_t wanted_fds(enum ctl_link link)
{
	switch (link) {
	case CTL_LINK_UDP: return NUM_ATTACH_FDS;
	case CTL_LINK_ETHERNET: return FD_TX + 1;
	case CTL_LINK_MEMORY: return FD_HUB + 1;
	}
	return NUM_ATTACH_FDS;
}

static int ask_attach(struct ctl_client *client, uint32_t device, struct ctl_call *ret)
{
	size_t wanted;
	int rc;

	*ret = (struct ctl_call){ .req = { .op = CTL_ATTACH, .device = device },
				  .in_fd = -1,
				  .more_fds = 2 };
	rc = ctl_exchange(client, ret, NUM_ATTACH_FDS);
	if (rc == -ENOSPC)
		ctl_log(CTL_LOG_ERROR,
			"rxe_dm%u of instance '%s' has as many programs as it has slots ('rxe_dm "
			"show'): end one, or choose another instance with RXE_DM_INSTANCE",
			device, client->instance);
	if (rc)
		return rc;
	wanted = wanted_fds((enum ctl_link)ret->reply.attached.link);
	if (ret->num_fds == wanted)
		return 0;
	/* The kernel omits descriptors beyond this process's RLIMIT_NOFILE. */
	rc = ret->num_fds < wanted ? -EMFILE : -EPROTO;
	ctl_close_fds(ret->fds, ret->num_fds);
	return rc;
}

/* Where an attachment keeps the descriptor FD_RX, FD_EVENT, FD_TX or FD_HUB. */
static int *place_of(struct ctl_attachment *a, size_t index)
{
	int *const place[] = { [FD_RX] = &a->rx_fd,
			       [FD_EVENT] = &a->event_fd,
			       [FD_TX] = &a->tx_fd,
			       [FD_HUB] = &a->hub_fd };

	return place[index];
}

static int take_attachment(struct ctl_client *client, struct held_attachment *held,
			   const struct ctl_call *call)
{
	const struct ctl_msg_attached *got = &call->reply.attached;
	struct ctl_attachment a = {
		.client = client,
		.slot = got->slot,
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
	for (size_t i = FD_RX; i <= FD_HUB; i++)
		*place_of(&a, i) = i < call->num_fds ? descriptor_keep(call->fds[i]) : -1;
	held->a = a;
	held->shared_bytes = got->shared_bytes;
	return 0;
}

static int ask_detach(struct ctl_client *client, uint32_t device)
{
	struct ctl_call call = { .req = { .op = CTL_DETACH, .device = device }, .in_fd = -1 };

	return ctl_exchange(client, &call, 0);
}

int ctl_held_attach(struct ctl_client *client, uint32_t device)
{
	struct ctl_call call;
	int rc = ask_attach(client, device, &call);

	if (rc)
		return rc;
	rc = take_attachment(client, &client->attached[device], &call);
	close(call.fds[FD_SHARED]);
	close(call.fds[FD_ARENA]);
	if (rc) {
		ctl_close_fds(call.fds + FD_RX, call.num_fds - FD_RX);
		ask_detach(client, device);
	}
	return rc;
}

static void unmap_attachment(struct held_attachment *held)
{
	munmap(held->a.shared, held->shared_bytes);
	munmap(held->a.arena, held->a.arena_bytes);
	for (size_t i = FD_RX; i <= FD_HUB; i++)
		descriptor_close(*place_of(&held->a, i));
	*held = (struct held_attachment){ 0 };
}

void ctl_held_detach(struct ctl_client *client, uint32_t device)
{
	if (!client->forked)
		ask_detach(client, device);
	unmap_attachment(&client->attached[device]);
}

void ctl_held_release(struct ctl_client *client)
{
	struct held_context *held, *next;

	DL_FOREACH_SAFE (client->contexts, held, next) {
		descriptor_close(held->cmd_fd);
		free(held);
	}
	for (uint32_t i = 0; i < CTL_DEVICE_MAX; i++) {
		if (client->attached[i].refs)
			unmap_attachment(&client->attached[i]);
	}
}

void ctl_held_forget(struct ctl_client *client)
{
	int nothing = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	/* cmd_fd stays open: it keeps the context alive after the parent exits. The other
	 * descriptor numbers stay in use: programs may have stored them. */
	for (uint32_t i = 0; i < CTL_DEVICE_MAX; i++) {
		for (size_t fd = FD_RX; fd <= FD_HUB && client->attached[i].refs; fd++)
			descriptor_replace(*place_of(&client->attached[i].a, fd), dup(nothing));
	}
	close(nothing);
}

static int readopt(struct ctl_client *client, struct held_context *held)
{
	struct ctl_call call = { .req = { .op = CTL_ADOPT,
					  .device = held->device,
					  .context = held->handle,
					  .token = held->token },
				 .in_fd = -1 };
	int rc = ctl_exchange(client, &call, 1);

	if (rc == 0)
		descriptor_replace(held->cmd_fd, call.fds[0]);
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
	for (size_t i = FD_RX; i < call.num_fds; i++)
		descriptor_replace(*place_of(&held->a, i), call.fds[i]);
	return rc;
}

int ctl_held_rejoin(struct ctl_client *client)
{
	struct held_context *held;
	int rc = 0;

	/* A context that ended with the parent fails at its next call. */
	DL_FOREACH (client->contexts, held)
		readopt(client, held);
	for (uint32_t i = 0; i < CTL_DEVICE_MAX && rc == 0; i++) {
		if (client->attached[i].refs)
			rc = reattach(client, i);
	}
	return rc;
}
