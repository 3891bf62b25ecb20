/* SPDX-License-Identifier: MIT */
/* RXE-EVENT-001 to 004: events that are lost or not acknowledged, and channels that are in use. */
#ifndef RXE_CHECK_EVENT_H
#define RXE_CHECK_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct check_cq;
struct check_object;
struct ibv_async_event;
struct ibv_comp_channel;

void event_armed(struct check_cq *cq);
void event_polling(struct check_cq *cq);
void event_waiting(const struct ibv_comp_channel *channel);
/* ibv_get_cq_event() returned an event of the queue. */
void event_taken(struct check_cq *cq);
void event_acked(struct check_cq *cq, uint32_t n);
void event_channel_ending(const struct check_object *channel);
/* ibv_get_async_event() and ibv_ack_async_event(). */
void event_async(const struct ibv_async_event *event, bool acked);
/* The object is about to be destroyed, and waits for its asynchronous events. */
void event_async_ending(const struct check_object *object, const char *verb);
/* The same for events that were not read. Without the layer's lock. */
void event_unread_ending(const struct check_object *object, const char *verb);
void event_cq_ending(const struct check_cq *cq);

#endif
