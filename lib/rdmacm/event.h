/* SPDX-License-Identifier: MIT */
/* The library's own events. */
#ifndef RXE_RDMACM_EVENT_H
#define RXE_RDMACM_EVENT_H

#include "lib/rdmacm/id.h"

/* Adds an event of the library's own to the id's channel. 0 or a positive errno. */
int rcm_event_add(struct rcm_id *id, enum rdma_cm_event_type type, int status, uint64_t arg);

#endif
