/* SPDX-License-Identifier: MIT */
/* One device of an instance: its address and receive sockets, its memory, and who has a slot on it. */
#ifndef RXE_DM_DEVICE_H
#define RXE_DM_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/protocol.h"
#include "lib/control/settings.h"
#include "net/link/udp.h"
#include "rxe_dm/arena.h"
#include "rxe_dm/grace.h"
#include "rxe_dm/key.h"
#include "rxe_dm/loop.h"
#include "rxe_dm/object.h"
#include "rxe_dm/range.h"

struct capture;
struct conn;
struct instance;

/* A process's slot. */
struct attachment {
	struct device *device;
	struct conn *conn;
	uint32_t slot;
	int event_fd; /* our end: records for the process */
};

/* Device memory that was granted; once freed it rests here, since somebody who looked it up before may still be inside. */
struct resting_range {
	struct resting_range *prev, *next;
	struct range *range;
	uint64_t stamp;
};

struct device {
	struct instance *instance;
	uint32_t index;
	struct gid gid;
	int address_lock; /* holds \0rxe_dm/4791/ADDRESS */
	struct link_udp_group group;
	struct loop_source strays; /* slot 0's socket */
	uint32_t max_mtu, if_index;
	char if_name[16];
	uint64_t node_guid, sys_image_guid; /* big-endian */
	struct arena arena;
	struct range_map ranges;
	struct resting_range *resting;
	int shared_fd;
	struct ctl_shared *shared;
	struct grace grace;
	struct keys keys;
	struct objects objects;
	struct attachment *slot[RXE_MAX_SLOTS];
	uint32_t free_slots[RXE_MAX_SLOTS]; /* ring: the one free for longest comes first */
	uint32_t first_free, num_free;
	struct context *contexts;
	struct capture *captures;	   /* who captures */
	struct capture_area *capture_area; /* ... the first page of the rings, while anybody does */
	int capture_fd;
};

/* 0, or a negative errno that has been explained on the log. */
int device_init(struct device *ret, struct instance *instance, uint32_t index);
void device_fini(struct device *device);
/* Tell all processes on it; what does not fit their queue is lost (they look at the shared state as well). */
void device_event(struct device *device, uint32_t type);
/* Give memory whose grace period is over back to the arena. True: some is still resting. */
bool device_settle(struct device *device);

/* slot.c */
void slots_init(struct device *device);
/* A slot for the process of this connection, drained; *ret_event_fd is the client's end. -ENOSPC: none is free. */
int slot_take(struct device *device, struct conn *conn, int *ret_event_fd);
void slot_give(struct attachment *attachment);

/* address.c: an address of its own, and the sockets on it. */
int address_open(struct device *device, const struct ctl_settings *settings);
void address_close(struct device *device);

#endif
