/* SPDX-License-Identifier: MIT */
/* The queues of a connection: posting of messages, completions, and the credits of both sides. The
 * rsocket's lock is held by the caller of each function. */
#ifndef RXE_RSOCKET_QUEUE_H
#define RXE_RSOCKET_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/rdmacm/rsocket/message.h"

struct ibv_context;
struct rs_cq;
struct rsocket;

/* Posts the receives that are due: at first all. 0 or a positive errno. */
int rs_queue_fill(struct rsocket *rs);
/* Posts len bytes of the send buffer, or inline, as one data message: rs_has_credit() is true and
 * len fits the target. Or, with remote, writes them to memory of the peer's I/O map, of which the
 * peer gets no message. 0 or a positive errno. */
int rs_queue_data(struct rsocket *rs, const uint8_t *bytes, uint32_t len, bool is_inline,
		  const struct rs_sge *remote);
/* Writes an entry of the peer's I/O map, which costs a credit. 0 or a positive errno. */
int rs_queue_iomap(struct rsocket *rs, uint32_t index, struct rs_iomap_entry entry);
/* Posts a control message. sender.control_slots is not 0. 0 or a positive errno. */
int rs_queue_control(struct rsocket *rs, enum rs_control control);
/* Grants credits and publishes a half of the receive buffer, when they are due. */
void rs_queue_credits(struct rsocket *rs);
/* Handles all completions. */
void rs_queue_progress(struct rsocket *rs);
/* Arms the completion queue for the next completion. */
void rs_queue_arm(struct rsocket *rs);
/* The connection is over. err: a positive errno for the program, 0: the peer ended it in order. */
void rs_queue_lost(struct rsocket *rs, int err);

/* Makes a completion queue and its channel, which never blocks. 0 or a positive errno;
 * rs_cq_free() follows in either case. */
int rs_cq_create(struct rs_cq *cq, struct ibv_context *verbs, uint32_t size);
void rs_cq_free(struct rs_cq *cq);
/* Arms for the next completion, if it is not armed. 0 or a positive errno. */
int rs_cq_arm(struct rs_cq *cq);
/* Takes the event out of the completion channel, if one is there. */
void rs_cq_take_event(struct rs_cq *cq);

#endif
