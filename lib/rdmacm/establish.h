/* SPDX-License-Identifier: MIT */
/* Connections that the library completes. */
#ifndef RXE_RDMACM_ESTABLISH_H
#define RXE_RDMACM_ESTABLISH_H

#include "lib/rdmacm/id.h"

/* Leaves a record of a refusal by this end for `rxe_dm show`. Returns its positive errno. */
int rcm_refuse(const struct rcm_id *id, enum ctl_cm_refusal_reason reason, uint8_t asked,
	       uint8_t most, int err);
/* As rcm_qp_to_rts(). */
int rcm_establish_rts(struct rcm_id *id, uint8_t responder_resources, uint8_t initiator_depth);
/* Reports to the server that the active end is ready. 0 or a positive errno. */
int rcm_establish(struct rcm_id *id);
/* The other side has accepted: moves the id's queue pair to RTS, and the server informs the
 * other side. 0 or a positive errno; the queue pair is in error then. */
int rcm_connect_finish(struct rcm_id *id, const struct ctl_cm_conn *conn);

#endif
