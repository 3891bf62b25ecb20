/* SPDX-License-Identifier: MIT */
/* Records delayed ACKs in the slot, where the device server finds them when the process dies. Callers hold the engine lock. */
#ifndef RXE_PROGRESS_DELAYED_ACK_H
#define RXE_PROGRESS_DELAYED_ACK_H

#include <stdbool.h>

struct progress;
struct rxe_qp;

/* rxe_host_ops.ack_delayed and ack_emitted; host is the struct progress. */
bool delayed_ack_note(void *host, const struct rxe_qp *qp);
void delayed_ack_emitted(void *host, const struct rxe_qp *qp);
/* The kernel has taken all trains built so far: deletes the records of the ACKs in them. */
void delayed_ack_sent(struct progress *progress);

#endif
