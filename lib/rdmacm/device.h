/* SPDX-License-Identifier: MIT */
/* Devices as librdmacm sees them: one open context for each and, once an id is bound to the device,
 * a default protection domain. Both stay, so that a connection costs no request for them. */
#ifndef RXE_RDMACM_DEVICE_H
#define RXE_RDMACM_DEVICE_H

#include <stdint.h>

#include "lib/rdmacm/newer.h"

struct rcm_server;

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
void rcm_devices_forked(void);

#endif
