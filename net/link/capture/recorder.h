/* SPDX-License-Identifier: MIT */
/* The writer of a capture in one process: what leaves and what its user gets is written to the process's ring (ring.h), with the queue
 * pair and the work request that a packet belongs to, and the fault rule that changed it. */
#ifndef RXE_LINK_RECORDER_H
#define RXE_LINK_RECORDER_H

#include <stdint.h>

#include "net/link/capture/ring.h"
#include "net/link/capture/tap.h"
#include "net/link/fault/shaper.h"

struct recorder_cfg {
	const struct link *link; /* for its ports */
	uint32_t slot;		 /* which ring */
	int32_t pid;
	const char *comm;
	/* Addresses of the device. */
	const struct gid *gids;
	uint32_t num_gids;
	/* Fills in queue pair and work request of a record, as far as they are known. */
	void (*describe)(void *arg, struct capture_record *record, const uint8_t *packet);
	void *arg;
};

struct recorder;

/* Maps the ring of this process in the memory of a capture; fd stays the caller's. NULL: no memory, or it is no capture's. */
struct recorder *recorder_open(const struct recorder_cfg *cfg, int fd);
void recorder_close(struct recorder *recorder);

/* For taps; arg: struct recorder. */
extern const struct tap_observer recorder_departures, recorder_arrivals;

/* A rule was carried out (struct fault_shaper_cfg.fired), which note describes. A dropped packet is written down at once, as lost; one
 * that was changed, held or doubled bears the note when it passes. */
void recorder_fault(struct recorder *recorder, const struct fault_firing *firing, const char *note);

#endif
