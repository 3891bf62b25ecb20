/* SPDX-License-Identifier: MIT */
/* The connection to the device server, which runs the connection manager. It is another one than
 * libibverbs's of the same process, because the two libraries share only the reports of refusals.
 * Channels hold it; the last one that is made for a dead server lets it go. */
#ifndef RXE_RDMACM_SERVER_H
#define RXE_RDMACM_SERVER_H

#include <stdint.h>

struct ctl_msg_cm;
struct ctl_msg_cm_reply;

struct rcm_server {
	struct ctl_client *client;
	uint32_t serial; /* of all connections of this process */
	uint32_t refs;
};

/* Connects, or takes the connection that there is. NULL, and errno: ENODEV, no device server. */
struct rcm_server *rcm_server_get(void);
void rcm_server_put(struct rcm_server *server);
/* One request of lib/control/cm_request.h. ret may be NULL. 0 or a positive errno; ENODEV: the
 * server has exited. */
int rcm_server_ask(struct rcm_server *server, const struct ctl_msg_cm *req,
		   struct ctl_msg_cm_reply *ret);

/* In the child of a fork(). */
void rcm_server_forked(void);

/* A device as librdmacm sees it: one open context and, once an id is bound to the device, a default
 * protection domain. Both stay, so that a connection costs no request for them. */
struct rcm_device {
	struct rcm_device *next;
	uint64_t guid;		/* big-endian */
	uint32_t server_serial; /* of the server that has the device */
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd; /* default XRC domain, opened on demand, for good */
	uint8_t max_initiator_depth, max_responder_resources;
};

/* Finds the device of a node GUID, and opens it if need be. *ret changes only with 0. A positive
 * errno otherwise. */
int rcm_device_get(const struct rcm_server *server, uint64_t guid, struct rcm_device **ret);
/* NULL, and errno. */
struct ibv_xrcd *rcm_device_xrcd(struct rcm_device *device);

#endif
