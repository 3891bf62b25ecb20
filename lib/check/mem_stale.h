/* SPDX-License-Identifier: MIT */
/* RXE-MEM-005: a region over memory that ended is used. Memory that is freed and allocated again is
 * no longer noted, as in a cache of registrations; nor is memory of regions on demand. */
#ifndef RXE_CHECK_MEM_STALE_H
#define RXE_CHECK_MEM_STALE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/watch/watch.h"

struct check_region;
struct check_request;

/* Without the layer's lock. */
void mem_stale_ended(const void *addr, size_t len, enum watch_end how);
void mem_stale_made(const void *addr, size_t len);

bool mem_stale_any(void);
void mem_stale_posting(const struct check_request *request);
/* The region is deregistered, or becomes another one. */
void mem_stale_forget(const struct check_region *region);

#endif
