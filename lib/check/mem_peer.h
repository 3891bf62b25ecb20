/* SPDX-License-Identifier: MIT */
/* RXE-MEM-005 and 008 between processes of the device: memory ends, or its region is deregistered,
 * while requests of another process to it are outstanding; and a request to memory of another
 * process that has ended there. What counts as an end of the other's request: race_process.h. Under
 * the layer's lock. */
#ifndef RXE_CHECK_MEM_PEER_H
#define RXE_CHECK_MEM_PEER_H

#include "lib/watch/watch.h"

struct check_object;
struct check_region;
struct check_request;
struct span;

/* These bytes of a region that peers may reach have ended. */
void mem_peer_ended(const struct check_region *region, const struct span *ended,
		    enum watch_end how);
/* The region is about to be deregistered. */
void mem_peer_deregistered(const struct check_object *object);
/* After remote_posting(). */
void mem_peer_posting(const struct check_request *request);

#endif
