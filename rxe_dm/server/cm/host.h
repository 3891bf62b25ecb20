/* SPDX-License-Identifier: MIT */
/* Hosts the connection manager (rxe_dm/cma/cma.h) for all devices of the instance: timers, MADs
 * over QP 1 (gsi.h), and event channels (channel.h) of programs.
 *
 * It runs in the server since QP 1 exists once for each device, ports belong to the instance, and
 * the DREQ of a killed process, and its TIME_WAIT, are left to the server. */
#ifndef RXE_DM_SERVER_CM_HOST_H
#define RXE_DM_SERVER_CM_HOST_H

#include <stdint.h>

#include "lib/control/cm_request.h"
#include "rxe_dm/cma/cma.h"

struct conn;
struct device;
struct instance;

/* The last attempts to connect that came to nothing. */
struct cm_failures {
	struct ctl_cm_failure at[CTL_CM_FAILURES_KEPT];
	uint32_t count; /* of all times; the newest is at [(count - 1) % CTL_CM_FAILURES_KEPT] */
};

#define CM_MAX_IDS 65536 /* of the instance */

/* 0 or -ENOMEM. */
int cm_open(struct instance *instance);
/* Ends all ids: their peers get a REJ or a DREQ. */
void cm_close(struct instance *instance);
/* Runs due timers. Returns when the next is due; UINT64_MAX: none. */
uint64_t cm_run(struct instance *instance, uint64_t now_ns);
/* Records that the library refused an attempt of an id to connect. */
void cm_refused(struct instance *instance, struct cma_id *id, const struct ctl_cm_refusal *refusal);
/* An event of a device (enum ibv_event_type): its ids report it. */
void cm_device_event(const struct device *device, uint32_t type);
/* The connection closes: its ids and channels end. */
void cm_end_conn(struct conn *conn);

#endif
