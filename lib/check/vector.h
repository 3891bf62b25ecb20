/* SPDX-License-Identifier: MIT */
/* Vector clocks of the processes of a device under --check, for RXE-RACE-004, which also compares
 * requests that have ended. A process's clock ticks when it polls the completion of an access that
 * it publishes (access.h). It learns the clock of another process, and what that one knows:
 *
 *   a message of the other one was polled       SEND, RDMA WRITE with immediate
 *   the other one has written to its memory     RDMA WRITE, atomic: a flag that it may have polled
 *   it has polled what it read there            RDMA READ, atomic: also of all that wrote there
 *   it has polled the completion of a message   the other one had posted a receive for it
 *   it makes or connects a queue pair           for which others gave it numbers and keys
 *
 * Each time it learns what the other one knows now, which may be more than the message proves: more
 * counts as ordered, never less. A process counts as one thread. What sockets, files and shared
 * memory order is not seen. Under the layer's lock. */
#ifndef RXE_CHECK_VECTOR_H
#define RXE_CHECK_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

struct access;
struct check_qp;
struct check_request;
struct ibv_context;

/* A queue pair was made, or brought to RTR: the process learns from all others. */
void vector_connected(struct ibv_context *context);
/* The process is about to compare: it learns from all that have written to its memory. */
void vector_learn(struct ibv_context *context);
/* The request, an RDMA WRITE or atomic, is about to be posted. */
void vector_reported(const struct check_request *request);
/* A message was polled. */
void vector_received(const struct check_qp *qp);
/* The completion of the request was polled. */
void vector_completed(const struct check_request *request);
/* The next value of the process's clock. */
uint64_t vector_tick(struct ibv_context *context);
/* Does the process know that the other one has polled the completion? */
bool vector_is_before(struct ibv_context *context, const struct access *other);

#endif
