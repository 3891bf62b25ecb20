/* SPDX-License-Identifier: MIT */
/* RXE-RACE-001 to 003: requests that touch the same bytes, at least one of them writing, without an
 * order between them. The bytes of a request at its peer are known where the peer is of this
 * device (remote.h). Requests of this process are compared here, with those of other processes in
 * race_process.c.
 *
 * A request is ordered before the one that is posted now if its completion was polled, or that of
 * a later one; if the peer has polled a message that was sent after it; and if both are of one
 * queue pair, except for an RDMA READ and the RDMA WRITE after it, which need the fence (IBTA
 * 10.8.3.3). Receives are compared with other processes only: which bytes they get is known when a
 * message arrives. Under the layer's lock. */
#ifndef RXE_CHECK_RACE_H
#define RXE_CHECK_RACE_H

struct check_request;

/* After held_add() and remote_posting(). */
void race_posting(struct check_request *request);
/* The program has polled its completion. */
void race_completed(struct check_request *request);
void race_ended(struct check_request *request);

#endif
