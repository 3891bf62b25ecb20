/* SPDX-License-Identifier: MIT */
/* Captures: the server makes the rings (net/link/capture/ring.h), hands them to programs and
 * commands, and frees them after the last capture. No packet passes through the server. */
#ifndef RXE_DM_SERVER_CAPTURE_H
#define RXE_DM_SERVER_CAPTURE_H

#include "lib/control/protocol.h"
#include "net/wire/train.h"

struct attachment;
struct capture_area;
struct capture_writer;
struct conn;
struct device;

struct capture {
	struct capture *prev, *next;   /* of the device */
	struct capture *cprev, *cnext; /* of the connection */
	struct device *device;
	struct ctl_msg_capture wants;
};

struct device_captures {
	struct capture *running;
	struct capture_area *area;     /* start of the rings; NULL: no capture runs */
	struct capture_writer *writer; /* for packets that the server itself sends */
	int fd;
};

/* A packet that the server sends from QP 1, or for queue pair qpn of a process that has exited. */
void capture_own(const struct device *device, const struct wire_train *packet, uint32_t qpn,
		 uint16_t src_port);
/* The destination QPN of a packet; 0: it is too short to have one. */
uint32_t capture_qpn(const struct wire_arrival *arrival);
/* Packets to such a process that their sender does not record itself. */
void capture_arrived(const struct device *device, const struct wire_arrival *arrivals, uint32_t n);
/* The connection closes: ends its captures. */
void captures_end(struct conn *conn);

#endif
