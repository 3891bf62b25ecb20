/* SPDX-License-Identifier: MIT */
/* Queue pairs of ids, and their way to RTS. */
#ifndef RXE_RDMACM_QP_H
#define RXE_RDMACM_QP_H

#include "lib/rdmacm/id.h"

/* A new queue pair: agrees on ECE options with the other side's, if there are any, and moves the
 * queue pair to INIT; one for datagrams to RTS. 0 or a positive errno. */
int rcm_qp_begin(struct rcm_id *id, struct ibv_qp *qp);
/* These return 0 or a positive errno, and do nothing for an id without a queue pair. 255 as a
 * number of READs and atomics leaves the one that was agreed on with the other side. */
int rcm_qp_to_rts(struct rcm_id *id, uint8_t responder_resources, uint8_t initiator_depth);
int rcm_qp_to_error(struct rcm_id *id);
/* The other side's answer to the local extended connection establishment (ECE) options. */
int rcm_qp_set_remote_ece(struct rcm_id *id, uint32_t vendor, uint32_t options);
/* What the queue pair made of them. */
int rcm_qp_read_ece(struct rcm_id *id);

/* Keeps the attributes of an event for the transitions that follow it: no request to the server for
 * each of them. */
void rcm_qp_keep_attr(struct rcm_id *id, const struct ctl_cm_qp_attr *attr);
void rcm_qp_unpack_ah(struct ibv_ah_attr *ret, const struct ctl_cm_ah *ah);

#endif
