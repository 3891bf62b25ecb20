/* SPDX-License-Identifier: MIT */
/* Where a device's packets leave and enter this process: the one place between the engine and the links of net/link/.
 *
 * Everything here is under the pump lock, but for dm_wire_poll_fd. */
#ifndef RXE_PROGRESS_LINK_H
#define RXE_PROGRESS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/train.h"

struct ctl_lost;
struct rxe_counters;
struct dm_capture;
struct dm_device;
struct dm_fault;
struct dm_tail;
struct link_udp;
struct link_veth;

struct dm_wire {
	/* One of them is the device's link. */
	struct link_udp *udp;
	struct link_veth *veth;
	struct dm_capture *capture;	/* NULL: nobody captures */
	struct dm_fault *fault;		/* the rules of the device, and what waits for them */
	struct dm_tail *tail;		/* the last packets; NULL: not noted */
	bool is_dry;			/* the link had nothing when it was last asked */
	struct rxe_counters *counters;	/* the slot's: the link's send_err */
	struct ctl_lost *lost;		/* ... */
	uint64_t told_errors, told_bad; /* of the link's counts, so many are in it */
};

/* 0 or a negative errno. */
int dm_wire_open(struct dm_device *dev);
void dm_wire_close(struct dm_wire *wire);
/* Readable when dm_wire_recv has something. */
int dm_wire_poll_fd(const struct dm_wire *wire);

/* As link_udp_* and link_veth_*. */
uint32_t dm_wire_tx_ports(const struct dm_wire *wire, uint16_t *ret, uint32_t max);
uint16_t dm_wire_max_segs(const struct dm_wire *wire);
bool dm_wire_same_host(struct dm_wire *wire, const struct gid *gid);
int dm_wire_join(struct dm_wire *wire, const struct gid *group);
int dm_wire_leave(struct dm_wire *wire, const struct gid *group);
void dm_wire_see_headers(struct dm_wire *wire);

/* Returns how many trains the link took, fewer than n when it takes no more now; -errno for none. */
int dm_wire_send(struct dm_wire *wire, const struct wire_train *trains, size_t n);
/* Up to max arrivals, their bytes valid until the next call; 0 when nothing is there; -errno. Never blocks. */
int dm_wire_recv(struct dm_wire *wire, struct wire_arrival *ret, size_t max);

/* When a packet that a fault holds back is due; UINT64_MAX: none is. */
uint64_t dm_wire_deadline(const struct dm_wire *wire);

/* For wire_fault.c: past the faults. What comes in is not written down yet. */
int dm_wire_pass_out(struct dm_wire *wire, const struct wire_train *trains, size_t n);
int dm_wire_pass_in(struct dm_wire *wire, struct wire_arrival *ret, size_t max);

#endif
