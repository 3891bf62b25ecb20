/* SPDX-License-Identifier: MIT */
/* The writer of a capture in one process. It records packets in the process's ring (ring.h), with
 * their queue pair and work request, and with the fault rule that changed them. */
#ifndef RXE_LINK_CAPTURE_RECORDER_H
#define RXE_LINK_CAPTURE_RECORDER_H

#include <stdint.h>

#include "net/link/capture/ring.h"
#include "net/link/capture/tap.h"
#include "net/link/fault/shaper.h"

struct recorder_cfg {
	const struct link *link; /* for its source ports */
	uint32_t slot;		 /* index of the ring */
	int32_t pid;
	const char *comm;
	/* Addresses of the device. */
	const struct gid *gids;
	uint32_t num_gids;
	/* Sets queue pair and work request of a record where they are known. */
	void (*describe)(void *arg, struct capture_record *record, const uint8_t *packet);
	void *arg;
};

struct recorder;

/* Maps the ring of this process in the memory of a capture; fd remains the caller's. NULL: no
 * memory, or fd is not a capture's. */
struct recorder *recorder_open(const struct recorder_cfg *cfg, int fd);
void recorder_close(struct recorder *recorder);

/* For taps; arg: struct recorder. */
extern const struct tap_observer recorder_departures, recorder_arrivals;

/* Records that a rule fired (struct fault_shaper_cfg.fired). A dropped packet is recorded at once,
 * as lost; the note of any other packet is recorded when the packet passes. */
void recorder_fault(struct recorder *recorder, const struct fault_firing *firing, const char *note);

#endif
