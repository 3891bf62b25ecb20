/* SPDX-License-Identifier: MIT */
/* The fixture of mistakes with librdmacm: a listener, an id that connects to it and the id of the
 * request, on one event channel of one process. A failure that the mistake does not ask for ends
 * the program with status 99. */
#ifndef TESTS_CLIENT_MISTAKES_CM_PAIR_H
#define TESTS_CLIENT_MISTAKES_CM_PAIR_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "pair.h"

struct cm_pair {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *client, *server;
};

/* A listener, and a client that has a route to it; without queue pairs. */
void cm_open(struct cm_pair *pair);
void cm_give_qp(struct rdma_cm_id *id);
/* The next event, which must be this one. */
struct rdma_cm_event *cm_event(struct cm_pair *pair, enum rdma_cm_event_type type);
void cm_expect(struct cm_pair *pair, enum rdma_cm_event_type type);
/* The client asks for a connection: pair->server. param NULL: the usual one. */
void cm_request(struct cm_pair *pair, struct rdma_conn_param *param);
/* Both get queue pairs, and a connection. */
void cm_connect(struct cm_pair *pair);
/* Ends the connection of both sides. */
void cm_disconnect(struct cm_pair *pair);
void cm_close(struct cm_pair *pair);

#endif
