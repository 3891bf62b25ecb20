/* SPDX-License-Identifier: MIT */
/* The server's part in captures: it makes the rings (net/link/capture/ring.h), hands them to the programs of the device and to
 * whoever captures, and takes them back with the last of these. Packets do not pass through it. */
#ifndef RXE_DM_SERVER_CAPTURE_H
#define RXE_DM_SERVER_CAPTURE_H

#include "lib/control/protocol.h"
#include "net/wire/train.h"

struct attachment;
struct conn;
struct device;

struct capture {
	struct capture *prev, *next;   /* of the device */
	struct capture *cprev, *cnext; /* of the connection */
	struct device *device;
	struct ctl_msg_capture wants;
};

/* A process has come to the device: if anybody captures, it is told before anything else. */
void capture_tell(const struct attachment *attachment);
/* A packet that the server is about to send in the place of queue pair qpn of a process that has gone. */
struct capture_answer {
	uint32_t qpn;
	uint16_t src_port;
	const uint8_t *packet;
	uint32_t len;
};
void capture_own(const struct device *device, const struct gid *dst,
		 const struct capture_answer *answer);
/* What came for such a process, as far as its sender does not write it down. */
void capture_arrived(const struct device *device, const struct wire_arrival *arrivals, uint32_t n);
/* The connection goes, and its captures with it. */
void captures_end(struct conn *conn);

#endif
