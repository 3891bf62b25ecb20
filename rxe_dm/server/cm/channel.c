// SPDX-License-Identifier: MIT
/* Event channels: events go into the program's socket as long as it takes them, and wait here when
 * it does not. The server never blocks on a program. */
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "emu/container_of.h"
#include "lib/control/socket.h"
#include "rxe_dm/server/cm/channel.h"
#include "rxe_dm/server/cm/host.h"
#include "rxe_dm/server/conn.h"
#include "rxe_dm/server/instance.h"

#define NOT_SENT UINT64_MAX

/* Bytes that the kernel counts for what the program has not read. */
static uint32_t unread_bytes(const struct cm_channel *channel)
{
	int bytes = 0;

	return ioctl(channel->sock.fd, SIOCOUTQ, &bytes) || bytes < 0 ? 0 : (uint32_t)bytes;
}

/* The number of events that the program has read. */
static uint64_t read_events(const struct cm_channel *channel)
{
	const uint32_t bytes = unread_bytes(channel);
	const uint64_t unread =
		channel->charge ? (bytes + channel->charge - 1) / channel->charge : 0;

	return channel->sent > unread ? channel->sent - unread : 0;
}

static void add_request(struct cma_id_user *listener, struct cma_id_user *request)
{
	DL_APPEND(listener->requests, request);
	listener->num_requests++;
	request->listener = listener;
}

static void drop_request(struct cma_id_user *request)
{
	struct cma_id_user *listener = request->listener;

	if (!listener)
		return;
	DL_DELETE(listener->requests, request);
	listener->num_requests--;
	request->listener = NULL;
}

/* The new id of a connection request; NULL: another event, or the id has ended. */
static struct cma_id *request_of(const struct cm_channel *channel, const struct ctl_cm_event *event)
{
	return cma_id_find(channel->conn->instance->cm.ids, event->new_id);
}

/* Accounts an event that the socket has taken. */
static void count_sent(struct cm_channel *channel, const struct ctl_cm_event *event)
{
	struct cma_id *id = cma_id_find(channel->conn->instance->cm.ids, event->id);
	struct cma_id *new_id = request_of(channel, event);

	channel->sent++;
	if (!channel->charge)
		channel->charge = unread_bytes(channel);
	if (id)
		cma_id_user(id)->events++;
	if (new_id)
		cma_id_user(new_id)->request = channel->sent;
}

static void block(struct cm_channel *channel, bool blocked)
{
	struct loop *loop = &channel->conn->instance->loop;

	if (channel->blocked == blocked)
		return;
	if (blocked)
		(void)loop_add(loop, &channel->sock, EPOLLOUT);
	else
		loop_del(loop, &channel->sock);
	channel->blocked = blocked;
}

static void remove_queued(struct cm_channel *channel, struct cm_queued *queued)
{
	struct cma_id *id = cma_id_find(channel->conn->instance->cm.ids, queued->event.id);

	if (id)
		cma_id_user(id)->queued--;
	DL_DELETE(channel->queue, queued);
	channel->queued--;
	free(queued);
}

static void flush(struct cm_channel *channel)
{
	struct cm_queued *queued, *next;
	int rc;

	if (channel->paused)
		return;
	DL_FOREACH_SAFE (channel->queue, queued, next) {
		rc = ctl_send(channel->sock.fd, &queued->event, sizeof(queued->event), NULL, 0,
			      MSG_DONTWAIT);
		if (rc == -EAGAIN || rc == -ENOBUFS) {
			block(channel, true);
			return;
		}
		/* Without a reader the event is lost, and the program's ids end soon. */
		if (rc == 0)
			count_sent(channel, &queued->event);
		remove_queued(channel, queued);
	}
	block(channel, false);
}

static void sock_ready(struct loop_source *source, uint32_t events)
{
	(void)events;
	flush(container_of(source, struct cm_channel, sock));
}

void cm_channel_put(struct cma_id *id, const struct ctl_cm_event *event)
{
	struct cm_channel *channel = (struct cm_channel *)cma_id_user(id)->channel;
	struct cm_queued *queued = (struct cm_queued *)malloc(sizeof(*queued));
	struct cma_id *new_id = request_of(channel, event);

	if (!queued)
		return;
	queued->event = *event;
	DL_APPEND(channel->queue, queued);
	channel->queued++;
	cma_id_user(id)->queued++;
	if (new_id)
		add_request(cma_id_user(id), cma_id_user(new_id));
	if (!channel->blocked)
		flush(channel);
}

/* True: an end of a socketpair(AF_UNIX, SOCK_SEQPACKET). A socket that is connected to a name
 * may be the client's end of its own connection, which would never show EOF while the server
 * holds it. */
static bool is_pair_end(int fd)
{
	struct sockaddr_un peer = { 0 };
	socklen_t len = sizeof(peer), type_len = sizeof(int);
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 &&
	       type == SOCK_SEQPACKET && getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
	       len == sizeof(sa_family_t) && peer.sun_family == AF_UNIX;
}

