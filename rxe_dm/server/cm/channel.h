/* SPDX-License-Identifier: MIT */
/* Event channels of programs: the server's ends, and the events that wait for their sockets. */
#ifndef RXE_DM_SERVER_CM_CHANNEL_H
#define RXE_DM_SERVER_CM_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

/* Running out of memory fails the addition, not the server. */
#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

#include "rxe_dm/cma/cma.h"
#include "rxe_dm/server/loop.h"

struct conn;

#define CM_QUEUE_MAX 65536 /* events; requests beyond that fail */

/* An event that the socket has not taken yet. */
struct cm_queued {
	struct cm_queued *prev, *next;
	struct ctl_cm_event event;
};

/* The server's end of an event channel. */
struct cm_channel {
	struct conn *conn;
	uint32_t handle;
	UT_hash_handle hh; /* of the connection, by handle */
	uint32_t num_ids;
	struct loop_source sock; /* in the loop while blocked */
	bool paused;		 /* the library takes events back */
	bool blocked;		 /* the socket is full */
	struct cm_queued *queue;
	uint32_t queued;
	uint64_t sent;	 /* events put into the socket */
	uint32_t charge; /* what the kernel counts for one event in the socket; 0: not known yet */
};

/* Takes over the descriptor. -EINVAL: not an end of a socket pair; -ENOMEM. */
int cm_channel_open(struct conn *conn, int fd, struct cm_channel **ret);
struct cm_channel *cm_channel_find(const struct conn *conn, uint32_t handle); /* NULL: none */
/* No id uses it: num_ids is 0. */
void cm_channel_close(struct cm_channel *channel);
/* Drops all waiting events: the process has exited. */
void cm_channel_clear(struct cm_channel *channel);
void cm_channel_pause(struct cm_channel *channel, bool paused);
/* Moves the events of an id that wait in the server to another channel; ids of connection requests
 * among them also move. */
void cm_channel_move(struct cma_id *id, struct cm_channel *to);
/* Drops the waiting events of a membership. Returns their number. */
uint32_t cm_channel_drop_membership(struct cm_channel *channel, uint64_t mc_token);
/* Drops the waiting events of the id, and ends it. */
void cm_end_id(struct cma_id *id, uint64_t now_ns);
/* The number of the listener's connection requests that its program has not read. */
uint32_t cm_channel_unread(struct cma_id *listener);
/* True: at least backlog. host is not used: this is an operation of struct cma_ids_ops. */
bool cm_channel_has_unread(void *host, struct cma_id *listener, uint32_t backlog);
/* Puts an event into the channel of an id. */
void cm_channel_put(struct cma_id *id, const struct ctl_cm_event *event);

#endif
