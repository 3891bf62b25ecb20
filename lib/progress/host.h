/* SPDX-License-Identifier: MIT */
/* What the engine of this process runs with: its settings, and the calls that it makes to its host.
 * Called by progress.c. */
#ifndef RXE_PROGRESS_HOST_H
#define RXE_PROGRESS_HOST_H

struct progress;

/* Initializes the engine after the link is open. Under the engine lock. */
void host_init_engine(struct progress *progress);

#endif
