/* SPDX-License-Identifier: MIT */
/* Polling, by array and entry by entry. */
#ifndef RXE_CHECK_WRAP_POLL_H
#define RXE_CHECK_WRAP_POLL_H

struct ibv_cq;
struct ibv_cq_ex;
struct ibv_wc;

int wrap_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
/* Replaces the functions of a new ibv_cq_ex. */
void wrap_poll_ex(struct ibv_cq_ex *cq);

#endif
