/* SPDX-License-Identifier: MIT */
/* QP 1 of a device, the general services interface, sends and receives MADs. Slot 0's socket
 * receives what is addressed to it, among packets to no process, which are counted and dropped. */
#ifndef RXE_DM_SERVER_GSI_H
#define RXE_DM_SERVER_GSI_H

#include <stdint.h>

#include "net/wire/cm_msg.h"
#include "rxe_dm/server/loop.h"

struct cm_path;
struct device;
struct gsi;
struct instance;
struct link;

struct device_gsi {
	struct loop_source strays; /* slot 0's socket or link: QP 1, and packets to no process */
	struct link *link; /* slot 0's: QP 1, and TIME_WAIT on UDP; of Ethernet, that of its part */
	struct gsi *state;
};

/* 0, or a negative errno that has been explained on the log. */
int gsi_open(struct device *device);
void gsi_close(struct device *device);
/* Passes on the messages that a fault rule has delayed, and requests for a connection whose
 * listener has come or that have waited for one long enough. Returns when the next is due;
 * UINT64_MAX: none. */
uint64_t gsi_run(struct device *device, uint64_t now_ns);
/* Hands out what devices of this instance have sent to each other since the last call. */
void gsi_deliver(struct instance *instance);
/* Sends a MAD to QP 1 of path->dst. Failure is loss: the sender of the MAD repeats it. */
void gsi_send(struct device *device, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES]);

#endif
