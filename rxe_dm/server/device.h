/* SPDX-License-Identifier: MIT */
/* One device of an instance: address, receive sockets, memory, and the slots of its processes. */
#ifndef RXE_DM_SERVER_DEVICE_H
#define RXE_DM_SERVER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/protocol.h"
#include "lib/control/settings.h"
#include "lib/control/shared.h"
#include "net/link/memory/memory.h"
#include "net/link/udp/udp.h"
#include "rxe_dm/server/arena.h"
#include "rxe_dm/server/ethernet.h"
#include "rxe_dm/server/fault.h"
#include "rxe_dm/server/key.h"
#include "rxe_dm/server/listener.h"
#include "rxe_dm/server/loop.h"
#include "rxe_dm/server/object.h"
#include "rxe_dm/server/range.h"

struct attachment;
struct capture;
struct capture_area;
struct capture_writer;
struct gsi;
struct instance;
struct time_wait;

struct device {
	struct instance *instance;
	uint32_t index;
	struct gid gid;
	struct listener address_lock; /* \0rxe_dm/4791/ADDRESS (local_peers.h); fd -1: closed */
	uint32_t foreign_before;      /* foreign drops at the last update (slot.c) */
	enum ctl_link link;
	bool link_fallback;		 /* memory, because UDP cannot be */
	struct udp_group group;		 /* CTL_LINK_UDP */
	struct device_ethernet ethernet; /* CTL_LINK_ETHERNET */
	struct memory_hub memory;	 /* CTL_LINK_MEMORY */
	bool memory_left[RXE_MAX_SLOTS]; /* ... what the slot's process has sent is not freed */
	struct loop_source strays; /* slot 0's socket or link: QP 1, and packets to no process */
	struct link
		*own_link; /* slot 0's, on an interface ethernet.link: QP 1, and TIME_WAIT on UDP */
	struct gsi *gsi;   /* QP 1 */
	struct loop_source carrier; /* CTL_LINK_ETHERNET: the kernel's reports on interfaces */
	bool no_carrier;
	uint32_t slots, rcvbuf;
	uint32_t max_mtu, if_index;
	char if_name[16];
	uint64_t node_guid, sys_image_guid; /* big-endian */
	struct arena arena;
	struct range_map ranges;
	int shared_fd;
	struct ctl_shared *shared;
	struct grace grace;
	struct keys keys;
	struct objects objects;
	uint32_t last_xrcd; /* number of the XRC domain made last */
	struct attachment *slot[RXE_MAX_SLOTS];
	struct index_queue free_slots;
	struct context *contexts;
	struct object *targets;		       /* handles of XRC targets, of all contexts */
	struct capture *captures;	       /* captures that run */
	struct capture_area *capture_area;     /* start of the rings; NULL: no capture runs */
	struct capture_writer *capture_writer; /* for packets that the server itself sends */
	int capture_fd;
	uint32_t lost_before[RXE_MAX_SLOTS]; /* drops of its socket at the last update */
	uint32_t num_faults;		     /* rules in the shared memory */
	struct time_wait *time_wait;	     /* NULL: no slot is in TIME_WAIT */
	struct fault_timer fault_timers[FAULT_MAX_RULES]; /* by place: rules of the device itself */
};

/* 0, or a negative errno that has been explained on the log. */
int device_init(struct device *ret, struct instance *instance, uint32_t index);
void device_fini(struct device *device);
/* A fault rule keeps the device off the network: it neither sends nor receives. */
static inline bool device_is_silent(const struct device *device)
{
	return atomic_load(&device->shared->faults.silent) != 0;
}

#endif
