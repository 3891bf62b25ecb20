/* SPDX-License-Identifier: MIT */
/* RXE-QUEUE-001, 002 and 005: more requests than the queues can take, and receives that are too
 * short for any message. */
#ifndef RXE_CHECK_QUEUE_LIMIT_H
#define RXE_CHECK_QUEUE_LIMIT_H

#include <stdbool.h>

struct check_queue;
struct check_request;

void queue_limit_posting(const struct check_request *request);
/* The send queue has as many requests as it takes. */
bool queue_limit_is_reached(const struct check_queue *queue);
void queue_limit_posted(const struct check_queue *queue);

#endif
