/* SPDX-License-Identifier: MIT */
/* Names to addresses, and the event that tells of it. */
#ifndef RXE_RDMACM_ADDRINFO_H
#define RXE_RDMACM_ADDRINFO_H

struct rcm_id;

/* Adds the event that rdma_resolve_addrinfo() has an answer. 0 or a positive errno. */
int rcm_event_add_resolved(struct rcm_id *id);

#endif
