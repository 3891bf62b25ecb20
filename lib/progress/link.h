/* SPDX-License-Identifier: MIT */
/* The link of a device in this process: a stack of links (net/link/link.h) that device_link_open
 * and its helpers build, and what the process's slot counts about it. The engine's packets enter
 * and leave here. Under the engine lock throughout. */
#ifndef RXE_PROGRESS_LINK_H
#define RXE_PROGRESS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/progress/fault.h"
#include "net/link/capture/tap.h"
#include "net/link/link.h"

struct progress;
struct progress_unkind;
struct raw_port;
struct recorder;
struct rxe_engine;
struct rxe_qp;
struct tail;
struct tail_packet;

struct device_link {
	/* Packets enter and leave the stack here. */
	struct link *top;
	/* Bottom of the stack, UDP, Ethernet or memory; NULL: closed. */
	struct link *phy;
	/* The last packets; NULL: the user does not want them. */
	struct tail *tail;
	/* The port of raw queue pairs on an interface; NULL: none was created yet. */
	struct raw_port *raw_port;
	/* NULL: no capture is under way. */
	struct recorder *recorder;
	struct faults faults;
	/* NULL: the device is kind. */
	struct progress_unkind *unkind;
	/* The program closed the device's descriptors: nothing is sent or received. */
	bool is_closed;
	/* Rules or the unkind link hold packets back. */
	bool holds_packets;
	/* Trains need their ICRCs. */
	bool needs_icrc;
	/* The train that is being built is in space of the link. */
	bool is_in_space;
	/* The last receive found the socket empty. */
	bool is_dry;
	/* Index in the engine's table of the queue pair that sent the last packet which fault rules
	 * or captures looked at. */
	uint32_t sender;
	struct tap meter, departures[2], arrivals[2];
	/* Counts of phy that the slot's counters include. */
	struct link_stats reported;
};

/* 0 or a negative errno. now_ns: the engine's time. */
int device_link_open(struct progress *progress, const uint64_t *now_ns);
void device_link_close(struct device_link *link);
/* False: the program closed a descriptor of the link. */
bool device_link_has_descriptors(const struct device_link *link);
/* Builds the stack again, after tail, recorder or faults changed. */
void device_link_stack(struct device_link *link);

/* A capture has begun, with the descriptor of its rings (closed here), or the last one has ended
 * (-1). Takes the engine lock. */
void device_link_capture(struct progress *progress, int fd);

/* Takes changed fault rules over, at the begin of a turn that sends. */
void device_link_follow_rules(struct device_link *link);

/* As link_join(). A thread that waits on the link begins again. */
int device_link_join(struct device_link *link, const struct gid *group);

/* As link_space(). Not while fault rules may hold a train back, and use the space for another. */
uint8_t *device_link_space(struct device_link *link, const struct gid *dst, uint32_t slot);
/* As link_send() and link_receive(), by the fault rules as they are now. */
int device_link_send(struct device_link *link, struct wire_train *trains, size_t n);
int device_link_receive(struct device_link *link, struct wire_arrival *ret, size_t max);

/* raw.c: the raw port of a device on an interface (net/link/ethernet/raw_port.h). Bare trains of
 * the engine go out by it, and its frames go to the engine. They pass neither fault rules nor
 * captures. */

/* Opens the port unless it is open; the link's wait descriptor then also reports its frames. 0,
 * -EPERM or another negative errno. */
int device_link_open_raw(struct device_link *link);
/* False: the port takes the train later. */
bool device_link_send_raw(struct device_link *link, const struct wire_train *train);
/* Returns whether frames arrived. */
bool device_link_receive_raw(struct device_link *link, uint64_t now_ns);

/* One entry of the device's GID table as it is now. The engine takes over the whole table. */
struct gid device_link_gid(const struct progress *progress, uint32_t index);
void device_link_follow_gids(struct progress *progress);

/* capture.c: maps a packet to its queue pair, for captures, fault rules and reports of failures.
 * The engine never asks, so speed does not matter. */

/* The RC or UC queue pair that is connected to qpn of the peer, or NULL. *place: index in the
 * engine's table where the search begins, 0 at first; becomes that of the queue pair found. */
struct rxe_qp *packet_qp_connected_to(const struct rxe_engine *engine, const struct gid *peer,
				      uint32_t qpn, uint32_t *place);
/* Copies the last packets of the queue pair from the tail, oldest first. Returns how many, up to
 * max. */
uint32_t packet_qp_tail(const struct rxe_qp *qp, struct tail *tail, struct tail_packet *ret,
			uint32_t max);

/* Opens the recorder of a capture with the descriptor of its rings, which stays open. NULL: its
 * memory cannot be mapped, and the log says so. */
struct recorder *capture_open(struct progress *progress, int fd);

#endif
