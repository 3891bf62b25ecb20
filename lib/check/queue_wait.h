/* SPDX-License-Identifier: MIT */
/* RXE-QUEUE-003, 004 and 007: receives that do not suffice, waits that do not end, inline data that
 * does not fit. */
#ifndef RXE_CHECK_QUEUE_WAIT_H
#define RXE_CHECK_QUEUE_WAIT_H

#include "lib/abi/newer.h"

struct check_qp;
struct check_request;

/* The completion of the request was polled, with this status. */
void queue_wait_completed(const struct check_request *request, enum ibv_wc_status status);
/* The attributes of ibv_modify_qp() were accepted. */
void queue_wait_modified(const struct check_qp *qp, const struct ibv_qp_attr *attr, int attr_mask);
/* A request is about to be posted. */
void queue_wait_sending(const struct check_qp *qp, const struct ibv_send_wr *wr);

#endif
