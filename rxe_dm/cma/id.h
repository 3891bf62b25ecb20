/* SPDX-License-Identifier: MIT */
/* The structures of ids, and what the room does with any id. */
#ifndef RXE_CMA_ID_H
#define RXE_CMA_ID_H

#include <infiniband/verbs.h>

#include "lib/control/cm_numbers.h"
#include "rxe_dm/cma/cma.h"
#include "rxe_dm/cma/endpoint.h"

/* uthash's default hash falls through the cases of a switch, which clang warns of. */
#define HASH_FUNCTION(key, len, hash)                                                              \
	do {                                                                                       \
		uint32_t hashed_;                                                                  \
		memcpy(&hashed_, key, sizeof(hashed_));                                            \
		(hash) = hashed_ * 2654435761u;                                                    \
	} while (0)
#include <uthash.h>
#include <utlist.h>

#define CMA_MAX_DEVICES 16
#define CMA_PKEY	0xffffu
#define CMA_HOP_LIMIT	64
#define CMA_LIFE_TIME	18 /* of packets, 4.096 us << 18, as Linux assumes for RoCE */
#define CMA_ROUND_TRIP	(CMA_LIFE_TIME + 1)
#define CMA_MAX_RETRY	7 /* retry_count and rnr_retry_count have 3 bits */
#define CMA_MCAST_QPN	0xffffffu
#define CMA_MAX_BACKLOG 1024
#define CMA_MRA_TIMEOUT 24 /* 4.096 us << 24: time for the program to answer, as in Linux */

/* The life of an id. */
enum cma_id_state {
	ID_IDLE,
	ID_BOUND,
	ID_ADDR_QUERY, /* the host asks for the neighbor */
	ID_ADDR_RESOLVED,
	ID_ROUTE_RESOLVED,
	ID_CONNECT,    /* from rdma_connect(), or from a connection request */
	ID_DISCONNECT, /* the event DISCONNECTED is out */
	ID_LISTEN,
};

struct cma_membership {
	struct cma_membership *prev, *next;
	uint32_t handle;
	uint64_t token;
};

/* What both sides of a connection have agreed on. */
struct cma_exchange {
	bool peer_known; /* the REQ or the REP has arrived: the fields below are valid */
	uint32_t remote_qpn;
	uint32_t sq_psn; /* the peer's starting PSN: where this side begins to send */
	uint8_t mtu;	 /* enum ibv_mtu */
	uint8_t responder_resources, initiator_depth;
	uint8_t retry_count, rnr_retry_count;
	uint8_t ack_timeout;
};

struct cma_id {
	struct cma_ids *ids;
	uint32_t handle;
	UT_hash_handle hh; /* by handle */
	struct cma_id_user user;
	enum cma_id_state state;
	uint32_t port_space, qp_type;

	struct endpoint local, remote;
	struct cma_port *port; /* NULL: none, or a new id of a connection request */
	struct cma_id *port_prev, *port_next;
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
	uint8_t ack_timeout; /* CTL_CM_OPTION_ID_ACK_TIMEOUT */
	bool has_ack_timeout;

	struct cm_id *cm; /* NULL: no message has been sent or received */
	uint32_t qpn, psn, qkey;
	bool srq;
	bool asked_alternate; /* the REQ has an alternate path */
	uint32_t reject;      /* reason of the last REJ; 0: none */
	struct cma_exchange exchange;
	struct cma_membership *memberships;
	uint32_t last_membership;
};

struct cma_ids {
	const struct cma_ids_ops *ops;
	void *host;
	struct cm *cm;
	uint32_t max_ids, last_handle;
	struct cma_id *by_handle;
	struct cma_port *ports;
	struct cma_device device[CMA_MAX_DEVICES];
	uint32_t num_devices;
	uint64_t now_ns; /* of the call in progress: for requests that are refused at once */
};

struct cma_id *cma_id_new(struct cma_ids *ids, uint32_t port_space, uint32_t qp_type);
void cma_id_set_device(struct cma_id *id, uint32_t device);

static inline bool cma_id_is_datagram(const struct cma_id *id)
{
	return id->qp_type == IBV_QPT_UD;
}

#endif
