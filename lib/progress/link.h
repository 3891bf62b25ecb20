/* SPDX-License-Identifier: MIT */
/* Where a device's packets leave and enter this process: the one place between the engine and the links of net/link/.
 *
 * Everything here is under the engine lock. */
#ifndef RXE_PROGRESS_LINK_H
#define RXE_PROGRESS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/train.h"

struct ctl_lost;
struct rxe_counters;
struct vb_capture;
struct progress;
struct vb_fault;
struct vb_tail;
struct link;

struct vb_wire {
	struct link *phy;		/* UDP or Ethernet */
	struct vb_capture *capture;	/* NULL: nobody captures */
	struct vb_fault *fault;		/* the rules of the device, and what waits for them */
	struct vb_tail *tail;		/* the last packets; NULL: not noted */
	bool is_dry;			/* the link had nothing when it was last asked */
	struct rxe_counters *counters;	/* the slot's: the link's send_err */
	struct ctl_lost *lost;		/* ... */
	uint64_t told_errors, told_bad; /* of the link's counts, so many are in it */
};

/* 0 or a negative errno. */
int vb_wire_open(struct progress *progress);
void vb_wire_close(struct vb_wire *wire);
/* Returns how many trains the link took, fewer than n when it takes no more now; -errno for none. */
int vb_wire_send(struct vb_wire *wire, const struct wire_train *trains, size_t n);
/* Up to max arrivals, their bytes valid until the next call; 0 when nothing is there; -errno. Never blocks. */
int vb_wire_recv(struct vb_wire *wire, struct wire_arrival *ret, size_t max);

/* When a packet that a fault holds back is due; UINT64_MAX: none is. */
uint64_t vb_wire_deadline(const struct vb_wire *wire);

/* For wire_fault.c: past the faults. What comes in is not written down yet. */
int vb_wire_pass_out(struct vb_wire *wire, const struct wire_train *trains, size_t n);
int vb_wire_pass_in(struct vb_wire *wire, struct wire_arrival *ret, size_t max);

#endif
