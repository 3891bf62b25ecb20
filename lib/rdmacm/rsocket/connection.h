/* SPDX-License-Identifier: MIT */
/* Connections of streams, from their beginning on either side to their end. Events of the
 * connection manager drive them. The lock is held by the caller of each function.
 *
 * The passive side: a request becomes an rsocket at once, and is accepted before the program asks
 * for it, as a TCP connection is. Until the connection is established, its id stays on the
 * listener's event channel. */
#ifndef RXE_RSOCKET_CONNECTION_H
#define RXE_RSOCKET_CONNECTION_H

#include <stdbool.h>

struct ibv_comp_channel;
struct rdma_conn_param;
struct rs_conn_data;
struct rs_mapping;
struct rsocket;
struct sockaddr;

/* Gives an rsocket an event channel, which never blocks. 0 or a positive errno. */
int rs_channel_create(struct rsocket *rs);
/* Begins to connect. 0 or a positive errno. */
int rs_connect_begin(struct rsocket *rs, const struct sockaddr *addr);
/* Handles all events of the rsocket's channel: one system call at least. */
void rs_connection_events(struct rsocket *rs);
/* Frees the connection, the descriptors, and what a listener's program has not accepted: state
 * RS_CLOSED. */
void rs_connection_free(struct rsocket *rs);

/* Makes queue pair, completion queue and buffers on the device of the id, by the rsocket's options.
 * 0 or a positive errno; rs_setup_free() follows in either case. */
int rs_setup(struct rsocket *rs);
void rs_setup_free(struct rsocket *rs);
/* Ends a mapping of riomap(). rs_setup_free() ends all. */
void rs_mapping_free(struct rsocket *rs, struct rs_mapping *mapping);
/* Parameters for rdma_connect() and rdma_accept(). data is in use until that call. */
struct rdma_conn_param rs_setup_param(const struct rsocket *rs, struct rs_conn_data *data);
/* Takes the private data of the peer. False: the peer does not speak our protocol. */
bool rs_setup_peer(struct rsocket *rs, const struct rdma_conn_param *param);

/* Lets the service thread handle the events while the rsocket listens or connects. Called without
 * the lock. 0 or a positive errno. */
int rs_service_add(struct rsocket *rs);

#endif
