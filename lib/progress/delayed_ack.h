/* SPDX-License-Identifier: MIT */
/* ACKs that are held while their completions are visible: noted where the device server finds them. Under the engine lock. */
#ifndef RXE_PROGRESS_DELAYED_ACK_H
#define RXE_PROGRESS_DELAYED_ACK_H

#include <stdbool.h>

struct progress;
struct rxe_qp;

/* rxe_host_ops: host is the device. */
bool delayed_ack_note(void *host, const struct rxe_qp *qp);
void delayed_ack_paid(void *host, const struct rxe_qp *qp);
/* All trains built so far are with the kernel. */
void delayed_ack_sent(struct progress *progress);

#endif
