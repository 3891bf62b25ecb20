/* SPDX-License-Identifier: MIT */
/* Descriptors of a device that its program closes. Some programs close all descriptors, as daemons
 * do, and open others, which get the same numbers. Once one is missing the device is dead: its link
 * carries nothing more, the background thread ends, and the owner hears of it. Called by
 * lib/progress, under the engine lock unless a comment says otherwise. */
#ifndef RXE_PROGRESS_DESCRIPTORS_H
#define RXE_PROGRESS_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

struct progress;

/* The device's descriptors are open; no other thread uses the device yet. */
void descriptors_opened(struct progress *progress);
/* A turn begins: checks the descriptors once a millisecond. */
void descriptors_check(struct progress *progress, uint64_t now_ns);
/* One may be missing, or much depends on them: the next turn checks. */
void descriptors_suspect(struct progress *progress);
/* Whether one was missing. Any thread, without the lock. */
bool descriptors_are_missing(const struct progress *progress);

#endif
