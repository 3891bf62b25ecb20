/* SPDX-License-Identifier: MIT */
/* ACKs that are held while their completions are visible: noted where the device server finds them. Under the pump lock. */
#ifndef RXE_PROGRESS_DELAYED_ACK_H
#define RXE_PROGRESS_DELAYED_ACK_H

#include <stdbool.h>

struct dm_pump;
struct rxe_qp;

/* rxe_host_ops: host is the device. */
bool dm_owed_note(void *host, const struct rxe_qp *qp);
void dm_owed_paid(void *host, const struct rxe_qp *qp);
/* All trains built so far are with the kernel. */
void dm_owed_sent(struct dm_pump *pump);

#endif
