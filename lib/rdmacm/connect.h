/* SPDX-License-Identifier: MIT */
/* Connections: requests, answers and ends. */
#ifndef RXE_RDMACM_CONNECT_H
#define RXE_RDMACM_CONNECT_H

struct ctl_cm_conn;
struct rcm_id;

/* The other side has accepted: moves the id's queue pair to RTS and tells the other side. 0 or a
 * positive errno; the queue pair is in error then. */
int rcm_connect_finish(struct rcm_id *id, const struct ctl_cm_conn *conn);

#endif
