/* SPDX-License-Identifier: MIT */
/* The queue pair of an id: made with the id's protection domain, completion queues and shared
 * receive queue, and moved through its states as the connection goes on. */
#ifndef RXE_RDMACM_QP_H
#define RXE_RDMACM_QP_H

#include <stdbool.h>
#include <stdint.h>

struct ctl_cm_ah;
struct ctl_cm_qp_attr;
struct ibv_ah_attr;
struct rcm_id;

/* Each returns 0 or a positive errno, and does nothing for an id without a queue pair. 255 as a
 * number of READs and atomics leaves the one that was agreed on with the other side. */
int rcm_qp_to_rtr(struct rcm_id *id, uint8_t responder_resources);
int rcm_qp_to_rts(struct rcm_id *id, uint8_t initiator_depth);
int rcm_qp_to_error(struct rcm_id *id);
/* The other side's answer to the local extended connection establishment (ECE) options. */
int rcm_qp_set_remote_ece(struct rcm_id *id, uint32_t vendor, uint32_t options);
/* What the queue pair made of them. */
int rcm_qp_read_ece(struct rcm_id *id);

/* Keeps the attributes of an event for the transitions that follow it: no request to the server for
 * each of them. */
void rcm_qp_keep_attr(struct rcm_id *id, const struct ctl_cm_qp_attr *attr);
/* An option of the id is about to change: from now on the server is asked, since events may be older
 * than the option. */
void rcm_qp_ask_attr(struct rcm_id *id);

void rcm_qp_unpack_ah(struct ibv_ah_attr *ret, const struct ctl_cm_ah *ah);

#endif
