// SPDX-License-Identifier: MIT
/* Event channels, and what an id's end does to the unread events. */
#include "lib/rdmacm/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/container_of.h"
#include "lib/control/cancel.h"
#include "lib/control/client.h"
#include "lib/rdmacm/error.h"
#include "lib/rdmacm/forks.h"
#include "lib/rdmacm/id.h"
#include "lib/rdmacm/server.h"
#include "lib/refusal/refusal.h"
#include "net/link/descriptor.h"

struct rcm_channel *rcm_channel(struct rdma_event_channel *base)
{
	return container_of(base, struct rcm_channel, base);
}

/* A pair of sockets, the library's end kept and the server's end sent. */
static int connect_channel(struct rcm_channel *channel)
{
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return rcm_errno();
	err = -ctl_cm_create_channel(channel->server->client, ends[1], &channel->handle);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	channel->base.fd = descriptor_keep(ends[0]);
	return 0;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rcm_server *server = rcm_server_get();
	struct rcm_channel *channel;
	int err;
	NO_CANCEL;

	if (!server) {
		rcm_result(refuse(WHY_CM_NO_SERVER));
		return NULL;
	}
	channel = calloc(1, sizeof(*channel));
	if (channel) {
		channel->server = server;
		channel->forks = rcm_forks();
		channel->holders = 1;
		pthread_mutex_init(&channel->lock, NULL);
		err = connect_channel(channel);
		if (err)
			refuse(WHY_SYSTEM(err), "a channel cannot be connected", strerror(err));
	} else {
		err = refuse(WHY_NO_MEMORY, "the channel");
	}
	if (!err)
		return &channel->base;
	rcm_server_put(server);
	free(channel);
	rcm_result(err);
	return NULL;
}

/* The last holder ends the channel at the server. An earlier end would wake waiting threads. */
static void let_go(void *arg)
{
	struct rcm_channel *channel = (struct rcm_channel *)arg;
	int saved = errno;
	NO_CANCEL;

	if (atomic_fetch_sub(&channel->holders, 1) != 1)
		return;
	if (channel->forks == rcm_forks())
		ctl_cm_channel(channel->server->client, CTL_CM_DESTROY_CHANNEL, channel->handle);
	rcm_server_put(channel->server);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
	errno = saved;
}

void rdma_destroy_event_channel(struct rdma_event_channel *base)
{
	struct rcm_channel *channel = rcm_channel(base);

	if (!base)
		return;
	if (descriptor_is_kept(base->fd))
		channel->is_nonblocking = (fcntl(base->fd, F_GETFL) & O_NONBLOCK) != 0;
	/* A reader that sees is_destroyed reads is_nonblocking next. */
	atomic_store(&channel->is_destroyed, true);
	descriptor_close(base->fd);
	let_go(channel);
}

/* Waits for an event and leaves it there. recv(2) rather than poll(2): SA_RESTART and O_NONBLOCK
 * mean what they mean to any reader. */
static int wait_for_event(const struct rcm_channel *channel)
{
	int fd = channel->base.fd;
	uint8_t byte;
	ssize_t n;

	if (atomic_load(&channel->is_destroyed) || !descriptor_is_kept(fd))
		return refuse(WHY_BAD_FD, fd);
	n = recv(fd, &byte, sizeof(byte), MSG_PEEK);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? errno
			       : refuse(WHY_SYSTEM(errno), "the channel cannot be read",
					strerror(errno));
	return n ? 0 : refuse(WHY_SERVER_EXITED(ENODEV));
}

/* False: nothing is there. */
static bool receive(const struct rcm_channel *channel, struct ctl_cm_event *ret)
{
	return recv(channel->base.fd, ret, sizeof(*ret), MSG_DONTWAIT) == sizeof(*ret);
}

/* The descriptor would be readable forever, since the server's end is closed: it becomes a socket
 * that nothing ever arrives at. Without memory for that it stays as it is. */
static void silence(struct rcm_channel *channel)
{
	const int flags = fcntl(channel->base.fd, F_GETFL);
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	(void)fcntl(fd, F_SETFL, flags);
	descriptor_replace(channel->base.fd, fd);
	atomic_store(&channel->is_silent, true);
}

/* The server has exited. False: another thread has silenced the channel meanwhile. Else *ret_err is
 * 0 and the event DEVICE_REMOVAL of an id is claimed, or ENODEV. */
static bool take_removal(struct rcm_channel *channel, struct rcm_claim *ret_claim, int *ret_err)
{
	bool is_new, is_left;
	NO_CANCEL;

	pthread_mutex_lock(&channel->lock);
	is_new = !atomic_load(&channel->is_silent);
	if (is_new) {
		*ret_err = rcm_id_claim_removal(&channel->base, ret_claim, &is_left) ? 0 : ENODEV;
		if (*ret_err || !is_left)
			silence(channel);
	}
	pthread_mutex_unlock(&channel->lock);
	return is_new;
}

static int take_next(struct rcm_channel *channel, struct ctl_cm_event *ret,
		     struct rcm_claim *ret_claim)
{
	bool is_claimed = false;
	int err;

	while (!is_claimed) {
		err = wait_for_event(channel);
		if (err == ENODEV) {
			*ret = (struct ctl_cm_event){ .event = RDMA_CM_EVENT_DEVICE_REMOVAL };
			if (take_removal(channel, ret_claim, &err))
				return err;
			continue;
		}
		if (err)
			return err;
		NO_CANCEL;
		pthread_mutex_lock(&channel->lock);
		/* Another thread may have taken the event, or ended its id. */
		if (receive(channel, ret))
			is_claimed = rcm_id_claim(ret, ret_claim);
		pthread_mutex_unlock(&channel->lock);
	}
	return 0;
}

