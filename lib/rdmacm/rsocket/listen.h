/* SPDX-License-Identifier: MIT */
/* The passive side. A request becomes an rsocket at once, and is accepted before the program asks
 * for it, as a TCP connection is. Until the connection is established its id stays on the
 * listener's event channel. The lock of the listener is held by the caller. */
#ifndef RXE_RSOCKET_LISTEN_H
#define RXE_RSOCKET_LISTEN_H

struct rdma_cm_event;
struct rsocket;

/* A request at the listener. */
void rs_listen_request(struct rsocket *listener, const struct rdma_cm_event *event);
/* Another event of a connection on the listener's channel. The event has been acknowledged;
 * copy. */
void rs_listen_event(struct rsocket *listener, struct rsocket *child,
		     const struct rdma_cm_event *event);
/* Ends what the program has not accepted. */
void rs_listen_free(struct rsocket *listener);

#endif
