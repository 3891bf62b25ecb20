/* SPDX-License-Identifier: MIT */
/* Requests of librdmacm to the connection manager in the device server, and the events that the
 * server sends back. A request is a message of the control connection (protocol.h) with op CTL_CM.
 *
 * Ids and channels belong to the connection and end with it. The server then sends a DREQ or a REJ
 * for each id, so that peers learn of it at once. A child of fork() has a connection of its own,
 * and with it no ids.
 *
 * An event channel is one end of a socketpair(AF_UNIX, SOCK_SEQPACKET) that the library makes; the
 * server gets the other end. The server sends one struct ctl_cm_event per event, in order, and
 * never blocks: events that the socket does not take wait in the server. So the library's end polls
 * readable exactly while an event is there. To take back events that it has not read, the library
 * pauses the channel and gets the server's end, reads its own end empty, writes the other ids'
 * events into the server's end, closes that, and resumes the channel. The library keeps no copy of
 * the server's end: its own end shows EOF when the server dies.
 *
 * Numbers are librdmacm's (rcm.h: events, port spaces) and libibverbs' (enum ibv_qp_state). */
#ifndef RXE_CONTROL_CM_REQUEST_H
#define RXE_CONTROL_CM_REQUEST_H

#include <assert.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/gid.h"

struct ctl_client;

#define CTL_CM_PRIVATE 256 /* bytes; most messages carry less */
#define CTL_CM_OPTION  256

enum ctl_cm_op {
	CTL_CM_CREATE_CHANNEL = 1, /* fd in; reply.handle: the channel */
	CTL_CM_DESTROY_CHANNEL,	   /* -EBUSY: ids use it */
	CTL_CM_PAUSE_CHANNEL,	   /* events wait in the server; fd out: the server's end */
	CTL_CM_RESUME_CHANNEL,
	CTL_CM_CREATE_ID, /* channel, port_space, qp_type, token; reply.handle: the id */
	/* Drops the events of the id that are not in the socket yet; reply.events: the number of
	 * those that were put into it. Ids of connection requests in dropped events are
	 * rejected. */
	CTL_CM_DESTROY_ID,
	CTL_CM_BIND,	      /* src: port 0 is an ephemeral one; reply.addr */
	CTL_CM_RESOLVE_ADDR,  /* src (family AF_UNSPEC: none), dst, timeout_ms */
	CTL_CM_RESOLVE_ROUTE, /* timeout_ms */
	CTL_CM_LISTEN,	      /* backlog; reply.addr */
	/* conn. The response of a passive side is always the event CONNECT_RESPONSE. The library
	 * turns it into ESTABLISHED where the id has a QP, after CTL_CM_ESTABLISH. */
	CTL_CM_CONNECT,
	CTL_CM_ACCEPT,	     /* conn, token: events of a new id are dropped until it has one */
	CTL_CM_REJECT,	     /* conn.private_data, conn.reason (0: consumer defined) */
	CTL_CM_ESTABLISH,    /* active side: sends the RTU */
	CTL_CM_NOTIFY,	     /* event: IBV_EVENT_COMM_EST, data arrived before the RTU */
	CTL_CM_DISCONNECT,   /* DREQ, or DREP if a DREQ came */
	CTL_CM_INIT_QP_ATTR, /* qp_state; reply.attr */
	CTL_CM_QUERY,	     /* reply.addr */
	CTL_CM_SET_OPTION,   /* level, name, option_len, option */
	CTL_CM_MIGRATE,	     /* channel: the new one, token (0: unchanged); reply.events as above */
	CTL_CM_JOIN,	     /* dst: the group, join_flags, token; reply.handle: the membership */
	CTL_CM_LEAVE,	     /* membership; reply.events: as above, of the membership */
	CTL_CM_LIST,	     /* id: the first, 0: of all; the reply is a struct ctl_cm_page */
	CTL_CM_FAILURES, /* id: the first record's place; the reply is a struct ctl_cm_failures */
	CTL_CM_REFUSED,	 /* refusal: the library refused an attempt of the id to connect */
	CTL_CM_OP_END,
};

union ctl_cm_sockaddr {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	uint8_t room[32];
};
static_assert(sizeof(union ctl_cm_sockaddr) == 32, "wire layout");

