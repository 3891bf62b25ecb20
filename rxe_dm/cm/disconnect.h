/* SPDX-License-Identifier: MIT */
/* Messages that refuse or end a connection: handlers, which may free ids, and what other exchanges
 * refuse. */
#ifndef RXE_CM_DISCONNECT_H
#define RXE_CM_DISCONNECT_H

#include "rxe_dm/cm/id.h"

void cm_rej_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		     uint64_t now_ns);
void cm_dreq_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns);
void cm_drep_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg,
		      uint64_t now_ns);
void cm_lap_received(struct cm *cm, const struct cm_path *path, const struct cm_msg *msg);

/* A REJ of reason 4 (timeout), with our CA GUID as additional information. */
void cm_rej_timeout(struct cm_id *id);
/* A REJ for a REQ, REP or RTU that belongs to no id. */
void cm_rej_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
		      enum cm_reject_reason reason);
/* Disconnects an older connection of a queue pair that has begun another. */
void cm_end_stale(struct cm_id *old, uint64_t now_ns);
/* The id has entered TIME_WAIT: it leaves when no packet of the connection can still travel. */
void cm_time_wait_begin(struct cm_id *id, uint64_t now_ns);

#endif
