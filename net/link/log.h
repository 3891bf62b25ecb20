/* SPDX-License-Identifier: MIT */
/* Warnings of links, for people: why packets cannot be sent or received. Each cause is logged once
 * in the life of a link. */
#ifndef RXE_LINK_LOG_H
#define RXE_LINK_LOG_H

#include <stdint.h>

enum link_cause {
	LINK_EACH_TIME = 0,
	LINK_TOO_LONG = 1 << 0,
	LINK_NO_ROUTE = 1 << 1,
	LINK_NO_GROUP_ROUTE = 1 << 2,
	LINK_NO_ANSWER = 1 << 3,
	LINK_NO_TRAINS = 1 << 4,
	LINK_SEND_REFUSED = 1 << 5,
	LINK_RECEIVE_REFUSED = 1 << 6,
	LINK_INTERFACE_DOWN = 1 << 7,
	LINK_ADDRESS_CONFLICT = 1 << 8,
};

struct link_log {
	void (*write)(void *arg, const char *line); /* NULL: warnings are dropped */
	void *arg;
	uint32_t causes; /* that were logged; 0 at first */
};

__attribute__((format(printf, 3, 4))) void link_warn(struct link_log *log, enum link_cause cause,
						     const char *format, ...);
/* The kernel refused to receive with this errno: warns if a filter of system calls forbids it.
 * Returns what link_receive() returns: -errno if the descriptor is closed, else 0, because other
 * errors concern packets that were sent before, or pass. */
int link_receive_failed(struct link_log *log, int error);

#endif
