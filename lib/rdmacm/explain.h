/* SPDX-License-Identifier: MIT */
/* Why an address cannot be used: one line on the log, the first time in a process. */
#ifndef RXE_RDMACM_EXPLAIN_H
#define RXE_RDMACM_EXPLAIN_H

#include <sys/socket.h>

struct rcm_server;

/* rdma_bind_addr() or rdma_resolve_addr() with a source failed: no device has the address. Nothing
 * for other errors, and for addresses without a port: libraries try those of all interfaces. */
void rcm_explain_source(const struct rcm_server *server, const struct sockaddr *addr, int err);
/* The event ADDR_ERROR: no device reaches the address. */
void rcm_explain_destination(const struct rcm_server *server, const struct sockaddr *addr, int err);

#endif
