/* SPDX-License-Identifier: MIT */
/* Packets of this process for whoever captures on the device: what goes to the link and what the engine gets is written to the
 * slot's ring (net/link/capture/ring.h). The server says when a capture begins and ends. Under the engine lock throughout.
 *
 *   engine -> faults -> vb_capture_sent -> link          link -> faults -> vb_capture_arrived -> engine */
#ifndef RXE_PROGRESS_CAPTURE_H
#define RXE_PROGRESS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/wire/train.h"

struct progress;
struct vb_capture;
struct vb_wire;
struct fault_firing;

/* The server's word: a capture has begun, with the descriptor of its rings (closed here), or -1: the last one has ended. Takes
 * the engine lock. */
void vb_capture_told(struct progress *progress, int fd);
void vb_capture_close(struct vb_wire *wire);

/* While wire->capture is not NULL. Before packets are handed to the link; and when it took n of the trains: what it did not take
 * comes again. */
void vb_capture_sending(struct vb_wire *wire);
void vb_capture_sent(struct vb_wire *wire, const struct wire_train *trains, size_t n);
/* What the engine is about to get. */
void vb_capture_arrived(struct vb_wire *wire, const struct wire_arrival *arrivals, size_t n);

/* A fault has been carried out (struct fault_shaper_cfg.fired); whether anybody captures or not. What it took away is written down
 * at once, as lost; what it changed, held back or doubled gets a note when it passes. */
void vb_capture_fault(struct vb_wire *wire, const struct fault_firing *firing);

#endif
