/* SPDX-License-Identifier: MIT */
/* librdmacm's ids: struct rdma_cm_id as programs see it, what the library knows besides, and the
 * events that count for an id. The id's exchange with the other side lives in the device server;
 * the library has its queue pair, and its events. life.h makes and ends ids; the other headers have
 * one matter each.
 *
 * The server names an id in events by its token, a number that no other id of the process has ever
 * had. So a late event finds no id rather than another one. */
#ifndef RXE_RDMACM_ID_H
#define RXE_RDMACM_ID_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONFATAL_OOM 1
/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash) HASH_OAT(key, len, hash)
#include <uthash.h>

#include "lib/control/cm_request.h"
#include "lib/rdmacm/newer.h"

struct rcm_device;
struct rcm_member;

/* Events that count for an id or a membership: read, and acknowledged. */
struct rcm_events {
	uint32_t claimed, acked;
};

struct rcm_ece {
	uint32_t vendor, options;
};

struct rcm_id {
	struct rdma_cm_id base;
	UT_hash_handle hh;
	struct rcm_id *prev, *next; /* ids that have not had DEVICE_REMOVAL */
	uint64_t token;
	uint32_t handle;	   /* the server's */
	uint32_t forks;		   /* rcm_forks() when it was made */
	bool sync;		   /* has a channel of its own: calls wait for their event */
	bool is_removed;	   /* the program has had DEVICE_REMOVAL */
	bool is_failed;		   /* the connection failed here: later events of it are not told */
	struct rcm_device *device; /* NULL: not bound to one */

	pthread_mutex_t lock; /* what follows */
	pthread_cond_t acknowledged;
	struct rcm_events events;
	/* Events put into the channel's socket by the library, and taken out of it. */
	uint32_t added, received;
	struct rcm_member *members;
	bool is_resolving; /* rdma_resolve_addrinfo() */
	struct rdma_addrinfo *resolved;

	struct ibv_qp_init_attr *qp_init_attr; /* rdma_create_ep(): of QPs for requests */
	uint8_t *connect_data;		       /* rdma_create_ep(): before private data */
	size_t connect_len;
	uint8_t initiator_depth, responder_resources;
	struct rcm_ece local_ece, remote_ece;
	struct ctl_cm_qp_attr attr; /* of the last event; mask 0: ask the server */
	bool asks_attr;		    /* an option was set: events may be older than the option */
};

/* A multicast group that an id has joined. The server resolves the group's address and makes the
 * device listen to it; the library attaches the id's queue pair. */
struct rcm_member {
	struct rcm_member *next;
	uint64_t token;
	uint32_t handle; /* the server's */
	void *context;	 /* the program's, param.ud.private_data of events */
	bool is_sender_only;
	bool is_attached;
	union ibv_gid mgid;
	uint16_t mlid;
	union ctl_cm_sockaddr addr; /* of the group; what the family does not use is 0 */
	struct rcm_events events;   /* under the id's lock */
};

/* Where an event belongs. */
struct rcm_claim {
	struct rcm_id *id;
	struct rcm_member *member; /* MULTICAST_*; else NULL */
};

struct rcm_id *rcm_id(struct rdma_cm_id *base); /* NULL for NULL */
/* A token for an id or a membership. */
uint64_t rcm_token(void);
/* Makes events find the id by its token. 0 or ENOMEM. */
int rcm_id_add(struct rcm_id *id);
void rcm_id_remove(struct rcm_id *id);
/* Counts an event for its id. False: its id has ended, drop the event. Under the channel's lock. */
bool rcm_id_claim(const struct ctl_cm_event *event, struct rcm_claim *ret);
/* The server of a channel has exited: claims the event DEVICE_REMOVAL for an id of a device that
 * has not had it. False: all have. *ret_left: other ids of the channel have not had it. */
bool rcm_id_claim_removal(const struct rdma_event_channel *channel, struct rcm_claim *ret,
			  bool *ret_left);
/* Counts an event as acknowledged. */
void rcm_id_ack(const struct rcm_claim *claim);
/* Waits until all events of the id, or of one of its memberships, are acknowledged. */
void rcm_id_await_acks(struct rcm_id *id, const struct rcm_events *events);

#endif