/* struct rdma_conn_param, and the parts of struct rdma_ud_param that fit it. */
struct ctl_cm_conn {
	uint32_t qpn;
	uint32_t qkey;	       /* datagrams; 0: the id's */
	uint32_t starting_psn; /* 0: a random one */
	uint32_t ece_vendor, ece_options;
	uint32_t reason; /* CTL_CM_REJECT: enum cm_reject_reason; 0: consumer defined */
	uint8_t responder_resources, initiator_depth;
	uint8_t flow_control, retry_count, rnr_retry_count;
	uint8_t srq, qp_type, private_len;
	uint8_t private_data[CTL_CM_PRIVATE];
};
static_assert(sizeof(struct ctl_cm_conn) == 32 + CTL_CM_PRIVATE, "wire layout");

/* An id's addresses, its device, and the path to the other side. */
struct ctl_cm_addr {
	union ctl_cm_sockaddr local, remote; /* family AF_UNSPEC: not known yet */
	uint64_t node_guid;		     /* big-endian; 0: not bound to a device */
	uint32_t device;		     /* index in the instance */
	uint32_t port_num;		     /* 0: not bound to a device */
	struct gid sgid, dgid;
	uint32_t num_paths; /* 1: the route is resolved, and what follows is the path */
	uint32_t flow_label;
	uint16_t pkey;
	uint8_t sgid_index, hop_limit, traffic_class, sl;
	uint8_t mtu;		  /* enum ibv_mtu */
	uint8_t rate;		  /* enum ibv_rate */
	uint8_t packet_life_time; /* 4.096 us << value */
	uint8_t reserved[7];
};
static_assert(sizeof(struct ctl_cm_addr) == 136, "wire layout");

/* struct ibv_ah_attr, for datagrams and for a QP. */
struct ctl_cm_ah {
	struct gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index, hop_limit, traffic_class, sl;
	uint8_t is_global, port_num, static_rate, src_path_bits;
	uint16_t dlid, reserved;
};
static_assert(sizeof(struct ctl_cm_ah) == 32, "wire layout");

/* struct ibv_qp_attr: the fields that mask (enum ibv_qp_attr_mask) names. */
struct ctl_cm_qp_attr {
	uint32_t mask, qp_state, path_mtu, qkey;
	uint32_t rq_psn, sq_psn, dest_qpn, access_flags;
	struct ctl_cm_ah ah;
	uint16_t pkey_index;
	uint8_t port_num, max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer, timeout, retry_cnt, rnr_retry;
	uint8_t reserved[7];
};
static_assert(sizeof(struct ctl_cm_qp_attr) == 80, "wire layout");

/* What this end of a connection cannot do. */
enum ctl_cm_refusal_reason {
	CTL_CM_NO_REFUSAL, /* the other side, or the network */
	/* asked: more than the device has, which is most. */
	CTL_CM_REFUSED_RESPONDER_RESOURCES,
	CTL_CM_REFUSED_INITIATOR_DEPTH,
	CTL_CM_REFUSED_QP, /* the queue pair did not change its state */
};

struct ctl_cm_refusal {
	uint8_t reason; /* enum ctl_cm_refusal_reason */
	uint8_t asked, most;
	uint8_t reserved;
	int32_t status; /* a negative errno */
};
static_assert(sizeof(struct ctl_cm_refusal) == 8, "wire layout");

struct ctl_msg_cm {
	uint32_t op; /* enum ctl_cm_op */
	uint32_t id, channel, membership;
	uint64_t token; /* the library's own value, returned in events */
	uint32_t port_space, qp_type;
	uint32_t timeout_ms, backlog;
	uint32_t qp_state, event;
	uint32_t level, name, option_len;
	uint32_t join_flags; /* enum rdma_cm_mc_join_flags */
	union {
		struct {
			union ctl_cm_sockaddr src, dst;
		};
		struct ctl_cm_conn conn;
		struct ctl_cm_refusal refusal;
		uint8_t option[CTL_CM_OPTION];
	};
};
static_assert(sizeof(struct ctl_msg_cm) == 64 + sizeof(struct ctl_cm_conn), "wire layout");

struct ctl_msg_cm_reply {
	uint32_t handle, events;
	struct ctl_cm_addr addr;
	struct ctl_cm_qp_attr attr;
};
static_assert(sizeof(struct ctl_msg_cm_reply) == 224, "wire layout");

enum ctl_cm_state {
	CTL_CM_IDLE,
	CTL_CM_BOUND,
	CTL_CM_ADDR_RESOLVED,
	CTL_CM_ROUTE_RESOLVED,
	CTL_CM_LISTENING,
	CTL_CM_CONNECTING,
	CTL_CM_REQUESTED, /* a connection request that the program has not answered */
	CTL_CM_ESTABLISHED,
	CTL_CM_DISCONNECTING,
	CTL_CM_DISCONNECTED,
	CTL_CM_REJECTED, /* also: unreachable */
	CTL_CM_ADDR_QUERY,
};

