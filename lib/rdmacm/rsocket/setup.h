/* SPDX-License-Identifier: MIT */
/* Verbs objects and buffers of a connection. */
#ifndef RXE_RSOCKET_SETUP_H
#define RXE_RSOCKET_SETUP_H

#include <stdbool.h>

struct rsocket;
struct rs_conn_data;
struct rdma_conn_param;

/* Makes queue pair, completion queue and buffers on the device of the id, by the rsocket's options.
 * 0 or a positive errno; rs_setup_free() follows in either case. */
int rs_setup(struct rsocket *rs);
void rs_setup_free(struct rsocket *rs);

/* Parameters for rdma_connect() and rdma_accept(). data is in use until that call. */
struct rdma_conn_param rs_setup_param(const struct rsocket *rs, struct rs_conn_data *data);
/* Takes the private data of the peer. False: the peer does not speak our protocol. */
bool rs_setup_peer(struct rsocket *rs, const struct rdma_conn_param *param);

#endif
