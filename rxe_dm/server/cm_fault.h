/* SPDX-License-Identifier: MIT */
/* Fault rules for calls of librdmacm by name: rdma_connect() and the others that are requests to
 * the connection manager fail here, before they do anything. */
#ifndef RXE_DM_SERVER_CM_FAULT_H
#define RXE_DM_SERVER_CM_FAULT_H

#include <stdint.h>

#include "lib/control/cm.h"

struct conn;

/* Counts a request of a process for each rule of a device that names its call. 0, or the negative
 * errno of the first rule that fires. */
int cm_fault_decide(struct conn *conn, uint32_t device, enum ctl_cm_op op);
void cm_fault_end_conn(struct conn *conn);

#endif