/* An id as `rxe_dm show` prints it. */
struct ctl_cm_listed {
	uint32_t id;
	int32_t pid;
	uint32_t port_space, state; /* enum ctl_cm_state */
	uint32_t port_num, device;  /* port_num 0: not bound to a device */
	uint32_t qpn, remote_qpn;
	uint32_t backlog, unread; /* listeners */
	uint32_t dropped;	  /* listeners: requests beyond the backlog */
	uint32_t reject;	  /* enum cm_reject_reason of the last REJ; 0: none */
	union ctl_cm_sockaddr local, remote;
};
static_assert(sizeof(struct ctl_cm_listed) == 112, "wire layout");

#define CTL_CM_PAGE 9

struct ctl_cm_page {
	uint32_t count;
	uint32_t next; /* 0: no more */
	struct ctl_cm_listed id[CTL_CM_PAGE];
};
static_assert(sizeof(struct ctl_cm_page) == 1016, "wire layout");

/* An attempt to connect that came to nothing. The server keeps the last CTL_CM_FAILURES_KEPT, also
 * of processes that have exited. */
struct ctl_cm_failure {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t id;
	int32_t pid;
	uint32_t port_space;
	uint32_t event; /* enum rdma_cm_event_type: *_ERROR, UNREACHABLE, REJECTED */
	int32_t status; /* as in struct ctl_cm_event */
	struct ctl_cm_refusal refusal;
	uint32_t reserved;
	union ctl_cm_sockaddr local, remote;
};
static_assert(sizeof(struct ctl_cm_failure) == 104, "wire layout");

#define CTL_CM_FAILURES_KEPT 32
#define CTL_CM_FAILURES_PAGE 9

struct ctl_cm_failures {
	uint32_t count;
	uint32_t next;					/* 0: no more */
	struct ctl_cm_failure at[CTL_CM_FAILURES_PAGE]; /* oldest first */
};

/* A message on an event channel. */
struct ctl_cm_event {
	uint64_t token;	    /* of the id; CONNECT_REQUEST: of the listener */
	uint64_t mc_token;  /* MULTICAST_*: of the membership */
	uint32_t id, event; /* event: enum rdma_cm_event_type */
	int32_t status;	    /* negative errno; REJECTED: the reason of the REJ; or SIDR's status */
	uint32_t new_id;    /* CONNECT_REQUEST: handle of the new id, which has no token yet */
	struct ctl_cm_conn conn; /* ud: qpn, qkey and private data */
	struct ctl_cm_ah ah;	 /* ud */
	/* ADDR_RESOLVED, ROUTE_RESOLVED, CONNECT_RESPONSE, ESTABLISHED: of the id; CONNECT_REQUEST:
	 * of the new id. */
	struct ctl_cm_addr addr;
	/* In the same events: the attributes of all transitions of a connection's QP that the id is
	 * ready for. No field belongs to two of them. mask 0: CTL_CM_INIT_QP_ATTR returns them. */
	struct ctl_cm_qp_attr attr;
};
static_assert(sizeof(struct ctl_cm_event) == 568, "wire layout");

/* The client's calls: one request and one reply each; 0 or a negative errno. Without an answer's
 * data ret may be NULL. Sees a server's death as -ENODEV. */

/* fd: the server's end of a channel; stays the caller's. */
int ctl_cm_create_channel(struct ctl_client *client, int fd, uint32_t *ret_channel);
/* *ret_fd is a descriptor of the server's end, for the caller to close. */
int ctl_cm_pause(struct ctl_client *client, uint32_t channel, int *ret_fd);
/* op: CTL_CM_DESTROY_CHANNEL or CTL_CM_RESUME_CHANNEL */
int ctl_cm_channel(struct ctl_client *client, enum ctl_cm_op op, uint32_t channel);
/* The first CTL_CM_PAGE ids from an id on. */
int ctl_cm_list(struct ctl_client *client, uint32_t first, struct ctl_cm_page *ret);
/* The failures from a place on, oldest first. */
int ctl_cm_failures(struct ctl_client *client, uint32_t first, struct ctl_cm_failures *ret);
/* Any other request. The caller fills op and the fields that enum ctl_cm_op names. */
int ctl_cm(struct ctl_client *client, const struct ctl_msg_cm *req, struct ctl_msg_cm_reply *ret);

#endif
