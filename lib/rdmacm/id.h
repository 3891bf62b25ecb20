/* SPDX-License-Identifier: MIT */
/* librdmacm's ids: struct rdma_cm_id as programs see it, and what the library knows beside. The
 * id's exchange with the other side lives in the device server; the library has its queue pair, and
 * its events. The public functions lie in the file of what they are about: server.h has the
 * connection to the server and the devices, channel.h the events.
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

struct rcm_channel;
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
	struct ctl_cm_qp_attr attr; /* of the last event; mask 0: the server tells */
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
/* Number of fork() calls between the loading of the library and this process. Ids and channels of
 * another number belong to an ancestor. */
uint32_t rcm_forks(void);
/* A token for an id or a membership. */
uint64_t rcm_token(void);
/* Counts an event for its id. False: its id has ended, drop the event. Under the channel's lock. */
bool rcm_id_claim(const struct ctl_cm_event *event, struct rcm_claim *ret);
/* The server of a channel has exited: claims the event DEVICE_REMOVAL for an id of a device that
 * has not had it. False: all have. *ret_left: other ids of the channel have not had it. */
bool rcm_id_claim_removal(const struct rcm_channel *channel, struct rcm_claim *ret, bool *ret_left);
/* Counts an event as acknowledged. */
void rcm_id_ack(const struct rcm_claim *claim);
/* Waits until all events of the id, or of one of its memberships, are acknowledged. */
void rcm_id_await_acks(struct rcm_id *id, const struct rcm_events *events);
/* An id for a connection request, on the listener's channel or its own as the listener has it.
 * NULL: the request was rejected. */
struct rcm_id *rcm_id_of_request(struct rcm_id *listener, const struct ctl_cm_event *event);
int rcm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type, struct rcm_id **ret);

/* A request about an id, whose handle goes into req. As rcm_server_ask(); id NULL: EINVAL. */
int rcm_id_ask(const struct rcm_id *id, struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret);
/* The same and rcm_id_finish(), as a whole call of the program: 0, or -1 and errno. */
int rcm_id_call(struct rcm_id *id, struct ctl_msg_cm *req);
/* A synchronous id: waits for the event that ends the call, and turns the event's status into the
 * call's result. 0 or a positive errno. */
int rcm_id_finish(struct rcm_id *id);
/* A synchronous id: acknowledges the event of the last call. */
void rcm_id_drop_event(struct rcm_id *id);

/* address.c */
/* Bytes of an address; 0: NULL, or of a family that the connection manager does not know. */
size_t rcm_address_len(const struct sockaddr *addr);
/* EINVAL: as above. ENODEV: of the family AF_IB. */
int rcm_address_pack(union ctl_cm_sockaddr *ret, const struct sockaddr *addr);
/* Fills addresses, GIDs, port and path of an id, and binds it to its device. 0 or a positive
 * errno. */
int rcm_address_fill(struct rcm_id *id, const struct ctl_cm_addr *addr);

/* event.c */
/* Adds an event of the library's own to the id's channel. 0 or a positive errno. */
int rcm_event_add(struct rcm_id *id, enum rdma_cm_event_type type, int status, uint64_t arg);

/* member.c */
/* The membership of an event, which counts for it from now on, or NULL. Under the id's lock. */
struct rcm_member *rcm_member_claim(struct rcm_id *id, uint64_t token);
/* The group is joined: attaches the id's queue pair. 0 or a positive errno. */
int rcm_member_joined(struct rcm_id *id, struct rcm_member *member, const struct ibv_ah_attr *ah);
void rcm_members_free(struct rcm_id *id);

/* connect.c */
/* The other side has accepted: moves the id's queue pair to RTS and tells the other side. 0 or a
 * positive errno; the queue pair is in error then. */
int rcm_connect_finish(struct rcm_id *id, const struct ctl_cm_conn *conn);

/* qp.c */
/* A new queue pair: agrees on ECE options with the other side's, if there are any, and moves the
 * queue pair to INIT; one for datagrams to RTS. 0 or a positive errno. */
int rcm_qp_begin(struct rcm_id *id, struct ibv_qp *qp);
/* These return 0 or a positive errno, and do nothing for an id without a queue pair. 255 as a
 * number of READs and atomics leaves the one that was agreed on with the other side. */
int rcm_qp_to_rts(struct rcm_id *id, uint8_t responder_resources, uint8_t initiator_depth);
int rcm_qp_to_error(struct rcm_id *id);
/* The other side's answer to the local extended connection establishment (ECE) options. */
int rcm_qp_set_remote_ece(struct rcm_id *id, uint32_t vendor, uint32_t options);
/* What the queue pair made of them. */
int rcm_qp_read_ece(struct rcm_id *id);

/* Keeps the attributes of an event for the transitions that follow it: no request to the server for
 * each of them. */
void rcm_qp_keep_attr(struct rcm_id *id, const struct ctl_cm_qp_attr *attr);
void rcm_qp_unpack_ah(struct ibv_ah_attr *ret, const struct ctl_cm_ah *ah);

#endif
