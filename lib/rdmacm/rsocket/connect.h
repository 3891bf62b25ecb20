/* SPDX-License-Identifier: MIT */
/* The active side of a connection, and what ends one: a machine of states that events of the
 * connection manager drive. The lock is held by the caller. */
#ifndef RXE_RSOCKET_CONNECT_H
#define RXE_RSOCKET_CONNECT_H

struct rdma_cm_event;
struct rsocket;
struct sockaddr;

/* Begins to connect. 0 or a positive errno. */
int rs_connect_begin(struct rsocket *rs, const struct sockaddr *addr);
/* Handles an event of an rsocket that connects or is connected. */
void rs_connect_event(struct rsocket *rs, const struct rdma_cm_event *event);
/* The positive errno of an event that reports a failure. */
int rs_event_error(const struct rdma_cm_event *event);

#endif
