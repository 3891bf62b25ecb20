/* SPDX-License-Identifier: MIT */
/* Messages on their way out, and their retries. */
#ifndef RXE_CM_RETRY_H
#define RXE_CM_RETRY_H

#include "rxe_dm/cm/id.h"

/* Longest times that a peer's message can ask for, as exponents of 4.096 us: 8.6 s and 69 s. */
#define CM_MAX_TIMEOUT	       21
#define CM_MAX_SERVICE_TIMEOUT 24

uint64_t cm_timeout_ns(uint8_t code, uint8_t max_code); /* 4.096 us << code, at most << max_code */
/* True: msg is of this kind, and its lengths are within bounds. */
bool cm_msg_is_sendable(const struct cm_msg *msg, enum cm_attr attr);
/* Fills in communication IDs and the transaction ID, and keeps the message as retry.last. */
void cm_last_set(struct cm_id *id, const struct cm_msg *msg);
void cm_last_send(struct cm_id *id);
/* Sends the last message whenever no answer has come in time, retry.max times. */
void cm_last_await(struct cm_id *id, uint64_t now_ns);
/* The same, and sends it now. */
void cm_last_retry(struct cm_id *id, uint64_t now_ns);
/* Retries once more. False: no retries are left. */
bool cm_last_retry_again(struct cm_id *id, uint64_t now_ns);
/* Answers a message that belongs to no id (any more): swaps its communication IDs and keeps its
 * TID. */
void cm_answer_stateless(struct cm *cm, const struct cm_path *path, const struct cm_msg *to,
			 const struct cm_msg *answer);

#endif
