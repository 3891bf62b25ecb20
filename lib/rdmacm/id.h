/* SPDX-License-Identifier: MIT */
/* Ids: struct rdma_cm_id as programs see it, and what the library knows beside. The id's exchange
 * with the other side lives in the device server; the library has its queue pair, and its events.
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

#include "lib/control/cm.h"
#include "lib/rdmacm/newer.h"

struct rcm_channel;
struct rcm_device;
struct rcm_member;

struct rcm_ece {
	uint32_t vendor, options;
};

struct rcm_id {
	struct rdma_cm_id base;
	UT_hash_handle hh;
	uint64_t token;
	uint32_t handle;	   /* the server's */
	uint32_t forks;		   /* rcm_forks() when it was made */
	bool sync;		   /* has a channel of its own: calls wait for their event */
	bool is_removed;	   /* the program was told that the device is gone */
	bool is_failed;		   /* the connection failed here: later events of it are not told */
	struct rcm_device *device; /* NULL: not bound to one */

	pthread_mutex_t lock; /* what follows */
	pthread_cond_t acknowledged;
	uint32_t claimed, acked; /* events */
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
	struct ctl_cm_qp_attr attr; /* of the last event; mask 0: the server tells */
	bool asks_attr;		    /* events may be older than an option of the id */
};

/* Where an event belongs. */
struct rcm_claim {
	struct rcm_id *id;
	struct rcm_member *member; /* MULTICAST_*; else NULL */
};

struct rcm_id *rcm_id(struct rdma_cm_id *base);
/* A token for an id or a membership. */
uint64_t rcm_token(void);
/* Counts an event for its id. False: its id has ended, drop the event. Under the channel's lock. */
bool rcm_id_claim(const struct ctl_cm_event *event, struct rcm_claim *ret);
/* The server of a channel has exited: claims the event DEVICE_REMOVAL for an id that has not had
 * it. False: all have. */
bool rcm_id_claim_removal(const struct rcm_channel *channel, struct rcm_claim *ret);
/* The library has put an event of the id into its channel. */
void rcm_id_added_event(struct rcm_id *id);
/* Counts an event as acknowledged. */
void rcm_id_ack(const struct rcm_claim *claim);
/* An id for a connection request, on the listener's channel or its own as the listener has it.
 * NULL: the request was rejected. */
struct rcm_id *rcm_id_of_request(struct rcm_id *listener, const struct ctl_cm_event *event);
int rcm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type, struct rcm_id **ret);

/* Starts a request about an id. */
struct ctl_msg_cm rcm_id_request(const struct rcm_id *id, enum ctl_cm_op op);
/* As rcm_server_ask(). */
int rcm_id_ask(const struct rcm_id *id, const struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret);
/* A synchronous id: waits for the event that ends the call, and turns the event's status into the
 * call's result. 0 or a positive errno. */
int rcm_id_finish(struct rcm_id *id);
/* A synchronous id: acknowledges the event of the last call. */
void rcm_id_drop_event(struct rcm_id *id);

void rcm_ids_forked(void);

#endif
