/* SPDX-License-Identifier: MIT */
/* RXE-CM-001 to 007: ids, channels and events of librdmacm. The functions are exported: the check
 * build of librdmacm.so.1 (lib/check/cm) calls them around the public calls. Each takes the layer's
 * lock itself. */
#ifndef RXE_CHECK_CM_H
#define RXE_CHECK_CM_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

/* What a call asks of the connection and its peer. */
struct check_cm_asks {
	const char *call; /* "rdma_accept" */
	size_t private_max;
	const struct rdma_conn_param *param; /* or NULL */
	bool needs_qp, is_accept;
};

#pragma GCC visibility push(default)
/* The addresses of librdmacm.so.1: its frames are left out of stacks, and its tables reach no
 * id. */
void rxe_dm_check_cm_loaded(const void *start, const void *end);
/* In place of free(3) in librdmacm. */
void rxe_dm_check_free(void *memory);

void rxe_dm_check_channel_made(struct rdma_event_channel *channel);
/* Before the end. False: the channel is dead (reported), do not call the library. */
bool rxe_dm_check_channel_ending(struct rdma_event_channel *channel);
void rxe_dm_check_channel_ended(struct rdma_event_channel *channel);

void rxe_dm_check_id_made(struct rdma_cm_id *id);
/* False: the id is dead (reported), do not call the library. */
bool rxe_dm_check_id_used(const struct rdma_cm_id *id, const char *call);
/* As rxe_dm_check_channel_ending(). Waits for events that another thread may acknowledge. */
bool rxe_dm_check_id_ending(struct rdma_cm_id *id, const char *call);
/* err: of the call. */
void rxe_dm_check_id_ended(struct rdma_cm_id *id, int err);

/* rdma_get_cm_event() has returned the event; rdma_ack_cm_event() is about to free it. */
void rxe_dm_check_event_read(const struct rdma_cm_event *event);
void rxe_dm_check_event_acked(const struct rdma_cm_event *event);

/* As rxe_dm_check_id_used(), and looks at what the program asks for. */
bool rxe_dm_check_asks(const struct rdma_cm_id *id, const struct check_cm_asks *asks);
/* A connection was established, or ended by this side. */
void rxe_dm_check_connected(const struct rdma_cm_id *id, bool connected);
#pragma GCC visibility pop

#endif
