/* SPDX-License-Identifier: MIT */
/* Slots: a process that uses a device has one, with its receive socket, its pages of the shared
 * memory and its events. slot.c alone takes and gives slots, and reads the kernel's counts of drops
 * for them. */
#ifndef RXE_DM_SERVER_SLOT_H
#define RXE_DM_SERVER_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/shared.h"
#include "rxe_dm/server/index_queue.h"
#include "rxe_dm/server/loop.h"

struct conn;
struct device;

/* A process's slot. */
struct attachment {
	struct device *device;
	struct conn *conn;
	uint32_t slot;
	bool in_captures; /* it is told of them */
	/* The server's end: events to the process, and of its XRC targets from it. */
	struct loop_source event;
	/* By place in its table: there is a memory window. */
	uint64_t windows[RXE_MAX_MW / 64];
	int lost_fd; /* on an interface: a copy of its receive socket, for the drop count; else -1 */
};

struct device_slots {
	struct attachment *at[RXE_MAX_SLOTS]; /* NULL: no process has the slot */
	struct index_queue free;
	uint32_t lost_before[RXE_MAX_SLOTS]; /* drops of its socket at the last update */
	uint32_t foreign_before;	     /* foreign drops of the device at the last update */
};

/* False: no memory. */
bool slots_init(struct device *device);
/* Takes a slot for the process of this connection, and empties its socket. *ret_event_fd is the
 * client's end. -ENOSPC: none is free. */
int slot_take(struct device *device, struct conn *conn, int *ret_event_fd);
void slot_give(struct attachment *attachment);
/* Sends an asynchronous event (enum ibv_event_type) to every process on the device. A process whose
 * queue is full misses it, and reads the same state from shared memory. */
void slots_send_event(const struct device *device, uint32_t type);
/* A process has the slot: packets that the kernel dropped at a full receive buffer before this call
 * do not count for the process (lib/control/shared.h). */
void slot_count_lost(struct device *device, uint32_t slot);
/* Brings the counts of all slots up to date. */
void slots_update_lost(struct device *device);

#endif
