/* SPDX-License-Identifier: MIT */
/* Event channels: one end of a socket pair, whose other end the device server writes events to
 * (lib/control/cm_request.h). So the descriptor polls readable exactly while an event is there, and
 * O_NONBLOCK is the kernel's.
 *
 * An event counts for its id from the moment that it leaves the socket, under the channel's lock.
 * The end of an id takes the id's unread events back (rcm_channel_drop()), a move takes them along
 * (rcm_channel_move()). */
#ifndef RXE_RDMACM_CHANNEL_H
#define RXE_RDMACM_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/control/cm_request.h"
#include "lib/rdmacm/newer.h"

struct rcm_claim;
struct rcm_server;

struct rcm_channel {
	struct rdma_event_channel base;
	pthread_mutex_t lock; /* taking events out of the socket */
	struct rcm_server *server;
	uint32_t handle; /* the server's */
	/* The program, and each thread that waits for an event. A program may destroy a channel
	 * that a thread of it waits on: the thread goes on waiting. */
	_Atomic uint32_t holders;
	_Atomic bool is_destroyed;
	bool is_nonblocking; /* the descriptor was O_NONBLOCK when the channel was destroyed */
	/* The server has exited and the program has had the events of that: no other comes. */
	_Atomic bool is_silent;
	uint32_t forks; /* rcm_forks() when it was made */
};

/* Selects unread events: those of an id, or of one membership of it. */
struct rcm_wanted {
	uint64_t token;
	uint64_t mc_token; /* 0: all of the id */
};

struct rcm_channel *rcm_channel(struct rdma_event_channel *base);
/* Takes the oldest event out and claims it for its id. Waits, unless the descriptor is
 * O_NONBLOCK: a cancellation point then. 0 or a positive errno: EAGAIN, EINTR.
 *
 * When the server has exited, each id of a device has the event DEVICE_REMOVAL. If other ids are
 * left, or there was none, ENODEV follows once. From then on the channel is one without events. */
int rcm_channel_next(struct rcm_channel *channel, struct ctl_cm_event *ret,
		     struct rcm_claim *ret_claim);
/* Drops unread events; connection requests among them are rejected. The server must not send such
 * events any more. */
void rcm_channel_drop(struct rcm_channel *channel, const struct rcm_wanted *wanted);
/* Moves an id to another channel by the request, with its unread events. 0 or a positive errno. */
int rcm_channel_move(struct rcm_channel *from, struct rcm_channel *to,
		     const struct ctl_msg_cm *req);
/* Rejects a connection request that no id takes. Nothing for other events. */
void rcm_channel_reject(const struct rcm_channel *channel, const struct ctl_cm_event *event);
/* Adds an event of the library's own. 0 or a positive errno. */
int rcm_channel_add(struct rcm_channel *channel, const struct ctl_cm_event *event);

#endif
