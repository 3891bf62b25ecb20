/* SPDX-License-Identifier: MIT */
/* The raw port of an interface: a packet socket of this process, for frames of raw packet queue
 * pairs. It is no link: frames of any kind come and go as they are, beside those of the device's
 * link and of the kernel. Opening one needs CAP_NET_RAW in the interface's network namespace.
 *
 * Arrivals are what the interface receives, in promiscuous mode, and what raw ports of other
 * processes send. What the host itself sends is not among them, nor what this port sends. */
#ifndef RXE_LINK_RAW_PORT_H
#define RXE_LINK_RAW_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/train.h"

struct raw_port;

/* A frame; its bytes belong to the port until the next receive, and may be changed until then. */
struct raw_port_frame {
	uint8_t *p;
	uint32_t len;
	/* The kernel left TCP's or UDP's checksum to an adapter. */
	bool lacks_checksum;
};

/* Whether this program may open packet sockets in its network namespace: 0, -EPERM (no CAP_NET_RAW)
 * or -errno. */
int raw_port_may_open(void);
/* 0, -EPERM (no CAP_NET_RAW), -ENODEV (no such interface) or -errno. */
int raw_port_open(struct raw_port **ret, const char *ifname);
/* NULL is allowed. */
void raw_port_close(struct raw_port *port);
/* Readable when raw_port_receive() has work. */
int raw_port_fd(const struct raw_port *port);
/* The interface's MTU, without the Ethernet header. */
uint32_t raw_port_mtu(const struct raw_port *port);
/* Reads up to max frames. Returns how many, or -errno. Never blocks. Frames longer than
 * WIRE_MAX_FRAME are dropped and counted in *too_long. */
int raw_port_receive(struct raw_port *port, struct raw_port_frame *ret, size_t max,
		     uint64_t *too_long);
/* Sends the frames of a bare train. 0, or -EAGAIN: none was sent. Frames that the interface refuses
 * are dropped and counted in *errors. */
int raw_port_send(struct raw_port *port, const struct wire_train *train, uint64_t *errors);

#endif
