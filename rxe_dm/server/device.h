/* SPDX-License-Identifier: MIT */
/* One device of an instance: address, receive sockets, memory, and the slots of its processes. */
#ifndef RXE_DM_SERVER_DEVICE_H
#define RXE_DM_SERVER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/protocol.h"
#include "lib/control/settings.h"
#include "lib/control/shared.h"
#include "lib/inject/rule.h"
#include "net/link/ethernet/ethernet.h"
#include "net/link/memory/memory.h"
#include "net/link/udp/udp.h"
#include "rxe_dm/server/arena.h"
#include "rxe_dm/server/key.h"
#include "rxe_dm/server/loop.h"
#include "rxe_dm/server/object.h"
#include "rxe_dm/server/range.h"

struct capture;
struct capture_writer;
struct conn;
struct gsi;
struct time_wait;
struct instance;

/* A process's slot. */
struct attachment {
	struct device *device;
	struct conn *conn;
	uint32_t slot;
	/* The server's end: events to the process, and of its XRC targets from it. */
	struct loop_source event;
	/* By place in its table: there is a memory window. */
	uint64_t windows[RXE_MAX_MW / 64];
	int lost_fd; /* on an interface: a copy of its receive socket, for the drop count; else -1 */
};

/* A device on an interface. Its own link, of slot 0, answers ARP and neighbor discovery. */
struct device_ethernet {
	struct link *link;
	int rx_fd, tx_fd;
	uint8_t mac[FRAME_MAC_LEN];
	uint32_t prefix_len;
	struct gid gateway;
};

/* fault.c: a rule of the device itself. */
enum fault_phase {
	FAULT_PHASE_NONE, /* no rule of the device here, or its time is over */
	FAULT_PHASE_WAITS,
	FAULT_PHASE_HOLDS,
};

struct fault_timer {
	enum fault_phase phase;
	uint64_t due_ns; /* end of the phase; UINT64_MAX: when the rule is cleared */
	struct inject_rule rule;
};

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

/* slot.c */
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

/* ethernet.c: the port of a device on an interface follows the interface. It is DOWN while the
 * interface is down, lacks a carrier or does not exist, and programs get the events of a pulled
 * cable. Best effort: without reports of the kernel the port does not change. */
void carrier_open(struct device *device);
void carrier_close(struct device *device);

/* time_wait.c: TIME_WAIT of processes that have exited. The server sends the ACKs that a process
 * delayed, and answers its peers from the slot's address, as emu/rc/time_wait.h says. When another
 * process takes the slot, that process answers. */
/* The slot's process has exited. Best effort: without memory or descriptors the peer's retries run
 * out. */
void time_wait_begin(struct device *device, uint32_t slot);
/* Whether the server answers for the slot. */
bool time_wait_has(const struct device *device, uint32_t slot);
/* The slot is about to get a process, or the device ends: answers what has arrived until now. */
void time_wait_end(struct device *device, uint32_t slot);
/* Ends what has expired. Returns when the next expires; UINT64_MAX: none. */
uint64_t time_wait_settle(struct device *device, uint64_t now_ns);
/* Before the device's link is closed. */
void time_wait_fini(struct device *device);

/* fault.c: faults of the device itself (port_down, gid_change, device_fatal). The server writes the
 * device's state into shared memory and sends events to every process, and restores the state when
 * a rule's time is over or the rule is cleared. */
/* Adds the rules of a file, all or none. 0, or a negative errno, explained on the log. */
int faults_load(struct device *device, const char *path);
/* Starts and ends rules that are due. Returns when the next is due; UINT64_MAX: none. */
uint64_t fault_run(struct device *device, uint64_t now_ns);

/* memory.c: failures of memory_device_open() are explained on the log. */
int memory_device_open(struct device *device);
/* A process takes the slot: makes its file and doorbell, which stay the device's. Failures are
 * explained on the log. */
int memory_device_attach(struct device *device, uint32_t slot);
/* Nobody has the slot. */
void memory_device_detach(struct device *device, uint32_t slot);
/* Frees the memory of slots without a process. Returns when to call it again; UINT64_MAX: never. */
uint64_t memory_device_settle(struct device *device, uint64_t now_ns);
/* Attaches the server itself to a slot without a process, with a link that goes on where the
 * process ended. */
int memory_device_link(struct device *device, uint32_t slot, struct link **ret, int *ret_wait_fd);
/* The link's arrivals are handled: the server waits for the next. link_wait_ended() comes first
 * when its wait descriptor is readable. */
void memory_device_wait(struct link *link);

/* address.c: the address, and the link that serves it. */
int address_open(struct device *device, const struct ctl_settings *settings);
void address_close(struct device *device);

/* Failures are explained on the log. */
int ethernet_device_open(struct device *device, const struct ctl_settings *settings);
void ethernet_device_close(struct device *device);
/* Opens a pair of sockets for a process. The caller closes them. */
int ethernet_device_sockets(struct device *device, uint32_t slot, int *ret_rx_fd, int *ret_tx_fd);
/* As ethernet_device_sockets(), with a link on the pair, for the server itself. */
int ethernet_device_link(struct device *device, uint32_t slot, struct link **ret, int *ret_rx_fd,
			 int *ret_tx_fd);

#endif