int cm_channel_open(struct conn *conn, int fd, struct cm_channel **ret)
{
	struct cm_channel *channel;

	if (!is_pair_end(fd))
		return -EINVAL;
	channel = (struct cm_channel *)calloc(1, sizeof(*channel));
	if (!channel)
		return -ENOMEM;
	channel->conn = conn;
	channel->handle = ++conn->last_cm_channel;
	channel->sock = (struct loop_source){ .fd = fd, .ready = sock_ready };
	HASH_ADD(hh, conn->cm_channels, handle, sizeof(channel->handle), channel);
	if (!channel->hh.tbl) {
		free(channel);
		return -ENOMEM;
	}
	*ret = channel;
	return 0;
}

struct cm_channel *cm_channel_find(const struct conn *conn, uint32_t handle)
{
	struct cm_channel *channel;

	HASH_FIND(hh, conn->cm_channels, &handle, sizeof(handle), channel);
	return channel;
}

void cm_channel_clear(struct cm_channel *channel)
{
	while (channel->queue)
		remove_queued(channel, channel->queue);
}

void cm_channel_close(struct cm_channel *channel)
{
	block(channel, false);
	cm_channel_clear(channel);
	close(channel->sock.fd);
	HASH_DELETE(hh, channel->conn->cm_channels, channel);
	free(channel);
}

void cm_channel_pause(struct cm_channel *channel, bool paused)
{
	channel->paused = paused;
	if (paused)
		block(channel, false);
	else
		flush(channel);
}

/* The place of a request among the events of the old channel means nothing in the new one. */
static void move_id(struct cma_id *id, struct cm_channel *to)
{
	drop_request(cma_id_user(id));
	cma_id_set_channel(id, to, &to->num_ids);
	cma_id_user(id)->request = 0;
}

void cm_channel_move(struct cma_id *id, struct cm_channel *to)
{
	struct cm_channel *from = (struct cm_channel *)cma_id_user(id)->channel;
	struct cm_queued *queued, *next;
	struct cma_id *new_id;

	move_id(id, to);
	if (from == to)
		return;
	DL_FOREACH_SAFE (from->queue, queued, next) {
		if (queued->event.id != cma_id_handle(id))
			continue;
		DL_DELETE(from->queue, queued);
		from->queued--;
		DL_APPEND(to->queue, queued);
		to->queued++;
		new_id = request_of(to, &queued->event);
		if (new_id) {
			move_id(new_id, to);
			cma_id_user(new_id)->request = NOT_SENT;
			add_request(cma_id_user(id), cma_id_user(new_id));
		}
	}
	if (!to->blocked)
		flush(to);
}

uint32_t cm_channel_drop_membership(struct cm_channel *channel, uint64_t mc_token)
{
	struct cm_queued *queued, *next;
	uint32_t dropped = 0;

	DL_FOREACH_SAFE (channel->queue, queued, next) {
		if (!mc_token || queued->event.mc_token != mc_token)
			continue;
		remove_queued(channel, queued);
		dropped++;
	}
	return dropped;
}

static void end(struct cma_id *id, uint64_t now_ns)
{
	struct cma_id_user *user = cma_id_user(id);

	while (user->requests)
		drop_request(user->requests);
	drop_request(user);
	cma_id_destroy(id, now_ns);
}

void cm_end_id(struct cma_id *id, uint64_t now_ns)
{
	struct cm_channel *channel = (struct cm_channel *)cma_id_user(id)->channel;
	struct cm_queued *queued = channel->queue, *next;
	struct cma_id *new_id;

	for (; cma_id_user(id)->queued; queued = next) {
		assert(queued);
		next = queued->next;
		if (queued->event.id != cma_id_handle(id))
			continue;
		new_id = request_of(channel, &queued->event);
		if (new_id)
			end(new_id, now_ns);
		remove_queued(channel, queued);
	}
	end(id, now_ns);
}

/* A request is unread while its event waits here, or is among the last in the socket. */
uint32_t cm_channel_unread(struct cma_id *listener)
{
	struct cma_id_user *user = cma_id_user(listener);
	const struct cm_channel *channel = (const struct cm_channel *)user->channel;
	const uint64_t read = read_events(channel);

	if (channel->queued >= CM_QUEUE_MAX)
		return UINT32_MAX;
	while (user->requests && user->requests->request <= read)
		drop_request(user->requests);
	return user->num_requests;
}

bool cm_channel_has_unread(void *host, struct cma_id *listener, uint32_t backlog)
{
	const struct cma_id_user *user = cma_id_user(listener);
	const struct cm_channel *channel = (const struct cm_channel *)user->channel;

	(void)host;
	return (user->num_requests >= backlog || channel->queued >= CM_QUEUE_MAX) &&
	       cm_channel_unread(listener) >= backlog;
}