int rcm_channel_next(struct rcm_channel *channel, struct ctl_cm_event *ret,
		     struct rcm_claim *ret_claim)
{
	int err;

	atomic_fetch_add(&channel->holders, 1);
	pthread_cleanup_push(let_go, channel);
	err = take_next(channel, ret, ret_claim);
	/* Another thread destroyed the channel during the call. The kernel lets a reader that waits
	 * wait on, until a signal comes. */
	if (err == EBADF && atomic_load(&channel->is_destroyed)) {
		if (!channel->is_nonblocking)
			pause();
		err = channel->is_nonblocking ? EAGAIN : EINTR;
	}
	pthread_cleanup_pop(1);
	return err;
}

/* Stops the server's events to a channel. *ret_end is the server's end of it, to be given back to
 * resume(). Returns 0 or a positive errno. */
static int pause_channel(const struct rcm_channel *channel, int *ret_end)
{
	return -ctl_cm_pause(channel->server->client, channel->handle, ret_end);
}

static void resume_channel(const struct rcm_channel *channel, int end)
{
	close(end);
	ctl_cm_channel(channel->server->client, CTL_CM_RESUME_CHANNEL, channel->handle);
}

/* Never full: an event of the same size has been taken out before. */
static int send_event(int end, const struct ctl_cm_event *event)
{
	ssize_t n = send(end, event, sizeof(*event), MSG_DONTWAIT | MSG_NOSIGNAL);

	return n == sizeof(*event) ? 0 : rcm_errno();
}

/* Events in a channel's socket. */
static size_t count_unread(const struct rcm_channel *channel)
{
	int bytes = 0;

	if (!descriptor_is_kept(channel->base.fd) || ioctl(channel->base.fd, FIONREAD, &bytes))
		return 0;
	return (size_t)bytes / sizeof(struct ctl_cm_event);
}

static bool is_wanted(const struct ctl_cm_event *event, const struct rcm_wanted *wanted)
{
	return event->token == wanted->token &&
	       (!wanted->mc_token || event->mc_token == wanted->mc_token);
}

void rcm_channel_reject(const struct rcm_channel *channel, const struct ctl_cm_event *event)
{
	const struct ctl_msg_cm req = { .op = CTL_CM_DESTROY_ID, .id = event->new_id };

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && channel->forks == rcm_forks())
		rcm_server_ask(channel->server, &req, NULL);
}

/* The ids of requests go where their events go. */
static void pass_on(const struct ctl_cm_event *event, const struct rcm_channel *to, int to_end)
{
	const struct ctl_msg_cm req = {
		.op = CTL_CM_MIGRATE,
		.id = event->new_id,
		.channel = to->handle,
	};

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		rcm_server_ask(to->server, &req, NULL);
	send_event(to_end, event);
}

/* Takes each event out once and puts it back, so that the others keep their order, but for the
 * wanted ones. Those go to another channel, or with NULL away. */
static void sort_out(struct rcm_channel *channel, int end, const struct rcm_wanted *wanted,
		     const struct rcm_channel *to, int to_end)
{
	struct ctl_cm_event event;

	for (size_t n = count_unread(channel); n && receive(channel, &event); n--) {
		if (!is_wanted(&event, wanted))
			send_event(end, &event);
		else if (to)
			pass_on(&event, to, to_end);
		else
			rcm_channel_reject(channel, &event);
	}
}

void rcm_channel_drop(struct rcm_channel *channel, const struct rcm_wanted *wanted)
{
	int end;

	/* A child of fork() reads its parent's events no more. */
	if (channel->forks != rcm_forks())
		return;
	/* The lock even if the socket is empty: who has taken an event out has claimed it then. */
	pthread_mutex_lock(&channel->lock);
	if (count_unread(channel) && pause_channel(channel, &end) == 0) {
		sort_out(channel, end, wanted, NULL, -1);
		resume_channel(channel, end);
	}
	pthread_mutex_unlock(&channel->lock);
}

static void lock_both(struct rcm_channel *a, struct rcm_channel *b)
{
	struct rcm_channel *first = (uintptr_t)a < (uintptr_t)b ? a : b;

	pthread_mutex_lock(&first->lock);
	pthread_mutex_lock(first == a ? &b->lock : &a->lock);
}

static int move_paused(struct rcm_channel *from, int from_end, struct rcm_channel *to, int to_end,
		       const struct ctl_msg_cm *req)
{
	const struct rcm_wanted wanted = { .token = req->token };
	int err = rcm_server_ask(from->server, req, NULL);

	if (!err)
		sort_out(from, from_end, &wanted, to, to_end);
	return err;
}

int rcm_channel_move(struct rcm_channel *from, struct rcm_channel *to, const struct ctl_msg_cm *req)
{
	int from_end, to_end, err;

	if (from == to)
		return 0;
	lock_both(from, to);
	err = pause_channel(from, &from_end);
	if (!err) {
		err = pause_channel(to, &to_end);
		if (!err) {
			err = move_paused(from, from_end, to, to_end, req);
			resume_channel(to, to_end);
		}
		resume_channel(from, from_end);
	}
	pthread_mutex_unlock(&from->lock);
	pthread_mutex_unlock(&to->lock);
	return err;
}

int rcm_channel_add(struct rcm_channel *channel, const struct ctl_cm_event *event)
{
	int end, err;

	if (channel->forks != rcm_forks())
		return refuse(WHY_INHERITED, "the channel");
	pthread_mutex_lock(&channel->lock);
	err = pause_channel(channel, &end);
	if (!err) {
		err = send_event(end, event);
		resume_channel(channel, end);
	}
	pthread_mutex_unlock(&channel->lock);
	return err;
}
