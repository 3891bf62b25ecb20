/* SPDX-License-Identifier: MIT */
/* What the files of rdma_id share. */
#ifndef RXE_CMA_PRIVATE_H
#define RXE_CMA_PRIVATE_H

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include "lib/control/rcm.h"
#include "rxe_dm/cma/rdma_id.h"

/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash)                                                              \
	do {                                                                                       \
		uint32_t hashed_;                                                                  \
		memcpy(&hashed_, key, sizeof(hashed_));                                            \
		(hash) = hashed_ * 2654435761u;                                                    \
	} while (0)
#include <uthash.h>
#include <utlist.h>

#define RDMA_MAX_DEVICES 16
#define RDMA_PKEY	 0xffffu
#define RDMA_HOP_LIMIT	 64
#define RDMA_LIFE_TIME	 18 /* of packets, 4.096 us << 18, as Linux assumes for RoCE */
#define RDMA_ROUND_TRIP	 (RDMA_LIFE_TIME + 1)
#define RDMA_MAX_RETRY	 7 /* retry_count and rnr_retry_count have 3 bits */
#define RDMA_MCAST_QPN	 0xffffffu
#define RDMA_MAX_BACKLOG 1024
#define RDMA_MRA_TIMEOUT 24 /* 4.096 us << 24: time for the program to answer, as in Linux */

/* An IP address and a port, as programs of librdmacm name the two sides of a connection. */
struct endpoint {
	sa_family_t family; /* AF_INET, AF_INET6, or AF_UNSPEC: not set */
	uint16_t port;	    /* host order; 0: not set */
	uint32_t scope_id;  /* link-local IPv6 addresses */
	struct gid address; /* IPv4: as ::ffff:a.b.c.d */
};

/* The life of an id. */
enum rdma_id_state {
	ID_IDLE,
	ID_BOUND,
	ID_ADDR_QUERY, /* the host asks for the neighbor */
	ID_ADDR_RESOLVED,
	ID_ROUTE_RESOLVED,
	ID_CONNECT,    /* from rdma_connect(), or from a connection request */
	ID_DISCONNECT, /* the event DISCONNECTED is out */
	ID_LISTEN,
};

/* A port of a port space, its owners, and what listens on it. */
struct rdma_port {
	uint32_t key; /* port space << 16 | port: the service ID */
	struct rdma_ids *ids;
	struct rdma_id *owners;
	struct cm_id *listener; /* NULL: no owner listens */
	uint32_t listeners;	/* owners that listen */
	UT_hash_handle hh;
};

struct rdma_membership {
	struct rdma_membership *prev, *next;
	uint32_t handle;
	uint64_t token;
};

/* What both sides of a connection have agreed on. */
struct rdma_exchange {
	bool peer_known; /* the REQ or the REP has arrived: the fields below are valid */
	uint32_t remote_qpn;
	uint32_t sq_psn; /* the peer's starting PSN: where this side begins to send */
	uint8_t mtu;	 /* enum ibv_mtu */
	uint8_t responder_resources, initiator_depth;
	uint8_t retry_count, rnr_retry_count;
	uint8_t ack_timeout;
};

struct rdma_id {
	struct rdma_ids *ids;
	uint32_t handle;
	UT_hash_handle hh; /* by handle */
	struct rdma_id_user user;
	enum rdma_id_state state;
	uint32_t port_space, qp_type;

	struct endpoint local, remote;
	struct rdma_port *port; /* NULL: none, or a new id of a connection request */
	struct rdma_id *port_prev, *port_next;
	bool reuse_address, af_only, af_only_set;
	uint32_t backlog, dropped; /* of a listener; dropped: requests beyond the backlog */

	bool has_device;
	bool query_binds; /* ID_ADDR_QUERY: bound to the device only if the neighbor answers */
	uint32_t device;
	struct gid dgid;
	uint32_t num_paths;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	uint8_t path_mtu;
	uint8_t ack_timeout; /* RCM_OPTION_ID_ACK_TIMEOUT */
	bool has_ack_timeout;

	struct cm_id *cm; /* NULL: no message has been sent or received */
	uint32_t qpn, psn, qkey;
	bool srq;
	bool asked_alternate; /* the REQ has an alternate path */
	uint32_t reject;      /* reason of the last REJ; 0: none */
	struct rdma_exchange exchange;
	struct rdma_membership *memberships;
	uint32_t last_membership;
};

struct rdma_ids {
	const struct rdma_ids_ops *ops;
	void *host;
	struct cm *cm;
	uint32_t max_ids, last_handle;
	struct rdma_id *by_handle;
	struct rdma_port *ports;
	struct rdma_device device[RDMA_MAX_DEVICES];
	uint32_t num_devices;
	uint64_t now_ns; /* of the call in progress: for requests that are refused at once */
};

/* rdma_id.c */
struct rdma_id *rdma_id_new(struct rdma_ids *ids, uint32_t port_space, uint32_t qp_type);
void rdma_id_set_device(struct rdma_id *id, uint32_t device);
/* Fills in id, token and addresses, and hands the event to the host. */
void rdma_id_emit(struct rdma_id *id, struct ctl_cm_event *event);
void rdma_id_emit_status(struct rdma_id *id, enum rcm_event type, int status);

/* port.c */
/* -EAFNOSUPPORT: neither IPv4 nor IPv6 (AF_UNSPEC included); -EINVAL: a link-local address without
 * its scope. */
int endpoint_parse(struct endpoint *ret, const union ctl_cm_sockaddr *addr);
void endpoint_emit(union ctl_cm_sockaddr *ret, const struct endpoint *endpoint);
/* The wildcard address, port 0. */
struct endpoint endpoint_any(sa_family_t family);
bool endpoint_is_any(const struct endpoint *endpoint);
bool gid_is_loopback(const struct gid *gid); /* 127.0.0.0/8, ::1 */

int rdma_port_take(struct rdma_id *id, uint16_t port); /* port 0: an ephemeral one */
void rdma_port_release(struct rdma_id *id);
/* The id becomes a listener of its port. */
int rdma_port_listen(struct rdma_id *id);
/* The listener for a connection request that names these endpoints; NULL: none. */
struct rdma_id *rdma_port_match(const struct rdma_port *port, uint32_t device,
				const struct endpoint *local);

/* event.c: events of cm.h. */
void rdma_cm_event(void *host, const struct cm_event *event);

/* query.c */
/* The address vector of an id's path. */
void rdma_id_fill_ah(const struct rdma_id *id, struct ctl_cm_ah *ret);
/* attr of struct ctl_cm_event. */
void rdma_id_all_attr(const struct rdma_id *id, struct ctl_cm_qp_attr *ret);

static inline bool rdma_id_is_datagram(const struct rdma_id *id)
{
	return id->qp_type == IBV_QPT_UD;
}

#endif
