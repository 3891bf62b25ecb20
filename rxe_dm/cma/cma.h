/* SPDX-License-Identifier: MIT */
/* The ids of librdmacm (struct rdma_cm_id), without I/O: addresses, ports, listeners, and the
 * connections of one instance over all of its devices. This is the part that Linux has in its
 * RDMA connection manager agent; the exchanges of messages below it are cm.h's.
 *
 * Requests of programs, arrived messages and the time go in; messages and events come out. Makes no
 * system call and asks no clock. The device server hosts it (rxe_dm/server/cm/host.h).
 *
 * Requests return 0 or a negative errno: the one that the manual page of the librdmacm function
 * names, else Linux's. Results of librdmacm's asynchronous functions are events. */
#ifndef RXE_CMA_CMA_H
#define RXE_CMA_CMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/control/cm_request.h"
#include "net/wire/gid.h"
#include "rxe_dm/cm/cm.h"

struct cma_ids; /* the ids of one instance */
struct cma_id;

struct cma_device {
	struct gid gid;
	uint64_t node_guid; /* big-endian, as verbs has it */
	uint8_t mtu;	    /* enum ibv_mtu: the port's */
	/* READs and atomics of one queue pair, at most. */
	uint8_t max_responder_resources, max_initiator_depth;
	/* True: the device has routes of its own (an Ethernet or memory link); the host's do not
	 * matter. */
	bool own_routes;
};

/* The host's own data of an id. A new id of a connection request gets its listener's owner and
 * channel. */
struct cma_id_user {
	void *owner, *channel;
	uint32_t *channel_ids; /* counts the channel's ids; NULL: nothing does */
	uint64_t token;	       /* 0: events are dropped */
	uint32_t events;       /* put into the channel's socket */
	uint32_t queued;       /* events that wait for the socket */
	/* A listener: its requests that the program may not have read, the oldest first. */
	struct cma_id_user *requests;
	uint32_t num_requests;
	/* A new id: its listener, while the id is among those requests. */
	struct cma_id_user *listener, *prev, *next;
	/* A new id: the place of its connection request among the events of the channel;
	 * UINT64_MAX: not in the socket yet. */
	uint64_t request;
};

struct cma_ids_ops {
	/* Sends a MAD to QP 1 of path->dst. Failure is loss. */
	void (*send)(void *host, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES]);
	/* Queues an event. Does not call back into this interface. */
	void (*event)(void *host, struct cma_id *id, const struct ctl_cm_event *event);
	/* True: the listener's program has at least backlog connection requests that it has not
	 * read. */
	bool (*has_unread)(void *host, struct cma_id *listener, uint32_t backlog);
	uint32_t (*random)(void *host);
	/* The source address that the host's routes choose for a destination, or a negative
	 * errno. */
	int (*route)(void *host, const struct gid *dst, uint32_t scope_id, struct gid *ret_src);
	/* Whether a device reaches a destination: 0; -EINPROGRESS: it asks its neighbors, and the
	 * host calls cma_id_neighbor() later; or a negative errno. */
	int (*neighbor)(void *host, struct cma_id *id, uint32_t device, const struct gid *dst);
	/* True: the address is the host's. */
	bool (*has_address)(void *host, const struct gid *address);
	/* May be NULL: never. Whether the id's program is stopped: timers of its peers stand
	 * still. */
	bool (*is_stopped)(void *host, struct cma_id *id);
	/* May be NULL: never. As in struct cm_ops. */
	bool (*has_stopped)(void *host, const struct gid *address);
};

struct cma_ids_cfg {
	const struct cma_ids_ops *ops;
	void *host;
	uint32_t max_ids;
};

struct cma_ids *cma_ids_new(const struct cma_ids_cfg *cfg); /* NULL: no memory */
void cma_ids_free(struct cma_ids *ids);			    /* all ids end in silence */
/* Adds a device. The first one is number 0. */
void cma_ids_add_device(struct cma_ids *ids, const struct cma_device *device);
/* DEVICE_REMOVAL or ADDR_CHANGE (enum rdma_cm_event_type) of a device: all its ids get the
 * event. */
void cma_ids_device_event(struct cma_ids *ids, uint32_t device, uint32_t type);
/* path->src is the device's own address. All times: CLOCK_MONOTONIC, nanoseconds. */
void cma_ids_input(struct cma_ids *ids, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES],
		   uint64_t now_ns);
/* True: the MAD asks for a connection (REQ, SIDR_REQ) at a port that has no listener. */
bool cma_ids_lack_listener(const struct cma_ids *ids, const uint8_t mad[CM_MAD_BYTES]);
uint64_t cma_ids_deadline(const struct cma_ids *ids); /* UINT64_MAX: none */
void cma_ids_expire(struct cma_ids *ids, uint64_t now_ns);

int cma_id_create(struct cma_ids *ids, uint32_t port_space, uint32_t qp_type,
		  const struct cma_id_user *user, struct cma_id **ret);
/* Sends a REJ or a DREQ, by the state. */
void cma_id_destroy(struct cma_id *id, uint64_t now_ns);
struct cma_id *cma_id_find(const struct cma_ids *ids, uint32_t handle); /* NULL: none */
/* The id after this one, in the order of their creation; NULL: the first, or the end. */
struct cma_id *cma_id_next(const struct cma_ids *ids, const struct cma_id *id);
uint32_t cma_id_handle(const struct cma_id *id);
struct cma_id_user *cma_id_user(struct cma_id *id);
/* Moves an id to another channel. count: of that channel's ids, or NULL. */
void cma_id_set_channel(struct cma_id *id, void *channel, uint32_t *count);

int cma_id_bind(struct cma_id *id, const union ctl_cm_sockaddr *addr);
int cma_id_resolve_addr(struct cma_id *id, const union ctl_cm_sockaddr *src,
			const union ctl_cm_sockaddr *dst);
/* The neighbor has answered (0), or not (a negative errno): ADDR_RESOLVED or ADDR_ERROR. Nothing,
 * if the id does not wait. */
void cma_id_neighbor(struct cma_id *id, int status);
int cma_id_resolve_route(struct cma_id *id);
int cma_id_listen(struct cma_id *id, uint32_t backlog);
int cma_id_connect(struct cma_id *id, const struct ctl_cm_conn *conn, uint64_t now_ns);
int cma_id_accept(struct cma_id *id, const struct ctl_cm_conn *conn, uint64_t now_ns);
int cma_id_reject(struct cma_id *id, const struct ctl_cm_conn *conn, uint64_t now_ns);
int cma_id_establish(struct cma_id *id);
/* event: enum ibv_event_type */
int cma_id_notify(struct cma_id *id, uint32_t event);
int cma_id_disconnect(struct cma_id *id, uint64_t now_ns);
/* Attributes of the program's QP for its transition to a state. */
int cma_id_init_qp_attr(const struct cma_id *id, uint32_t qp_state, struct ctl_cm_qp_attr *ret);
void cma_id_query(const struct cma_id *id, struct ctl_cm_addr *ret);
/* For people; pid and unread are left to the host. */
void cma_id_describe(const struct cma_id *id, struct ctl_cm_listed *ret);
int cma_id_set_option(struct cma_id *id, uint32_t level, uint32_t name, const void *value,
		      size_t len);
int cma_id_join(struct cma_id *id, const union ctl_cm_sockaddr *group, uint64_t token,
		uint32_t *ret_membership);
int cma_id_leave(struct cma_id *id, uint32_t membership, uint64_t *ret_token);

#endif
