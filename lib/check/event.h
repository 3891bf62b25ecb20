/* SPDX-License-Identifier: MIT */
/* RXE-EVENT-001 and 002: completion events that are lost, or not acknowledged. */
#ifndef RXE_CHECK_EVENT_H
#define RXE_CHECK_EVENT_H

#include <stdint.h>

struct check_cq;
struct ibv_comp_channel;

void event_armed(struct check_cq *cq);
void event_polled(struct check_cq *cq);
void event_waiting(const struct ibv_comp_channel *channel);
/* ibv_get_cq_event() returned an event of the queue. */
void event_taken(struct check_cq *cq);
void event_acked(struct check_cq *cq, uint32_t n);
void event_cq_ending(const struct check_cq *cq);

#endif
